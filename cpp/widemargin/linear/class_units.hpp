// The weights of many classes during a pass: f(x) of all at once, and w_k += delta_k x of some.
//
// They are stored by input: the weights of all classes for one input are a row of whole registers.
// So an input of an example adds one multiple of a row, whatever kind of rows it comes from.
// Classes that only fill a register have b = -infinity and are never chosen.
//
// Inputs are standardised on the fly, as in linear_units.hpp. There, t of packed inputs is the sum
// of all steps, which `sums` holds anyway.
#pragma once

#include <type_traits>

#include "widemargin/linear/types.hpp"
#include "widemargin/rows/packed_rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// ---------------------------------------------- the inputs of an example, dense or sparse

template <class T>
struct PlainInputs {
    const T* x;
    std::size_t count;

    [[gnu::always_inline]] double value(std::size_t i) const { return x[i]; }
    [[gnu::always_inline]] double step(std::size_t i) const { return x[i]; }
    [[gnu::always_inline]] std::size_t place(std::size_t i) const { return i; }
};

template <class T>
struct CentredInputs {
    const T* x;
    std::size_t count;
    const double *mean, *precision;

    [[gnu::always_inline]] double value(std::size_t i) const { return x[i] - mean[i]; }
    [[gnu::always_inline]] double step(std::size_t i) const { return value(i) * precision[i]; }
    [[gnu::always_inline]] std::size_t place(std::size_t i) const { return i; }
};

template <class T>
struct ListedInputs {
    const T* x;
    std::size_t count;
    const std::int32_t* j;

    [[gnu::always_inline]] double value(std::size_t i) const { return x[i]; }
    [[gnu::always_inline]] double step(std::size_t i) const { return x[i]; }
    [[gnu::always_inline]] std::size_t place(std::size_t i) const {
        return static_cast<std::size_t>(j[i]);
    }
};

// ------------------------------------------------------------------------- sums in registers

// even, odd += sum_i x_i w_i over R registers of the rows of weights; two chains if R is small
template <std::size_t R, class Inputs>
[[gnu::always_inline]] inline void accumulate(const Inputs& x, const double* w, std::size_t stride,
                                              Register (&even)[R], Register (&odd)[R]) {
    std::size_t i = 0;
    for (; i + 2 <= x.count; i += 2) {
        const double *first = w + stride * x.place(i), *second = w + stride * x.place(i + 1);
        const double a = x.value(i), b = x.value(i + 1);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < R; ++r) {
            even[r] += a * load<Register>(first + r * kRegister);
            auto& other = R <= 4 ? odd[r] : even[r];
            other += b * load<Register>(second + r * kRegister);
        }
    }
    if (i < x.count) {
        const double* row = w + stride * x.place(i);
        const double a = x.value(i);
        for (std::size_t r = 0; r < R; ++r) even[r] += a * load<Register>(row + r * kRegister);
    }
}

// Cuts `stride` into strips of 8 registers or fewer; calls step(first, registers as a constant).
template <class Step>
[[gnu::always_inline]] inline void for_strips(std::size_t stride, Step&& step) {
    std::size_t k = 0;
    const auto strip = [&]<std::size_t R>(std::integral_constant<std::size_t, R> size) {
        step(k, size);
        k += R * kRegister;
    };
    while (stride - k >= 8 * kRegister) strip(std::integral_constant<std::size_t, 8>{});
    switch ((stride - k) / kRegister) {
        case 1: return strip(std::integral_constant<std::size_t, 1>{});
        case 2: return strip(std::integral_constant<std::size_t, 2>{});
        case 3: return strip(std::integral_constant<std::size_t, 3>{});
        case 4: return strip(std::integral_constant<std::size_t, 4>{});
        case 5: return strip(std::integral_constant<std::size_t, 5>{});
        case 6: return strip(std::integral_constant<std::size_t, 6>{});
        case 7: return strip(std::integral_constant<std::size_t, 7>{});
        default: return;
    }
}

// ------------------------------------------------------------------------------------- units

// Inputs as they are.
struct RawClasses {
    const ClassState& state;

    RawClasses(const ClassState& state, const Standardization&, std::size_t) : state(state) {}

