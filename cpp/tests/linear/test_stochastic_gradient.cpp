// Linear models: passes of stochastic gradient.
#include <cmath>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {
namespace {

// A pass, by the core and by a plain loop.
struct Problem : Inputs {
    std::size_t outputs;
    Criterion criterion;
    bool averaged, fit_intercept;
    Order order;
    Doubles y, weights;  // empty weights are all 1
    Doubles w, b, sum_w, sum_b;
    double rate, slowing = 0.0, mu = 0.0, steps = 11.0;

    Problem(Random& random, const Data& data, std::size_t outputs, bool standardized, bool averaged,
            bool weighted, const Criterion& criterion)
        : Inputs(random, data, standardized),
          outputs(outputs),
          criterion(criterion),
          averaged(averaged),
          fit_intercept(random.below(4) != 0),
          order(random_order(random, data.count, data.count + 3)),
          y(random_targets(random, data.count, outputs)),
          weights(weighted ? random_weights(random, data.count) : Doubles()),
          w(random.vector(outputs * data.width)),
          b(random.vector(outputs)),
          sum_w(averaged ? random.vector(outputs * data.width) : Doubles()),
          sum_b(averaged ? random.vector(outputs) : Doubles()),
          rate(1.0 / (2.0 + static_cast<double>(data.width))) {}  // stable for every criterion

    // Equation (8.16) on explicitly centred rows, Algorithm 8.1 if mu = 0. The sum of the weights
    // after every step is computed by its definition; outside it is kept as n w - sum.
    Tally plain() {
        Tally tally;
        Doubles total_w(averaged ? w.size() : 0), total_b(averaged ? b.size() : 0);
        for (std::size_t i = 0; i < total_w.size(); ++i) total_w[i] = steps * w[i] - sum_w[i];
        for (std::size_t k = 0; k < total_b.size(); ++k) total_b[k] = steps * b[k] - sum_b[k];
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto l = static_cast<std::size_t>(order[i]);
            const double c = weights.empty() ? 1.0 : weights[l];
            const double lambda = rate / (1.0 + slowing * static_cast<double>(i));
            Doubles f(b);
            for (std::size_t k = 0; k < outputs; ++k) {
                for (std::size_t j = 0; j < data.width; ++j) {
                    f[k] += w[k * data.width + j] * (data.at(l, j) - mean[j]);
                }
                const double target_k = target(y, l, k, outputs);
                const double g = plain_derivative(criterion, target_k, f[k]);
                const double delta = -lambda * c * g;
                for (std::size_t j = 0; j < data.width; ++j) {
                    double& weight = w[k * data.width + j];
                    weight *= 1.0 - lambda * mu;
                    weight += delta * at(l, j) / scale[j];
                }
                if (fit_intercept) b[k] += delta;
                tally.updates += delta != 0.0;
                tally.criterion += c * plain_value(criterion, target_k, f[k]);
            }
            for (std::size_t j = 0; j < total_w.size(); ++j) total_w[j] += w[j];
            for (std::size_t k = 0; k < total_b.size(); ++k) total_b[k] += b[k];
            if (misclassified(f, y[l])) tally.errors += c;
            tally.weight += c;
        }
        const double n = steps + static_cast<double>(order.size());
        for (std::size_t i = 0; i < total_w.size(); ++i) sum_w[i] = n * w[i] - total_w[i];
        for (std::size_t k = 0; k < total_b.size(); ++k) sum_b[k] = n * b[k] - total_b[k];
        return tally;
    }

    // Sparse examples are packed for training; dense ones may be.
    Tally run(const Loops& table, int threads, bool as_packed = false) {
        return visit(table, as_packed, y.data(), weights.empty() ? nullptr : weights.data(),
                     {&w, &sum_w}, [&](const Rows& rows, const Standardization& statistics) {
                         return run_on(table, threads, rows, statistics);
                     });
    }

    Tally run_on(const Loops& table, int threads, const Rows& rows,
                 const Standardization& statistics) {
        Doubles scores(outputs > 1 ? order.size() * outputs : 0);
        const LinearState state{outputs,
                                w.data(),
                                b.data(),
                                averaged ? sum_w.data() : nullptr,
                                averaged ? sum_b.data() : nullptr,
                                steps};
        const Pass pass{order.data(),
                        order.size(),
                        y.data(),
                        weights.empty() ? nullptr : weights.data(),
                        outputs > 1 ? Targets::one_against_rest : Targets::values,
                        criterion,
                        rate,
                        slowing,
                        mu,
                        fit_intercept,
                        threads,
                        outputs > 1 ? scores.data() : nullptr};
        return table.stochastic_gradient(rows, state, statistics, pass);
    }
};

