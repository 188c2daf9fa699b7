// Columns of numbers as the rows of a matrix, and whether all of them are finite.
//
// A chunk of rows is put together in the first-level cache, four columns at a time, and then
// written at once. It takes some whole cache lines of each column; the next ones are fetched
// meanwhile.
#pragma once

#include <cstring>
#include <type_traits>

#include "widemargin/base/vector.hpp"
#include "widemargin/rows/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// All bits of the exponent are set for infinities and NaN: adding one to its last bit reaches the
// sign. (No early exit, so that the loop is vectorised.)
template <class T>
bool all_finite(const T* values, std::size_t count) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits one = sizeof(T) == 4 ? Bits{1} << 23 : static_cast<Bits>(std::uint64_t{1} << 52);
    constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
    Bits reached = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Bits bits;
        std::memcpy(&bits, values + i, sizeof bits);
        reached |= (bits & ~sign) + one;
    }
    return !(reached & sign);
}

template <class T>
bool interleave_columns(const ColumnList& columns, T* out) {
    typedef T Four __attribute__((vector_size(4 * sizeof(T)), aligned(alignof(T))));
    constexpr std::size_t rows = 1024 / sizeof(T), line = kCacheLineBytes / sizeof(T);
    // Rows of the chunk are no power of two apart: they would compete for the same cache lines.
    const std::size_t width = columns.count,
                      stride = (width + 3) / 4 * 4 + (width % line == 0 ? 4 : 0);
    Vector<T> chunk(rows * stride);
    const auto column = [&](std::size_t j) { return static_cast<const T*>(columns.values[j]); };
    bool finite = true;
    for (std::size_t first = 0; first < columns.rows; first += rows) {
        const std::size_t left = columns.rows - first, count = left < rows ? left : rows;
        const auto looked_at = [&](std::size_t j) {
            const T* from = column(j) + first;
            for (std::size_t i = 0; i < rows && left >= 2 * rows; i += line) {
                __builtin_prefetch(from + rows + i, 0, 2);
            }
            finite &= all_finite(from, count);
            return from;
        };
        std::size_t j = 0;
        for (; j + 4 <= width; j += 4) {
            const T *a = looked_at(j), *b = looked_at(j + 1);
            const T *c = looked_at(j + 2), *d = looked_at(j + 3);
            for (std::size_t i = 0; i < count; ++i) {
                const Four values = {a[i], b[i], c[i], d[i]};
                *reinterpret_cast<Four*>(chunk.data() + i * stride + j) = values;
            }
        }
        for (; j < width; ++j) {
            const T* from = looked_at(j);
            for (std::size_t i = 0; i < count; ++i) chunk[i * stride + j] = from[i];
        }
        if (stride == width) {
            std::memcpy(out + first * width, chunk.data(), count * width * sizeof(T));
            continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(out + (first + i) * width, chunk.data() + i * stride, width * sizeof(T));
        }
    }
    return finite;
}

inline bool interleave(const ColumnList& columns, void* out) {
    return columns.double_precision ? interleave_columns(columns, static_cast<double*>(out))
                                    : interleave_columns(columns, static_cast<float*>(out));
}

}  // namespace widemargin::WIDEMARGIN_ISA
