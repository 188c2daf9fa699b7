// Global criteria of a mixture of experts whose gater is the network (Algorithm 6.1, step 3).
//
// The network's outputs are scores z of K experts, whose own outputs f_k (C numbers) are fixed:
//     g = softmax z,   m = sum_k g_k f_k                                       (eq. 6.1)
//     dQ/dz_k = g_k (sum_c dQ/dm_c f_kc - sum_c dQ/dm_c m_c)
#pragma once

#include <algorithm>
#include <cmath>

#include "widemargin/mlp/network_transfer.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr double kSmallestLikelihood = 1e-37;  // smaller ones count as this one, with slope 0

// z_k becomes exp(z_k - max z)
template <class T>
void exponentials(std::size_t count, T* z) {
    const T top = *std::max_element(z, z + count);
    for_registers<T>(count, [&](auto load, auto store) {
        const Real<T> below = load(z) - top;
        const Real<T> e = exp_of_negative<T>(below);
        store(z, below == below ? e : below);
    });
}

// Q and dQ/dm of one output m of the mixture.
//   tanh_mse:    (y - tanh m)^2 / 2
//   mse:         scale (y - m)^2 / 2
//   likelihood:  -log m,  where the outputs of the experts are P(y | x, k)
struct MixtureValue {
    double value, slope;
};

inline MixtureValue mixture_value(Criteria criteria, double scale, double y, double m) {
    if (criteria == Criteria::mixture_mse)
        return {0.5 * scale * (y - m) * (y - m), scale * (m - y)};
    if (criteria == Criteria::mixture_tanh_mse) {
        const double t = std::tanh(m);
        return {0.5 * (y - t) * (y - t), (t - y) * (1.0 - t * t)};
    }
    if (m <= kSmallestLikelihood) return {-std::log(kSmallestLikelihood), 0.0};
    return {-std::log(m), -1.0 / m};
}

// sum_c s_c (y_c - f_c)^2
template <class T>
double scaled_squares(const double* s, std::size_t count, const double* y, const T* f) {
    double sum = 0.0;
    for (std::size_t c = 0; c < count; ++c) sum += s[c] * (y[c] - f[c]) * (y[c] - f[c]);
    return sum;
}

// The error of the mixture: 1 if its sign or its largest output is not that of y; the scaled sum of
// squared errors; or, for a likelihood, 1 if it is not more than 1/2.
inline double mixture_error(const NetworkTargets& targets, const double* y, const double* m) {
    const std::size_t columns = targets.columns;
    if (targets.criteria == Criteria::mixture_likelihood) return *m > 0.5 ? 0.0 : 1.0;
    if (targets.error_scale != nullptr) return scaled_squares(targets.error_scale, columns, y, m);
    if (columns == 1) return (*m > 0.0) == (*y > 0.0) ? 0.0 : 1.0;
    return std::max_element(m, m + columns) - m == std::max_element(y, y + columns) - y ? 0.0 : 1.0;
}

// m = sum_k e_k f_k / sum_k e_k; returns the sum of e.
template <class T>
double weigh(std::size_t experts, std::size_t columns, const T* e, const float* f, double* m) {
    double sum = 0.0;
    if (columns == 1) {
        double total = 0.0;
#pragma omp simd reduction(+ : sum, total)
        for (std::size_t k = 0; k < experts; ++k) {
            sum += double{e[k]};
            total += double{e[k]} * double{f[k]};
        }
        *m = total / sum;
        return sum;
    }
    std::fill(m, m + columns, 0.0);
    for (std::size_t k = 0; k < experts; ++k) {
        sum += double{e[k]};
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) m[c] += double{e[k]} * f[k * columns + c];
    }
    for (std::size_t c = 0; c < columns; ++c) m[c] /= sum;
    return sum;
}

// e_k becomes e_k / sum (sum_c slope_c f_kc - mean)
template <class T>
void weigh_slopes(std::size_t experts, std::size_t columns, double sum, double mean, const float* f,
                  const double* slope, T* e) {
    if (columns == 1) {
        const double a = *slope / sum, b = mean / sum;
#pragma omp simd
        for (std::size_t k = 0; k < experts; ++k) e[k] = static_cast<T>(e[k] * (a * f[k] - b));
        return;
    }
    for (std::size_t k = 0; k < experts; ++k) {
        double d = -mean;
        for (std::size_t c = 0; c < columns; ++c) d += slope[c] * f[k * columns + c];
        e[k] = static_cast<T>(e[k] / sum * d);
    }
}

// Q of example l, whose scores z become dQ/dz; `m` is memory for the outputs of the mixture.
template <class T>
double mixture(const NetworkTargets& targets, std::size_t experts, std::size_t l, T* z, double* m,
               double& error) {
    const std::size_t columns = targets.columns;
    const float* f = targets.experts + l * experts * columns;
    const double* y = targets.y + l * columns;
    exponentials(experts, z);
    const double sum = weigh(experts, columns, z, f, m);
    error = mixture_error(targets, y, m);
    double value = 0.0, mean = 0.0;
    for (std::size_t c = 0; c < columns; ++c) {
        const double scale = targets.error_scale == nullptr ? 1.0 : targets.error_scale[c];
        const MixtureValue q = mixture_value(targets.criteria, scale, y[c], m[c]);
        value += q.value;
        mean += q.slope * m[c];
        m[c] = q.slope;
    }
    weigh_slopes(experts, columns, sum, mean, f, m, z);
    return value;
}

}  // namespace widemargin::WIDEMARGIN_ISA
