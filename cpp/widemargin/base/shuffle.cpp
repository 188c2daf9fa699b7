#include "widemargin/base/shuffle.hpp"

#include <utility>

namespace widemargin {
namespace {

// Uniform on 0..bound-1 from 32 random bits; bound < 2^32, bias below 2^-32 for each value.
std::uint64_t below(std::uint64_t bound, std::uint32_t bits) {
    return bound * bits >> 32;
}

}  // namespace

// From the end; one random number serves two steps.
void shuffle(std::int64_t* order, std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
    SplitMix64 mix(seed);
    SplitMix64 random(mix() ^ (epoch * 0xd1342543de82ef95u));
    for (std::size_t i = count; i > 1; i -= 2) {
        const std::uint64_t bits = random();
        std::swap(order[i - 1], order[below(i, static_cast<std::uint32_t>(bits))]);
        std::swap(order[i - 2], order[below(i - 1, static_cast<std::uint32_t>(bits >> 32))]);
    }
}

}  // namespace widemargin
