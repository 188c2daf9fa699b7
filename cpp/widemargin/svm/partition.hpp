// Cuts the data into parts that lie together, using nothing but the kernel.
#pragma once

#include <vector>

#include "widemargin/kernel/kernel_source.hpp"

namespace widemargin {

struct Partition {
    std::vector<std::int64_t> order;  // the examples, part after part
    std::vector<std::size_t> ends;    // where each part ends
    std::size_t done = 0;             // how many examples are in parts that are small enough
    std::vector<std::size_t> open;    // where the parts to be halved end, the next one last
};

Partition one_part(std::size_t count);

// Halves the next part with more than `most` examples: by which of two distant examples is nearer.
// Returns false when no such part is left; then all parts have the same size, give or take one.
bool halve_next(const KernelSource& affinity, std::size_t most, int threads, Partition& parts);

// Whether the kernel is strong enough inside parts: measured by the sum of its absolute values over
// a sample of rows.
bool parts_stand_alone(const KernelSource& kernel, const Partition& parts, int threads);

}  // namespace widemargin
