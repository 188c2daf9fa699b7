// Vectors of examples: dot products and updates, dense or sparse, float or double.
//
// Weights and sums are double whatever the inputs are.
#pragma once

#include <new>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// GCC's and Clang's vector types: one source for every instruction set.
using Lanes4 = double __attribute__((vector_size(32), aligned(8)));
using Lanes2 = double __attribute__((vector_size(16), aligned(8)));

template <class Lanes, class T>
[[gnu::always_inline]] inline Lanes load(const T* x) {
    if constexpr (sizeof(Lanes) == sizeof(double)) {
        return *x;
    } else {
        typedef T Source __attribute__((vector_size(sizeof(T) * (sizeof(Lanes) / sizeof(double))),
                                        aligned(alignof(T))));
        return __builtin_convertvector(*reinterpret_cast<const Source*>(x), Lanes);
    }
}

// Registers of 32 bytes where there are any: larger stores, reloaded at once by the next example,
// measured slower on CPUs that have them.
#if defined(__AVX__)
using Register = Lanes4;
#else
using Register = Lanes2;
#endif
constexpr std::size_t kRegister = sizeof(Register) / sizeof(double);

[[gnu::always_inline]] inline double sum(double one) {
    return one;
}
[[gnu::always_inline]] inline double sum(Lanes2 two) {
    return two[0] + two[1];
}
[[gnu::always_inline]] inline double sum(Lanes4 four) {
    return (four[0] + four[2]) + (four[1] + four[3]);
}

// Calls step(lanes, j) for what whole registers leave of 0..n-1, in pieces of 2 and 1.
template <class Step>
[[gnu::always_inline]] inline void for_rest(std::size_t n, std::size_t j, Step&& step) {
    if constexpr (kRegister > 2) {
        if (n & 2) step(Lanes2{}, j), j += 2;
    }
    if (n & 1) step(double{}, j);
}

// Calls step(lanes, j) for all of 0..n-1. What one loop stores the next can load without waiting,
// since all cut a vector at the same places.
template <class Step>
[[gnu::always_inline]] inline void for_lanes(std::size_t n, Step&& step) {
    std::size_t j = 0;
    for (; j + kRegister <= n; j += kRegister) step(Register{}, j);
    for_rest(n, j, step);
}

template <class Lanes>
[[gnu::always_inline]] inline void store(double* to, Lanes value) {
    *reinterpret_cast<Lanes*>(to) = value;
}

// sum over j of term(lanes, j), in short chains: an update must wait for this sum
template <class Term>
[[gnu::always_inline]] inline double sum_lanes(std::size_t n, Term&& term) {
    Register even{}, odd{};
    std::size_t j = 0;
    for (; j + 2 * kRegister <= n; j += 2 * kRegister) {
        even += term(Register{}, j);
        odd += term(Register{}, j + kRegister);
    }
    if (n & kRegister) even += term(Register{}, j), j += kRegister;
    double total = sum(even + odd);
    for_rest(n, j, [&](auto lanes, std::size_t at) { total += sum(term(lanes, at)); });
    return total;
}

template <class T>
[[gnu::always_inline]] inline double dot(const double* w, const T* x, std::size_t n) {
    return sum_lanes(n, [&]<class Lanes>(Lanes, std::size_t j) {
        return load<Lanes>(w + j) * load<Lanes>(x + j);
    });
}

// Zeros, at the start of a cache line: no register of a vector straddles two.
class AlignedVector {
   public:
    explicit AlignedVector(std::size_t n)
        : data_(static_cast<double*>(::operator new[](n * sizeof(double), kAlignment))) {
        for (std::size_t j = 0; j < n; ++j) data_[j] = 0.0;
    }
    ~AlignedVector() { ::operator delete[](data_, kAlignment); }
    AlignedVector(const AlignedVector&) = delete;
    AlignedVector& operator=(const AlignedVector&) = delete;

    double* data() const { return data_; }

   private:
    static constexpr std::align_val_t kAlignment{kLine};
    double* data_;
};

// Orders are random: what comes soon is fetched before its turn; the hardware follows from there.
// (Always inlined: the compiler drops calls of functions that do nothing but fetch.)
[[gnu::always_inline]] inline void prefetch_lines(const void* first, const void* last) {
    const char* line = static_cast<const char*>(first);
    const char* end = static_cast<const char*>(last);
    if (end - line > 512) end = line + 512;
    for (; line < end; line += kLine) __builtin_prefetch(line);
}

// The first line and the last, of which most sparse rows consist: no loop that is hard to predict.
template <class T>
[[gnu::always_inline]] inline void prefetch_ends(const T* first, const T* last) {
    __builtin_prefetch(first);
    __builtin_prefetch(last - 1);
}

template <class T>
struct DenseRow {
    const T* x;
    std::size_t width;

    [[gnu::always_inline]] double dot(const double* w) const {
        return WIDEMARGIN_ISA::dot(w, x, width);
    }

    double squared_norm() const {
        return sum_lanes(width, [&]<class Lanes>(Lanes, std::size_t j) {
            return load<Lanes>(x + j) * load<Lanes>(x + j);
        });
    }

