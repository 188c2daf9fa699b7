// Rows of the kernel matrix, computed in tiles of some rows by one block of examples and used while
// they are in registers: kept, or added to f(x) = sum_rows coef k(row, x).
//
// A value depends on its two examples only, not on their places, and k(x, x') = k(x', x) bit by
// bit: every path adds the same terms in the same order.
#pragma once

#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>
#endif
#include <utility>

#include "widemargin/lanes.hpp"
#include "widemargin/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <class T>
constexpr std::size_t kPanel =
    kAccumulators / kParts<T> == 0
        ? 1
        : (kAccumulators / kParts<T> > 12 ? 12 : kAccumulators / kParts<T>);  // rows of a tile

template <class T, std::size_t R>
using Tile = Real<T>[R][kParts<T>];

template <class T>
[[gnu::always_inline]] inline Real<T> load_lanes(const T* from) {
    typedef T Unaligned __attribute__((vector_size(kRegisterBytes), aligned(alignof(T))));
    return *reinterpret_cast<const Unaligned*>(from);
}

template <class T>
[[gnu::always_inline]] inline void store_lanes(T* to, Real<T> value) {
    typedef T Unaligned __attribute__((vector_size(kRegisterBytes), aligned(alignof(T))));
    *reinterpret_cast<Unaligned*>(to) = value;
}

// ------------------------------------------------------------------- f += coef k, in double

template <std::size_t half, std::size_t... lane>
[[gnu::always_inline]] inline Real<double> widen(Real<float> k, std::index_sequence<lane...>) {
    constexpr std::size_t offset = half * sizeof...(lane);
    return __builtin_convertvector(__builtin_shufflevector(k, k, (lane + offset)...), Real<double>);
}

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
    [[gnu::always_inline]] void add(double coef, const Real<T> (&k)[kParts<T>]) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < kParts<T>; ++p) {
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

// ----------------------------------------------------------------------- the kernel function

template <class T>
[[gnu::always_inline]] inline Real<T> power(Real<T> base, int degree) {
    Real<T> result = all<T>(1);
    for (; degree > 0; degree >>= 1) {
        if (degree & 1) result *= base;
        base *= base;
    }
    return result;
}

// tanh(x) = sign(x) (1 - e) / (1 + e) with e = exp(-2|x|)
template <class T>
[[gnu::always_inline]] inline Real<T> hyperbolic_tangent(Real<T> x) {
    constexpr T two_log2_e = static_cast<T>(2.88539008177792681471984936200378427L);
    const Real<T> size = larger<T>(x, -x);
    const Real<T> e = exp2_of_negative<T>(size * -two_log2_e);
    const Real<T> value = (T{1} - e) / (T{1} + e);
    return x < Real<T>{} ? -value : value;
}

// `sum` is the squared distance for rbf, the inner product otherwise.
template <class T, KernelName name>
[[gnu::always_inline]] inline Real<T> finish(Real<T> sum, const KernelFunction& kernel) {
    if constexpr (name == KernelName::rbf) {
        constexpr double log2_e = 1.44269504088896340735992468100189214;
        return exp2_of_negative<T>(sum * static_cast<T>(-kernel.gamma * log2_e));
    } else if constexpr (name == KernelName::linear) {
        return sum;
    } else {
        const auto gamma = static_cast<T>(kernel.gamma), coef0 = static_cast<T>(kernel.coef0);
        const Real<T> inner = sum * gamma + coef0;
        return name == KernelName::poly ? power<T>(inner, kernel.degree)
                                        : hyperbolic_tangent<T>(inner);
    }
}

// --------------------------------------------------------------------------- dense examples

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

// The rows of a tile, transposed: [input][row].
template <class T>
struct Panel {
    const T* inputs;
    const T* categories;
    const T* weights;
    const std::uint32_t* bits;
};

// Elements of type T that one panel takes.
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
        const std::size_t at = first + r < rows.count ? first + r : first;  // the last is filled up
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

// Squared distances (rbf) or inner products of the panel's rows and one block of examples.
template <class T, bool distance, std::size_t R>
[[gnu::always_inline]] inline void accumulate(const PackedView& x, std::size_t block,
                                              const Panel<T>& panel, Tile<T, R>& sum) {
    constexpr std::size_t P = kParts<T>, n = kLanes<T>;
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) sum[r][p] = Real<T>{};
    }
    if constexpr (distance) {
        if (x.words > 0) {
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
    const T* inputs = static_cast<const T*>(x.inputs) + block * x.width * kBlock;
    for (std::size_t j = 0; j < x.width; ++j) {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            const Real<T> mine = load_lanes(inputs + j * kBlock + p * n);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                if constexpr (distance) {
                    const Real<T> difference = mine - panel.inputs[j * R + r];
                    sum[r][p] += difference * difference;
                } else {
                    sum[r][p] += mine * panel.inputs[j * R + r];
                }
            }
        }
    }
}

