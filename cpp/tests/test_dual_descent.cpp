// Linear support vector machines: epochs of dual coordinate descent, and |xh|^2.
#include <cmath>
#include <vector>

#include "linear_problems.hpp"

namespace widemargin::tests {
namespace {

// What an epoch starts from, by the core and by a plain loop. Bounds are those of labels or of
// targets with a tube; a ridge goes with bounds that are infinite. Some examples have no room.
struct Descent : Inputs {
    bool labels, squared;
    std::vector<DualVariable> variables;
    Doubles w, b;  // w for inputs as they are
    double epsilon, intercept, patience = kInfinity;
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

    // Anywhere: at either bound if it is finite, at 0, between. w and b need not belong to that.
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

    // The beta of one example where the objective is least: on the side of 0 where it falls from 0,
    // at the end of a parabola, or of a line if there is no curvature.
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

    DualTally plain() {
        DualTally tally;
        kept.clear();
        for (const auto id : order) {
            const auto l = static_cast<std::size_t>(id);
            DualVariable& v = variables[l];
            const auto [grow, fall] = slopes(l);
            // put aside: at a bound or at the kink, and no change of g by `patience` moves it
            const bool safe = (grow == -kInfinity || grow + patience < 0.0) &&
                              (fall == -kInfinity || fall + patience < 0.0);
            if (safe && (v.beta == v.lo || v.beta == v.hi || v.beta == 0.0)) continue;
            kept.push_back(id);
            tally.violation = std::fmax(tally.violation, std::fmax(grow, fall));
            if (grow <= 0.0 && fall <= 0.0) continue;
            const double delta = best(l) - v.beta;
            tally.updates += delta != 0.0;
            tally.sum += delta;
            v.beta += delta;
            for (std::size_t j = 0; j < data.width; ++j) w[j] += delta * at(l, j) / scale[j];
            b[0] += intercept * delta;
        }
        tally.kept = kept.size();
        return tally;
    }

