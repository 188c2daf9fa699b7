// The decomposition algorithm on problems that are small enough for plain steps.
#include <string>

#include "tests/svm/svm_problems.hpp"

namespace widemargin::tests {
namespace {

// A kernel, its matrix as doubles, and a problem.
struct Machine {
    std::shared_ptr<const KernelSource> kernel;
    Doubles k;
    Task task;
    Variables start;
    std::string text;
};

Doubles matrix_of(const KernelSource& kernel) {
    const std::size_t n = kernel.count();
    const Order every = first_ones(n);
    Doubles k(n * n);
    const auto frame = kernel.frame(nullptr, n);
    for (std::size_t a = 0; a < n; ++a) {
        Doubles f(rounded_to_blocks(n), 0.0);
        const double one = 1.0;
        kernel.rows(&every[a], 1, *frame,
                    {0, rounded_to_blocks(n) / kBlock, 1, &one, f.data(), f.size(), nullptr, 1});
        std::copy_n(f.begin(), n, k.begin() + static_cast<std::ptrdiff_t>(a * n));
    }
    return k;
}

enum class Source { floats, doubles, given };

// Examples of 80 inputs, of which two matter: enough that a row is worth caching.
Machine make_machine(Random& random, Task task, Source source, std::size_t n) {
    const std::size_t width = 80;
    const Doubles points = random_points(random, n);
    Doubles x(n * width);
    for (std::size_t l = 0; l < n; ++l) {
        for (std::size_t j = 0; j < width; ++j) {
            x[l * width + j] =
                points[2 * l + j % 2] + (l % 5 == 0 && l > 0 ? 0.0 : 0.1 * random.centred());
        }
    }
    const KernelFunction rbf{KernelName::rbf, 0.6, 0.0, 0};
    const auto computed =
        std::make_shared<ComputedKernel>(rbf, pack(x, width, rbf, source != Source::floats));
    Machine machine{computed, matrix_of(*computed), task,
                    make_variables(random, task, random_targets(random, task, n)), name_of(task)};
    if (source == Source::given) {
        const Doubles& k = machine.k;
        machine.kernel = std::make_shared<GivenKernel>(
            n, Doubles(n, 1.0), [k, n](const std::int64_t* ids, std::size_t rows, double* out) {
                for (std::size_t r = 0; r < rows; ++r) {
                    std::copy_n(k.begin() + ids[r] * static_cast<std::int64_t>(n), n, out + r * n);
                }
            });
    }
    const char* sources[] = {" in float", " in double", ", given"};
    machine.text += sources[static_cast<int>(source)];
    return machine;
}

struct Result {
    DecompositionProgress progress;
    Doubles beta, f;
    Point point;
};

// The state of a solver, after checking that f is right where it is known.
Result result_of(const Machine& machine, const Decomposition& solver,
                 const DecompositionProgress& progress, const char* text) {
    const std::size_t n = machine.kernel->count();
    Result result{progress, Doubles(n), Doubles(n), {}};
    solver.state(result.beta.data(), result.f.data());
    check_feasible(machine.start, result.beta, text);
    result.point = look(machine.start, machine.k, result.beta);
    CHECK(near(progress.cost, result.point.cost, 1e-10), "%s: cost %.12g, in truth %.12g", text,
          progress.cost, result.point.cost);
    if (!progress.complete) return result;
    CHECK(progress.active == n, "%s: %zu active", text, progress.active);
    for (std::size_t l = 0; l < n; ++l) {
        CHECK(near(result.f[l], result.point.f[l], 1e-10), "%s: f %zu = %.12g, in truth %.12g",
              text, l, result.f[l], result.point.f[l]);
    }
    CHECK(near(progress.violation, result.point.violation, 1e-9),
          "%s: violation %.12g, in truth %.12g", text, progress.violation, result.point.violation);
    return result;
}

// The solution is optimal for all examples, and as good as that of plain steps.
void check_solution(const Machine& machine, const Result& result, double tol, double cost,
                    const char* text) {
    CHECK(result.progress.done && result.progress.complete, "%s: not done", text);
    CHECK(result.point.violation <= tol + 1e-9, "%s: violation %g", text, result.point.violation);
    if (machine.task == Task::nu_regression) return;
    CHECK(near(result.point.cost, cost, 1e-6), "%s: cost %.12g, not %.12g", text, result.point.cost,
          cost);
}

constexpr double tol = 1e-5;
constexpr Shrinking shrinkings[] = {Shrinking::never, Shrinking::checked, Shrinking::heuristic};

// Every size of the working set, kind of shrinking, and size of the cache: none, some rows, all.
void test_solutions(Random& random, Source source) {
    bool shrunk = false, cached = false, evicted = false;
    for (const Task task : tasks) {
        const std::size_t n = 50;
        const Machine machine = make_machine(random, task, source, n);
        const double cost =
            look(machine.start, machine.k, plain_solve(machine.start, machine.k, 1e-8)).cost;
        const std::size_t bytes = n * n * machine.kernel->value_bytes();
        for (const std::size_t working_set : {0, 2, 4, 16}) {
            if (source == Source::doubles && working_set != 16) continue;  // like given kernels
            for (const Shrinking shrinking : shrinkings) {
                for (const std::size_t cache_bytes : {std::size_t{0}, bytes / 9, 2 * bytes}) {
                    const std::string text = machine.text + ", set of " +
                                             std::to_string(working_set) + ", shrinking " +
                                             std::to_string(static_cast<int>(shrinking)) + ", " +
                                             std::to_string(cache_bytes) + " bytes";
                    Decomposition solver(machine.kernel, machine.start,
                                         {working_set, shrinking, tol, cache_bytes, -1, 1});
                    DecompositionProgress progress = solver.run(60.0);
                    CHECK(progress.done, "%s: not done", text.c_str());
                    shrunk |= !progress.complete;
                    cached |= progress.rows_cached > 0;
                    evicted |= cache_bytes == bytes / 9 && progress.rows_cached > 0 &&
                               progress.rows_wanted - progress.rows_cached > 50;
                    if (!progress.complete) {
                        CHECK(shrinking == Shrinking::heuristic, "%s: incomplete", text.c_str());
                        solver.measure(60.0);
                        progress = solver.run(60.0);  // continues, now that f is known
                        while (!progress.complete) {
                            solver.measure(60.0);
                            progress = solver.run(60.0);
                        }
                    }
                    check_solution(machine, result_of(machine, solver, progress, text.c_str()), tol,
                                   cost, text.c_str());
                }
            }
        }
    }
    CHECK(shrunk && cached && evicted, "%d %d %d", shrunk, cached, evicted);
}

// In the smallest slices of time, measured from time to time.
void test_slices(Random& random) {
    for (const Source source : {Source::floats, Source::given}) {
        for (const Task task : tasks) {
            const std::size_t n = 70;
            Machine machine = make_machine(random, task, source, n);
            machine.kernel = std::make_shared<InBlocks>(machine.kernel);
            const double cost =
                look(machine.start, machine.k, plain_solve(machine.start, machine.k, 1e-8)).cost;
            for (const std::size_t working_set : {2, 8}) {
                const std::string text =
                    machine.text + " in slices, set of " + std::to_string(working_set);
                Decomposition solver(machine.kernel, machine.start,
                                     {working_set, Shrinking::checked, tol,
                                      n * n * machine.kernel->value_bytes() / 4, -1, 1});
                DecompositionProgress progress{};
                int slices = 0, incomplete = 0;
                for (; !progress.done && slices < 200000; ++slices) {
                    progress = solver.run(0.0);
                    incomplete += slices > 10 && !progress.complete;
                    if (slices % 199 != 17) continue;
                    do {
                        progress = solver.measure(0.0);
                    } while (!progress.complete);
                    result_of(machine, solver, progress, text.c_str());
                }
                CHECK(incomplete > 0, "%s: nothing was shrunk in %d slices", text.c_str(), slices);
                check_solution(machine, result_of(machine, solver, progress, text.c_str()), tol,
                               cost, text.c_str());
                const DecompositionProgress again = solver.run(0.0);
                CHECK(again.done && again.steps == progress.steps, "%s: run again", text.c_str());
            }
        }
    }
}

void test_max_steps(Random& random) {
    const Machine machine = make_machine(random, Task::classification, Source::floats, 60);
    for (const std::size_t working_set : {0, 2, 8}) {
        for (const std::int64_t most : {0, 1, 7, 60}) {
            const std::string text =
                "at most " + std::to_string(most) + " steps, set of " + std::to_string(working_set);
            Decomposition solver(machine.kernel, machine.start,
                                 {working_set, Shrinking::checked, tol, 100000, most, 1});
            const Result result = result_of(machine, solver, solver.run(60.0), text.c_str());
            CHECK(result.progress.done && result.progress.complete, "%s: not done", text.c_str());
            CHECK(result.progress.steps == most, "%s: %d steps", text.c_str(),
                  static_cast<int>(result.progress.steps));
            CHECK(most > 0 || result.beta == machine.start.beta, "%s: moved", text.c_str());
        }
    }
}

// Nothing to do: the start is a solution, or there is only one example.
void test_nothing_to_do(Random& random) {
    Machine machine = make_machine(random, Task::regression, Source::doubles, 50);
    machine.start.beta = plain_solve(machine.start, machine.k, 1e-9);
    Decomposition solver(machine.kernel, machine.start,
                         {0, Shrinking::checked, tol, 100000, -1, 1});
    const Result result = result_of(machine, solver, solver.run(60.0), "from a solution");
    CHECK(result.progress.done && result.progress.steps == 0, "%d steps",
          static_cast<int>(result.progress.steps));
    CHECK(result.beta == machine.start.beta, "moved");

    machine = make_machine(random, Task::classification, Source::doubles, 1);
    Decomposition one(machine.kernel, machine.start, {0, Shrinking::checked, tol, 0, -1, 1});
    CHECK(one.run(60.0).done && one.measure(60.0).steps == 0, "one example");
}

// Other bounds after a solution: from t beta to the solution that a new solver finds.
void test_change_bounds(Random& random) {
    struct Change {
        double t, bounds;
    };
    bool moved = false;
    for (const Source source : {Source::floats, Source::doubles}) {
        for (const Task task : tasks) {
            const std::size_t n = 50;
            const Machine machine = make_machine(random, task, source, n);
            for (const Shrinking shrinking : {Shrinking::never, Shrinking::checked}) {
                const DecompositionOptions options{8, shrinking, tol, 4 * n * n, -1, 1};
                Machine now = machine;
                Decomposition solver(now.kernel, now.start, options);
                solver.run(60.0);
                // each change follows the one before it
                for (const auto [t, bounds] :
                     {Change{1.0, 1.0}, {2.5, 2.5}, {1.0, 3.0}, {0.2, 0.2}, {0.5, 0.8}}) {
                    now.text = machine.text + ", beta times " + std::to_string(t) +
                               ", bounds times " + std::to_string(bounds) + ", shrinking " +
                               std::to_string(static_cast<int>(shrinking));
                    const char* text = now.text.c_str();
                    for (std::size_t l = 0; l < n; ++l) {
                        now.start.beta[l] *= t;
                        now.start.lo[l] *= bounds;
                        now.start.hi[l] *= bounds;
                    }
                    solver.change_bounds(t, now.start.lo, now.start.hi);
                    DecompositionProgress progress = solver.measure(60.0);
                    result_of(now, solver, progress, text);  // the cost and f of t beta
                    CHECK(progress.complete && progress.steps == 0 && progress.iterations == 0 &&
                              progress.kernel_values == 0 && progress.rows_wanted == 0 &&
                              progress.rows_cached == 0,
                          "%s: counts did not start again", text);
                    progress = solver.run(60.0);
                    CHECK(bounds != 1.0 || progress.steps == 0, "%s: moved", text);
                    moved |= progress.steps > 0;

                    Decomposition fresh(now.kernel, now.start, options);
                    const Result expected = result_of(now, fresh, fresh.run(60.0), text);
                    check_solution(now, result_of(now, solver, progress, text), tol,
                                   expected.point.cost, text);
                }
            }
        }
    }
    CHECK(moved, "no change of the bounds mattered");
}

// A tol that rounding does not allow ends at once, near the optimum, if values are doubles. Float
// tiles and nu-regression may go round in the rounding of one sub-problem until its slice is over.
void test_rounding(Random& random) {
    for (const Source source : {Source::doubles, Source::given}) {
        for (const Task task : tasks) {
            if (task == Task::nu_regression) continue;
            const Machine machine = make_machine(random, task, source, 50);
            for (const std::size_t working_set : {0, 2, 16}) {
                const std::string text = machine.text + ", set of " + std::to_string(working_set);
                Decomposition solver(
                    machine.kernel, machine.start,
                    {working_set, Shrinking::checked, 0.0, std::size_t{1} << 20, -1, 1});
                const DecompositionProgress progress = solver.run(60.0);
                CHECK(progress.done && progress.complete, "%s: not done", text.c_str());
                CHECK(progress.stalled || !(progress.violation > 0.0), "%s: no stall",
                      text.c_str());
                CHECK(progress.steps < 200000, "%s: %lld steps", text.c_str(),
                      static_cast<long long>(progress.steps));
                CHECK(progress.violation < 1e-9, "%s: violation %g", text.c_str(),
                      progress.violation);
            }
        }
    }
}

// The solver continues from the f that it is given, towards another tol.
void test_correct(Random& random) {
    for (const Task task : tasks) {
        const std::size_t n = 50;
        const Machine machine = make_machine(random, task, Source::floats, n);
        Decomposition solver(machine.kernel, machine.start,
                             {0, Shrinking::checked, 0.1, std::size_t{1} << 20, -1, 1});
        const DecompositionProgress before = solver.run(60.0);
        CHECK(before.done && before.complete && before.traffic > 0.0, "%s: not done",
              machine.text.c_str());
        Result result = result_of(machine, solver, before, machine.text.c_str());
        solver.correct(result.point.f.data(), tol);
        const DecompositionProgress after = solver.measure(60.0);
        CHECK(after.traffic == 0.0 && !after.done, "%s: f was not given", machine.text.c_str());
        CHECK(near(after.violation, result.point.violation, 1e-9), "%s: violation %g",
              machine.text.c_str(), after.violation);
        result = result_of(machine, solver, solver.run(60.0), machine.text.c_str());
        CHECK(result.point.violation <= tol + 1e-9, "%s: violation %g", machine.text.c_str(),
              result.point.violation);
    }
}

}  // namespace

void test_decomposition(Random& random) {
    for (const Source source : {Source::floats, Source::doubles, Source::given}) {
        test_solutions(random, source);
    }
    test_slices(random);
    test_max_steps(random);
    test_nothing_to_do(random);
    test_change_bounds(random);
    test_rounding(random);
    test_correct(random);
}

}  // namespace widemargin::tests
