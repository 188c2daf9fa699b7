// The first solution, which comes from parts of the examples.
#include <cmath>
#include <new>

#include "tests/svm/svm_problems.hpp"

namespace widemargin::tests {
namespace {

// Points that are divided into eight parts.
struct Divided {
    static constexpr std::size_t n = 8200, bytes = 2048 * 2048 * sizeof(float);
    std::shared_ptr<const KernelSource> kernel;
    Variables start;

    Divided(Random& random, const Doubles& x, double gamma) {
        Doubles y(n);
        for (std::size_t l = 0; l < n; ++l) {
            y[l] = std::sin(3.0 * x[2 * l]) * std::sin(3.0 * x[2 * l + 1]) > 0.0 ? 1.0 : -1.0;
        }
        const KernelFunction rbf{KernelName::rbf, gamma, 0.0, 0};
        kernel = std::make_shared<ComputedKernel>(rbf, pack(x, 2, rbf, false));
        start = make_variables(random, Task::classification, y);
    }
    Decomposition solver(std::size_t working_set, std::int64_t max_steps, int threads) const {
        return Decomposition(
            kernel, start,
            {working_set, Shrinking::checked, 1e-3, bytes * static_cast<std::size_t>(threads),
             max_steps, threads, n / 2});
    }
    // f is that of beta, for all examples.
    void check(const Decomposition& solver, const DecompositionProgress& progress,
               const char* text) const {
        Doubles beta(n), f(n), truth(rounded_to_blocks(n), 0.0);
        solver.state(beta.data(), f.data());
        check_feasible(start, beta, text);
        CHECK(progress.complete, "%s: not complete", text);
        Order rows;
        Doubles coef;
        for (std::size_t l = 0; l < n; ++l) {
            if (beta[l] == 0.0) continue;
            rows.push_back(static_cast<std::int64_t>(l));
            coef.push_back(beta[l]);
        }
        const auto frame = kernel->frame(nullptr, n);
        kernel->rows(rows.data(), rows.size(), *frame,
                     {0, rounded_to_blocks(n) / kBlock, 1, coef.data(), truth.data(), truth.size(),
                      nullptr, 1});
        double cost = 0.0, top = -kInfinity, bottom = kInfinity;
        for (std::size_t l = 0; l < n; ++l) {
            CHECK(near(f[l], truth[l], 1e-9), "%s: f %zu", text, l);
            const double v = -truth[l] - start.above[l];
            cost += beta[l] * (0.5 * truth[l] + start.above[l]);
            if (beta[l] < start.hi[l]) top = std::max(top, v);
            if (beta[l] > start.lo[l]) bottom = std::min(bottom, v);
        }
        CHECK(near(progress.cost, cost, 1e-9), "%s: cost %.12g, in truth %.12g", text,
              progress.cost, cost);
        CHECK(near(progress.violation, top - bottom, 1e-9), "%s: violation %g, in truth %g", text,
              progress.violation, top - bottom);
    }
};

void test_divided(Random& random) {
    const Divided problem(random, random.vector(2 * Divided::n), 30.0);
    Decomposition plain = problem.solver(1024, -1, 1);
    const DecompositionProgress whole = plain.run(60.0);
    problem.check(plain, whole, "not divided");

    for (const int threads : {1, 2}) {
        Decomposition solver = problem.solver(0, -1, threads);
        DecompositionProgress progress = solver.run(0.0);
        CHECK(!progress.complete && progress.iterations == 0, "it was not divided");
        for (int slices = 0; !progress.done && slices < 1000; ++slices) progress = solver.run(0.0);
        CHECK(progress.done && progress.violation <= 1e-3, "violation %g", progress.violation);
        problem.check(solver, progress, "divided");
        CHECK(near(progress.cost, whole.cost, 1e-6), "cost %.12g, not %.12g", progress.cost,
              whole.cost);
    }

    // measured in the middle of the halving, and of the solution of the parts
    for (const int slices : {1, 10}) {
        Decomposition early = problem.solver(0, -1, 1);
        for (int slice = 0; slice < slices; ++slice) early.run(0.0);
        CHECK(early.run(0.0).active == 0, "%d slices are too many", slices);
        problem.check(early, early.measure(60.0), "measured early");
    }
    for (const std::int64_t most : {0, 50, 301}) {
        Decomposition few = problem.solver(0, most, 1);
        const DecompositionProgress progress = few.run(60.0);
        CHECK(progress.done && progress.steps <= most, "%d steps, not %d",
              static_cast<int>(progress.steps), static_cast<int>(most));
        problem.check(few, progress, "divided, with few steps");
    }
}

// Every point occurs four times, in different parts: their solutions add up to too much.
void test_divided_badly(Random& random) {
    Doubles x = random.vector(2 * Divided::n);
    const std::size_t distinct = Divided::n / 4;
    for (std::size_t i = 2 * distinct; i < x.size(); ++i) x[i] = x[i % (2 * distinct)];
    Divided problem(random, x, 1e5);
    const Divided other(random, random.vector(2 * Divided::n), 1.0);
    problem.kernel = std::make_shared<InBlocks>(problem.kernel, other.kernel);
    Decomposition solver = problem.solver(0, -1, 2);
    DecompositionProgress progress{};
    for (int slices = 0; !progress.complete && slices < 10000; ++slices) progress = solver.run(0.0);
    CHECK(progress.steps > 1000 && progress.iterations == 0, "it was not divided");
    problem.check(solver, solver.measure(0.0), "divided badly");
}

// A kernel that fails to allocate the frames of parts, as long as it is told to.
class WithoutMemory final : public InBlocks {
   public:
    WithoutMemory(std::shared_ptr<const KernelSource> kernel, const bool& fails)
        : InBlocks(kernel, kernel->affinity()), fails_(fails) {}

    std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const override {
        if (fails_ && n < count() / 2) throw std::bad_alloc();
        return InBlocks::frame(ids, n);
    }

   private:
    const bool& fails_;
};

// An exception in the parallel loop over parts is seen by the caller, who can continue.
void test_divided_without_memory(Random& random) {
    Divided problem(random, random.vector(2 * Divided::n), 30.0);
    bool fails = true;
    problem.kernel = std::make_shared<WithoutMemory>(problem.kernel, fails);
    Decomposition solver = problem.solver(0, -1, 2);
    int failed = 0;
    for (int tries = 0; tries < 2; ++tries) {
        try {
            solver.run(60.0);
        } catch (const std::bad_alloc&) {
            ++failed;
        }
    }
    CHECK(failed == 2, "%d of 2 calls failed", failed);
    fails = false;
    const DecompositionProgress progress = solver.run(60.0);
    CHECK(progress.done && progress.violation <= 1e-3, "violation %g", progress.violation);
    problem.check(solver, progress, "divided after a failure");
}

// Not divided: parts that depend on each other, and a kernel that cannot compare distances.
void test_undivided(Random& random) {
    Divided problem(random, random.vector(2 * Divided::n), 0.01);
    for (const char* text : {"a broad kernel", "a kernel without affinity"}) {
        Decomposition solver = problem.solver(0, 20, 1);
        CHECK(!solver.run(0.0).complete, "%s: it was divided", text);
        const DecompositionProgress progress = solver.run(60.0);
        CHECK(progress.done && progress.steps == 20, "%s: not done", text);
        problem.check(solver, progress, text);
        problem.kernel = std::make_shared<InBlocks>(problem.kernel);
    }
}

}  // namespace

void test_first_solution(Random& random) {
    test_divided(random);
    test_divided_badly(random);
    test_divided_without_memory(random);
    test_undivided(random);
}

}  // namespace widemargin::tests
