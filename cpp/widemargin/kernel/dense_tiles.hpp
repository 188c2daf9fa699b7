// Rows of the kernel for dense examples, in tiles: some rows by one block of examples, in
// registers.
//
// A distance is the sum over bits, groups and inputs, in this order (see PackedView).
#pragma once

#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>
#endif
#include <type_traits>

#include "widemargin/base/vector.hpp"
#include "widemargin/kernel/kernel_function.hpp"
#include "widemargin/kernel/row_sums.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// --------------------------------------------------------------------------- rows of a tile

// Rows per tile: as many as there are registers for their sums, 1 to 12.
template <class T>
constexpr std::size_t kTileRows =
    kAccumulators / kBlockRegisters<T> == 0
        ? 1
        : (kAccumulators / kBlockRegisters<T> > 12 ? 12 : kAccumulators / kBlockRegisters<T>);

// The rows of a tile side by side: [input][row].
template <class T>
struct Panel {
    const T* inputs;
    const T* categories;
    const T* weights;
    const std::uint32_t* bits;
};

// How many values of type T one panel takes.
template <class T, std::size_t R>
inline std::size_t panel_size(const PackedView& x) {
    const std::size_t words = (x.words * sizeof(std::uint32_t) + sizeof(T) - 1) / sizeof(T);
    return (x.width + 2 * x.groups + words) * R;
}

template <class T, std::size_t R>
[[gnu::always_inline]] inline Panel<T> panel_at(const PackedView& x, const T* memory) {
    const T* categories = memory + x.width * R;
    const T* weights = categories + x.groups * R;
    return {memory, categories, weights,
            reinterpret_cast<const std::uint32_t*>(weights + x.groups * R)};
}

template <class T, std::size_t R>
void pack_panel(const RowList& rows, std::size_t first, T* memory) {
    const PackedView& x = *rows.from;
    const Panel<T> panel = panel_at<T, R>(x, memory);
    for (std::size_t r = 0; r < R; ++r) {
        const std::size_t at = first + r < rows.count ? first + r : first;  // fills up the last
        const auto l = static_cast<std::size_t>(rows.index[at]);
        const std::size_t block = l / kBlock, lane = l % kBlock;
        const auto copy = [&](const auto* from, const auto* to, std::size_t n) {
            using Value = std::remove_cvref_t<decltype(*from)>;
            auto* out = const_cast<Value*>(reinterpret_cast<const Value*>(to));
            for (std::size_t j = 0; j < n; ++j) {
                out[j * R + r] = from[(block * n + j) * kBlock + lane];
            }
        };
        copy(static_cast<const T*>(x.inputs), panel.inputs, x.width);
        copy(static_cast<const T*>(x.categories), panel.categories, x.groups);
        copy(static_cast<const T*>(x.weights), panel.weights, x.groups);
        copy(x.bits, panel.bits, x.words);
    }
}

// --------------------------------------------------------------------------- a tile of sums

template <class T>
struct Words {
    typedef std::uint32_t Vector __attribute__((vector_size(4 * kLanes<T>), aligned(4)));
    typedef std::int32_t Signed __attribute__((vector_size(4 * kLanes<T>), aligned(4)));
};

// The number of ones in each lane.
template <class Vector>
[[gnu::always_inline]] inline Vector ones(Vector x) {
#if defined(__AVX512VPOPCNTDQ__)
    if constexpr (sizeof(Vector) == 64) return (Vector)_mm512_popcnt_epi32((__m512i)x);
    if constexpr (sizeof(Vector) == 32) return (Vector)_mm256_popcnt_epi32((__m256i)x);
#endif
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    x += x >> 8;
    return (x + (x >> 16)) & 0x3fu;
}

// sum = bit_weight * (number of bits that differ)
template <class T, std::size_t R>
[[gnu::always_inline]] inline void set_to_bits(const PackedView& x, std::size_t block,
                                               const Panel<T>& panel, Tile<T, R>& sum) {
    constexpr std::size_t P = kBlockRegisters<T>, n = kLanes<T>;
    using Word = typename Words<T>::Vector;
    const auto weight = static_cast<T>(x.bit_weight);
    Word count[R][P] = {};
    for (std::size_t w = 0; w < x.words; ++w) {
        const std::uint32_t* bits = x.bits + (block * x.words + w) * kBlock;
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            const Word mine = *reinterpret_cast<const Word*>(bits + p * n);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                count[r][p] += ones<Word>(mine ^ panel.bits[w * R + r]);
            }
        }
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            const auto whole = (typename Words<T>::Signed)count[r][p];
            sum[r][p] = weight * __builtin_convertvector(whole, Real<T>);
        }
    }
}

