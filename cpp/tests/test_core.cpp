// Every loop of the core, on every instruction set of this CPU, against plain loops.
//
// Buffers have exactly the size they need, so that a read past a row's tail is an error under
// AddressSanitizer.
#include <cmath>
#include <cstdio>
#include <vector>

#include "checks.hpp"
#include "widemargin/problem.hpp"
#include "widemargin/shuffle.hpp"

namespace {

using namespace widemargin;
using namespace widemargin::tests;

constexpr double tolerance = 1e-12;

bool close(double a, double b) {
    return std::fabs(a - b) <= tolerance * (1.0 + std::fabs(b));
}

bool close(const Doubles& a, const Doubles& b) {
    bool all = a.size() == b.size();
    for (std::size_t i = 0; all && i < a.size(); ++i) all = close(a[i], b[i]);
    return all;
}

bool close(const Tally& a, const Tally& b) {
    return a.updates == b.updates && close(a.criterion, b.criterion) && close(a.errors, b.errors) &&
           close(a.weight, b.weight);
}

// ------------------------------------------------------------------------------------- data

constexpr Layout layouts[] = {Layout::dense32, Layout::dense64, Layout::sparse32, Layout::sparse64};

bool is_dense(Layout layout) {
    return layout == Layout::dense32 || layout == Layout::dense64;
}
bool is_single(Layout layout) {
    return layout == Layout::dense32 || layout == Layout::sparse32;
}

// Examples in one of the layouts, and `x`, the same numbers as a plain matrix.
struct Data {
    std::size_t count, width;
    Layout layout;
    Doubles x, stored64;
    std::vector<float> stored32;
    std::vector<std::int32_t> columns;
    Order starts{0};

    // A third of the inputs are zero, and every fifth row is empty (the last one too).
    Data(Random& random, Layout layout, std::size_t count, std::size_t width)
        : count(count), width(width), layout(layout), x(count * width) {
        for (std::size_t l = 0; l < count; ++l) {
            for (std::size_t j = 0; j < width; ++j) {
                double value = random.centred() + 0.3;
                if (l % 5 == 4 || random.below(3) == 0) value = 0.0;
                if (is_single(layout)) value = static_cast<float>(value);
                x[l * width + j] = value;
                if (value == 0.0 && !is_dense(layout)) continue;
                stored64.push_back(value);
                columns.push_back(static_cast<std::int32_t>(j));
            }
            starts.push_back(static_cast<std::int64_t>(stored64.size()));
        }
        stored64 = Doubles(stored64.begin(), stored64.end());  // no spare capacity
        columns = std::vector<std::int32_t>(columns.begin(), columns.end());
        stored32 = std::vector<float>(stored64.begin(), stored64.end());
    }

    Rows rows() const {
        const void* values = is_single(layout) ? static_cast<const void*>(stored32.data())
                                               : static_cast<const void*>(stored64.data());
        return is_dense(layout) ? Rows{layout, values, nullptr, nullptr, count, width}
                                : Rows{layout, values, columns.data(), starts.data(), count, width};
    }

