// Columns of numbers as the rows of a matrix, and whether all of them are finite.
//
// A block of rows stays in the first cache while one column after the other is written to it; of
// each column it takes some whole cache lines, and the next ones are fetched meanwhile.
#pragma once

#include <cstring>
#include <type_traits>

#include "widemargin/problem.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Infinite or no number: all bits of the exponent are set. (No early exit: compiled to vectors.)
template <class T>
bool all_finite(const T* values, std::size_t count) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr auto exponent =
        static_cast<Bits>(sizeof(T) == 4 ? 0x7f800000u : 0x7ff0000000000000u);
    bool finite = true;
    for (std::size_t i = 0; i < count; ++i) {
        Bits bits;
        std::memcpy(&bits, values + i, sizeof bits);
        finite &= (bits & exponent) != exponent;
    }
    return finite;
}

template <class T>
bool interleave_columns(const ColumnList& columns, T* out) {
    constexpr std::size_t rows = 256 / sizeof(T);  // of a block: four lines a column
    bool finite = true;
    for (std::size_t first = 0; first < columns.rows; first += rows) {
        const std::size_t left = columns.rows - first, count = left < rows ? left : rows;
        for (std::size_t j = 0; j < columns.count; ++j) {
            const T* from = static_cast<const T*>(columns.values[j]) + first;
            if (left >= 2 * rows) {
                for (std::size_t i = 0; i < rows; i += kLine / sizeof(T)) {
                    __builtin_prefetch(from + rows + i);
                }
            }
            T* to = out + first * columns.count + j;
            for (std::size_t i = 0; i < count; ++i) to[i * columns.count] = from[i];
            finite &= all_finite(from, count);
        }
    }
    return finite;
}

inline bool interleave(const ColumnList& columns, void* out) {
    return columns.wide ? interleave_columns(columns, static_cast<double*>(out))
                        : interleave_columns(columns, static_cast<float*>(out));
}

}  // namespace widemargin::WIDEMARGIN_ISA
