// The sub-problem of a working set, in tiles of which only some rows are known at the start.
#include <cmath>
#include <string>

#include "tests/svm/svm_problems.hpp"

namespace widemargin::tests {
namespace {

// A tile whose rows are NaN until they are asked for.
template <class T>
struct TestTile {
    const Doubles& k;
    std::size_t n, stride;
    std::vector<T> values;
    std::vector<unsigned char> ready;
    int fetched = 0;

    TestTile(const Doubles& k, std::size_t n)
        : k(k),
          n(n),
          stride((n + kTileStep - 1) / kTileStep * kTileStep),
          values(n * stride, static_cast<T>(kNaN)),
          ready(n) {
        for (std::size_t a = 0; a < n; a += 3) add(a);
    }
    void add(std::size_t a) {
        for (std::size_t b = 0; b < stride; ++b) {
            values[a * stride + b] = b < n ? static_cast<T>(k[a * n + b]) : T{7};
        }
        ready[a] = 1;
    }
    static void fetch(void* self, std::size_t a) {
        auto& tile = *static_cast<TestTile*>(self);
        CHECK(a < tile.n && !tile.ready[a], "row %zu", a);
        ++tile.fetched;
        tile.add(a);
    }
};

template <class T>
SubSolution solve_pairs(const Variables& x, const Doubles& k, double tol, std::int64_t max_steps,
                        Doubles& beta) {
    const std::size_t n = beta.size();
    TestTile<T> tile(k, n);
    Doubles v = look(x, k, beta).f, diagonal(n);
    for (std::size_t a = 0; a < n; ++a) {
        v[a] = 0.25 - v[a];
        diagonal[a] = k[a * n + a];
    }
    return loops().solve_pairs({sizeof(T) == 8, tile.values.data(), tile.ready.data(),
                                &TestTile<T>::fetch, &tile, n, tile.stride, x.two_sums, v.data(),
                                -0.25, x.above.data(), x.below.data(), diagonal.data(), beta.data(),
                                x.lo.data(), x.hi.data(), tol, max_steps});
}

Doubles plain_rbf(const Doubles& x, double gamma) {
    const std::size_t n = x.size() / 2;
    Doubles k(n * n);
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
            const double dx = x[2 * a] - x[2 * b], dy = x[2 * a + 1] - x[2 * b + 1];
            k[a * n + b] = static_cast<float>(std::exp(-gamma * (dx * dx + dy * dy)));
        }
    }
    return k;
}

template <class T>
void check_pairs(const Variables& x, const Doubles& k, Task task, const char* text) {
    constexpr bool double_precision = sizeof(T) == 8;
    const double tol = double_precision ? 1e-7 : 1e-4;
    Doubles beta = x.beta;
    const SubSolution solution = solve_pairs<T>(x, k, tol, 200000, beta);
    check_feasible(x, beta, text);
    const Point point = look(x, k, beta);
    CHECK(solution.violation <= tol && point.violation <= tol + (double_precision ? 1e-9 : 1e-4),
          "%s: violation %g, in truth %g after %lld steps", text, solution.violation,
          point.violation, static_cast<long long>(solution.steps));
    // Sums of positive and of negative variables may have several minima if signs can change.
    if (task == Task::nu_regression) return;
    const Point best = look(x, k, plain_solve(x, k, 1e-9));
    CHECK(near(point.cost, best.cost, double_precision ? 1e-9 : 1e-5), "%s: cost %.12g, not %.12g",
          text, point.cost, best.cost);
}

void test_pairs(Random& random) {
    for (const Task task : tasks) {
        for (const std::size_t n : {1, 2, 3, 17, 64, 65, 100}) {
            const Doubles k = plain_rbf(random_points(random, n), 30.0);
            const Variables x = make_variables(random, task, random_targets(random, task, n));
            const std::string text = std::string(name_of(task)) + " of " + std::to_string(n);
            check_pairs<float>(x, k, task, (text + ", float").c_str());
            check_pairs<double>(x, k, task, (text + ", double").c_str());
        }
    }
}

// Every step decreases J; no more steps than allowed are made.
void test_number_of_steps(Random& random) {
    const std::size_t n = 40;
    const Doubles k = plain_rbf(random_points(random, n), 30.0);
    for (const Task task : tasks) {
        const Variables x = make_variables(random, task, random_targets(random, task, n));
        double cost = look(x, k, x.beta).cost;
        for (std::int64_t most = 0; most < 30; ++most) {
            Doubles beta = x.beta;
            const SubSolution solution = solve_pairs<double>(x, k, 1e-3, most, beta);
            CHECK(solution.steps == most || solution.violation <= 1e-3, "%s: %d steps",
                  name_of(task), static_cast<int>(solution.steps));
            CHECK(most > 0 || beta == x.beta, "%s: a step", name_of(task));
            const double now = look(x, k, beta).cost;
            CHECK(now <= cost + 1e-14, "%s: step %d from %.17g to %.17g", name_of(task),
                  static_cast<int>(most), cost, now);
            cost = now;
        }
    }
}

// The same point twice, with targets 1 and -1, so that a = 0, and a third point far away.
void test_equal_examples() {
    const Doubles k = {1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    Variables x;
    x.beta = {0.0, 0.0, 0.0};
    x.hi = {1.5, 0.0, 0.0};
    x.lo = {0.0, -1.25, 0.0};
    x.above = x.below = {-1.0, 1.0, 1.0};
    x.f.assign(3, 0.0);
    Doubles beta = x.beta;
    const SubSolution solution = solve_pairs<float>(x, k, 1e-3, 100, beta);
    CHECK(beta == (Doubles{1.25, -1.25, 0.0}) && solution.steps == 1, "%g %g %g in %d steps",
          beta[0], beta[1], beta[2], static_cast<int>(solution.steps));
}

}  // namespace

void test_pair_steps(Random& random) {
    test_pairs(random);
    test_number_of_steps(random);
    test_equal_examples();
}

}  // namespace widemargin::tests
