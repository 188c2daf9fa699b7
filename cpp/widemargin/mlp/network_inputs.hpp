// Examples as the first layer of a network takes them: x^ = (x - m) / s.
//
// Dense examples, and sparse ones with many non-zero inputs, become a matrix of x^ for a matrix
// product. For very sparse ones, x^ = x/s + c with c = -m/s the same for all. With W the weights of
// the layer,
//     x^ W = (x/s) W + c W,      X^' D = (X/s)' D + c (1' D)
// and only non-zero inputs are touched, once per unit. Training with one example per step treats
// dense examples in the same way, except for inputs that are mostly not 0: these are centred, and
// their c is 0.
#pragma once

#include <algorithm>

#include "widemargin/base/vector.hpp"
#include "widemargin/rows/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// to += a from
template <class T>
[[gnu::always_inline]] inline void axpy(std::size_t n, T a, const T* from, T* to) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) to[j] += a * from[j];
}

class NetworkInputs {
   public:
    NetworkInputs(const Rows& rows, const Standardization& s)
        : rows_(rows), mean_(rows.width, 0.0), inverse_(rows.width, 1.0), shift_(rows.width, 0.0) {
        if (s.mean != nullptr) {
            for (std::size_t j = 0; j < rows.width; ++j) {
                mean_[j] = s.mean[j];
                inverse_[j] = 1.0 / s.scale[j];
            }
        }
        if (rows.layout == Layout::sparse32 || rows.layout == Layout::sparse64) {
            const auto stored = static_cast<double>(rows.starts[rows.count]);
            sparse_ = 8.0 * stored < static_cast<double>(rows.count * rows.width);
        }
    }

    bool sparse() const { return sparse_; }
    std::size_t width() const { return rows_.width; }
    double centre(std::size_t j) const { return (shift_[j] - mean_[j]) * inverse_[j]; }

    // Centres the inputs that are not 0 in most examples of a sample, if the rows are dense.
    void centre_full_columns() {
        if (rows_.layout == Layout::dense32)
            find_full_columns(static_cast<const float*>(rows_.values));
        if (rows_.layout == Layout::dense64)
            find_full_columns(static_cast<const double*>(rows_.values));
    }

    // x^ of `count` examples, one row each.
    template <class T>
    void gather(const std::int64_t* order, std::size_t count, T* out) const {
        with_rows(rows_, [&](auto x) {
            for (std::size_t i = 0; i < count; ++i) {
                gather_row(x[static_cast<std::size_t>(order[i])], out + i * rows_.width);
            }
        });
    }

    // Calls use(j, x_j / s_j) for the non-zero inputs of an example, and use(j, x^_j) for those
    // that are centred.
    template <class Use>
    void for_nonzeros(std::size_t l, Use&& use) const {
        with_rows(rows_, [&](auto x) { for_nonzeros_of(x[l], use); });
    }

   private:
    static constexpr std::size_t kSampleExamples = 500;

    template <class V>
    void find_full_columns(const V* values) {
        const std::size_t step = std::max<std::size_t>(1, rows_.count / kSampleExamples);
        for (std::size_t j = 0; j < rows_.width; ++j) {
            std::size_t seen = 0, full = 0;
            for (std::size_t l = 0; l < rows_.count; l += step, ++seen) {
                full += values[l * rows_.width + j] != V{0};
            }
            if (2 * full > seen) shift_[j] = mean_[j];
        }
    }

    template <class V, class T>
    void gather_row(DenseRow<V> row, T* out) const {
        const double *m = mean_.data(), *inverse = inverse_.data();
#pragma omp simd
        for (std::size_t j = 0; j < row.width; ++j) {
            out[j] = static_cast<T>((row.x[j] - m[j]) * inverse[j]);
        }
    }

    template <class V, class T>
    void gather_row(SparseRow<V> row, T* out) const {
        for (std::size_t j = 0; j < rows_.width; ++j)
            out[j] = static_cast<T>(-mean_[j] * inverse_[j]);
        for (std::size_t i = 0; i < row.count; ++i) {
            const auto j = static_cast<std::size_t>(row.j[i]);
            out[j] = static_cast<T>((row.x[i] - mean_[j]) * inverse_[j]);
        }
    }

    template <class V, class Use>
    void for_nonzeros_of(DenseRow<V> row, Use&& use) const {
        for (std::size_t j = 0; j < row.width; ++j) {
            const double x = row.x[j] - shift_[j];
            if (x != 0.0) use(j, x * inverse_[j]);
        }
    }

    template <class V, class Use>
    void for_nonzeros_of(SparseRow<V> row, Use&& use) const {
        for (std::size_t i = 0; i < row.count; ++i) {
            const auto j = static_cast<std::size_t>(row.j[i]);
            use(j, row.x[i] * inverse_[j]);
        }
    }

    const Rows& rows_;
    Vector<double> mean_, inverse_;
    Vector<double> shift_;  // subtracted from each input: m_j, or 0
    bool sparse_ = false;
};

}  // namespace widemargin::WIDEMARGIN_ISA