    double at(std::size_t l, std::size_t j) const { return x[l * width + j]; }
};

// Weights in [0.5, 1.5), every seventh zero.
Doubles random_weights(Random& random, std::size_t count) {
    Doubles weights(count);
    for (std::size_t l = 0; l < count; ++l) weights[l] = l % 7 == 3 ? 0.0 : 0.5 + random.uniform();
    return weights;
}

Doubles random_targets(Random& random, std::size_t count, std::size_t outputs) {
    Doubles y(count);
    for (double& value : y) {
        value = outputs == 1 ? 2.0 * static_cast<double>(random.below(2)) - 1.0
                             : static_cast<double>(random.below(outputs));
    }
    return y;
}

// ----------------------------------------------------------------------- what must come out

constexpr Criterion criteria[] = {{CriterionName::perceptron, 0.0},
                                  {CriterionName::margin, 0.7},
                                  {CriterionName::squared_margin, 0.7},
                                  {CriterionName::cross_entropy, 0.0},
                                  {CriterionName::mse, 0.0},
                                  {CriterionName::tanh_mse, 0.0},
                                  {CriterionName::epsilon_insensitive, 0.2}};

double plain_value(const Criterion& q, double y, double f) {
    const double slack = std::fmax(0.0, q.parameter - y * f);
    switch (q.name) {
        case CriterionName::perceptron:
        case CriterionName::margin: return slack;
        case CriterionName::squared_margin: return slack * slack;
        case CriterionName::cross_entropy: return std::log1p(std::exp(-y * f));
        case CriterionName::mse: return 0.5 * (y - f) * (y - f);
        case CriterionName::tanh_mse: return 0.5 * std::pow(y - std::tanh(f), 2);
        case CriterionName::epsilon_insensitive: break;
    }
    return std::fmax(0.0, std::fabs(y - f) - q.parameter);
}

double plain_derivative(const Criterion& q, double y, double f) {
    switch (q.name) {
        case CriterionName::perceptron:
        case CriterionName::margin: return y * f <= q.parameter ? -y : 0.0;
        case CriterionName::squared_margin: return -2.0 * y * std::fmax(0.0, q.parameter - y * f);
        case CriterionName::cross_entropy: return -y * std::exp(-y * f) / (1.0 + std::exp(-y * f));
        case CriterionName::mse: return f - y;
        case CriterionName::tanh_mse: return (std::tanh(f) - y) * std::pow(std::cosh(f), -2);
        case CriterionName::epsilon_insensitive: break;
    }
    if (y - f >= q.parameter) return -1.0;
    return f - y >= q.parameter ? 1.0 : 0.0;
}

// Mean and variance as they are defined, over the examples of an order.
void plain_moments(const Data& data, const Order& order, const Doubles* weights, Doubles& mean,
                   Doubles& variance) {
    for (std::size_t j = 0; j < data.width; ++j) {
        double total = 0.0, sum = 0.0, squares = 0.0;
        for (auto l : order) {
            const double c = weights ? (*weights)[l] : 1.0;
            total += c;
            sum += c * data.at(l, j);
        }
        mean[j] = sum / total;
        for (auto l : order) {
            squares += (weights ? (*weights)[l] : 1.0) * std::pow(data.at(l, j) - mean[j], 2);
        }
        variance[j] = squares / total;
    }
}

double target(const Doubles& y, std::size_t l, std::size_t k, std::size_t outputs) {
    return outputs == 1 ? y[l] : y[l] == static_cast<double>(k) ? 1.0 : -1.0;
}

bool misclassified(const Doubles& f, double y) {
    if (f.size() == 1) return (f[0] > 0.0) != (y > 0.0);
    std::size_t best = 0;
    for (std::size_t k = 1; k < f.size(); ++k) best = f[k] > f[best] ? k : best;
    return static_cast<double>(best) != y;
}

// ---------------------------------------------------------------------- stochastic gradient

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
    double rate, steps = 11.0;

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

    // Algorithm 8.1 on explicitly centred rows; the accumulators add age times each step.
    Tally plain() {
        Tally tally;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto l = static_cast<std::size_t>(order[i]);
            const double c = weights.empty() ? 1.0 : weights[l];
            if (c == 0.0) continue;
            Doubles f(b);
            for (std::size_t k = 0; k < outputs; ++k) {
                for (std::size_t j = 0; j < data.width; ++j) {
                    f[k] += w[k * data.width + j] * (data.at(l, j) - mean[j]);
                }
                const double target_k = target(y, l, k, outputs);
                const double g = plain_derivative(criterion, target_k, f[k]);
                const double delta = -rate * c * g, age = steps + static_cast<double>(i);
                for (std::size_t j = 0; j < data.width; ++j) {
                    const double step = delta * (data.at(l, j) - mean[j]) * precision[j];
                    w[k * data.width + j] += step;
                    if (averaged) sum_w[k * data.width + j] += age * step;
                }
                if (fit_intercept) b[k] += delta;
                if (fit_intercept && averaged) sum_b[k] += age * delta;
                tally.updates += g != 0.0;
                tally.criterion += c * plain_value(criterion, target_k, f[k]);
            }
            if (misclassified(f, y[l])) tally.errors += c;
            tally.weight += c;
        }
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
                        fit_intercept,
                        threads,
                        outputs > 1 ? scores.data() : nullptr};
        return kernels.stochastic_gradient(rows, state, statistics, pass);
    }
};

