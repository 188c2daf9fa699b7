// The sub-problem of the decomposition algorithm, as the loops of every instruction set see it.
//
// Nothing here contains code, so these types are the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

constexpr std::size_t kTileStep = 64;  // the stride of a working set's tile is a multiple of this

// The sub-problem (5.20) of some examples, in beta = z alpha: minimise
//     1/2 sum beta_a beta_b K_ab + sum h_a(beta_a),   lo <= beta <= hi,
// by steps of two variables that keep the sums of beta. h is linear on either side of 0, with the
// slopes `above` and `below`. So a variable that may grow has an upper slope, and one that may fall
// has a lower slope.
struct SubProblem {
    bool double_precision;                        // of the tile and the gradients; otherwise float
    const void* tile;                             // n x stride
    const unsigned char* ready;                   // which rows of the tile are known
    void (*fetch)(void* context, std::size_t a);  // makes row a known
    void* context;
    std::size_t count;   // n
    std::size_t stride;  // a multiple of kTileStep, >= n
    bool two_sums;       // positive and negative beta keep a sum each, otherwise all keep one
    const double* v;     // n: -f - bias
    double bias;
    const double* above;
    const double* below;
    const double* diagonal;
    double* beta;  // overwritten
    const double* lo;
    const double* hi;
    double tol;  // stop when nothing violates by more, or when rounding hides the next step
    std::int64_t max_steps;
};

struct SubSolution {
    std::int64_t steps;
    double violation;
};

}  // namespace widemargin
