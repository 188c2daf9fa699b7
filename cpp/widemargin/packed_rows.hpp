// Examples packed for many passes in random order: all that a step needs of an example lies in one
// piece, so that a visit waits for two or three cache lines instead of six.
//
//   header (y, weight, shift), the values of its non-zero inputs, their columns
#pragma once

#include <cstring>

#include "widemargin/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

struct PackedHeader {
    double y, c, shift;
};

template <class T>
constexpr std::size_t kEntry = sizeof(T) + sizeof(std::int32_t);

// A sparse row that brings its header.
template <class T>
struct PackedRow : SparseRow<T> {
    const PackedHeader& header;
};

template <class T>
struct PackedRows {
    static constexpr bool dense = false, packed = true;
    const unsigned char* bytes;
    const std::int64_t* starts;  // multiples of 8

    PackedRow<T> operator[](std::size_t l) const {
        const unsigned char* first = bytes + starts[l];
        const auto* x = reinterpret_cast<const T*>(first + sizeof(PackedHeader));
        const auto size = static_cast<std::size_t>(starts[l + 1] - starts[l]);
        const std::size_t count = (size - sizeof(PackedHeader)) / kEntry<T>;
        return {{x, reinterpret_cast<const std::int32_t*>(x + count), count},
                *reinterpret_cast<const PackedHeader*>(first)};
    }

    [[gnu::always_inline]] void prefetch(std::size_t l) const {
        prefetch_lines(bytes + starts[l], bytes + starts[l + 1]);
    }
    [[gnu::always_inline]] void prefetch_start(std::size_t l) const {
        __builtin_prefetch(starts + l);
    }
};

// Calls visitor(x_j, j) for the non-zero inputs of a row.
template <class T, class Visitor>
void for_non_zeros(const DenseRow<T>& row, Visitor&& visitor) {
    for (std::size_t j = 0; j < row.width; ++j) {
        if (row.x[j] != T{0}) visitor(row.x[j], static_cast<std::int32_t>(j));
    }
}
template <class T, class Visitor>
void for_non_zeros(const SparseRow<T>& row, Visitor&& visitor) {
    for (std::size_t i = 0; i < row.count; ++i) {
        if (row.x[i] != T{0}) visitor(row.x[i], row.j[i]);
    }
}

// Fills `starts` (L + 1) and `bytes`, which must hold for each example a header, its non-zero
// inputs at kEntry bytes and up to 4 bytes to the next multiple of 8.
inline void pack(const Rows& rows, const double* y, const double* weights, const double* row_shift,
                 std::int64_t* starts, unsigned char* bytes) {
    with_rows(rows, [&]<class X>(X x) {
        using T = typename X::Value;
        unsigned char* end = bytes;
        for (std::size_t l = 0; l < rows.count; ++l) {
            starts[l] = end - bytes;
            const PackedHeader header{y[l], weights ? weights[l] : 1.0,
                                      row_shift ? row_shift[l] : 0.0};
            std::memcpy(end, &header, sizeof header);
            end += sizeof header;
            const auto row = x[l];
            for_non_zeros(row, [&](T value, std::int32_t) {
                std::memcpy(end, &value, sizeof value);
                end += sizeof value;
            });
            for_non_zeros(row, [&](T, std::int32_t j) {
                std::memcpy(end, &j, sizeof j);
                end += sizeof j;
            });
            while ((end - bytes) % 8 != 0) *end++ = 0;
        }
        starts[rows.count] = end - bytes;
    });
}

// Calls visitor(rows) with the layout's own type, packed ones included.
template <class Visitor>
decltype(auto) with_training_rows(const Rows& rows, Visitor&& visitor) {
    const auto* bytes = static_cast<const unsigned char*>(rows.values);
    if (rows.layout == Layout::packed32) return visitor(PackedRows<float>{bytes, rows.starts});
    if (rows.layout == Layout::packed64) return visitor(PackedRows<double>{bytes, rows.starts});
    return with_rows(rows, visitor);
}

}  // namespace widemargin::WIDEMARGIN_ISA
