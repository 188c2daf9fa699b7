// Examples packed for many passes in random order: all that a step needs of an example begins a
// cache line and lies in one piece, so that a visit waits for two or three lines instead of six.
//
//   header (y, weight, shift, count), the values of its non-zero inputs, their columns
//
// Values are double and already divided by their scales, which a step then need not look up.
#pragma once

#include <cstring>

#include "widemargin/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

struct PackedHeader {
    double y, c, shift;
    std::int64_t count;
};

constexpr std::size_t kLine = 64;

// A sparse row that brings its header.
struct PackedRow : SparseRow<double> {
    const PackedHeader& header;
};

struct PackedRows {
    static constexpr bool packed = true;
    const unsigned char* bytes;
    const std::int32_t* lines;  // where each example begins

    const unsigned char* begin(std::size_t l) const { return bytes + kLine * lines[l]; }

    PackedRow operator[](std::size_t l) const {
        const auto& header = *reinterpret_cast<const PackedHeader*>(begin(l));
        const auto* x = reinterpret_cast<const double*>(begin(l) + sizeof header);
        const auto count = static_cast<std::size_t>(header.count);
        return {{x, reinterpret_cast<const std::int32_t*>(x + count), count}, header};
    }

    [[gnu::always_inline]] void prefetch(std::size_t l) const {
        prefetch_lines(begin(l), begin(l + 1));
    }
    [[gnu::always_inline]] void prefetch_start(std::size_t l) const {
        __builtin_prefetch(lines + l);
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

// How many lines an example with so many non-zero inputs takes.
inline std::size_t packed_lines(std::size_t non_zeros) {
    constexpr std::size_t entry = sizeof(double) + sizeof(std::int32_t);
    return (sizeof(PackedHeader) + non_zeros * entry + kLine - 1) / kLine;
}

// Fills `lines` (L + 1) and, unless it is null, `bytes`; returns the number of lines.
inline std::size_t pack(const Rows& rows, const double* y, const double* weights,
                        const Standardization& s, std::int32_t* lines, unsigned char* bytes) {
    std::size_t line = 0;
    with_rows(rows, [&](auto x) {
        for (std::size_t l = 0; l < rows.count; ++l) {
            const auto row = x[l];
            std::size_t count = 0;
            for_non_zeros(row, [&](auto, std::int32_t) { ++count; });
            if (bytes) {
                lines[l] = static_cast<std::int32_t>(line);
                unsigned char* to = bytes + kLine * line;
                const PackedHeader header{y[l], weights ? weights[l] : 1.0,
                                          s.row_shift ? s.row_shift[l] : 0.0,
                                          static_cast<std::int64_t>(count)};
                std::memcpy(to, &header, sizeof header);
                auto* values = reinterpret_cast<double*>(to + sizeof header);
                auto* columns = reinterpret_cast<std::int32_t*>(values + count);
                for_non_zeros(row, [&](double value, std::int32_t j) {
                    *values++ = s.scale ? value / s.scale[j] : value;
                    *columns++ = j;
                });
            }
            line += packed_lines(count);
        }
    });
    if (bytes) lines[rows.count] = static_cast<std::int32_t>(line);
    return line;
}

// Calls visitor(rows) with the type of rows to train on: dense or packed.
template <class Visitor>
decltype(auto) with_training_rows(const Rows& rows, Visitor&& visitor) {
    if (rows.layout == Layout::dense32) {
        return visitor(DenseRows<float>{static_cast<const float*>(rows.values), rows.width});
    }
    if (rows.layout == Layout::dense64) {
        return visitor(DenseRows<double>{static_cast<const double*>(rows.values), rows.width});
    }
    return visitor(PackedRows{static_cast<const unsigned char*>(rows.values), rows.columns});
}

}  // namespace widemargin::WIDEMARGIN_ISA
