// The weights of one output during a pass of stochastic gradient: f(x), and w += delta x.
//
// Inputs are standardised on the fly, xh_j = (x_j - m_j) / s_j; the data stay as they are. With v
// the weights of xh and w_j = v_j / s_j, f(x) = w . (x - m) + b, and v += delta xh is
//
//   w_j += delta (x_j - m_j) / s_j^2
//
// Dense rows do just that. Packed rows train v itself. Their inputs are xh, or, where most are
// zero, z with xh = z - c and c the same for every example. Write v = u - t c: the step is u +=
// delta z and t += delta, which touches only the non-zero inputs, and exactly
//
//   f(x_l) = u . z_l - u . c - t c . (z_l - c) + b
//
// where c . (z_l - c) is a constant of the example and b - u . c a running sum.
//
// Weight decay adds mu/2 ||w||^2 to the criterion, and each example also shrinks w (eq. 8.16):
//
//   w <- (1 - lambda mu) w - lambda c_l g x_l;      b as before
//
// which would touch every weight. So w = a v: the scale a <- (1 - lambda mu) a shrinks all of them,
// and v -= lambda c_l g x_l / a.
#pragma once

#include <cmath>

#include "widemargin/linear/types.hpp"
#include "widemargin/rows/packed_rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// The weights of one output during a pass, and the sums from which their average is computed.
struct Unit {
    std::size_t width;
    AlignedVector w, sum_w;
    bool averaged;
    double b, sum_b = 0.0;

    Unit(const LinearState& state, std::size_t k, std::size_t width)
        : width(width),
          w(width),
          sum_w(state.sum_w ? width : 0),
          averaged(state.sum_w != nullptr),
          b(state.b[k]) {
        for (std::size_t j = 0; j < width; ++j) w.data()[j] = state.w[k * width + j];
    }

    void finish(const LinearState& state, std::size_t k, std::size_t) const {
        for (std::size_t j = 0; j < width; ++j) {
            state.w[k * width + j] = w.data()[j];
            if (averaged) state.sum_w[k * width + j] += sum_w.data()[j];
        }
        state.b[k] = b;
        if (averaged) state.sum_b[k] += sum_b;
    }

    // Without weight decay an example changes the weights only by its own step.
    double rate(const Pass& pass, std::size_t) const { return pass.rate; }
    void decay(double, double) {}
    void count() {}

    // w <- a w; sum_w <- minus the sum of the weights so far (see Decayed)
    void rescale(double a, double ages) {
        for (std::size_t j = 0; j < width; ++j) {
            if (averaged) sum_w.data()[j] -= ages * w.data()[j];
            w.data()[j] *= a;
        }
    }
};

// Inputs as they are.
struct RawUnit : Unit {
    RawUnit(const LinearState& state, const Standardization&, std::size_t k, std::size_t width)
        : Unit(state, k, width) {}

    template <class Row>
    [[gnu::always_inline]] double f(const Row& x, double) const {
        return x.dot(w.data()) + b;
    }

    // `age` examples came before this one (for the average)
    template <class Row>
    [[gnu::always_inline]] void step(const Row& x, double, double delta, double delta_b,
                                     double age) {
        x.add_to(w.data(), delta);
        b += delta_b;
        if (averaged) {
            x.add_to(sum_w.data(), age * delta);
            sum_b += age * delta_b;
        }
    }
};

// Standardised dense inputs.
struct CentredUnit : Unit {
    AlignedVector mean, precision;  // m, 1 / s^2

    CentredUnit(const LinearState& state, const Standardization& s, std::size_t k,
                std::size_t width)
        : Unit(state, k, width), mean(width), precision(width) {
        for (std::size_t j = 0; j < width; ++j) {
            mean.data()[j] = s.mean[j];
            precision.data()[j] = 1.0 / (s.scale[j] * s.scale[j]);
        }
    }

    template <class Row>
    [[gnu::always_inline]] double f(const Row& x, double) const {
        return x.dot(w.data(), mean.data()) + b;
    }

    template <class Row>
    [[gnu::always_inline]] void step(const Row& x, double, double delta, double delta_b,
                                     double age) {
        x.add_to(w.data(), delta, precision.data(), mean.data());
        b += delta_b;
        if (averaged) {
            x.add_to(sum_w.data(), age * delta, precision.data(), mean.data());
            sum_b += age * delta_b;
        }
    }
};

