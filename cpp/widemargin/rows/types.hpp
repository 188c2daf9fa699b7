// Examples as Python hands them to the core: views of plain arrays, owned by NumPy.
//
// Nothing here contains code, so these types are the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

enum class Layout { dense32, dense64, sparse32, sparse64, packed };

// L examples of d inputs: dense in C order, compressed sparse rows, or packed for training
// (packed_rows.hpp).
struct Rows {
    Layout layout;
    const void* values;            // float or double; packed: cache lines
    const std::int32_t* columns;   // sparse: of the values; packed: the first line of each example,
                                   // L + 1 entries
    const std::int64_t* starts;    // sparse only: L + 1 offsets into values and columns
    std::size_t count;             // L
    std::size_t width;             // d
    std::size_t dense_inputs = 0;  // packed only: leading inputs that are stored even if they are 0
};

// The statistics of implicitly standardised inputs; both null for raw inputs.
struct Standardization {
    const double* mean;   // m_j; for packed examples, c_j
    const double* scale;  // s_j; null for packed examples, which are scaled already
};

// How examples are packed (packed_rows.hpp); mean and scale are null for raw inputs.
struct Packing {
    std::size_t dense_inputs;    // inputs that are stored even if they are 0
    const std::int32_t* places;  // the new place of each input; 0..dense_inputs-1 for those
    const double* mean;
    const double* scale;
};

// Columns of equal length (interleave.hpp).
struct ColumnList {
    std::size_t count, rows;
    const void* const* values;
    bool double_precision;  // otherwise float
};

}  // namespace widemargin
