// Parts of the data that lie together, by the kernel alone.
#pragma once

#include <vector>

#include "widemargin/kernel/kernel_source.hpp"

namespace widemargin {

struct Parts {
    std::vector<std::int64_t> order;  // the examples, part after part
    std::vector<std::size_t> ends;    // where each part ends
    std::size_t done = 0;             // how many examples are in parts that are small enough
    std::vector<std::size_t> open;    // where the others end, the next one last
};

Parts one_part(std::size_t count);

// Halves the next part that has more than `most` examples: of two that are far from each other,
// which one is nearer. In the end all parts have the same size, give or take one; false: it is.
bool halve_next(const KernelSource& affinity, std::size_t most, int threads, Parts& parts);

// Whether a good part of what examples have to do with others is within their own part, by the sum
// of the kernel's values over a sample of rows.
bool parts_stand_alone(const KernelSource& kernel, const Parts& parts, int threads);

}  // namespace widemargin
