// Rows of the kernel for sparse examples, in tiles. Distances come from what two examples share,
//     ||x - x'||^2 = ||x||^2 + ||x'||^2 - 2 x.x'
//     ||x - x'||_1 = ||x||_1 + ||x'||_1 - 2 sum_j min(|x_j|, |x'_j|)    over equal signs
// Where that cancels, and the kernel can tell, they are sums of differences.
#pragma once

#include <cmath>

#include "widemargin/base/vector.hpp"
#include "widemargin/kernel/kernel_function.hpp"
#include "widemargin/kernel/row_sums.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Writes rows into a panel over all inputs, [input][row], or clears them again. Each stored input
// of an example is then one product with whole registers.
template <class T>
void spread(const RowList& rows, std::size_t first, std::size_t valid, bool clear, T* panel) {
    const PackedView& x = *rows.from;
    for (std::size_t r = 0; r < valid; ++r) {
        const std::int64_t l = rows.index[first + r];
        for (std::int64_t i = x.starts[l]; i < x.starts[l + 1]; ++i) {
            panel[static_cast<std::size_t>(x.columns[i]) * kSparseRows + r] =
                clear ? T{0} : static_cast<const T*>(x.values)[i];
        }
    }
}

// What two inputs share: their product, or the smaller one if they have the same sign.
template <class T, Pairing pairing>
[[gnu::always_inline]] inline Real<T> shared_part(T value, Real<T> column) {
    if constexpr (pairing != Pairing::absolute_distance) return value * column;
    const T sign = value < 0 ? T{-1} : T{1};
    return larger<T>(smaller<T>(sign * column, all<T>(sign * value)), Real<T>{});
}

// Examples that are summed together, if they have few registers each: sums of one wait for each
// other.
template <class T>
constexpr std::size_t kSparseExamples = kSparseRows / kLanes<T> <= 2 ? 2 : 1;

// shared[row][example] of the panel and one block
template <class T, Pairing pairing>
[[gnu::always_inline]] inline void sparse_sums(const PackedView& x, std::size_t block,
                                               const T* panel, T (&shared)[kSparseRows][kBlock]) {
    constexpr std::size_t P = kSparseRows / kLanes<T>, G = kSparseExamples<T>;
    const auto* values = static_cast<const T*>(x.values);
    const auto add = [&](std::int64_t i, Real<T>(&sum)[P]) __attribute__((always_inline)) {
        const T* column = panel + static_cast<std::size_t>(x.columns[i]) * kSparseRows;
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            sum[p] += shared_part<T, pairing>(values[i], load_lanes(column + p * kLanes<T>));
        }
    };
    for (std::size_t e = 0; e < kBlock; e += G) {
        Real<T> sum[G][P] = {};
        std::int64_t at[G], stop[G], both = 0;  // how many inputs all of them have
        for (std::size_t g = 0; g < G; ++g) {
            const std::size_t l = block * kBlock + e + g;
            at[g] = l < x.count ? x.starts[l] : 0;
            stop[g] = l < x.count ? x.starts[l + 1] : 0;
            both = g == 0 || stop[g] - at[g] < both ? stop[g] - at[g] : both;
        }
        for (std::int64_t i = 0; i < both; ++i) {
#pragma GCC unroll 16
            for (std::size_t g = 0; g < G; ++g) add(at[g] + i, sum[g]);
        }
#pragma GCC unroll 16
        for (std::size_t g = 0; g < G; ++g) {
            for (std::int64_t i = at[g] + both; i < stop[g]; ++i) add(i, sum[g]);
            for (std::size_t r = 0; r < kSparseRows; ++r) {
                shared[r][e + g] = sum[g][r / kLanes<T>][r % kLanes<T>];
            }
        }
    }
}

// A distance below this fraction of the two norms has lost its last digits: its relative error may
// exceed 2^-18 (float), 2^-33 (double), or 2^-43 where a root magnifies it.
template <class T, KernelName name>
constexpr T kCancelled = sizeof(T) == 4            ? T{0x1p-6}
                         : name == KernelName::rbf ? T{0x1p-20}
                                                   : T{0x1p-10};

