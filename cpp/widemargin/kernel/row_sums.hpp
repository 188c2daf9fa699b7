// Uses values of the kernel (RowUse): keeps them, or adds them to f += coef k in double.
#pragma once

#include <utility>

#include "widemargin/base/lanes.hpp"
#include "widemargin/kernel/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <class T>
constexpr std::size_t kBlockRegisters = kBlock / kLanes<T>;  // registers per block

template <std::size_t half, std::size_t... lane>
[[gnu::always_inline]] inline Real<double> widen(Real<float> k, std::index_sequence<lane...>) {
    constexpr std::size_t offset = half * sizeof...(lane);
    return __builtin_convertvector(__builtin_shufflevector(k, k, (lane + offset)...), Real<double>);
}

// f of one block while rows are added to it.
template <class T>
struct BlockSum {
    static constexpr std::size_t registers = kBlock / kLanes<double>;
    Real<double> sum[registers];

    [[gnu::always_inline]] explicit BlockSum(const double* f) {
        for (std::size_t p = 0; p < registers; ++p) sum[p] = load_lanes(f + p * kLanes<double>);
    }
    [[gnu::always_inline]] void store(double* f) const {
        for (std::size_t p = 0; p < registers; ++p) store_lanes(f + p * kLanes<double>, sum[p]);
    }
    [[gnu::always_inline]] void add(double coef, const Real<T> (&k)[kBlockRegisters<T>]) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < kBlockRegisters<T>; ++p) {
            if constexpr (sizeof(T) == 8) {
                sum[p] += coef * k[p];
            } else {
                constexpr auto lanes = std::make_index_sequence<kLanes<double>>{};
                sum[2 * p] += coef * widen<0>(k[p], lanes);
                sum[2 * p + 1] += coef * widen<1>(k[p], lanes);
            }
        }
    }
};

// ---------------------------------------------------------------------- values in registers

template <class T, std::size_t R>
using Tile = Real<T>[R][kBlockRegisters<T>];

// Uses the finished tile: rows first..first+R-1, one block of examples.
template <class T, std::size_t R>
[[gnu::always_inline]] inline void use_tile(const Tile<T, R>& k, std::size_t first,
                                            std::size_t rows, std::size_t block,
                                            const RowUse& use) {
    constexpr std::size_t P = kBlockRegisters<T>, n = kLanes<T>;
    const std::size_t valid = rows - first < R ? rows - first : R;
    if (use.keep) {
        for (std::size_t r = 0; r < valid; ++r) {
            auto* row = static_cast<T*>(use.keep[first + r]);
            if (!row) continue;
            for (std::size_t p = 0; p < P; ++p) store_lanes(row + block * kBlock + p * n, k[r][p]);
        }
    }
    for (std::size_t o = 0; o < use.outputs; ++o) {
        const double* coef = use.coef + o * rows + first;
        double* f = use.f + o * use.stride + block * kBlock;
        BlockSum<T> sum(f);
        if (valid == R) {
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) sum.add(coef[r], k[r]);
        } else {
            for (std::size_t r = 0; r < valid; ++r) sum.add(coef[r], k[r]);
        }
        sum.store(f);
    }
}

// Uses one row over one block.
template <class T>
[[gnu::always_inline]] inline void use_row(const Real<T> (&k)[kBlockRegisters<T>], std::size_t row,
                                           std::size_t rows, std::size_t block, const RowUse& use) {
    if (use.keep && use.keep[row]) {
        T* to = static_cast<T*>(use.keep[row]) + block * kBlock;
        for (std::size_t p = 0; p < kBlockRegisters<T>; ++p) store_lanes(to + p * kLanes<T>, k[p]);
    }
    for (std::size_t o = 0; o < use.outputs; ++o) {
        double* f = use.f + o * use.stride + block * kBlock;
        BlockSum<T> sum(f);
        sum.add(use.coef[o * rows + row], k);
        sum.store(f);
    }
}

// ------------------------------------------------------------------------------- known rows

template <class T>
void add_known_rows_of(const KnownRows& rows) {
    constexpr std::int64_t chunk_blocks = 64;
    const auto chunks =
        static_cast<std::int64_t>(rows.last - rows.first + chunk_blocks - 1) / chunk_blocks;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) \
    num_threads(rows.threads) if (rows.threads > 1 && chunks > 1)
#endif
    for (std::int64_t c = 0; c < chunks; ++c) {
        const std::size_t begin = rows.first + static_cast<std::size_t>(c) * chunk_blocks;
        const std::size_t end = begin + chunk_blocks < rows.last ? begin + chunk_blocks : rows.last;
        constexpr std::size_t together = 8;  // rows between a load and a store of f
        for (std::size_t r = 0; r < rows.count; r += together) {
            const std::size_t stop = r + together < rows.count ? r + together : rows.count;
            for (std::size_t block = begin; block < end; ++block) {
                BlockSum<T> sum(rows.f + block * kBlock);
                for (std::size_t i = r; i < stop; ++i) {
                    const T* known = static_cast<const T*>(rows.known[i]) + block * kBlock;
                    Real<T> k[kBlockRegisters<T>];
                    for (std::size_t p = 0; p < kBlockRegisters<T>; ++p) {
                        k[p] = load_lanes(known + p * kLanes<T>);
                    }
                    sum.add(rows.coef[i], k);
                }
                sum.store(rows.f + block * kBlock);
            }
        }
    }
}

inline void add_known_rows(const KnownRows& rows) {
    if (rows.count == 0) return;
    rows.double_precision ? add_known_rows_of<double>(rows) : add_known_rows_of<float>(rows);
}

}  // namespace widemargin::WIDEMARGIN_ISA
