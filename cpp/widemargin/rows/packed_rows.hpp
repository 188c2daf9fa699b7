// Examples packed for many passes in random order: everything that a step needs of an example lies
// side by side from the start of a cache line, so that a visit waits for two or three lines instead
// of six:
//
//   header, the dense inputs, the other non-zero values, their places
//
// The inputs get new places. First come the dense inputs, those that are mostly non-zero; they are
// standardised. The others are only scaled, z_j = x_j / s_j: a step accounts for their centre
// c_j = m_j / s_j without touching zeros.
#pragma once

#include <cstring>

#include "widemargin/rows/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

struct PackedHeader {
    double c, shift;     // the weight, and the sum of c_j (z_j - c_j) over the sparse inputs
    float y;             // the target: a class or +-1, which a float holds exactly
    std::int32_t count;  // non-zero sparse inputs
};

struct PackedRow {
    const PackedHeader& header;
    DenseRow<double> dense;
    SparseRow<double> sparse;

    [[gnu::always_inline]] double dot(const double* w) const {
        return dense.dot(w) + sparse.dot(w);
    }

    double squared_norm() const { return dense.squared_norm() + sparse.squared_norm(); }

    // w += a z
    [[gnu::always_inline]] void add_to(double* w, double a) const {
        dense.add_to(w, a);
        sparse.add_to(w, a);
    }
};

struct PackedRows {
    static constexpr bool packed = true;
    const unsigned char* bytes;
    const std::int32_t* lines;  // where each example begins
    std::size_t dense_inputs;

    const unsigned char* begin(std::size_t l) const { return bytes + kCacheLineBytes * lines[l]; }

    [[gnu::always_inline]] PackedRow operator[](std::size_t l) const {
        const auto& header = *reinterpret_cast<const PackedHeader*>(begin(l));
        const auto* x = reinterpret_cast<const double*>(begin(l) + sizeof header);
        const auto count = static_cast<std::size_t>(header.count);
        const double* sparse = x + dense_inputs;
        const auto* places = reinterpret_cast<const std::int32_t*>(sparse + count);
        return {header, {x, dense_inputs}, {sparse, places, count}};
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

// The number of cache lines of one example.
inline std::size_t packed_lines(std::size_t dense_inputs, std::size_t count) {
    const std::size_t size = sizeof(PackedHeader) + (dense_inputs + count) * sizeof(double) +
                             count * sizeof(std::int32_t);
    return (size + kCacheLineBytes - 1) / kCacheLineBytes;
}

// Writes one example to `to`; `centre` is c by place, and `header` still lacks c . z.
template <class Row>
void pack_row(const Row& row, PackedHeader header, const Packing& packing, const double* centre,
              unsigned char* to) {
    auto* dense = reinterpret_cast<double*>(to + sizeof header);
    double* value = dense + packing.dense_inputs;
    auto* place = reinterpret_cast<std::int32_t*>(value + header.count);
    for (std::size_t j = 0; j < packing.dense_inputs; ++j) dense[j] = -centre[j];  // where x_j = 0
    for_non_zeros(row, [&](double x, std::int32_t j) {
        const auto at = static_cast<std::size_t>(packing.places[j]);
        if (at < packing.dense_inputs) {
            dense[at] = packing.scale ? (x - packing.mean[j]) / packing.scale[j] : x;
        } else {
            const double z = packing.scale ? x / packing.scale[j] : x;
            *value++ = z;
            *place++ = packing.places[j];
            header.shift += centre[at] * z;
        }
    });
    std::memcpy(to, &header, sizeof header);
}

// Fills `lines` (L + 1) and `bytes`, unless `bytes` is null; returns the number of lines.
inline std::size_t pack(const Rows& rows, const double* y, const double* weights,
                        const Packing& packing, std::int32_t* lines, unsigned char* bytes) {
    const AlignedVector centre(rows.width);
    double squares = 0.0;  // of c, over the sparse inputs
    for (std::size_t j = 0; packing.scale && j < rows.width; ++j) {
        const auto at = static_cast<std::size_t>(packing.places[j]);
        const double c = packing.mean[j] / packing.scale[j];
        centre.data()[at] = c;
        if (at >= packing.dense_inputs) squares += c * c;
    }
    std::size_t line = 0;
    with_rows(rows, [&](auto x) {
        for (std::size_t l = 0; l < rows.count; ++l) {
            const auto row = x[l];
            std::int32_t count = 0;
            for_non_zeros(row, [&](auto, std::int32_t j) {
                count += static_cast<std::size_t>(packing.places[j]) >= packing.dense_inputs;
            });
            if (bytes) {
                lines[l] = static_cast<std::int32_t>(line);
                const PackedHeader header{weights ? weights[l] : 1.0, -squares,
                                          static_cast<float>(y[l]), count};
                pack_row(row, header, packing, centre.data(), bytes + kCacheLineBytes * line);
            }
            line += packed_lines(packing.dense_inputs, static_cast<std::size_t>(count));
        }
    });
    if (bytes) lines[rows.count] = static_cast<std::int32_t>(line);
    return line;
}

// Calls visitor(rows) with the type of the rows to train on: dense or packed.
template <class Visitor>
decltype(auto) with_training_rows(const Rows& rows, Visitor&& visitor) {
    if (rows.layout == Layout::dense32) {
        return visitor(DenseRows<float>{static_cast<const float*>(rows.values), rows.width});
    }
    if (rows.layout == Layout::dense64) {
        return visitor(DenseRows<double>{static_cast<const double*>(rows.values), rows.width});
    }
    const auto* bytes = static_cast<const unsigned char*>(rows.values);
    return visitor(PackedRows{bytes, rows.columns, rows.dense_inputs});
}

}  // namespace widemargin::WIDEMARGIN_ISA
