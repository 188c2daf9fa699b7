// Criteria Q(y, f): what a model minimises, with the derivative in f.
//
// Every kink is inclusive: at the kink the derivative is the one of the side that updates, so
// an example is updated when y f(x) <= threshold and a perceptron started at 0 moves.
#pragma once

#include <cmath>

#include "widemargin/problem.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Q = |-z|+ with z = y f                                            (eq. 8.14)
struct PerceptronCriterion {
    double value(double y, double f) const { return y * f <= 0.0 ? -y * f : 0.0; }
    double derivative(double y, double f) const { return y * f <= 0.0 ? -y : 0.0; }
};

// Q = |beta - z|+                                                   (eq. 8.18, 8.34)
struct MarginCriterion {
    double beta;
    double value(double y, double f) const { return y * f <= beta ? beta - y * f : 0.0; }
    double derivative(double y, double f) const { return y * f <= beta ? -y : 0.0; }
};

// Q = |beta - z|+^2
struct SquaredMarginCriterion {
    double beta;
    double slack(double y, double f) const { return y * f <= beta ? beta - y * f : 0.0; }
    double value(double y, double f) const { return slack(y, f) * slack(y, f); }
    double derivative(double y, double f) const { return -2.0 * y * slack(y, f); }
};

// Q = log(1 + exp(-z))                                              (eq. 3.13)
struct CrossEntropyCriterion {
    double value(double y, double f) const {
        const double z = y * f;
        return z > 0.0 ? std::log1p(std::exp(-z)) : std::log1p(std::exp(z)) - z;
    }
    double derivative(double y, double f) const { return -y / (1.0 + std::exp(y * f)); }
};

// Q = (y - f)^2 / 2                                                 (eq. 3.8)
struct MseCriterion {
    double value(double y, double f) const { return 0.5 * (y - f) * (y - f); }
    double derivative(double y, double f) const { return f - y; }
};

// Q = (y - tanh f)^2 / 2                                            (eq. 7.5)
struct TanhMseCriterion {
    double value(double y, double f) const {
        const double h = std::tanh(f);
        return 0.5 * (y - h) * (y - h);
    }
    double derivative(double y, double f) const {
        const double h = std::tanh(f);
        return (h - y) * (1.0 - h * h);
    }
};

// Q = ||y - f| - epsilon|+                                          (eq. 3.34)
struct EpsilonInsensitiveCriterion {
    double epsilon;
    double value(double y, double f) const {
        const double excess = std::fabs(y - f) - epsilon;
        return excess > 0.0 ? excess : 0.0;
    }
    double derivative(double y, double f) const {
        return y - f >= epsilon ? -1.0 : (f - y >= epsilon ? 1.0 : 0.0);
    }
};

// Calls visitor(criterion) with the criterion's own type, so that loops compile to one branch.
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
            derivative[l] = q.derivative(y[l], f[l]);
        }
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
