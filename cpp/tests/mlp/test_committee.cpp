// Committees of units: passes, outputs, threads, dropout.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/mlp/committee_problems.hpp"

namespace widemargin::tests {
namespace {

// Two classes, or three: one against the rest, or against the best other.
Options options_of(int code, std::size_t units, UnitName kind) {
    const CommitteeTargets all[] = {CommitteeTargets::binary, CommitteeTargets::one_against_rest,
                                    CommitteeTargets::best_other};
    const auto targets = all[code % 3];
    return {targets == CommitteeTargets::binary ? std::size_t{1} : std::size_t{3},
            units,
            targets,
            kind,
            (code / 3) % 2 == 1,
            code / 6 == 1};
}

constexpr int kCodes = 12;

void compare(const Loops& table, const CommitteeProblem& start, const CommitteeProblem& expected,
             const CommitteeTally& tally, int code) {
    CommitteeProblem trained = expected;
    const Doubles f = trained.plain_scores();
    for (const bool packed : {false, true}) {
        for (const int threads : {1, 2}) {
            CommitteeProblem found = start;
            const CommitteeTally seen = found.run(table, threads, packed);
            CHECK(same(seen, tally) && found.v == expected.v && found.b == expected.b,
                  "%s width %zu layout %d code %d units %zu of kind %d packed %d threads %d",
                  table.isa, start.data.width, static_cast<int>(start.data.layout), code,
                  start.units, static_cast<int>(start.kind), packed, threads);
            CHECK(found.scores(table, threads, packed) == f,
                  "%s width %zu layout %d code %d units %zu of kind %d packed %d threads %d",
                  table.isa, start.data.width, static_cast<int>(start.data.layout), code,
                  start.units, static_cast<int>(start.kind), packed, threads);
        }
    }
}

void test_passes(const Tables& tables) {
    Random random(21);
    for (const std::size_t width : {1, 3, 9}) {
        for (const Layout layout : layouts) {
            for (int code = 0; code < kCodes; ++code) {
                for (const UnitName kind : {UnitName::hard_tanh, UnitName::sign}) {
                    const std::size_t units = random.below(2) ? 71 : 1 + 2 * random.below(8);
                    const Data data = grid_data(random, layout, 35, width);
                    const CommitteeProblem start(random, data, options_of(code, units, kind));
                    CommitteeProblem expected = start;
                    const CommitteeTally tally = expected.plain();
                    CHECK(tally.updates > 5, "width %zu code %d", width, code);
                    for (const Loops* table : tables) {
                        compare(*table, start, expected, tally, code);
                    }
                }
            }
        }
    }
}

// Rounded sums depend on their order, which must not depend on the number of threads.
void test_threads(const Loops& table) {
    Random random(22);
    for (int code = 0; code < kCodes; ++code) {
        for (const UnitName kind : {UnitName::hard_tanh, UnitName::sign}) {
            for (const double dropout : {0.0, 0.3}) {
                const Data data(random, Layout::sparse64, 40, 12);
                CommitteeProblem one(random, data, options_of(code, 201, kind), false);
                if (kind == UnitName::hard_tanh) one.dropout = dropout;
                CommitteeProblem two = one, three = one;
                const CommitteeTally tally = one.run(table, 1, true);
                CHECK(same(two.run(table, 2, true), tally) && two.v == one.v && two.b == one.b,
                      "%s code %d kind %d", table.isa, code, static_cast<int>(kind));
                CHECK(same(three.run(table, 3, true), tally) && three.v == one.v,
                      "%s code %d kind %d", table.isa, code, static_cast<int>(kind));
                CHECK(one.scores(table, 1, true) == two.scores(table, 2, true), "%s", table.isa);
            }
        }
    }
}

// One visit with weights so small that all units that take part learn: their sum is f.
void test_dropout(const Loops& table) {
    Random random(24);
    const Data data = grid_data(random, Layout::dense64, 3, 4);
    CommitteeProblem start(random, data, options_of(0, 200, UnitName::hard_tanh));
    for (float& value : start.v) value *= 0x1p-4f;
    start.order = {1};
    start.dropout = 0.25;
    start.beta = 100.0;
    std::vector<Floats> ends;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CommitteeProblem found = start, again = start;
        found.seed = again.seed = seed;
        const CommitteeTally tally = found.run(table, 1, false);
        again.run(table, 1, false);
        CHECK(found.v == again.v && found.b == again.b, "%s the same seed twice", table.isa);
        const Doubles z = start.sums(0, 1);
        double f = 0.0;
        std::int64_t present = 0;
        for (std::size_t n = 0; n < start.units; ++n) {
            const std::size_t a = data.width;
            const bool moved = found.weight(0, n, a) != start.weight(0, n, a);
            for (std::size_t j = 0; j < data.width; ++j) {
                const auto step = static_cast<float>(start.rate * start.y[1] * start.at(1, j));
                CHECK(found.weight(0, n, j) == start.weight(0, n, j) + (moved ? step : 0.0f),
                      "%s unit %zu", table.isa, n);
            }
            present += moved;
            f += moved ? z[n] / 0.75 : 0.0;
        }
        // 150 of 200, +- 5 standard deviations
        CHECK(present > 119 && present < 181 && tally.active == present, "%s: %lld", table.isa,
              static_cast<long long>(present));
        CHECK(near(tally.criterion, start.beta - start.y[1] * (f + start.b[0]), 1e-12), "%s",
              table.isa);
        ends.push_back(found.v);
    }
    for (std::size_t i = 1; i < ends.size(); ++i) CHECK(ends[i] != ends[0], "%s", table.isa);
}

// A pass over no examples changes nothing, and there may be no examples to score.
void test_nothing(const Loops& table) {
    Random random(25);
    const Data data = grid_data(random, Layout::sparse32, 6, 5), none(random, data.layout, 0, 5);
    for (const bool packed : {false, true}) {
        CommitteeProblem problem(random, data, options_of(4, 65, UnitName::hard_tanh));
        const Floats before = problem.v;
        problem.order.clear();
        const CommitteeTally tally = problem.run(table, 2, packed);
        CHECK(tally.updates == 0 && tally.weight == 0.0 && problem.v == before, "%s", table.isa);
        CommitteeProblem empty(random, none, options_of(4, 65, UnitName::hard_tanh));
        CHECK(empty.scores(table, 2, packed).empty(), "%s", table.isa);
    }
}

}  // namespace

void test_committees(const Tables& tables) {
    test_passes(tables);
    for (const Loops* table : tables) {
        test_threads(*table);
        test_dropout(*table);
        test_nothing(*table);
    }
}

}  // namespace widemargin::tests
