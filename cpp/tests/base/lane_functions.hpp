// Functions of registers, over arrays: one table per instruction set.
#pragma once

#include <cstddef>

namespace widemargin::tests {

// Each replaces n numbers by their function; n is a multiple of kMostLanes.
template <class T>
struct LaneFunctions {
    void (*square_root)(T* x, std::size_t n);
    void (*log2)(T* x, std::size_t n);
    void (*power)(T* x, std::size_t n, T h);
    void (*exp2)(T* x, std::size_t n);
    void (*absolute)(T* x, std::size_t n);
};

struct LaneTable {
    LaneFunctions<float> single;
    LaneFunctions<double> twice;
};

constexpr std::size_t kMostLanes = 16;

}  // namespace widemargin::tests