// Uses the finished tile: rows first..first+R-1, one block of examples.
template <class T, std::size_t R>
[[gnu::always_inline]] inline void use_tile(const Tile<T, R>& k, std::size_t first,
                                            std::size_t rows, std::size_t block,
                                            const RowUse& use) {
    constexpr std::size_t P = kParts<T>, n = kLanes<T>;
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
[[gnu::always_inline]] inline void use_row(const Real<T> (&k)[kParts<T>], std::size_t row,
                                           std::size_t rows, std::size_t block, const RowUse& use) {
    if (use.keep && use.keep[row]) {
        T* to = static_cast<T*>(use.keep[row]) + block * kBlock;
        for (std::size_t p = 0; p < kParts<T>; ++p) store_lanes(to + p * kLanes<T>, k[p]);
    }
    for (std::size_t o = 0; o < use.outputs; ++o) {
        double* f = use.f + o * use.stride + block * kBlock;
        BlockSum<T> sum(f);
        sum.add(use.coef[o * rows + row], k);
        sum.store(f);
    }
}

template <class T, KernelName name, std::size_t R>
void dense_rows(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                const RowUse& use) {
    constexpr std::int64_t blocks_a_chunk = 16;  // stay in the cache while all panels pass
    const std::size_t panels = (rows.count + R - 1) / R, size = panel_size<T, R>(x);
    T* memory = new T[panels * size];
    const auto chunks =
        static_cast<std::int64_t>(use.last - use.first + blocks_a_chunk - 1) / blocks_a_chunk;
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
            const std::size_t begin = use.first + static_cast<std::size_t>(c) * blocks_a_chunk;
            const std::size_t end =
                begin + blocks_a_chunk < use.last ? begin + blocks_a_chunk : use.last;
            for (std::size_t p = 0; p < panels; ++p) {
                const Panel<T> panel = panel_at<T, R>(x, memory + p * size);
                for (std::size_t block = begin; block < end; ++block) {
                    Tile<T, R> k;
                    accumulate<T, name == KernelName::rbf, R>(x, block, panel, k);
#pragma GCC unroll 16
                    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
                        for (std::size_t q = 0; q < kParts<T>; ++q) {
                            k[r][q] = finish<T, name>(k[r][q], kernel);
                        }
                    }
                    use_tile<T, R>(k, p * R, rows.count, block, use);
                }
            }
        }
    }
    delete[] memory;
}

// -------------------------------------------------------------------------- sparse examples

// Rows of a panel side by side, spread over all inputs: [input][row]. Each stored input of an
// example is then one product with whole registers.
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
    constexpr std::size_t P = kParts<T>, n = kLanes<T>;
    T* panel = new T[x.width * kSparseRows]();
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
    delete[] panel;
}

template <class T, KernelName name>
void rows_by_layout(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                    const RowUse& use) {
    if (x.values) return sparse_rows<T, name>(kernel, rows, x, use);
    rows.count == 1 ? dense_rows<T, name, 1>(kernel, rows, x, use)
                    : dense_rows<T, name, kPanel<T>>(kernel, rows, x, use);
}

template <class T>
void kernel_rows_of(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                    const RowUse& use) {
    switch (kernel.name) {
        case KernelName::linear: return rows_by_layout<T, KernelName::linear>(kernel, rows, x, use);
        case KernelName::poly: return rows_by_layout<T, KernelName::poly>(kernel, rows, x, use);
        case KernelName::rbf: return rows_by_layout<T, KernelName::rbf>(kernel, rows, x, use);
        case KernelName::sigmoid:
            return rows_by_layout<T, KernelName::sigmoid>(kernel, rows, x, use);
    }
}

inline void kernel_rows(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                        const RowUse& use) {
    if (rows.count == 0) return;
    x.wide ? kernel_rows_of<double>(kernel, rows, x, use)
           : kernel_rows_of<float>(kernel, rows, x, use);
}

// -------------------------------------------------------------------------------- known rows

template <class T>
void add_known_rows_of(const KnownRows& rows) {
    constexpr std::int64_t blocks_a_chunk = 64;
    const auto chunks =
        static_cast<std::int64_t>(rows.last - rows.first + blocks_a_chunk - 1) / blocks_a_chunk;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) \
    num_threads(rows.threads) if (rows.threads > 1 && chunks > 1)
#endif
    for (std::int64_t c = 0; c < chunks; ++c) {
        const std::size_t begin = rows.first + static_cast<std::size_t>(c) * blocks_a_chunk;
        const std::size_t end =
            begin + blocks_a_chunk < rows.last ? begin + blocks_a_chunk : rows.last;
        constexpr std::size_t together = 8;  // rows, between a load and a store of f
        for (std::size_t r = 0; r < rows.count; r += together) {
            const std::size_t stop = r + together < rows.count ? r + together : rows.count;
            for (std::size_t block = begin; block < end; ++block) {
                BlockSum<T> sum(rows.f + block * kBlock);
                for (std::size_t i = r; i < stop; ++i) {
                    const T* known = static_cast<const T*>(rows.known[i]) + block * kBlock;
                    Real<T> k[kParts<T>];
                    for (std::size_t p = 0; p < kParts<T>; ++p) {
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
    rows.wide ? add_known_rows_of<double>(rows) : add_known_rows_of<float>(rows);
}

}  // namespace widemargin::WIDEMARGIN_ISA
