// The order of visits: a permutation that depends on the seed and the epoch.
#include <vector>

#include "tests/checks.hpp"

namespace widemargin::tests {

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

    // Each of the 6 orders of 3 occurs equally often: 1000 times +- 4.9 standard deviations
    std::vector<int> times(27);
    for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) {
        const Order order = shuffled(3, 1, epoch);
        ++times[static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2])];
    }
    for (std::size_t code : {5, 7, 11, 15, 19, 21}) {
        CHECK(times[code] > 860 && times[code] < 1140, "order %zu: %d times", code, times[code]);
    }
}

}  // namespace widemargin::tests
