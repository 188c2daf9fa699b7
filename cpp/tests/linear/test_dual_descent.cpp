// Linear support vector machines: epochs of dual coordinate descent, and |xh|^2.
#include <cmath>
#include <vector>

#include "tests/linear/dual_problems.hpp"

namespace widemargin::tests {
namespace {

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
                for (const Loops* table : tables) {
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
    CHECK(aside > 1000 && bounded > 1000, "%zu set aside, %zu at a bound", aside, bounded);
}

// An epoch over no examples changes nothing.
void test_empty_epoch(const Loops& table) {
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

// Epochs from 0, over the kept examples and from time to time over all: w matches beta, and no
// change of a variable makes the objective smaller.
void test_convergence(const Loops& table) {
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
                for (const Loops* table : tables) {
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
    for (const Loops* table : tables) {
        test_empty_epoch(*table);
        test_convergence(*table);
    }
}

}  // namespace widemargin::tests
