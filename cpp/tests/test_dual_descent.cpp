// Linear support vector machines: epochs of dual coordinate descent, and |xh|^2.
#include <algorithm>
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
        sparse_serves = true;
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

    // Further than to the best beta, but neither beyond a bound nor beyond 0.
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
            // put aside: at a bound or at the kink, and no change of g by `patience` moves it
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

// Some of the examples, no two of them equal: once one is at its best, rounding would decide what
// becomes of the other.
Order some_of(const Data& data, const Order& all, std::size_t most) {
    Order order;
    for (const auto id : all) {
        const auto row = data.x.begin() + id * static_cast<std::int64_t>(data.width);
        const auto equal = [&](std::int64_t other) {
            return std::equal(row, row + static_cast<std::int64_t>(data.width),
                              data.x.begin() + other * static_cast<std::int64_t>(data.width));
        };
        if (order.size() < most && std::none_of(order.begin(), order.end(), equal)) {
            order.push_back(id);
        }
    }
    return order;
}

constexpr double intercepts[] = {0.0, 1.0, 2.5};
constexpr double patiences[] = {kInfinity, 0.3, 0.0};
constexpr double relaxations[] = {1.0, 1.4, 1.9};

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
                start.relaxation = relaxations[random.below(std::size(relaxations))];
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

// Epochs from 0, in calls of `visits`; of a free intercept the input is 1 at first.
struct Followed {
    DualCourse course;
    Doubles sums;
};
Followed follow(Descent& problem, const Kernels& table, Order& order, bool free, DualEnd end,
                std::int64_t visits) {
    order.assign(problem.data.count, 0);
    Followed found{{problem.data.count, order.data(), 7, free ? 1.0 : problem.intercept, free, 0.0},
                   Doubles(problem.data.width + 2)};
    DualEpoch like{};
    like.variables = problem.variables.data();
    like.epsilon = problem.epsilon;
    like.relaxation = problem.relaxation;
    const Doubles nothing(problem.data.count);
    problem.visit(table, false, nothing.data(), nullptr, {&problem.w},
                  [&](const Rows& rows, const Standardization& statistics) {
                      const LinearState state{1,       problem.w.data(), problem.b.data(),
                                              nullptr, nullptr,          0.0};
                      while (!end.reached(found.course)) {
                          const auto made = table.dual_course(rows, state, statistics, like,
                                                              found.course, found.sums.data(), end,
                                                              visits);
                          CHECK(0 < made && made <= visits, "%s %zd visits", table.isa, made);
                      }
                      return 0;
                  });
    return found;
}

// Many epochs end where nothing that a variable may do makes the objective smaller, whether
// examples were put aside or not, and a free intercept makes the sum of beta 0.
void test_course(const Kernels& table) {
    Random random(15);
    for (const Layout layout : layouts) {
        for (int options = 0; options < 16; ++options) {
            const Data data(random, layout, 15, 4);
            const bool free = options & 8;
            Descent problem(random, data, options & 1, options & 2, options & 4, 1.0);
            problem.relaxation = relaxations[random.below(2)];
            Order order;
            const auto end = follow(problem, table, order, free, {6000, 1 << 30}, 40).course;
            CHECK(end.epoch == 6000 && end.visits <= 6000 * 15, "%s: %zu visits", table.isa,
                  static_cast<std::size_t>(end.visits));
            double sum = 0.0, violation = 0.0;
            for (std::size_t l = 0; l < data.count; ++l) {
                sum += problem.variables[l].beta;
                const auto [grow, fall] = problem.slopes(l);
                violation = std::fmax(violation, std::fmax(grow, fall));
            }
            CHECK(violation <= 1e-6, "%s layout %d options %d: violation %g", table.isa,
                  static_cast<int>(layout), options, violation);
            CHECK(near(end.sum, sum, 1e-9), "%s sum %g, not %g", table.isa, end.sum, sum);
            if (free) CHECK(std::fabs(sum) <= 1e-6, "%s sum %g", table.isa, sum);
        }
    }
}

// Calls may be cut anywhere; the sums have one term an epoch; enough visits end with an epoch.
void test_cut_course(const Kernels& table) {
    Random random(16);
    for (const Layout layout : layouts) {
        const Data data(random, layout, 40, 6);
        const Descent start(random, data, random.below(2), true, false, 1.0);
        Descent whole = start, cut = start, enough = start;
        Order order;
        const Followed at_once = follow(whole, table, order, false, {9, 1 << 30}, 1 << 30);
        const Followed in_parts = follow(cut, table, order, false, {9, 1 << 30}, 7);
        CHECK(at_once.course.visits == in_parts.course.visits, "%s", table.isa);
        CHECK(close(whole.w, cut.w) && close(whole.beta(), cut.beta()), "%s", table.isa);
        CHECK(close(at_once.sums, in_parts.sums), "%s", table.isa);
        CHECK(at_once.sums.back() == 9.0, "%s %g", table.isa, at_once.sums.back());
        const Followed some = follow(enough, table, order, false, {9, 41}, 7);
        CHECK(some.course.epoch == 2 && some.course.visited == 0, "%s", table.isa);
    }
}

void test_losses(const Tables& tables) {
    Random random(17);
    for (std::size_t count = 0; count < 40; ++count) {
        for (int options = 0; options < 4; ++options) {
            const bool labels = options & 1, squared = options & 2;
            const Doubles f = random.vector(count), d = random.vector(count);
            Doubles target = random.vector(count), c = random.vector(count);
            const double epsilon = labels ? 0.0 : 0.2, t = 0.7;
            double value = 0.0, slope = 0.0;
            for (std::size_t l = 0; l < count; ++l) {
                c[l] = std::fabs(c[l]);
                if (labels) target[l] = target[l] > 0.0 ? 1.0 : -1.0;
                const double at = f[l] + t * d[l];
                const double sign = labels ? -target[l] : at > target[l] ? 1.0 : -1.0;
                const double xi = labels ? 1.0 - target[l] * at : sign * (at - target[l]) - epsilon;
                if (xi <= 0.0) continue;
                value += c[l] * (squared ? xi * xi : xi);
                slope += c[l] * (squared ? 2.0 * xi : 1.0) * sign * d[l];
            }
            for (const Kernels* table : tables) {
                const LossSums found = table->losses(
                    {count, target.data(), c.data(), epsilon, labels, squared}, f.data(), d.data(),
                    t);
                CHECK(close(found.value, value) && close(found.slope, slope),
                      "%s count %zu options %d: %g, not %g", table->isa, count, options,
                      found.value, value);
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
    test_losses(tables);
    for (const Kernels* table : tables) {
        test_empty_epoch(*table);
        test_convergence(*table);
        test_course(*table);
        test_cut_course(*table);
    }
}

}  // namespace widemargin::tests
