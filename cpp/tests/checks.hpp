// What the C++ tests share: checks that are counted, and repeatable random numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "widemargin/shuffle.hpp"

using Doubles = std::vector<double>;
using Order = std::vector<std::int64_t>;

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
    widemargin::SplitMix64 mix_;
};

// What main returns; ctest takes `skipped` as such.
constexpr int skipped = 77;
inline int report(const char* isa) {
    std::printf("%d checks on %s: %d failed\n", checks, isa, failures);
    return failures == 0 ? 0 : 1;
}