// The weight decays of a test: none, weak, so strong that the scale starts again during the pass,
// and lambda mu = 1, which forgets everything at once.
double random_decay(Random& random, double rate) {
    const double parts[] = {0.0, 0.02, 0.6, 1.0};
    return parts[random.below(std::size(parts))] / rate;
}

void test_passes(const Tables& tables) {
    Random random(1);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (Layout layout : layouts) {
            for (int options = 0; options < 16; ++options) {
                const Data data(random, layout, 15, width);
                const std::size_t outputs = options & 1 ? 3 : 1;
                Problem start(random, data, outputs, options & 2, options & 4, options & 8,
                              criteria[random.below(std::size(criteria))]);
                start.mu = random_decay(random, start.rate);
                start.slowing = random.below(2) ? random.uniform() : 0.0;
                Problem expected = start;
                const Tally tally = expected.plain();
                for (const Loops* table : tables) {
                    Problem packed = start;
                    CHECK(close(packed.run(*table, 1, true), tally) &&
                              close(packed.w, expected.w) && close(packed.b, expected.b) &&
                              close(packed.sum_w, expected.sum_w),
                          "%s packed width %zu layout %d options %d", table->isa, width,
                          static_cast<int>(layout), options);
                    Problem found = start;
                    CHECK(close(found.run(*table, 1), tally), "%s width %zu layout %d options %d",
                          table->isa, width, static_cast<int>(layout), options);
                    CHECK(close(found.w, expected.w) && close(found.b, expected.b),
                          "%s width %zu layout %d options %d criterion %d", table->isa, width,
                          static_cast<int>(layout), options,
                          static_cast<int>(start.criterion.name));
                    CHECK(close(found.sum_w, expected.sum_w) && close(found.sum_b, expected.sum_b),
                          "%s width %zu layout %d options %d", table->isa, width,
                          static_cast<int>(layout), options);

                    Problem threaded = start;
                    const Tally again = threaded.run(*table, 2);
                    CHECK(threaded.w == found.w && threaded.b == found.b, "threads, %s",
                          table->isa);
                    CHECK(again.updates == tally.updates, "threads, %s", table->isa);
                }
            }
        }
    }
}

// A pass over no examples changes nothing.
void test_empty_pass(const Loops& table) {
    Random random(2);
    const Data data(random, Layout::dense64, 3, 5);
    for (double mu : {0.0, 0.1}) {
        Problem problem(random, data, 1, false, true, true, criteria[1]);
        problem.mu = mu;
        const Doubles w = problem.w, sums = problem.sum_w;
        problem.order.clear();
        const Tally tally = problem.run(table, 1);
        CHECK(tally.updates == 0 && tally.weight == 0.0, "%s", table.isa);
        CHECK(problem.w == w && close(problem.sum_w, sums), "%s", table.isa);
    }
}

// The mean keeps its digits although the scale underflows many times over (0.3^3000).
void test_long_decay(const Tables& tables) {
    Random random(6);
    for (bool standardized : {false, true}) {
        for (double part : {0.001, 0.01, 0.7}) {
            const Data data(random, Layout::dense64, 200, 9);
            Problem start(random, data, 1, standardized, true, false, criteria[1]);
            start.order = random_order(random, data.count, 3000);
            start.mu = part / start.rate;
            Problem expected = start;
            expected.plain();
            for (const Loops* table : tables) {
                for (bool packed : {false, true}) {
                    Problem found = start;
                    found.run(*table, 1, packed);
                    CHECK(close(found.w, expected.w) && close(found.b, expected.b), "%s %g",
                          table->isa, part);
                    for (std::size_t j = 0; j < found.sum_w.size(); ++j) {
                        const double mean = found.w[j] - found.sum_w[j] / 3011.0;
                        const double right = expected.w[j] - expected.sum_w[j] / 3011.0;
                        CHECK(close(mean, right), "%s %g: %g", table->isa, part, mean - right);
                    }
                    Problem last = start;
                    last.averaged = false;
                    last.run(*table, 1, packed);
                    CHECK(close(last.w, expected.w) && close(last.b, expected.b), "%s %g",
                          table->isa, part);
                }
            }
        }
    }
}

}  // namespace

void test_stochastic_gradient(const Tables& tables) {
    test_passes(tables);
    test_long_decay(tables);
    for (const Loops* table : tables) test_empty_pass(*table);
}

}  // namespace widemargin::tests
