// Weighted mean and variance of every input, in two passes (thesis 4.3).
//
//   m_j = sum_l c_l x_lj / sum_l c_l        s_j^2 = sum_l c_l (x_lj - m_j)^2 / sum_l c_l
//
// The second pass also sums the deviations, which would be 0 without the rounding of m_j, and
// corrects both with that sum (Chan, Golub and LeVeque, 1983). A constant column of any length then
// has a variance of 0, up to rounding.
//
// Sparse rows touch only stored entries: the zeros of column j add W - W_j deviations of -m_j,
// where W_j is the weight of the stored entries of the column.
#pragma once

#include "widemargin/rows/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <class T>
void add_deviations(const typename DenseRows<T>::Row& row, double c, const double* mean,
                    double* __restrict drift, double* __restrict variance, double*) {
    for (std::size_t j = 0; j < row.width; ++j) {
        const double deviation = row.x[j] - mean[j];
        drift[j] += c * deviation;
        variance[j] += c * deviation * deviation;
    }
}

template <class T>
void add_deviations(const typename SparseRows<T>::Row& row, double c, const double* mean,
                    double* drift, double* variance, double* stored) {
    for (std::size_t i = 0; i < row.count; ++i) {
        const auto j = row.j[i];
        const double deviation = row.x[i] - mean[j];
        drift[j] += c * deviation;
        variance[j] += c * deviation * deviation;
        stored[j] += c;
    }
}

// Over the examples order[0..count); `weights` are those of all examples, or null.
inline void moments(const Rows& rows, std::size_t count, const std::int64_t* order,
                    const double* weights, double* mean, double* variance) {
    const std::size_t width = rows.width;
    const bool dense = rows.layout == Layout::dense32 || rows.layout == Layout::dense64;
    const AlignedVector drift_of(width), stored_of(dense ? 0 : width);
    double *drift = drift_of.data(), *stored = stored_of.data();
    double total = 0.0;
    for (std::size_t j = 0; j < width; ++j) mean[j] = variance[j] = 0.0;

    with_rows(rows, [&]<class X>(X x) {
        const auto each = [&](auto&& body) {
            for (std::size_t i = 0; i < count; ++i) {
                const auto l = static_cast<std::size_t>(order[i]);
                body(x[l], weights ? weights[l] : 1.0);
            }
        };
        each([&](const auto& row, double c) {
            row.add_to(mean, c);
            total += c;
        });
        for (std::size_t j = 0; j < width; ++j) mean[j] /= total;
        each([&](const auto& row, double c) {
            add_deviations<typename X::Value>(row, c, mean, drift, variance, stored);
        });
    });
    for (std::size_t j = 0; j < width; ++j) {
        if (!dense) {
            drift[j] -= (total - stored[j]) * mean[j];
            variance[j] += (total - stored[j]) * mean[j] * mean[j];
        }
        const double correction = drift[j] / total;
        mean[j] += correction;
        const double corrected = variance[j] / total - correction * correction;
        variance[j] = corrected > 0.0 ? corrected : 0.0;
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
