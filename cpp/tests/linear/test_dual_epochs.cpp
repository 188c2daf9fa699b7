// Linear support vector machines: many epochs of dual coordinate descent.
#include <cmath>
#include <vector>

#include "tests/linear/dual_problems.hpp"

namespace widemargin::tests {
namespace {

// Epochs from 0, in calls of `visits`; the input of a free intercept is 1 at first.
struct Epochs {
    DualProgress progress;
    Doubles sums;
};
Epochs run_epochs(Descent& problem, const Loops& table, Order& order, bool free, DualEnd end,
                  std::int64_t visits) {
    order.assign(problem.data.count, 0);
    Epochs found{{problem.data.count, order.data(), 7, free ? 1.0 : problem.intercept, free, 0.0},
                 Doubles(problem.data.width + 2)};
    DualEpoch like{};
    like.variables = problem.variables.data();
    like.epsilon = problem.epsilon;
    like.relaxation = problem.relaxation;
    const Doubles nothing(problem.data.count);
    problem.visit(
        table, false, nothing.data(), nullptr, {&problem.w},
        [&](const Rows& rows, const Standardization& statistics) {
            const LinearState state{1, problem.w.data(), problem.b.data(), nullptr, nullptr, 0.0};
            while (!end.reached(found.progress)) {
                const auto made = table.dual_epochs(rows, state, statistics, like, found.progress,
                                                    found.sums.data(), end, visits);
                CHECK(0 < made && made <= visits, "%s %zd visits", table.isa, made);
            }
            return 0;
        });
    return found;
}

// After many epochs no change of a variable makes the objective smaller, whether examples were set
// aside or not, and a free intercept makes the sum of beta 0.
void test_optimum(const Loops& table) {
    Random random(15);
    for (const Layout layout : layouts) {
        for (int options = 0; options < 16; ++options) {
            const Data data(random, layout, 15, 4);
            const bool free = options & 8;
            Descent problem(random, data, options & 1, options & 2, options & 4, 1.0);
            problem.relaxation = relaxations[random.below(2)];
            Order order;
            const auto end = run_epochs(problem, table, order, free, {6000, 1 << 30}, 40).progress;
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

// Calls may stop anywhere; the sums have one term per epoch; enough visits end with an epoch.
void test_short_calls(const Loops& table) {
    Random random(16);
    for (const Layout layout : layouts) {
        const Data data(random, layout, 40, 6);
        const Descent start(random, data, random.below(2), true, false, 1.0);
        Descent whole = start, cut = start, enough = start;
        Order order;
        const Epochs at_once = run_epochs(whole, table, order, false, {9, 1 << 30}, 1 << 30);
        const Epochs in_parts = run_epochs(cut, table, order, false, {9, 1 << 30}, 7);
        CHECK(at_once.progress.visits == in_parts.progress.visits, "%s", table.isa);
        CHECK(close(whole.w, cut.w) && close(whole.beta(), cut.beta()), "%s", table.isa);
        CHECK(close(at_once.sums, in_parts.sums), "%s", table.isa);
        CHECK(at_once.sums.back() == 9.0, "%s %g", table.isa, at_once.sums.back());
        const Epochs some = run_epochs(enough, table, order, false, {9, 41}, 7);
        CHECK(some.progress.epoch == 2 && some.progress.visited == 0, "%s", table.isa);
    }
}

}  // namespace

void test_dual_epochs(const Tables& tables) {
    for (const Loops* table : tables) {
        test_optimum(*table);
        test_short_calls(*table);
    }
}

}  // namespace widemargin::tests
