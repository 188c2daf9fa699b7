// The sum of the losses of linear support vector machines on a line, and its slope.
//
//   sum_l c_l loss(xi_l),   f = f_l + t d_l,   xi = |1 - y f|+  for labels,  ||f - y| - epsilon|+
//
// with loss(xi) = xi or xi^2. The slope is the derivative in t; at a kink, one of the two.
#pragma once

#include "widemargin/base/double_lanes.hpp"
#include "widemargin/linear/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <bool labels, bool squared>
LossSums loss_sums(const Losses& l, const double* f, const double* d, double t) {
    Register values{}, slopes{};
    double value = 0.0, slope = 0.0;
    const auto add = [&]<class Lanes>(Lanes, std::size_t i, auto& to_value, auto& to_slope) {
        const Lanes zero{}, one = zero + 1.0;
        const Lanes y = load<Lanes>(l.target + i), direction = load<Lanes>(d + i);
        const Lanes miss = load<Lanes>(f + i) + t * direction - y;  // f - y
        const Lanes sign = labels ? -y : miss > 0.0 ? one : -one;   // of the slope
        const Lanes beyond = labels ? -y * miss : sign * miss - l.epsilon;
        const Lanes xi = beyond > 0.0 ? beyond : zero;
        const Lanes c = load<Lanes>(l.c + i);
        to_value += squared ? c * xi * xi : c * xi;
        to_slope += sign * direction * (squared ? 2.0 * c * xi : beyond > 0.0 ? c : zero);
    };
    std::size_t i = 0;
    for (; i + kRegister <= l.count; i += kRegister) add(Register{}, i, values, slopes);
    for (; i < l.count; ++i) add(double{}, i, value, slope);
    return {value + sum(values), slope + sum(slopes)};
}

inline LossSums losses(const Losses& l, const double* f, const double* d, double t) {
    if (l.labels) {
        return l.squared ? loss_sums<true, true>(l, f, d, t) : loss_sums<true, false>(l, f, d, t);
    }
    return l.squared ? loss_sums<false, true>(l, f, d, t) : loss_sums<false, false>(l, f, d, t);
}

}  // namespace widemargin::WIDEMARGIN_ISA
