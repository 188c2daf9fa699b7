// Rows of examples, dense or sparse, float or double: dot products and updates.
#pragma once

#include <algorithm>

#include "widemargin/base/double_lanes.hpp"
#include "widemargin/base/vector.hpp"
#include "widemargin/rows/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Orders are random, so rows are fetched before their turn; the hardware follows from there.
// (Always inlined: the compiler drops calls of functions that do nothing but fetch.)
[[gnu::always_inline]] inline void prefetch_lines(const void* first, const void* last) {
    const char* line = static_cast<const char*>(first);
    const char* end = static_cast<const char*>(last);
    if (end - line > 512) end = line + 512;
    for (; line < end; line += kCacheLineBytes) __builtin_prefetch(line);
}

// The first cache line and the last: most sparse rows have no other, and a loop over them would be
// hard to predict.
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

// Calls visitor(rows) with the type of the layout.
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

// Into how many parts a sum over the examples is divided, whatever the number of threads. Each part
// is worth a thread and reads far more values than it has sums.
inline std::size_t sum_parts(const Rows& rows) {
    constexpr std::size_t most = 8, least_values = 1 << 16, values_per_sum = 16;
    const bool sparse = rows.layout == Layout::sparse32 || rows.layout == Layout::sparse64;
    const std::size_t values =
        sparse ? static_cast<std::size_t>(rows.starts[rows.count]) : rows.count * rows.width;
    const std::size_t part = std::max(least_values, values_per_sum * rows.width);
    return std::clamp<std::size_t>(values / part, 1, most);
}

// out_j = sum_l coef_l x_lj. The parts are summed separately and added in order, so that the result
// does not depend on the number of threads.
inline void combine(const Rows& rows, const double* coef, double* out,
                    [[maybe_unused]] int threads) {
    const std::size_t parts = sum_parts(rows);
    AlignedVector sums(parts * rows.width);
    with_rows(rows, [&](auto x) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && parts > 1)
#endif
        for (std::size_t k = 0; k < parts; ++k) {
            const std::size_t end = rows.count * (k + 1) / parts;
            for (std::size_t l = rows.count * k / parts; l < end; ++l) {
                if (coef[l] != 0.0) x[l].add_to(sums.data() + k * rows.width, coef[l]);
            }
        }
    });
    for (std::size_t j = 0; j < rows.width; ++j) {
        out[j] = 0.0;
        for (std::size_t k = 0; k < parts; ++k) out[j] += sums.data()[k * rows.width + j];
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