void test_stochastic_gradient(const std::vector<const Kernels*>& tables) {
    Random random(1);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (Layout layout : layouts) {
            for (int options = 0; options < 16; ++options) {
                const Data data(random, layout, 15, width);
                const std::size_t outputs = options & 1 ? 3 : 1;
                const Problem start(random, data, outputs, options & 2, options & 4, options & 8,
                                    criteria[random.below(std::size(criteria))]);
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
    Problem problem(random, data, 1, false, true, true, criteria[1]);
    const Doubles w = problem.w, sums = problem.sum_w;
    problem.order.clear();
    const Tally tally = problem.run(table, 1);
    CHECK(tally.updates == 0 && tally.weight == 0.0, "%s", table.isa);
    CHECK(problem.w == w && problem.sum_w == sums, "%s", table.isa);
}

// --------------------------------------------------------------------------------- the rest

void test_decision(const std::vector<const Kernels*>& tables) {
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

void test_moments(const std::vector<const Kernels*>& tables) {
    Random random(4);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (Layout layout : layouts) {
            for (bool weighted : {false, true}) {
                const Data data(random, layout, 21, width);
                const Order order = random_order(random, data.count, 17);
                const Doubles weights = random_weights(random, data.count);
                Doubles mean(width), variance(width);
                plain_moments(data, order, weighted ? &weights : nullptr, mean, variance);
                for (const Kernels* table : tables) {
                    Doubles m(width), v(width);
                    table->moments(data.rows(), order.size(), order.data(),
                                   weighted ? weights.data() : nullptr, m.data(), v.data());
                    CHECK(close(m, mean) && close(v, variance), "%s width %zu layout %d",
                          table->isa, width, static_cast<int>(layout));
                }
            }
        }
    }
}

// A long constant column varies by no more than rounding, however its mean was rounded.
void test_moments_of_a_constant(const Kernels& table) {
    const std::size_t count = 100000;
    const Doubles x(count, 0.1);
    const Order order = first_ones(count);
    double mean = 0.0, variance = 0.0;
    table.moments({Layout::dense64, x.data(), nullptr, nullptr, count, 1}, count, order.data(),
                  nullptr, &mean, &variance);
    CHECK(std::fabs(mean - 0.1) < 1e-15 && variance < 1e-30, "%s: %g, %g", table.isa, mean - 0.1,
          variance);
}

// The dual perceptron is the primal one with inner products for a kernel.
void test_kernel_perceptron(const std::vector<const Kernels*>& tables) {
    Random random(5);
    for (std::size_t count = 1; count <= 40; ++count) {
        for (int options = 0; options < 4; ++options) {
            const std::size_t outputs = options & 1 ? 3 : 1;
            const bool weighted = options & 2;
            const Criterion q = criteria[random.below(std::size(criteria))];
            const Doubles y = random_targets(random, count, outputs);
            const Doubles weights = random_weights(random, count), b0 = random.vector(outputs);
            const Doubles f0 = random.vector(count * outputs);
            Doubles tile(count * count);
            for (std::size_t l = 0; l < count; ++l) {
                for (std::size_t m = 0; m <= l; ++m) {
                    tile[l * count + m] = tile[m * count + l] = random.centred();
                }
            }
            const double rate = 0.5, bias_rate = 0.2;

            Tally tally;
            Doubles step(count * outputs), b = b0;
            for (std::size_t l = 0; l < count; ++l) {
                const double c = weighted ? weights[l] : 1.0;
                if (c == 0.0) continue;
                Doubles f(outputs);
                for (std::size_t k = 0; k < outputs; ++k) {
                    f[k] = f0[l * outputs + k] + b[k];
                    for (std::size_t m = 0; m < l; ++m) {
                        f[k] += step[m * outputs + k] * tile[m * count + l];
                    }
                }
                if (misclassified(f, y[l])) tally.errors += c;
                tally.weight += c;
                for (std::size_t k = 0; k < outputs; ++k) {
                    const double y_k = target(y, l, k, outputs);
                    const double delta = -c * plain_derivative(q, y_k, f[k]);
                    step[l * outputs + k] += rate * delta;
                    b[k] += bias_rate * delta;
                    tally.updates += delta != 0.0;
                    tally.criterion += c * plain_value(q, y_k, f[k]);
                }
            }

            for (const Kernels* table : tables) {
                Doubles f = f0, found_b = b0, found(count * outputs);
                const Tally sums = table->kernel_perceptron(
                    {tile.data(), count, outputs, y.data(), weighted ? weights.data() : nullptr,
                     outputs > 1 ? Targets::one_against_rest : Targets::values, q, rate, bias_rate,
                     f.data(), found_b.data(), found.data()});
                CHECK(close(sums, tally), "%s count %zu options %d", table->isa, count, options);
                CHECK(close(found, step) && close(found_b, b),
                      "%s count %zu options %d criterion %d", table->isa, count, options,
                      static_cast<int>(q.name));
            }
        }
    }
}

void test_criteria(const Kernels& table) {
    Doubles y, f;
    for (double target : {-1.0, 1.0}) {
        for (double output = -3.0; output <= 3.0; output += 0.0625) {
            y.push_back(target);
            f.push_back(output);
        }
    }
    const double kink[] = {0.0, 0.7, -0.7, 1.2, 0.8};  // z = 0, beta and y +- epsilon
    for (double output : kink) {
        y.push_back(1.0);
        f.push_back(output);
    }
    for (const Criterion& q : criteria) {
        Doubles value(y.size()), derivative(y.size());
        table.criterion(q, y.size(), y.data(), f.data(), value.data(), derivative.data());
        for (std::size_t l = 0; l < y.size(); ++l) {
            CHECK(close(value[l], plain_value(q, y[l], f[l])) &&
                      close(derivative[l], plain_derivative(q, y[l], f[l])),
                  "%s criterion %d at y=%g f=%g", table.isa, static_cast<int>(q.name), y[l], f[l]);
        }
        const double one = 1.0;
        double lost = 0.0, slope = 0.0;
        table.criterion(q, 1, &one, &kNaN, &lost, &slope);
        CHECK(std::isnan(lost), "%s criterion %d of NaN", table.isa, static_cast<int>(q.name));
    }
}

void test_shuffle() {
    const auto shuffled = [](std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
        Order order = first_ones(count);
        shuffle(order.data(), count, seed, epoch);
        return order;
    };
    for (std::size_t count : {0, 1, 2, 3, 10, 1000}) {
        std::vector<int> seen(count);
        for (auto l : shuffled(count, 7, 2)) ++seen.at(static_cast<std::size_t>(l));
        CHECK(seen == std::vector<int>(count, 1), "count %zu", count);
    }
    CHECK(shuffled(100, 7, 2) == shuffled(100, 7, 2), "the same call twice");
    CHECK(shuffled(100, 7, 2) != shuffled(100, 8, 2), "another seed");
    CHECK(shuffled(100, 7, 2) != shuffled(100, 7, 3), "another epoch");

    // Each of the 6 orders of 3 comes up about as often: 1000 +- 4.9 standard deviations
    std::vector<int> times(27);
    for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) {
        const Order order = shuffled(3, 1, epoch);
        ++times[static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2])];
    }
    for (std::size_t code : {5, 7, 11, 15, 19, 21}) {
        CHECK(times[code] > 860 && times[code] < 1140, "order %zu: %d times", code, times[code]);
    }
}

}  // namespace

int main() {
    const std::vector<const Kernels*> tables = supported_kernels();
    test_stochastic_gradient(tables);
    test_decision(tables);
    test_moments(tables);
    test_kernel_perceptron(tables);
    for (const Kernels* table : tables) {
        test_empty_pass(*table);
        test_moments_of_a_constant(*table);
        test_criteria(*table);
    }
    test_shuffle();
    std::printf("%d checks on", checks);
    for (const Kernels* table : tables) std::printf(" %s", table->isa);
    std::printf(": %d failed\n", failures);
    return failures == 0 ? 0 : 1;
}
