// Global criteria of a mixture of experts whose gater is the network (Algorithm 6.1, step 3).
//
// The network's outputs are scores z of K experts, whose own outputs f_k (C numbers) are fixed:
//     g = softmax z,   m = sum_k g_k f_k                                       (eq. 6.1)
//     dQ/dz_k = g_k (sum_c dQ/dm_c f_kc - sum_c dQ/dm_c m_c)
#pragma once

#include <algorithm>
#include <cmath>

#include "widemargin/network_transfer.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr double kSmallestLikelihood = 1e-37;  // one below counts as this one, without a slope

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
//   likelihood:  -log m,  the experts' outputs being P(y | x, k)
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

// The mistake of the mixture: 1 if its sign or largest output is not that of y; the sum of squared
// errors, scaled; or, of a likelihood, 1 if it is not more than 1/2.
inline double mixture_mistake(const NetworkTargets& targets, const double* y, const double* m) {
    const std::size_t columns = targets.columns;
    if (targets.criteria == Criteria::mixture_likelihood) return *m > 0.5 ? 0.0 : 1.0;
    if (targets.error_scale != nullptr) {
        double sum = 0.0;
        for (std::size_t c = 0; c < columns; ++c) {
            sum += targets.error_scale[c] * (y[c] - m[c]) * (y[c] - m[c]);
        }
        return sum;
    }
    if (columns == 1) return (*m > 0.0) == (*y > 0.0) ? 0.0 : 1.0;
    return std::max_element(m, m + columns) - m == std::max_element(y, y + columns) - y ? 0.0 : 1.0;
}

// Q of example l, whose scores z become dQ/dz; `m` has room for the mixture's outputs.
template <class T>
double mixture(const NetworkTargets& targets, std::size_t experts, std::size_t l, T* z, double* m,
               double& mistake) {
    const std::size_t columns = targets.columns;
    const float* f = targets.experts + l * experts * columns;
    const double* y = targets.y + l * columns;
    exponentials(experts, z);
    double sum = 0.0;
    std::fill(m, m + columns, 0.0);
    for (std::size_t k = 0; k < experts; ++k) {
        const double e = z[k];
        sum += e;
        for (std::size_t c = 0; c < columns; ++c) m[c] += e * f[k * columns + c];
    }
    for (std::size_t c = 0; c < columns; ++c) m[c] /= sum;
    mistake = mixture_mistake(targets, y, m);
    double value = 0.0, mean = 0.0;
    for (std::size_t c = 0; c < columns; ++c) {
        const double scale = targets.error_scale == nullptr ? 1.0 : targets.error_scale[c];
        const MixtureValue q = mixture_value(targets.criteria, scale, y[c], m[c]);
        value += q.value;
        mean += q.slope * m[c];
        m[c] = q.slope;
    }
    for (std::size_t k = 0; k < experts; ++k) {
        double d = -mean;
        for (std::size_t c = 0; c < columns; ++c) d += m[c] * f[k * columns + c];
        z[k] = static_cast<T>(z[k] / sum * d);
    }
    return value;
}

}  // namespace widemargin::WIDEMARGIN_ISA