// sum += w + w', where the categories differ
template <class T, std::size_t R>
[[gnu::always_inline]] inline void add_groups(const PackedView& x, std::size_t block,
                                              const Panel<T>& panel, Tile<T, R>& sum) {
    constexpr std::size_t P = kBlockRegisters<T>, n = kLanes<T>;
    for (std::size_t g = 0; g < x.groups; ++g) {
        const std::size_t at = (block * x.groups + g) * kBlock;
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            const auto category = load_lanes(static_cast<const T*>(x.categories) + at + p * n);
            const auto weight = load_lanes(static_cast<const T*>(x.weights) + at + p * n);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                const auto both = weight + panel.weights[g * R + r];
                const auto differs = category != panel.categories[g * R + r] + Real<T>{};
                sum[r][p] += differs ? both : Real<T>{};
            }
        }
    }
}

// Distances or inner products of the panel's rows and one block of examples.
template <class T, Pairing pairing, std::size_t R>
[[gnu::always_inline]] inline void accumulate(const PackedView& x, std::size_t block,
                                              const Panel<T>& panel, Tile<T, R>& sum) {
    constexpr std::size_t P = kBlockRegisters<T>, n = kLanes<T>;
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) sum[r][p] = Real<T>{};
    }
    if constexpr (pairing != Pairing::product) {
        if (x.words > 0) set_to_bits<T, R>(x, block, panel, sum);
        add_groups<T, R>(x, block, panel, sum);
    }
    const T* inputs = static_cast<const T*>(x.inputs) + block * x.width * kBlock;
    for (std::size_t j = 0; j < x.width; ++j) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            const Real<T> mine = load_lanes(inputs + j * kBlock + p * n);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                if constexpr (pairing == Pairing::squared_distance) {
                    const Real<T> difference = mine - panel.inputs[j * R + r];
                    sum[r][p] += difference * difference;
                } else if constexpr (pairing == Pairing::absolute_distance) {
                    sum[r][p] += absolute<T>(mine - panel.inputs[j * R + r]);
                } else {
                    sum[r][p] += mine * panel.inputs[j * R + r];
                }
            }
        }
    }
}

// -------------------------------------------------------------------------------- all tiles

template <class T, KernelName name, std::size_t R>
void dense_rows(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                const RowUse& use) {
    constexpr std::int64_t chunk_blocks = 16;  // they stay in the cache while all panels pass
    const std::size_t panels = (rows.count + R - 1) / R, size = panel_size<T, R>(x);
    const Scratch<T> scratch(panels * size);
    T* memory = scratch.data();
    const auto chunks =
        static_cast<std::int64_t>(use.last - use.first + chunk_blocks - 1) / chunk_blocks;
#ifdef _OPENMP
#pragma omp parallel num_threads(use.threads) if (use.threads > 1 && chunks > 1)
#endif
    {
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
        for (std::int64_t p = 0; p < static_cast<std::int64_t>(panels); ++p) {
            pack_panel<T, R>(rows, static_cast<std::size_t>(p) * R,
                             memory + static_cast<std::size_t>(p) * size);
        }
#ifdef _OPENMP
#pragma omp for schedule(dynamic)
#endif
        for (std::int64_t c = 0; c < chunks; ++c) {
            const std::size_t begin = use.first + static_cast<std::size_t>(c) * chunk_blocks;
            const std::size_t end =
                begin + chunk_blocks < use.last ? begin + chunk_blocks : use.last;
            for (std::size_t p = 0; p < panels; ++p) {
                const Panel<T> panel = panel_at<T, R>(x, memory + p * size);
                for (std::size_t block = begin; block < end; ++block) {
                    Tile<T, R> k;
                    accumulate<T, pairing_of(name), R>(x, block, panel, k);
#pragma GCC unroll 16
                    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
                        for (std::size_t q = 0; q < kBlockRegisters<T>; ++q) {
                            k[r][q] = finish<T, name>(k[r][q], kernel);
                        }
                    }
                    use_tile<T, R>(k, p * R, rows.count, block, use);
                }
            }
        }
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