// The distance from the differences, in the order of the columns.
template <class T, Pairing pairing>
T distance_of(const PackedView& a, std::size_t l, const PackedView& b, std::size_t m) {
    const T *x = static_cast<const T*>(a.values), *z = static_cast<const T*>(b.values);
    std::int64_t i = a.starts[l], k = b.starts[m];
    const std::int64_t end = a.starts[l + 1], stop = b.starts[m + 1];
    double sum = 0.0;
    while (i < end || k < stop) {
        const bool mine = k == stop || (i < end && a.columns[i] <= b.columns[k]);
        const bool yours = i == end || (k < stop && b.columns[k] <= a.columns[i]);
        double difference = 0.0;
        if (mine) difference += static_cast<double>(x[i++]);
        if (yours) difference -= static_cast<double>(z[k++]);
        sum +=
            pairing == Pairing::absolute_distance ? std::abs(difference) : difference * difference;
    }
    return static_cast<T>(sum);
}

// Distances of one row and one block from what they share.
template <class T, KernelName name>
[[gnu::always_inline]] inline void sparse_distances(const PackedView& x, std::size_t block,
                                                    const PackedView& from, std::size_t row,
                                                    T (&sum)[kBlock]) {
    constexpr std::size_t n = kLanes<T>;
    const T* terms = static_cast<const T*>(x.terms) + block * kBlock;
    const T term = static_cast<const T*>(from.terms)[row];
    for (std::size_t p = 0; p < kBlockRegisters<T>; ++p) {
        const Real<T> both = load_lanes(terms + p * n) + term;
        const Real<T> distance = both - T{2} * load_lanes(sum + p * n);
        store_lanes(sum + p * n, larger<T>(distance, Real<T>{}));
    }
    if (!x.cancels) return;
    for (std::size_t e = 0; e < kBlock && block * kBlock + e < x.count; ++e) {
        const bool kept = sum[e] >= kCancelled<T, name> * (terms[e] + term);  // false for NaN
        if (!kept) sum[e] = distance_of<T, pairing_of(name)>(x, block * kBlock + e, from, row);
    }
}

// Inner products of centred examples from those of what is stored.
template <class T>
[[gnu::always_inline]] inline void add_terms(const PackedView& x, std::size_t block,
                                             const PackedView& from, std::size_t row,
                                             T (&sum)[kBlock]) {
    const T* terms = static_cast<const T*>(x.terms) + block * kBlock;
    const T term = static_cast<const T*>(from.terms)[row];
    for (std::size_t e = 0; e < kBlock; ++e) sum[e] += terms[e] + term;
}

template <class T, KernelName name>
void sparse_rows(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                 const RowUse& use) {
    constexpr std::size_t P = kBlockRegisters<T>, n = kLanes<T>;
    constexpr Pairing pairing = pairing_of(name);
    Vector<T> zeros(x.width * kSparseRows);
    T* panel = zeros.data();
    const auto begin = static_cast<std::int64_t>(use.first);
    const auto end = static_cast<std::int64_t>(use.last);
    for (std::size_t first = 0; first < rows.count; first += kSparseRows) {
        const std::size_t valid =
            rows.count - first < kSparseRows ? rows.count - first : kSparseRows;
        spread(rows, first, valid, false, panel);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 8) \
    num_threads(use.threads) if (use.threads > 1 && end - begin > 8)
#endif
        for (std::int64_t b = begin; b < end; ++b) {
            const auto block = static_cast<std::size_t>(b);
            alignas(kRegisterBytes) T sums[kSparseRows][kBlock];
            sparse_sums<T, pairing>(x, block, panel, sums);
            for (std::size_t r = 0; r < valid; ++r) {
                const auto row = static_cast<std::size_t>(rows.index[first + r]);
                if constexpr (pairing != Pairing::product) {
                    sparse_distances<T, name>(x, block, *rows.from, row, sums[r]);
                } else if (x.terms) {
                    add_terms<T>(x, block, *rows.from, row, sums[r]);
                }
                Real<T> k[P];
                for (std::size_t p = 0; p < P; ++p) {
                    k[p] = finish<T, name>(load_lanes(sums[r] + p * n), kernel);
                }
                use_row<T>(k, first + r, rows.count, block, use);
            }
        }
        spread(rows, first, valid, true, panel);
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
