// Rows of the kernel for sparse examples, in tiles. Squared distances come from inner products,
//     ||x - x'||^2 = ||x||^2 + ||x'||^2 - 2 x.x'
#pragma once

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

// dot[row][example] of the panel and one block
template <class T>
[[gnu::always_inline]] inline void sparse_products(const PackedView& x, std::size_t block,
                                                   const T* panel, T (&dot)[kSparseRows][kBlock]) {
    constexpr std::size_t P = kSparseRows / kLanes<T>;
    const auto* values = static_cast<const T*>(x.values);
    for (std::size_t e = 0; e < kBlock; ++e) {
        Real<T> sum[P] = {};
        const std::size_t l = block * kBlock + e;
        const std::int64_t stop = l < x.count ? x.starts[l + 1] : 0;
        for (std::int64_t i = l < x.count ? x.starts[l] : 0; i < stop; ++i) {
            const T* column = panel + static_cast<std::size_t>(x.columns[i]) * kSparseRows;
#pragma GCC unroll 16
            for (std::size_t p = 0; p < P; ++p) {
                sum[p] += values[i] * load_lanes(column + p * kLanes<T>);
            }
        }
        for (std::size_t r = 0; r < kSparseRows; ++r) {
            dot[r][e] = sum[r / kLanes<T>][r % kLanes<T>];
        }
    }
}

template <class T, KernelName name>
void sparse_rows(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                 const RowUse& use) {
    constexpr std::size_t P = kBlockRegisters<T>, n = kLanes<T>;
    Vector<T> zeros(x.width * kSparseRows);
    T* panel = zeros.data();
    const T* norms = static_cast<const T*>(x.norms);
    const T* row_norms = static_cast<const T*>(rows.from->norms);
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
            alignas(kRegisterBytes) T dot[kSparseRows][kBlock];
            sparse_products<T>(x, block, panel, dot);
            for (std::size_t r = 0; r < valid; ++r) {
                Real<T> k[P];
                for (std::size_t p = 0; p < P; ++p) {
                    k[p] = load_lanes(dot[r] + p * n);
                    if constexpr (name == KernelName::rbf) {
                        const Real<T> both = load_lanes(norms + block * kBlock + p * n) +
                                             row_norms[rows.index[first + r]];
                        k[p] = larger<T>(both - T{2} * k[p], Real<T>{});
                    }
                    k[p] = finish<T, name>(k[p], kernel);
                }
                use_row<T>(k, first + r, rows.count, block, use);
            }
        }
        spread(rows, first, valid, true, panel);
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