    // Those that are kept go to a place of their own, or in front of the order.
    DualTally run(const Kernels& kernels, bool as_packed, bool in_place = false) {
        const Doubles nothing(data.count);
        kept = in_place ? order : Order(order.size(), -1);
        const DualTally tally =
            visit(kernels, as_packed, nothing.data(), nullptr, {&w},
                  [&](const Rows& rows, const Standardization& statistics) {
                      const LinearState state{1, w.data(), b.data(), nullptr, nullptr, 0.0};
                      return kernels.dual_descent(
                          rows, state, statistics,
                          {in_place ? kept.data() : order.data(), order.size(), variables.data(),
                           epsilon, intercept, patience, kept.data()});
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

constexpr double intercepts[] = {0.0, 1.0, 2.5};
constexpr double patiences[] = {kInfinity, 0.3, 0.0};

void test_epochs(const Tables& tables) {
    Random random(11);
    std::size_t aside = 0, bounded = 0;
    for (std::size_t width = 1; width <= 70; width += width < 20 ? 1 : 7) {
        for (const Layout layout : layouts) {
            for (int options = 0; options < 8; ++options) {
                const Data data(random, layout, 23, width);
                Descent start(random, data, options & 1, options & 2, options & 4,
                              intercepts[random.below(std::size(intercepts))]);
                start.patience = patiences[random.below(std::size(patiences))];
                start.scatter(random);
                start.order = some_of(data, start.order, data.count - random.below(5));
                Descent expected = start;
                const DualTally tally = expected.plain();
                aside += start.order.size() - tally.kept;
                for (const DualVariable& v : expected.variables) bounded += v.beta == v.hi;
                for (const Kernels* table : tables) {
                    for (const bool packed : {false, true}) {
                        Descent found = start;
                        const bool same = close(found.run(*table, packed, packed), tally);
                        CHECK(same && found.kept == expected.kept,
                              "%s width %zu layout %d options %d packed %d: %zu kept, not %zu",
                              table->isa, width, static_cast<int>(layout), options, packed,
                              found.kept.size(), expected.kept.size());
                        CHECK(close(found.beta(), expected.beta()) && close(found.w, expected.w) &&
                                  close(found.b, expected.b),
                              "%s width %zu layout %d options %d packed %d", table->isa, width,
                              static_cast<int>(layout), options, packed);
                    }
                }
            }
        }
    }
    CHECK(aside > 1000 && bounded > 1000, "%zu put aside, %zu at a bound", aside, bounded);
}

// An epoch over nothing changes nothing.
void test_empty_epoch(const Kernels& table) {
    Random random(12);
    for (const Layout layout : layouts) {
        const Data data(random, layout, 6, 5);
        Descent start(random, data, true, true, false, 1.0);
        start.scatter(random);
        start.order.clear();
        for (const bool packed : {false, true}) {
            Descent found = start;
            const DualTally tally = found.run(table, packed);
            CHECK(close(tally, DualTally{}), "%s", table.isa);
            CHECK(found.beta() == start.beta() && close(found.w, start.w), "%s", table.isa);
        }
    }
}

// Epochs from 0, over what is kept and now and then over all: w belongs to beta, and nothing that
// a variable may do makes the objective smaller.
void test_convergence(const Kernels& table) {
    Random random(13);
    for (const Layout layout : layouts) {
        for (int options = 0; options < 8; ++options) {
            for (const double intercept : intercepts) {
                const Data data(random, layout, 15, 4);
                Descent problem(random, data, options & 1, options & 2, options & 4, intercept);
                const Order all = problem.order;
                double worst = kInfinity;
                for (std::uint64_t epoch = 0; epoch < 20000 && worst > 1e-10; ++epoch) {
                    const bool anew = epoch % 20 == 0 || problem.order.empty();
                    if (anew) problem.order = all;
                    shuffle(problem.order.data(), problem.order.size(), 5, epoch);
                    problem.patience = anew ? kInfinity : worst;
                    const double violation = problem.run(table, epoch % 2).violation;
                    problem.order = problem.kept;
                    worst = violation;
                    if (!anew && worst <= 1e-10) problem.order.clear(), worst = 1e-9;
                }
                Doubles w(data.width);
                double sum = 0.0, violation = 0.0;
                for (std::size_t l = 0; l < data.count; ++l) {
                    const DualVariable& v = problem.variables[l];
                    CHECK(v.lo <= v.beta && v.beta <= v.hi, "beta %zu = %g", l, v.beta);
                    for (std::size_t j = 0; j < data.width; ++j) {
                        w[j] += v.beta * problem.at(l, j) / problem.scale[j];
                    }
                    sum += v.beta;
                    const auto [grow, fall] = problem.slopes(l);
                    violation = std::fmax(violation, std::fmax(grow, fall));
                }
                CHECK(violation <= 1e-8, "%s layout %d options %d intercept %g: violation %g",
                      table.isa, static_cast<int>(layout), options, intercept, violation);
                for (std::size_t j = 0; j < data.width; ++j) {
                    CHECK(near(problem.w[j], w[j], 1e-9), "%s w %g, not %g", table.isa,
                          problem.w[j], w[j]);
                }
                CHECK(near(problem.b[0], intercept * sum, 1e-9), "%s b", table.isa);
            }
        }
    }
}

void test_norms(const Tables& tables) {
    Random random(14);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (const Layout layout : layouts) {
            for (const bool standardized : {false, true}) {
                const Data data(random, layout, 11, width);
                Descent problem(random, data, standardized, true, false, 0.0);
                const Doubles nothing(data.count);
                Doubles expected(data.count);
                for (std::size_t l = 0; l < data.count; ++l) expected[l] = problem.norm(l);
                for (const Kernels* table : tables) {
                    for (const bool packed : {false, true}) {
                        Doubles found(data.count);
                        problem.visit(*table, packed, nothing.data(), nullptr, {},
                                      [&](const Rows& rows, const Standardization& statistics) {
                                          table->squared_norms(rows, statistics, found.data());
                                          return 0;
                                      });
                        CHECK(close(found, expected), "%s width %zu layout %d packed %d",
                              table->isa, width, static_cast<int>(layout), packed);
                    }
                }
            }
        }
    }
}

}  // namespace

void test_dual_descent(const Tables& tables) {
    test_epochs(tables);
    test_norms(tables);
    for (const Kernels* table : tables) {
        test_empty_epoch(*table);
        test_convergence(*table);
    }
}

}  // namespace widemargin::tests