// Standardised packed inputs: during the pass w holds u.
struct SplitUnit : Unit {
    const double* c;
    double c_dot_c;
    double offset;  // b - u . c
    double t = 0.0, sum_t = 0.0;

    SplitUnit(const LinearState& state, const Standardization& s, std::size_t k, std::size_t width)
        : Unit(state, k, width),
          c(s.mean),
          c_dot_c(dot(c, c, width)),
          offset(b - dot(w.data(), c, width)) {}

    template <class Row>
    [[gnu::always_inline]] double f(const Row& z, double shift) const {
        return z.dot(w.data()) + (offset - t * shift);
    }

    template <class Row>
    [[gnu::always_inline]] void step(const Row& z, double shift, double delta, double delta_b,
                                     double age) {
        z.add_to(w.data(), delta);
        t += delta;
        b += delta_b;
        offset += delta_b - delta * (shift + c_dot_c);
        if (averaged) {
            z.add_to(sum_w.data(), age * delta);
            sum_t += age * delta;
            sum_b += age * delta_b;
        }
    }

    void finish(const LinearState& state, std::size_t k, std::size_t count) {
        for (std::size_t j = 0; j < width; ++j) {
            w.data()[j] -= t * c[j];
            if (averaged) sum_w.data()[j] -= sum_t * c[j];
        }
        Unit::finish(state, k, count);
    }

    void rescale(double a, double ages) {
        Unit::rescale(a, ages);
        sum_t -= ages * t;
        t *= a;
        offset = b - dot(w.data(), c, width);
    }
};

// Any of these with weight decay: the unit holds v and no bias, w = a v.
//
// The mean of the weights over all steps needs S = sum_i a_i v_i. A step d_i on v is missing in the
// terms before i, hence, with A_i = a_1 + ... + a_i,
//
//   S = A_n v_n - sum_i A_(i-1) d_i x_i
//
// and the unit computes the second sum if A_(i-1) is the age that it is given. Without decay,
// A_i = i. Once a is small, both terms are much larger than S. So long before digits are lost they
// are combined, and a and A start again.
template <class Plain>
struct Decayed : Plain {
    double a = 1.0, inverse = 1.0;  // the scale, 1 / a
    double ages = 0.0;              // A
    double bias, sum_bias = 0.0;
    double smallest;  // below it, a starts again; without an average only v must not overflow

    Decayed(const LinearState& state, const Standardization& s, std::size_t k, std::size_t width)
        : Plain(state, s, k, width), bias(this->b), smallest(this->averaged ? 1e-3 : 1e-100) {
        this->b = 0.0;
        restart();
    }

    double rate(const Pass& pass, std::size_t n) const {
        return pass.rate / (1.0 + pass.slowing * static_cast<double>(n));
    }

    template <class Row>
    [[gnu::always_inline]] double f(const Row& x, double shift) const {
        return a * Plain::f(x, shift) + bias;
    }

    [[gnu::always_inline]] void decay(double rate, double mu) {
        a *= 1.0 - rate * mu;
        if (std::fabs(a) < smallest) restart();
        inverse = 1.0 / a;
    }

    template <class Row>
    [[gnu::always_inline]] void step(const Row& x, double shift, double delta, double delta_b,
                                     double age) {
        Plain::step(x, shift, delta * inverse, 0.0, ages);
        bias += delta_b;
        sum_bias += age * delta_b;
    }

    [[gnu::always_inline]] void count() { ages += a; }

    [[gnu::noinline]] void restart() {
        Plain::rescale(a, ages);
        a = inverse = 1.0;
        ages = 0.0;
    }

    // The sums outside are n w - S, as without decay.
    void finish(const LinearState& state, std::size_t k, std::size_t count) {
        restart();
        double* sum = this->averaged ? state.sum_w + k * this->width : nullptr;
        const double* w = state.w + k * this->width;
        const double steps = state.steps + static_cast<double>(count);
        for (std::size_t j = 0; sum && j < this->width; ++j) sum[j] -= state.steps * w[j];
        Plain::finish(state, k, count);
        for (std::size_t j = 0; sum && j < this->width; ++j) sum[j] += steps * w[j];
        state.b[k] = bias;
        if (sum) state.sum_b[k] += sum_bias;
    }
};

}  // namespace widemargin::WIDEMARGIN_ISA
