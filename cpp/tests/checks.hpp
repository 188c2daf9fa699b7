// Shared by the C++ tests: checks that are counted, and repeatable random numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "widemargin/base/shuffle.hpp"
#include "widemargin/dispatch/loops.hpp"

namespace widemargin::tests {

using Doubles = std::vector<double>;
using Order = std::vector<std::int64_t>;
using Tables = std::vector<const Loops*>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// ----------------------------------------------------------------------------------- checks

inline int failures = 0, checks = 0;

#define CHECK(holds, ...)                                           \
    do {                                                            \
        ++checks;                                                   \
        if (!(holds) && ++failures <= 20) {                         \
            std::printf("%s:%d: %s: ", __FILE__, __LINE__, #holds); \
            std::printf(__VA_ARGS__);                               \
            std::printf("\n");                                      \
        }                                                           \
    } while (false)

inline bool near(double a, double b, double tolerance) {
    return std::fabs(a - b) <= tolerance * (1.0 + std::fabs(b));
}

// ---------------------------------------------------------------------------------- numbers

class Random {
   public:
    explicit Random(std::uint64_t seed) : mix_(seed) {}
    double uniform() { return static_cast<double>(mix_() >> 11) * 0x1p-53; }
    double centred() { return 2.0 * uniform() - 1.0; }
    std::size_t below(std::size_t bound) { return mix_() % bound; }
    Doubles vector(std::size_t n) {
        Doubles values(n);
        for (double& value : values) value = centred();
        return values;
    }

   private:
    SplitMix64 mix_;
};

inline Order first_ones(std::size_t n) {
    Order order(n);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

// Random examples: some occur twice, some not at all.
inline Order random_order(Random& random, std::size_t examples, std::size_t n) {
    Order order(n);
    for (auto& l : order) l = static_cast<std::int64_t>(random.below(examples));
    return order;
}

// ------------------------------------------------------------------------------------- main

// Runs tests on the instruction set that WIDEMARGIN_ISA names and returns the value for main; ctest
// takes 77 as skipped.
inline int run_tests(std::uint64_t seed, std::initializer_list<void (*)(Random&)> tests) {
    try {
        loops();
    } catch (const std::runtime_error& error) {
        std::printf("%s\n", error.what());
        return 77;
    }
    Random random(seed);
    for (auto* test : tests) test(random);
    std::printf("%d checks on %s: %d failed\n", checks, loops().isa, failures);
    return failures == 0 ? 0 : 1;
}

}  // namespace widemargin::tests
