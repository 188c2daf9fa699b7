// Exceptions that are thrown inside parallel regions are seen outside.
#include <new>
#include <stdexcept>
#include <string>

#include "tests/checks.hpp"

#define WIDEMARGIN_ISA of_this_test
#include "widemargin/base/team.hpp"

namespace widemargin::tests {
namespace {

constexpr int kThreads = 3;

// What a call throws, or "nothing".
template <class Call>
std::string thrown_by(Call&& call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something else";
    }
    return "nothing";
}

void test_loops_that_throw() {
    for (const int failing : {0, 7, 19}) {
        std::vector<int> visited(20), done(20);
        const auto loop = [&] {
            FirstException failure;
#ifdef _OPENMP
#pragma omp parallel for num_threads(kThreads)
#endif
            for (int i = 0; i < 20; ++i) {
                const auto at = static_cast<std::size_t>(i);
                done[at] = failure.run([&] {
                    if (i == failing) throw std::runtime_error("iteration failed");
                    visited[at] = 1;
                });
            }
            failure.rethrow();
        };
        CHECK(thrown_by(loop) == "iteration failed", "iteration %d", failing);
        CHECK(std::accumulate(visited.begin(), visited.end(), 0) == 19, "others were not visited");
        CHECK(done == visited, "iteration %d", failing);
    }
    FirstException none;
    CHECK(none.run([] {}) && thrown_by([&] { none.rethrow(); }) == "nothing", "without failure");
    FirstException two;
    two.run([] { throw std::runtime_error("first"); });
    two.run([] { throw std::runtime_error("second"); });
    CHECK(thrown_by([&] { two.rethrow(); }) == "first", "two failures");
}

// A thread fails before its first barrier, between two, or behind the last; the others, which wait
// for it, end too.
void test_teams_that_throw() {
    for (const int wanted : {1, kThreads}) {
        for (const int failing : {0, wanted - 1}) {
            for (const int rounds_before : {0, 1, 50}) {
                const auto team = [&] {
                    of_this_test::with_team(wanted, [&](int me, int size, auto& barrier) {
                        for (int round = 0; round < 50; ++round) {
                            if (me == failing % size && round == rounds_before)
                                throw std::bad_alloc();
                            barrier.wait();
                        }
                        if (me == failing % size) throw std::bad_alloc();
                    });
                };
                CHECK(thrown_by(team) == std::bad_alloc().what(), "%d of %d after %d rounds",
                      failing, wanted, rounds_before);
            }
        }
        int calls = 0;
        of_this_test::with_team(wanted, [&](int me, int, auto& barrier) {
            barrier.wait();
            if (me == 0) ++calls;
        });
        CHECK(calls == 1, "a team after one that failed");
    }
}

// Weights that no memory can hold: every output fails to allocate inside the parallel loop.
void test_pass_without_memory(const Loops& table) {
    const std::size_t width = static_cast<std::size_t>(-1) / 4;
    double b[3] = {};
    Doubles scores(3);
    const Rows rows{Layout::dense64, nullptr, nullptr, nullptr, 0, width};
    const LinearState state{
        .outputs = 3, .w = nullptr, .b = b, .sum_w = nullptr, .sum_b = nullptr, .steps = 0.0};
    const Pass pass{.order = nullptr,
                    .count = 0,
                    .y = nullptr,
                    .weights = nullptr,
                    .targets = Targets::one_against_rest,
                    .criterion = {CriterionName::margin, 1.0},
                    .rate = 1.0,
                    .slowing = 0.0,
                    .mu = 0.0,
                    .fit_intercept = true,
                    .threads = kThreads,
                    .scores = scores.data()};
    bool out_of_memory = false;
    try {
        table.stochastic_gradient(rows, state, {}, pass);
    } catch (const std::bad_alloc&) {
        out_of_memory = true;
    }
    CHECK(out_of_memory, "%s", table.isa);
}

}  // namespace

void test_parallel(const Tables& tables) {
    test_loops_that_throw();
    test_teams_that_throw();
    for (const Loops* table : tables) test_pass_without_memory(*table);
}

}  // namespace widemargin::tests
