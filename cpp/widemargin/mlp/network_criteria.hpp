// The cost of the outputs of a network, and the derivatives with which back-propagation starts.
#pragma once

#include <algorithm>
#include <cmath>

#include "widemargin/linear/criteria.hpp"
#include "widemargin/mixture/mixture_criteria.hpp"
#include "widemargin/mlp/network_types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Q = -log softmax_y(f),  dQ/df_k = softmax_k(f) - [k = y]                     (eq. 3.12)
template <class T>
double softmax_entropy(std::size_t outputs, std::size_t y, T* f) {
    const double top = *std::max_element(f, f + outputs);
    const double right = f[y] - top;
    double sum = 0.0;
    for (std::size_t k = 0; k < outputs; ++k) {
        const double e = std::exp(f[k] - top);
        sum += e;
        f[k] = static_cast<T>(e);
    }
    for (std::size_t k = 0; k < outputs; ++k) f[k] = static_cast<T>(f[k] / sum);
    f[y] -= T{1};
    return std::log(sum) - right;
}

// Q = |beta - (f_y - max over k != y of f_k)|+
template <class T>
double margin_to_best(double beta, std::size_t outputs, std::size_t y, T* f) {
    std::size_t best = y == 0 ? 1 : 0;
    for (std::size_t k = best + 1; k < outputs; ++k) {
        if (k != y && f[k] > f[best]) best = k;
    }
    const double slack = beta - (double{f[y]} - double{f[best]});
    std::fill(f, f + outputs, T{0});
    if (slack >= 0.0) f[y] = T{-1}, f[best] = T{1};
    return slack < 0.0 ? 0.0 : slack;
}

// The error of one example: 1 if the class is wrong, or the scaled sum of squared errors.
template <class T>
double error_of(const NetworkTargets& targets, std::size_t outputs, const double* y, const T* f) {
    if (targets.error_scale != nullptr) return scaled_squares(targets.error_scale, outputs, y, f);
    if (!targets.codes) return (f[0] > 0) == (y[0] > 0) ? 0.0 : 1.0;
    const auto said = std::max_element(f, f + outputs) - f;
    return static_cast<double>(said) == *y ? 0.0 : 1.0;
}

// Q of the outputs f, which become dQ/df.
template <class T>
double value_of(const NetworkTargets& targets, std::size_t outputs, const double* y, T* f) {
    if (targets.criteria == Criteria::softmax) {
        return softmax_entropy(outputs, static_cast<std::size_t>(*y), f);
    }
    if (targets.criteria == Criteria::margin_to_best) {
        return margin_to_best(targets.q->parameter, outputs, static_cast<std::size_t>(*y), f);
    }
    double value = 0.0;
    with_criterion(*targets.q, [&](auto q) {
        for (std::size_t k = 0; k < outputs; ++k) {
            const double t = targets.codes ? target(Targets::one_against_rest, *y, k) : y[k];
            value += q.value(t, f[k]);
            f[k] = static_cast<T>(q.active(t, f[k]) ? q.slope(t, f[k]) : 0.0);
        }
    });
    return value;
}

// Adds example l to the tally; its outputs f become weight * dQ/df. Returns false if all of these
// are 0. `room` is memory for the outputs of a mixture.
template <class T>
bool derive(const NetworkTargets& targets, std::size_t outputs, std::size_t l, T* f, double* room,
            Tally& tally) {
    const double weight = targets.weights == nullptr ? 1.0 : targets.weights[l];
    double value = 0.0, wrong = 0.0;
    if (targets.experts != nullptr) {
        value = mixture(targets, outputs, l, f, room, wrong);
    } else {
        const double* y = targets.y + (targets.codes ? l : l * outputs);
        wrong = error_of(targets, outputs, y, f);
        value = value_of(targets, outputs, y, f);
    }
    tally.weight += weight;
    tally.errors += weight * wrong;
    tally.criterion += weight * value;
    bool any = false;
    for (std::size_t k = 0; k < outputs; ++k) {
        f[k] *= static_cast<T>(weight);
        any |= f[k] != T{0};
    }
    tally.updates += any;
    return any;
}

}  // namespace widemargin::WIDEMARGIN_ISA
