// Means and variances of inputs.
#include <cmath>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {
namespace {

// Mean and variance by their definitions, over the examples of an order.
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

void test_against_definition(const Tables& tables) {
    Random random(4);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (Layout layout : layouts) {
            for (bool weighted : {false, true}) {
                const Data data(random, layout, 21, width);
                const Order order = random_order(random, data.count, 17);
                const Doubles weights = random_weights(random, data.count);
                Doubles mean(width), variance(width);
                plain_moments(data, order, weighted ? &weights : nullptr, mean, variance);
                for (const Loops* table : tables) {
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

// The variance of a long constant column is 0 up to rounding, however its mean was rounded.
void test_constant(const Loops& table) {
    const std::size_t count = 100000;
    const Doubles x(count, 0.1);
    const Order order = first_ones(count);
    double mean = 0.0, variance = 0.0;
    table.moments({Layout::dense64, x.data(), nullptr, nullptr, count, 1}, count, order.data(),
                  nullptr, &mean, &variance);
    CHECK(std::fabs(mean - 0.1) < 1e-15 && variance < 1e-30, "%s: %g, %g", table.isa, mean - 0.1,
          variance);
}

}  // namespace

void test_moments(const Tables& tables) {
    test_against_definition(tables);
    for (const Loops* table : tables) test_constant(*table);
}

}  // namespace widemargin::tests
