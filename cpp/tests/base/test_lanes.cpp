// Roots, logarithms and powers in registers against the C library: near 0, small, large.
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/base/lane_functions.hpp"
#include "tests/checks.hpp"

namespace widemargin {

#define WIDEMARGIN_DECLARE(isa)    \
    namespace isa {                \
    tests::LaneTable lane_table(); \
    }
WIDEMARGIN_DECLARE(baseline)
#ifdef WIDEMARGIN_HAS_avx2
WIDEMARGIN_DECLARE(avx2)
#endif
#ifdef WIDEMARGIN_HAS_avx512
WIDEMARGIN_DECLARE(avx512)
#endif

namespace tests {
namespace {

LaneTable lanes_of(const char* isa) {
#ifdef WIDEMARGIN_HAS_avx512
    if (std::strcmp(isa, "avx512") == 0) return avx512::lane_table();
#endif
#ifdef WIDEMARGIN_HAS_avx2
    if (std::strcmp(isa, "avx2") == 0) return avx2::lane_table();
#endif
    CHECK(std::strcmp(isa, "baseline") == 0, "%s", isa);
    return baseline::lane_table();
}

// Positive normal numbers of every size, and those near 1 and near powers of two.
template <class T>
std::vector<T> positive_numbers(Random& random) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> x = {Limits::min(), Limits::max() / 2, T{1}, T{2}, T{0.5}};
    for (int e = Limits::min_exponent; e < Limits::max_exponent - 1; e += sizeof(T) == 4 ? 1 : 7) {
        const T power = std::ldexp(T{1}, e);
        for (const T value : {power, std::nextafter(power, T{0}), std::nextafter(power, 2 * power),
                              static_cast<T>(power * (1 + random.uniform())),
                              static_cast<T>(power * std::sqrt(2.0))}) {
            if (value >= Limits::min()) x.push_back(value);
        }
    }
    for (int i = 0; i < 500; ++i) x.push_back(static_cast<T>(1 + 0.1 * random.centred()));
    while (x.size() % kMostLanes != 0) x.push_back(T{3});
    return x;
}

template <class T>
void check_roots(const LaneFunctions<T>& lanes, const std::vector<T>& x, const char* isa) {
    constexpr T unit = std::numeric_limits<T>::epsilon() / 2;
    std::vector<T> root = x;
    lanes.square_root(root.data(), root.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const T wanted = std::sqrt(x[i]);
        CHECK(std::fabs(root[i] - wanted) <= 4 * unit * wanted, "%s: sqrt(%g) = %.17g", isa,
              static_cast<double>(x[i]), static_cast<double>(root[i]));
    }
    // below the normal numbers a root is at most that of the smallest one; of 0 it is exact
    constexpr T normal = std::numeric_limits<T>::min();
    std::vector<T> small(kMostLanes, T{0});
    for (std::size_t i = 1; i < small.size(); ++i) small[i] = std::ldexp(normal, -int(i));
    root = small;
    lanes.square_root(root.data(), root.size());
    CHECK(root[0] == 0, "%s: sqrt(0) = %g", isa, static_cast<double>(root[0]));
    for (std::size_t i = 1; i < small.size(); ++i) {
        CHECK(root[i] > 0 && root[i] <= std::sqrt(small[i]) * (1 + 4 * unit), "%s: sqrt(%g) = %g",
              isa, static_cast<double>(small[i]), static_cast<double>(root[i]));
    }
}

template <class T>
void check_powers(const LaneFunctions<T>& lanes, const std::vector<T>& x, const char* isa) {
    constexpr long double unit = std::numeric_limits<T>::epsilon() / 2;
    std::vector<T> log = x;
    lanes.log2(log.data(), log.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double wanted = std::log2(static_cast<long double>(x[i]));
        CHECK(std::fabs(log[i] - wanted) <= 4 * unit * std::fabs(wanted), "%s: log2(%.17g) = %.17g",
              isa, static_cast<double>(x[i]), static_cast<double>(log[i]));
    }
    for (const T h : {T(0.001), T(0.1), T(0.35), T(0.5), T(0.7), T(0.99), T(1)}) {
        std::vector<T> power = x;
        lanes.power(power.data(), power.size(), h);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const long double exponent = h * std::log2(static_cast<long double>(x[i]));
            const long double wanted = std::pow(static_cast<long double>(x[i]), h);
            // the digits that the integer part of the logarithm takes are lost
            const long double error = unit * (4 + 4 * std::fabs(exponent)) * wanted;
            CHECK(std::fabs(power[i] - wanted) <= error, "%s: %.17g^%g = %.17g", isa,
                  static_cast<double>(x[i]), static_cast<double>(h), static_cast<double>(power[i]));
        }
        std::vector<T> zero(kMostLanes, T{0});
        zero[1] = std::numeric_limits<T>::denorm_min();
        lanes.power(zero.data(), zero.size(), h);
        CHECK(zero[0] == 0, "%s: 0^%g", isa, static_cast<double>(h));
        CHECK(zero[1] > 0 && zero[1] <= 1, "%s: a small number^%g", isa, static_cast<double>(h));
    }
}

template <class T>
void check_lanes(const LaneFunctions<T>& lanes, Random& random, const char* isa) {
    const std::vector<T> x = positive_numbers<T>(random);
    check_roots(lanes, x, isa);
    check_powers(lanes, x, isa);
    // 2^x, and what a distance that overflows gives
    constexpr T infinity = std::numeric_limits<T>::infinity();
    constexpr T normal = std::numeric_limits<T>::min();
    std::vector<T> y = {T{0}, T{-1}, -infinity, std::numeric_limits<T>::quiet_NaN()};
    y.resize(kMostLanes, T{-0.5});
    lanes.exp2(y.data(), y.size());
    CHECK(y[0] == 1 && y[1] == T{0.5} && y[2] == normal && y[3] == normal, "%s: 2^x", isa);
    std::vector<T> z = {T{-0.0}, T{-3}, T{3}, -infinity};
    z.resize(kMostLanes);
    lanes.absolute(z.data(), z.size());
    CHECK(!std::signbit(z[0]) && z[1] == 3 && z[2] == 3 && z[3] == infinity, "%s: |x|", isa);
}

}  // namespace

void test_lanes(const Tables& tables) {
    Random random(1);
    for (const Loops* table : tables) {
        const LaneTable lanes = lanes_of(table->isa);
        check_lanes(lanes.single, random, table->isa);
        check_lanes(lanes.twice, random, table->isa);
    }
}

}  // namespace tests
}  // namespace widemargin
