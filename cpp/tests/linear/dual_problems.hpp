// Problems of dual coordinate descent, and an epoch of it by a plain loop.
#pragma once

#include <cmath>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {

// The start of an epoch, and the epoch by the core and by a plain loop. Bounds are those of labels
// or of targets with a tube; a ridge goes with infinite bounds. Some examples have lo = hi = 0.
struct Descent : Inputs {
    bool labels, squared;
    std::vector<DualVariable> variables;
    Doubles w, b;  // w for raw inputs
    double epsilon, intercept, patience = kInfinity, relaxation = 1.0;
    Order order, kept;

    Descent(Random& random, const Data& data, bool standardized, bool labels, bool squared,
            double intercept)
        : Inputs(random, data, standardized),
          labels(labels),
          squared(squared),
          variables(data.count),
          w(data.width),
          b(1),
          epsilon(labels || random.below(4) == 0 ? 0.0 : 0.2),
          intercept(intercept),
          order(first_ones(data.count)) {
        sparse_works = true;
        shuffle(order.data(), order.size(), random.below(1000), 0);
        for (std::size_t l = 0; l < data.count; ++l) {
            const double c = 0.1 + random.uniform();
            const double most = l % 7 == 3 ? 0.0 : squared ? kInfinity : c;
            const double target = labels ? (random.below(2) ? 1.0 : -1.0) : random.centred();
            const double lo = labels && target > 0.0 ? 0.0 : -most;
            const double hi = labels && target < 0.0 ? 0.0 : most;
            variables[l] = {0.0, lo, hi, target, norm(l), squared ? 0.5 / c : 0.0};
        }
    }

    // Random beta: at a finite bound, at 0, or between. w and b need not match them.
    void scatter(Random& random) {
        for (DualVariable& v : variables) {
            const double lo = std::fmax(v.lo, -2.0), hi = std::fmin(v.hi, 2.0);
            const double between = lo + (hi - lo) * random.uniform();
            const double places[] = {v.lo == lo ? lo : 0.0, v.hi == hi ? hi : 0.0, 0.0, between};
            v.beta = places[random.below(std::size(places))];
        }
        w = random.vector(w.size());
        b = random.vector(1);
    }

    double norm(std::size_t l) const {
        double sum = 0.0;
        for (std::size_t j = 0; j < data.width; ++j) sum += at(l, j) * at(l, j);
        return sum;
    }

    double f(std::size_t l) const {
        double sum = b[0];
        for (std::size_t j = 0; j < data.width; ++j) sum += w[j] * scale[j] * at(l, j);
        return sum;
    }

    // How fast the objective falls as beta grows, and as it falls; minus infinity at a bound.
    struct Slopes {
        double grow, fall;
    };
    Slopes slopes(std::size_t l) const {
        const DualVariable& v = variables[l];
        const double g = f(l) - v.target + v.ridge * v.beta;
        return {v.beta == v.hi ? -kInfinity : -(g + (v.beta >= 0.0 ? epsilon : -epsilon)),
                v.beta == v.lo ? -kInfinity : g + (v.beta > 0.0 ? epsilon : -epsilon)};
    }

    // The beta of one example that minimises the objective: on the side of 0 where the objective
    // falls, at the minimum of a parabola, or at the end of a line if there is no curvature.
    double best(std::size_t l) const {
        const DualVariable& v = variables[l];
        const double h = norm(l) + intercept + v.ridge;
        const double at_zero = f(l) - v.target - (norm(l) + intercept) * v.beta;
        if (at_zero + epsilon < 0.0) {
            return std::fmin(v.hi, h > 0.0 ? std::fmax(v.lo, -(at_zero + epsilon) / h) : v.hi);
        }
        if (at_zero - epsilon > 0.0) {
            return std::fmax(v.lo, h > 0.0 ? std::fmin(v.hi, -(at_zero - epsilon) / h) : v.lo);
        }
        return 0.0;
    }

    // Beyond the best beta, but neither beyond a bound nor beyond 0.
    double relaxed(double best, const DualVariable& v) const {
        const double beta = v.beta + relaxation * (best - v.beta);
        const bool beyond = best == 0.0 || (best > 0.0 ? beta <= 0.0 : beta >= 0.0);
        return beyond ? 0.0 : std::fmin(v.hi, std::fmax(v.lo, beta));
    }

    DualTally plain() {
        DualTally tally;
        kept.clear();
        for (const auto id : order) {
            const auto l = static_cast<std::size_t>(id);
            DualVariable& v = variables[l];
            const auto [grow, fall] = slopes(l);
            // set aside: at a bound or at the kink, and no change of g by `patience` moves it
            const bool safe = (grow == -kInfinity || grow + patience < 0.0) &&
                              (fall == -kInfinity || fall + patience < 0.0);
            if (safe && (v.beta == v.lo || v.beta == v.hi || v.beta == 0.0)) continue;
            kept.push_back(id);
            tally.violation = std::fmax(tally.violation, std::fmax(grow, fall));
            if (grow <= 0.0 && fall <= 0.0) continue;
            const double delta = relaxed(best(l), v) - v.beta;
            tally.updates += delta != 0.0;
            tally.sum += delta;
            v.beta += delta;
            for (std::size_t j = 0; j < data.width; ++j) w[j] += delta * at(l, j) / scale[j];
            b[0] += intercept * delta;
        }
        tally.kept = kept.size();
        return tally;
    }

    // The kept examples go to an array of their own, or to the front of the order.
    DualTally run(const Loops& table, bool as_packed, bool in_place = false) {
        const Doubles nothing(data.count);
        kept = in_place ? order : Order(order.size(), -1);
        const DualTally tally =
            visit(table, as_packed, nothing.data(), nullptr, {&w},
                  [&](const Rows& rows, const Standardization& statistics) {
                      const LinearState state{1, w.data(), b.data(), nullptr, nullptr, 0.0};
                      return table.dual_descent(
                          rows, state, statistics,
                          {in_place ? kept.data() : order.data(), order.size(), variables.data(),
                           epsilon, intercept, patience, kept.data(), relaxation});
                  });
        kept.resize(tally.kept);
        return tally;
    }

    Doubles beta() const {
        Doubles values;
        for (const DualVariable& v : variables) values.push_back(v.beta);
        return values;
    }
};

inline constexpr double intercepts[] = {0.0, 1.0, 2.5};
inline constexpr double patiences[] = {kInfinity, 0.3, 0.0};
inline constexpr double relaxations[] = {1.0, 1.4, 1.9};

}  // namespace widemargin::tests
