// Rows in any layout, read one at a time, for code that is compiled once.
#pragma once

#include <algorithm>
#include <vector>

#include "widemargin/rows/types.hpp"

namespace widemargin {

inline bool is_sparse(const Rows& rows) {
    return rows.layout == Layout::sparse32 || rows.layout == Layout::sparse64;
}

// Calls visit(value, column) for the stored values of an example.
template <class Visit>
void for_stored(const Rows& rows, std::size_t l, Visit&& visit) {
    const auto dense = [&](const auto* x) {
        for (std::size_t j = 0; j < rows.width; ++j) visit(static_cast<double>(x[j]), j);
    };
    const auto sparse = [&](const auto* x) {
        for (auto i = rows.starts[l]; i < rows.starts[l + 1]; ++i) {
            visit(static_cast<double>(x[i]), static_cast<std::size_t>(rows.columns[i]));
        }
    };
    switch (rows.layout) {
        case Layout::dense32: return dense(static_cast<const float*>(rows.values) + l * rows.width);
        case Layout::dense64:
            return dense(static_cast<const double*>(rows.values) + l * rows.width);
        case Layout::sparse32: return sparse(static_cast<const float*>(rows.values));
        default: return sparse(static_cast<const double*>(rows.values));
    }
}

// Reads an example as plain doubles.
class RowReader {
   public:
    explicit RowReader(std::size_t width) : row_(width) {}
    const double* operator()(const Rows& rows, std::int64_t l) {
        if (is_sparse(rows)) std::fill(row_.begin(), row_.end(), 0.0);
        for_stored(rows, static_cast<std::size_t>(l),
                   [&](double x, std::size_t j) { row_[j] = x; });
        return row_.data();
    }

   private:
    std::vector<double> row_;
};

}  // namespace widemargin
