// Kernel machines: what the loops of every instruction set see of examples, rows and tiles.
//
// Nothing here contains code, so that these types are the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

constexpr std::size_t kBlock = 16;       // examples side by side in a block
constexpr std::size_t kSparseRows = 32;  // rows computed together, if examples are sparse
constexpr std::size_t kTileStep = 64;    // a tile's rows are multiples of this

enum class KernelName { linear, poly, rbf, sigmoid };

// linear  x.x'       poly  (gamma x.x' + coef0)^degree
// rbf  exp(-gamma ||x - x'||^2)     sigmoid  tanh(gamma x.x' + coef0)
struct KernelFunction {
    KernelName name;
    double gamma;
    double coef0;
    int degree;
};

// Examples in blocks of 16, inputs outside and examples inside: [block][input][16], so that one
// register holds one input of many examples. The last block is filled up with copies of example 0.
//
// For rbf the squared distance is the sum of three parts, each exact for equal inputs:
//   inputs    sum_j (x_j - x'_j)^2
//   bits      weight * (number of bits that differ): two-valued inputs of one scale
//   groups    w + w' where the categories differ: two-valued inputs that exclude each other
// Sparse examples have one part only, as compressed rows with their squared norms.
struct PackedView {
    bool wide;  // double, otherwise float: inputs, weights, values, norms
    std::size_t count;

    const void* inputs;
    std::size_t width;

    const std::uint32_t* bits;
    std::size_t words;
    double bit_weight;

    const void* categories;  // numbers, of the type of the inputs
    const void* weights;
    std::size_t groups;

    const void* values;  // sparse only; otherwise null
    const std::int32_t* columns;
    const std::int64_t* starts;
    const void* norms;
};

// Some examples in the role of rows of the kernel matrix.
struct RowList {
    const PackedView* from;
    const std::int64_t* index;
    std::size_t count;
};

// What becomes of the values k(row, x) of the examples x in blocks first..last-1:
//   f[o][x]  += coef[o][row] k(row, x)     for each output o, if there are any
//   keep[row][x] = k(row, x)               where keep[row] is not null, if keep is not
struct RowUse {
    std::size_t first;
    std::size_t last;
    std::size_t outputs;
    const double* coef;  // outputs x rows
    double* f;           // outputs x stride
    std::size_t stride;  // a multiple of kBlock
    void* const* keep;   // float or double, as the examples
    int threads;
};

// The same with rows that are known: f[x] += coef[row] known[row][x].
struct KnownRows {
    const void* const* known;
    const double* coef;
    std::size_t count;
    std::size_t first;
    std::size_t last;
    double* f;
    bool wide;
    int threads;
};

// The sub-problem (5.20) of some examples, in beta = z alpha: minimise
//     1/2 sum beta_a beta_b K_ab + sum h_a(beta_a),   lo <= beta <= hi,
// keeping sums of beta, by pairs. h is linear on either side of 0, with the slopes `above` and
// `below`; so a variable has an upper slope, if it may grow, and a lower one, if it may fall.
struct SubProblem {
    bool wide;         // the tile and the gradients are double, otherwise float
    const void* tile;  // n x stride, of which the rows marked in `ready` are known
    const unsigned char* ready;
    void (*fetch)(void* context, std::size_t a);  // makes row a known
    void* context;
    std::size_t count;   // n
    std::size_t stride;  // a multiple of kTileStep, >= n
    bool two_sums;       // of the positive and of the negative beta, otherwise one
    const double* v;     // n: -f, less what all have in common
    const double* above;
    const double* below;
    const double* diagonal;
    double* beta;  // overwritten
    const double* lo;
    const double* hi;
    double tol;  // stop when nothing violates by more
    std::int64_t max_steps;
};

struct SubSolution {
    std::int64_t steps;
    double violation;
};

}  // namespace widemargin
