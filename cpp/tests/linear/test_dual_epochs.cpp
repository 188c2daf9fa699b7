// Linear support vector machines: many epochs of dual coordinate descent, and losses on a line.
#include <cmath>
#include <vector>

#include "tests/linear/dual_problems.hpp"

namespace widemargin::tests {
namespace {

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
    problem.visit(
        table, false, nothing.data(), nullptr, {&problem.w},
        [&](const Rows& rows, const Standardization& statistics) {
            const LinearState state{1, problem.w.data(), problem.b.data(), nullptr, nullptr, 0.0};
            while (!end.reached(found.course)) {
                const auto made = table.dual_course(rows, state, statistics, like, found.course,
                                                    found.sums.data(), end, visits);
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
                const LossSums found =
                    table->losses({count, target.data(), c.data(), epsilon, labels, squared},
                                  f.data(), d.data(), t);
                CHECK(close(found.value, value) && close(found.slope, slope),
                      "%s count %zu options %d: %g, not %g", table->isa, count, options,
                      found.value, value);
            }
        }
    }
}

}  // namespace

void test_dual_course(const Tables& tables) {
    test_losses(tables);
    for (const Kernels* table : tables) {
        test_course(*table);
        test_cut_course(*table);
    }
}

}  // namespace widemargin::tests
