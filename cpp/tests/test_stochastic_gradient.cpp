// Linear models: passes of stochastic gradient, and outputs.
#include <cmath>
#include <vector>

#include "linear_problems.hpp"

namespace widemargin::tests {
namespace {

// A pass, by the core and by a plain loop.
struct Problem {
    const Data& data;
    std::size_t outputs;
    Criterion criterion;
    bool standardized, averaged, fit_intercept;
    Order order;
    Doubles y, weights;  // weights may be empty: all one
    Doubles w, b, sum_w, sum_b, mean, scale, precision;
    std::size_t block;                 // of the packed examples
    std::vector<std::int32_t> places;  // of their inputs
    double rate, slowing = 0.0, mu = 0.0, steps = 11.0;

    Problem(Random& random, const Data& data, std::size_t outputs, bool standardized, bool averaged,
            bool weighted, const Criterion& criterion)
        : data(data),
          outputs(outputs),
          criterion(criterion),
          standardized(standardized),
          averaged(averaged),
          fit_intercept(random.below(4) != 0),
          order(random_order(random, data.count, data.count + 3)),
          y(random_targets(random, data.count, outputs)),
          weights(weighted ? random_weights(random, data.count) : Doubles()),
          w(random.vector(outputs * data.width)),
          b(random.vector(outputs)),
          sum_w(averaged ? random.vector(outputs * data.width) : Doubles()),
          sum_b(averaged ? random.vector(outputs) : Doubles()),
          mean(random.vector(data.width)),
          scale(random.vector(data.width)),
          precision(data.width),
          block(random.below(data.width + 1)),
          places(data.width),
          rate(1.0 / (2.0 + static_cast<double>(data.width))) {  // stable for every criterion
        for (double& value : scale) value = 1.0 + 0.4 * value;
        if (!standardized) {
            mean.assign(data.width, 0.0);
            scale.assign(data.width, 1.0);
        }
        for (std::size_t j = 0; j < data.width; ++j) precision[j] = 1.0 / (scale[j] * scale[j]);
        Order shuffled = first_ones(data.width);
        shuffle(shuffled.data(), data.width, random.below(1000), 0);
        places.assign(shuffled.begin(), shuffled.end());
    }

    // Equation (8.16) on explicitly centred rows, Algorithm 8.1 if mu = 0.  The sum of the weights
    // after every step is made as it is defined; outside it is kept as n w - sum.
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
                    weight += delta * (data.at(l, j) - mean[j]) * precision[j];
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

    // The examples packed, in memory that is not a line too large.
    struct Packed {
        struct alignas(64) Line {
            double values[8];
        };
        std::vector<std::int32_t> first_lines;
        std::vector<Line> lines;
        Rows rows;
    };
    Packed pack(const Kernels& kernels) const {
        const Rows plain = data.rows();
        std::size_t size = 0;
        for (std::size_t l = 0; l < data.count; ++l) {
            std::size_t stored = 0;
            for (std::size_t j = 0; j < data.width; ++j) {
                stored += data.at(l, j) != 0.0 && places[j] >= static_cast<std::int32_t>(block);
            }
            size += (24 + 8 * block + 12 * stored + 63) / 64;
        }
        const Packing packing{block, places.data(), standardized ? mean.data() : nullptr,
                              standardized ? scale.data() : nullptr};
        CHECK(kernels.pack(plain, nullptr, nullptr, packing, nullptr, nullptr) == size,
              "%s width %zu", kernels.isa, data.width);
        Packed packed{std::vector<std::int32_t>(data.count + 1), std::vector<Packed::Line>(size),
                      plain};
        kernels.pack(plain, y.data(), weights.empty() ? nullptr : weights.data(), packing,
                     packed.first_lines.data(),
                     reinterpret_cast<unsigned char*>(packed.lines.data()));
        packed.rows = {Layout::packed, packed.lines.data(), packed.first_lines.data(),
                       nullptr,        data.count,          data.width,
                       block};
        return packed;
    }

    // Weights of packed inputs: at their places, times the scale.
    Doubles to_places(const Doubles& weights_of_inputs) const {
        Doubles placed(weights_of_inputs.size());
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const std::size_t j = i % data.width;
            placed[i - j + places[j]] = weights_of_inputs[i] * scale[j];
        }
        return placed;
    }
    Doubles from_places(const Doubles& placed) const {
        Doubles weights_of_inputs(placed.size());
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const std::size_t j = i % data.width;
            weights_of_inputs[i] = placed[i - j + places[j]] / scale[j];
        }
        return weights_of_inputs;
    }

    // Sparse examples are packed for training, dense ones may be.
    Tally run(const Kernels& kernels, int threads, bool as_packed = false) {
        if (!as_packed && is_dense(data.layout)) {
            return run_on(
                kernels, threads, data.rows(),
                standardized ? Standardization{mean.data(), scale.data()} : Standardization{});
        }
        Doubles centre(data.width);
        for (std::size_t j = 0; j < data.width; ++j) {
            if (places[j] >= static_cast<std::int32_t>(block))
                centre[places[j]] = mean[j] / scale[j];
        }
        const Packed packed = pack(kernels);
        w = to_places(w);
        sum_w = to_places(sum_w);
        const Tally tally =
            run_on(kernels, threads, packed.rows,
                   standardized ? Standardization{centre.data(), nullptr} : Standardization{});
        w = from_places(w);
        sum_w = from_places(sum_w);
        return tally;
    }

    Tally run_on(const Kernels& kernels, int threads, const Rows& rows,
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
        return kernels.stochastic_gradient(rows, state, statistics, pass);
    }
};

// The weight decays of a test: none, weak, so strong that the scale starts anew within the pass,
// and lambda mu = 1, which forgets all at once.
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
                for (const Kernels* table : tables) {
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

// A pass over nothing changes nothing.
void test_empty_pass(const Kernels& table) {
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

// The scale underflows many times over (0.3^3000) and the mean keeps its digits.
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
            for (const Kernels* table : tables) {
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
    for (const Kernels* table : tables) test_empty_pass(*table);
}

void test_decision(const Tables& tables) {
    Random random(3);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (Layout layout : layouts) {
            for (std::size_t outputs : {1, 3}) {
                const Data data(random, layout, 11, width);
                const Doubles w = random.vector(outputs * width), b = random.vector(outputs);
                Doubles expected(data.count * outputs);
                for (std::size_t l = 0; l < data.count; ++l) {
                    for (std::size_t k = 0; k < outputs; ++k) {
                        expected[l * outputs + k] = b[k];
                        for (std::size_t j = 0; j < width; ++j) {
                            expected[l * outputs + k] += w[k * width + j] * data.at(l, j);
                        }
                    }
                }
                for (const Kernels* table : tables) {
                    for (int threads : {1, 2}) {
                        Doubles found(data.count * outputs);
                        table->decision(data.rows(), outputs, w.data(), b.data(), found.data(),
                                        threads);
                        CHECK(close(found, expected), "%s width %zu layout %d outputs %zu",
                              table->isa, width, static_cast<int>(layout), outputs);
                    }
                }
            }
        }
    }
}

}  // namespace widemargin::tests