    template <class T, class Visitor>
    [[gnu::always_inline]] void inputs(const DenseRow<T>& row, Visitor&& visitor) const {
        visitor(PlainInputs<T>{row.x, row.width});
    }
    template <class T, class Visitor>
    [[gnu::always_inline]] void inputs(const SparseRow<T>& row, Visitor&& visitor) const {
        visitor(ListedInputs<T>{row.x, row.count, row.j});
    }
    template <class Visitor>
    [[gnu::always_inline]] void inputs(const PackedRow& row, Visitor&& visitor) const {
        inputs(row.dense, visitor);
        inputs(row.sparse, visitor);
    }

    // f_k, f_k+1, ... without the terms of the inputs.
    [[gnu::always_inline]] Register offset(std::size_t k, double) const {
        return load<Register>(state.b + k);
    }
    [[gnu::always_inline]] void moved(std::size_t, double, Register) {}
};

// Standardised dense inputs.
struct CentredClasses : RawClasses {
    AlignedVector mean, precision;  // m, 1 / s^2

    CentredClasses(const ClassState& state, const Standardization& s, std::size_t width)
        : RawClasses(state, s, width), mean(width), precision(width) {
        for (std::size_t j = 0; j < width; ++j) {
            mean.data()[j] = s.mean[j];
            precision.data()[j] = 1.0 / (s.scale[j] * s.scale[j]);
        }
    }

    template <class T, class Visitor>
    [[gnu::always_inline]] void inputs(const DenseRow<T>& row, Visitor&& visitor) const {
        visitor(CentredInputs<T>{row.x, row.width, mean.data(), precision.data()});
    }
};

// Standardised packed inputs: the weights are u, those of z; v = u - t c with t the sums.
struct SplitClasses : RawClasses {
    double c_dot_c;
    AlignedVector along;  // u . c

    SplitClasses(const ClassState& state, const Standardization& s, std::size_t width)
        : RawClasses(state, s, width), c_dot_c(dot(s.mean, s.mean, width)), along(state.stride) {
        for (std::size_t j = 0; j < width; ++j) {
            for (std::size_t k = 0; k < state.stride; ++k) {
                along.data()[k] += s.mean[j] * state.w[j * state.stride + k];
            }
        }
    }

    [[gnu::always_inline]] Register offset(std::size_t k, double shift) const {
        return load<Register>(state.b + k) - load<Register>(along.data() + k) -
               shift * load<Register>(state.sums + k);
    }
    [[gnu::always_inline]] void moved(std::size_t k, double shift, Register delta) {
        double* place = along.data() + k;
        store(place, load<Register>(place) + (shift + c_dot_c) * delta);
    }
};

// f_k of all classes
template <class Units, class Row>
[[gnu::always_inline]] inline void scores(const Units& units, const Row& row, double shift,
                                          double* f) {
    const ClassState& state = units.state;
    for_strips(state.stride,
               [&]<std::size_t R>(std::size_t k, std::integral_constant<std::size_t, R>) {
                   Register even[R], odd[R];
                   for (std::size_t r = 0; r < R; ++r) {
                       even[r] = units.offset(k + r * kRegister, shift);
                       odd[r] = Register{};
                   }
                   units.inputs(row, [&](const auto& x) [[gnu::always_inline]] {
                       accumulate<R>(x, state.w + k, state.stride, even, odd);
                   });
                   for (std::size_t r = 0; r < R; ++r)
                       store(f + k + r * kRegister, even[r] + odd[r]);
               });
}

// w_k += delta_k x and b_k += square delta_k for the classes of the register that begins with k
template <class Units, class Row>
[[gnu::always_inline]] inline void step(Units& units, const Row& row, double shift, std::size_t k,
                                        Register delta, double square) {
    const ClassState& state = units.state;
    units.inputs(row, [&](const auto& x) [[gnu::always_inline]] {
        for (std::size_t i = 0; i < x.count; ++i) {
            double* w = state.w + state.stride * x.place(i) + k;
            store(w, load<Register>(w) + x.step(i) * delta);
        }
    });
    store(state.sums + k, load<Register>(state.sums + k) + delta);
    store(state.b + k, load<Register>(state.b + k) + square * delta);
    units.moved(k, shift, delta);
}

}  // namespace widemargin::WIDEMARGIN_ISA
