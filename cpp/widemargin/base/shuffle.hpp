// The order in which an epoch visits its examples.
//
// It is a function of (seed, epoch) alone, so that a fit that is interrupted and resumed visits the
// examples in the same order as one that is not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

// SplitMix64 (Steele, Lea and Flood, 2014): a counter, mixed.
class SplitMix64 {
   public:
    explicit SplitMix64(std::uint64_t state) : state_(state) {}

    // (Always inlined: loops of every instruction set use it, see docs/decisions/0001.)
    [[gnu::always_inline]] std::uint64_t operator()() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

   private:
    std::uint64_t state_;
};

// Shuffles order[0..count), count < 2^32 (Fisher and Yates).
void shuffle(std::int64_t* order, std::size_t count, std::uint64_t seed, std::uint64_t epoch);

}  // namespace widemargin