    // w += a x
    [[gnu::always_inline]] void add_to(double* w, double a) const {
        for_lanes(width, [&]<class Lanes>(Lanes, std::size_t j) {
            store(w + j, load<Lanes>(w + j) + a * load<Lanes>(x + j));
        });
    }
    // w . (x - m)
    [[gnu::always_inline]] double dot(const double* w, const double* m) const {
        return sum_lanes(width, [&]<class Lanes>(Lanes, std::size_t j) {
            return load<Lanes>(w + j) * (load<Lanes>(x + j) - load<Lanes>(m + j));
        });
    }
    // w += a (x - m) * s, element by element
    [[gnu::always_inline]] void add_to(double* w, double a, const double* s,
                                       const double* m) const {
        for_lanes(width, [&]<class Lanes>(Lanes, std::size_t j) {
            const Lanes centred = load<Lanes>(x + j) - load<Lanes>(m + j);
            store(w + j, load<Lanes>(w + j) + a * centred * load<Lanes>(s + j));
        });
    }
};

template <class T>
struct SparseRow {
    const T* x;
    const std::int32_t* j;
    std::size_t count;

    // sum over i of term(i), in short chains: an update must wait for this sum
    template <class Term>
    [[gnu::always_inline]] double total(Term&& term) const {
        double sums[4] = {};
        std::size_t i = 0;
        for (; i + 4 <= count; i += 4) {
            for (std::size_t k = 0; k < 4; ++k) sums[k] += term(i + k);
        }
        for (; i < count; ++i) sums[i % 4] += term(i);
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }

    [[gnu::always_inline]] double dot(const double* w) const {
        return total([&](std::size_t i) { return w[j[i]] * x[i]; });
    }
    [[gnu::always_inline]] void add_to(double* w, double a) const {
        for (std::size_t i = 0; i < count; ++i) w[j[i]] += a * x[i];
    }
    double squared_norm() const {
        return total([&](std::size_t i) { return double{x[i]} * x[i]; });
    }
};

template <class T>
struct DenseRows {
    using Value = T;
    using Row = DenseRow<T>;
    static constexpr bool packed = false;
    const T* values;
    std::size_t width;

    Row operator[](std::size_t l) const { return {values + l * width, width}; }

    [[gnu::always_inline]] void prefetch(std::size_t l) const {
        prefetch_lines(values + l * width, values + (l + 1) * width);
    }
    [[gnu::always_inline]] void prefetch_start(std::size_t) const {}
};

template <class T>
struct SparseRows {
    using Value = T;
    using Row = SparseRow<T>;
    static constexpr bool packed = false;
    const T* values;
    const std::int32_t* columns;
    const std::int64_t* starts;

    Row operator[](std::size_t l) const {
        const auto first = starts[l];
        return {values + first, columns + first, static_cast<std::size_t>(starts[l + 1] - first)};
    }

    [[gnu::always_inline]] void prefetch(std::size_t l) const {
        const auto first = starts[l], last = starts[l + 1];
        prefetch_ends(values + first, values + last);
        prefetch_ends(columns + first, columns + last);
    }
    [[gnu::always_inline]] void prefetch_start(std::size_t l) const {
        __builtin_prefetch(starts + l);
    }
};

// Calls visitor(rows) with the layout's own type.
template <class Visitor>
decltype(auto) with_rows(const Rows& rows, Visitor&& visitor) {
    const auto* f32 = static_cast<const float*>(rows.values);
    const auto* f64 = static_cast<const double*>(rows.values);
    switch (rows.layout) {
        case Layout::dense32: return visitor(DenseRows<float>{f32, rows.width});
        case Layout::dense64: return visitor(DenseRows<double>{f64, rows.width});
        case Layout::sparse32: return visitor(SparseRows<float>{f32, rows.columns, rows.starts});
        default: break;
    }
    return visitor(SparseRows<double>{f64, rows.columns, rows.starts});
}

// out_lk = w_k . x_l + b_k
inline void decision(const Rows& rows, std::size_t outputs, const double* w, const double* b,
                     double* out, [[maybe_unused]] int threads) {
    with_rows(rows, [&](auto x) {
        const auto count = static_cast<std::int64_t>(rows.count);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
#endif
        for (std::int64_t l = 0; l < count; ++l) {
            const auto row = x[static_cast<std::size_t>(l)];
            for (std::size_t k = 0; k < outputs; ++k) {
                out[static_cast<std::size_t>(l) * outputs + k] = row.dot(w + k * rows.width) + b[k];
            }
        }
    });
}

// out_j = sum_l coef_l x_lj. The examples are cut into as many pieces as there are threads.
inline void combine(const Rows& rows, const double* coef, double* out,
                    [[maybe_unused]] int threads) {
    const auto pieces = static_cast<std::size_t>(threads);
    AlignedVector sums(pieces * rows.width);
    with_rows(rows, [&](auto x) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
#endif
        for (int piece = 0; piece < threads; ++piece) {
            const auto k = static_cast<std::size_t>(piece);
            const std::size_t end = rows.count * (k + 1) / pieces;
            for (std::size_t l = rows.count * k / pieces; l < end; ++l) {
                if (coef[l] != 0.0) x[l].add_to(sums.data() + k * rows.width, coef[l]);
            }
        }
    });
    for (std::size_t j = 0; j < rows.width; ++j) {
        out[j] = 0.0;
        for (std::size_t k = 0; k < pieces; ++k) out[j] += sums.data()[k * rows.width + j];
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
