// Criteria Q(y, f), which a model minimises, and their derivatives in f.
//
// The derivative is `slope` where the example is `active`, and 0 elsewhere. The two are separate so
// that an update waits only for the branch, not for the value.
//
// Every kink is inclusive: the derivative at the kink is that of the side that updates. So an
// example is updated when y f(x) <= threshold, and a perceptron that starts at 0 moves. Values are
// written so that Q is NaN when f is: a diverged model must not look converged.
#pragma once

#include <cmath>

#include "widemargin/linear/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Q = |-z|+ with z = y f                                            (eq. 8.14)
struct PerceptronCriterion {
    double value(double y, double f) const { return y * f > 0.0 ? 0.0 : -y * f; }
    bool active(double y, double f) const { return y * f <= 0.0; }
    double slope(double y, double) const { return -y; }
};

// Q = |beta - z|+                                                   (eq. 8.18, 8.34)
struct MarginCriterion {
    double beta;
    double value(double y, double f) const { return y * f > beta ? 0.0 : beta - y * f; }
    bool active(double y, double f) const { return y * f <= beta; }
    double slope(double y, double) const { return -y; }
};

// Q = |beta - z|+^2
struct SquaredMarginCriterion {
    double beta;
    double slack(double y, double f) const { return y * f > beta ? 0.0 : beta - y * f; }
    double value(double y, double f) const { return slack(y, f) * slack(y, f); }
    bool active(double y, double f) const { return y * f < beta; }
    double slope(double y, double f) const { return -2.0 * y * slack(y, f); }
};

// Q = log(1 + exp(-z))                                              (eq. 3.13)
struct CrossEntropyCriterion {
    double value(double y, double f) const {
        const double z = y * f;
        return z > 0.0 ? std::log1p(std::exp(-z)) : std::log1p(std::exp(z)) - z;
    }
    bool active(double, double) const { return true; }
    double slope(double y, double f) const { return -y / (1.0 + std::exp(y * f)); }
};

// Q = (y - f)^2 / 2                                                 (eq. 3.8)
struct MseCriterion {
    double value(double y, double f) const { return 0.5 * (y - f) * (y - f); }
    bool active(double y, double f) const { return f != y; }
    double slope(double y, double f) const { return f - y; }
};

// Q = (y - tanh f)^2 / 2                                            (eq. 7.5)
struct TanhMseCriterion {
    double value(double y, double f) const {
        const double h = std::tanh(f);
        return 0.5 * (y - h) * (y - h);
    }
    bool active(double, double) const { return true; }
    double slope(double y, double f) const {
        const double h = std::tanh(f);
        return (h - y) * (1.0 - h * h);
    }
};

// Q = ||y - f| - epsilon|+                                          (eq. 3.34)
struct EpsilonInsensitiveCriterion {
    double epsilon;
    double value(double y, double f) const {
        const double excess = std::fabs(y - f) - epsilon;
        return excess < 0.0 ? 0.0 : excess;
    }
    bool active(double y, double f) const { return std::fabs(y - f) >= epsilon; }
    double slope(double y, double f) const { return y - f >= epsilon ? -1.0 : 1.0; }
};

// The target of output k: y itself, or +1 for class k and -1 for the rest.
inline double target(Targets kind, double y, std::size_t k) {
    if (kind == Targets::values) return y;
    return y == static_cast<double>(k) ? 1.0 : -1.0;
}

// Calls visitor(criterion) with the type of the criterion, so that loops compile to one branch.
template <class Visitor>
decltype(auto) with_criterion(const Criterion& criterion, Visitor&& visitor) {
    switch (criterion.name) {
        case CriterionName::perceptron: return visitor(PerceptronCriterion{});
        case CriterionName::margin: return visitor(MarginCriterion{criterion.parameter});
        case CriterionName::squared_margin:
            return visitor(SquaredMarginCriterion{criterion.parameter});
        case CriterionName::cross_entropy: return visitor(CrossEntropyCriterion{});
        case CriterionName::mse: return visitor(MseCriterion{});
        case CriterionName::tanh_mse: return visitor(TanhMseCriterion{});
        case CriterionName::epsilon_insensitive: break;
    }
    return visitor(EpsilonInsensitiveCriterion{criterion.parameter});
}

inline void evaluate_criterion(const Criterion& criterion, std::size_t count, const double* y,
                               const double* f, double* value, double* derivative) {
    with_criterion(criterion, [=](auto q) {
        for (std::size_t l = 0; l < count; ++l) {
            value[l] = q.value(y[l], f[l]);
            derivative[l] = q.active(y[l], f[l]) ? q.slope(y[l], f[l]) : 0.0;
        }
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
