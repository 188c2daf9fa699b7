// Products of examples and weights, and weighted sums of examples.
#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {

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
                for (const Loops* table : tables) {
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

void test_combine(const Tables& tables) {
    Random random(15);
    for (std::size_t width = 1; width <= 70; ++width) {
        for (const Layout layout : layouts) {
            for (const std::size_t count : {0, 1, 12}) {
                const Data data(random, layout, count, width);
                Doubles coef = random.vector(count), expected(width);
                for (std::size_t l = 2; l < count; l += 3) coef[l] = 0.0;
                for (std::size_t l = 0; l < count; ++l) {
                    for (std::size_t j = 0; j < width; ++j) expected[j] += coef[l] * data.at(l, j);
                }
                for (const Loops* table : tables) {
                    for (const int threads : {1, 2}) {
                        Doubles found(width, kNaN);
                        table->combine(data.rows(), coef.data(), found.data(), threads);
                        CHECK(close(found, expected), "%s width %zu layout %d, %zu examples",
                              table->isa, width, static_cast<int>(layout), count);
                    }
                }
            }
        }
    }
}

}  // namespace widemargin::tests
