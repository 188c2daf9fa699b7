// The order in which an epoch visits its examples.
//
// A function of (seed, epoch) alone, so that a fit that was interrupted and resumed visits the
// examples as one that was not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace widemargin {

// SplitMix64 (Steele, Lea and Flood, 2014): a counter, mixed.
class SplitMix64 {
   public:
    explicit SplitMix64(std::uint64_t state) : state_(state) {}

    std::uint64_t operator()() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

   private:
    std::uint64_t state_;
};

// Uniform on 0..bound-1 from 32 random bits; bound < 2^32, bias below 2^-32 for each value.
inline std::uint64_t below(std::uint64_t bound, std::uint32_t bits) {
    return bound * bits >> 32;
}

// Fisher and Yates, from the end; a random number serves two steps.
inline void shuffle(std::int64_t* order, std::size_t count, std::uint64_t seed,
                    std::uint64_t epoch) {
    SplitMix64 mix(seed);
    SplitMix64 random(mix() ^ (epoch * 0xd1342543de82ef95u));
    for (std::size_t i = count; i > 1; i -= 2) {
        const std::uint64_t bits = random();
        std::swap(order[i - 1], order[below(i, static_cast<std::uint32_t>(bits))]);
        std::swap(order[i - 2], order[below(i - 1, static_cast<std::uint32_t>(bits >> 32))]);
    }
}

}  // namespace widemargin
