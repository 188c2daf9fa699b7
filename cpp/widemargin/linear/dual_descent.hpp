// Dual coordinate descent for linear support vector machines, one epoch.
//
//   min over beta   1/2 |w|^2 + sum_l ( q_l / 2 beta_l^2 + epsilon |beta_l| - t_l beta_l )
//   subject to      lo <= beta <= hi,      w = sum_l beta_l xh_l
//
// t is the label or the target; q = 0 for losses that grow linearly, where lo and hi are finite,
// and q = 1 / 2c for their squares. A penalised intercept is one more input, a constant of square
// r: b = b0 + r sum_l beta_l. For one example the best beta is, with h = |xh|^2 + r + q and g =
// f(x) - t + q beta,
//
//   beta - g/h, moved towards 0 by epsilon/h, but not beyond it, and clipped to lo..hi
//
// Without any curvature, as for an example of zeros, that is a bound or 0, so h is kept above 0.
// With relaxation omega, 1 <= omega < 2, the step is omega times as long (Mangasarian and Musicant,
// 1999). It still stops at a bound, and at 0, where the slope jumps by 2 epsilon: up to there the
// objective is a parabola and falls.
//
// Shrinking: an example is set aside if it is at lo, at hi or at 0 and would stay there even if g
// changed by `patience`. `kept` receives the others.
#pragma once

#include <cmath>
#include <type_traits>

#include "widemargin/linear/linear_units.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// |xh|^2 of an example, for each kind of unit.
template <class Row>
double squared_norm(const RawUnit&, const Row& x, double) {
    return x.squared_norm();
}
template <class Row>
double squared_norm(const CentredUnit& unit, const Row& x, double) {
    double sum = 0.0;
    for (std::size_t j = 0; j < x.width; ++j) {
        const double deviation = x.x[j] - unit.mean.data()[j];
        sum += deviation * deviation * unit.precision.data()[j];
    }
    return sum;
}
template <class Row>
double squared_norm(const SplitUnit& unit, const Row& z, double shift) {
    return z.squared_norm() - 2.0 * shift - unit.c_dot_c;
}

template <class X>
double shift_of(const X& x, std::size_t l) {
    if constexpr (X::packed) return x[l].header.shift;
    return 0.0;
}

constexpr double kSmallestCurvature = 1e-150;  // its inverse, times g, is finite

template <class Weights, class X>
DualTally dual_epoch(const X& x, const LinearState& state, const Standardization& s,
                     const DualEpoch& epoch, std::size_t width) {
    constexpr std::size_t ahead = 12;
    Weights unit(state, s, 0, width);
    DualTally tally;
    for (std::size_t n = 0; n < epoch.count; ++n) {
        if (n + 2 * ahead < epoch.count) x.prefetch_start(epoch.order[n + 2 * ahead]);
        if (n + ahead < epoch.count) {
            x.prefetch(epoch.order[n + ahead]);
            __builtin_prefetch(epoch.variables + epoch.order[n + ahead]);
        }
        const auto l = static_cast<std::size_t>(epoch.order[n]);
        DualVariable& v = epoch.variables[l];
        const double before = v.beta, lo = v.lo, hi = v.hi;
        const double shift = shift_of(x, l);
        const auto row = x[l];
        // 1/h is computed before f(x): a step would wait for a division by h
        const double h = std::fmax(v.norm + epoch.intercept + v.ridge, kSmallestCurvature);
        const double inverse = 1.0 / h;
        const double g = unit.f(row, shift) - v.target + v.ridge * before;

        const double grow = -g - (before < 0.0 ? -epoch.epsilon : epoch.epsilon);
        const double fall = g + (before > 0.0 ? epoch.epsilon : -epoch.epsilon);
        const bool stays =
            (before == hi || grow < -epoch.patience) && (before == lo || fall < -epoch.patience);
        if (stays && (before == lo || before == hi || before == 0.0)) continue;
        epoch.kept[tally.kept++] = epoch.order[n];
        double violation = 0.0;
        if (before < hi && grow > violation) violation = grow;
        if (before > lo && fall > violation) violation = fall;
        if (violation > tally.violation) tally.violation = violation;
        if (!(violation > 0.0)) continue;

        double after = before - g * inverse;
        const double threshold = epoch.epsilon * inverse;
        after = after > threshold    ? after - threshold
                : after < -threshold ? after + threshold
                                     : 0.0;
        if (after != 0.0) {
            const double further = before + epoch.relaxation * (after - before);
            after = further * after > 0.0 ? further : 0.0;
        }
        after = after > hi ? hi : after < lo ? lo : after;
        const double delta = after - before;
        if (delta == 0.0) continue;
        v.beta = after;
        tally.sum += delta;
        unit.step(row, shift, delta, epoch.intercept * delta, 0.0);
        ++tally.updates;
    }
    unit.finish(state, 0, 0);
    return tally;
}

// Calls visitor(rows, pointer to the unit type) for this kind of rows and inputs: raw or
// standardised, dense or packed. Sparse rows work only with raw inputs.
template <class Raw, class Centred, class Split, class Visitor>
decltype(auto) with_units(const Rows& rows, const Standardization& s, Visitor&& visitor) {
    if (rows.starts) {
        return with_rows(rows, [&](auto x) { return visitor(x, static_cast<Raw*>(nullptr)); });
    }
    return with_training_rows(rows, [&](auto x) {
        using Standardized = std::conditional_t<x.packed, Split, Centred>;
        return s.mean ? visitor(x, static_cast<Standardized*>(nullptr))
                      : visitor(x, static_cast<Raw*>(nullptr));
    });
}

template <class Visitor>
decltype(auto) with_unit(const Rows& rows, const Standardization& s, Visitor&& visitor) {
    return with_units<RawUnit, CentredUnit, SplitUnit>(rows, s, visitor);
}

inline DualTally dual_descent(const Rows& rows, const LinearState& state, const Standardization& s,
                              const DualEpoch& epoch) {
    return with_unit(rows, s, [&]<class Weights>(auto x, Weights*) {
        return dual_epoch<Weights>(x, state, s, epoch, rows.width);
    });
}

inline void squared_norms(const Rows& rows, const Standardization& s, double* out) {
    const AlignedVector w(rows.width);
    double b = 0.0;
    const LinearState zero{1, w.data(), &b, nullptr, nullptr, 0.0};
    with_unit(rows, s, [&]<class Weights>(auto x, Weights*) {
        const Weights unit(zero, s, 0, rows.width);
        for (std::size_t l = 0; l < rows.count; ++l) {
            out[l] = squared_norm(unit, x[l], shift_of(x, l));
        }
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
