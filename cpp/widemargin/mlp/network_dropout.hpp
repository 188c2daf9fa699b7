// Dropout: a hidden unit is left out of an example's step with probability p, and the outputs of
// the others are divided by 1 - p (Srivastava et al., 2014).
//
// Who is left out is a hash of seed, step, layer, place in the batch and unit. So it depends
// neither on slices nor on threads, and the backward pass can ask again.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace widemargin::WIDEMARGIN_ISA {

class Dropout {
   public:
    Dropout(double fraction, std::uint64_t seed)
        : seed_(seed),
          limit_(static_cast<std::uint32_t>(std::llround(std::ldexp(fraction, 32)))),
          scale_(1.0 / (1.0 - fraction)) {}

    bool active() const { return limit_ > 0; }

    // The same for step t = 1, 2, ..., whose chunk of examples begins at this place of the batch.
    Dropout at(std::int64_t t, std::size_t first) const {
        Dropout now = *this;
        now.step_ = static_cast<std::uint64_t>(t);
        now.first_ = first;
        return now;
    }

    // values *= kept / (1 - p), for units `unit`, unit + 1, ... of a layer and one row of the chunk
    template <class T>
    void operator()(std::size_t layer, std::size_t row, std::size_t unit, std::size_t n,
                    T* values) const {
        const std::uint32_t key = row_key(layer, row), limit = limit_;
        const T scale = static_cast<T>(scale_);
#pragma omp simd
        for (std::size_t j = 0; j < n; ++j) {
            const std::uint32_t drawn =
                mix32(key + static_cast<std::uint32_t>(unit + j) * 0x9E3779B9u);
            values[j] *= drawn >= limit ? scale : T{0};
        }
    }

   private:
    std::uint32_t row_key(std::size_t layer, std::size_t row) const {
        std::uint64_t key = mix64(seed_ + step_);
        key = mix64(key + layer);
        key = mix64(key + first_ + row);
        return static_cast<std::uint32_t>(key >> 32);
    }

    // Finalisers of splitmix64 and lowbias32
    static std::uint64_t mix64(std::uint64_t z) {
        z += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    static std::uint32_t mix32(std::uint32_t z) {
        z = (z ^ (z >> 16)) * 0x7FEB352Du;
        z = (z ^ (z >> 15)) * 0x846CA68Bu;
        return z ^ (z >> 16);
    }

    std::uint64_t seed_, step_ = 0;
    std::size_t first_ = 0;
    std::uint32_t limit_;  // of 2^32: a unit that draws less is left out
    double scale_;
};

}  // namespace widemargin::WIDEMARGIN_ISA
