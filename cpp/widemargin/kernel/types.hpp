// Kernel machines: what the loops of every instruction set see of examples and rows of the kernel.
//
// Words used here and in svm/:
//   block   16 examples side by side (kBlock); the only meaning of the word in the core
//   tile    a rectangular piece of the kernel matrix: some rows by one block, or the square of a
//           working set
//   panel   some rows (or units, in mlp/) side by side, stored by input: [input][row]
//   group   inputs of which at most one is set, so that they act as one category
//   chunk   consecutive items that are handled at once, so that they stay in the cache
//
// Nothing here contains code, so these types are the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "widemargin/linear/types.hpp"

namespace widemargin {

constexpr std::size_t kBlock = 16;       // examples per block
constexpr std::size_t kSparseRows = 32;  // rows computed together if examples are sparse

enum class KernelName {
    linear,
    poly,
    rbf,
    sigmoid,
    exponential,
    exponential_power,
    laplacian,
    laplacian_power
};

// What a kernel is a function of: x.x', ||x - x'||^2 or sum_j |x_j - x'_j|.
enum class Pairing { product, squared_distance, absolute_distance };

struct KernelEntry {
    const char* text;
    Pairing pairing;
    KernelName name;
    KernelName power = name;  // if the exponent is not 1
};

constexpr KernelEntry kKernels[] = {
    // x.x'
    {"linear", Pairing::product, KernelName::linear},
    // (gamma x.x' + coef0)^degree
    {"poly", Pairing::product, KernelName::poly},
    // exp(-gamma ||x - x'||^2)
    {"rbf", Pairing::squared_distance, KernelName::rbf},
    // tanh(gamma x.x' + coef0)
    {"sigmoid", Pairing::product, KernelName::sigmoid},
    // exp(-gamma ||x - x'||_2^q)
    {"exponential", Pairing::squared_distance, KernelName::exponential,
     KernelName::exponential_power},
    // exp(-gamma ||x - x'||_1^q)
    {"laplacian", Pairing::absolute_distance, KernelName::laplacian, KernelName::laplacian_power},
};

// At compile time only, so that no instruction set leaves a copy of it.
consteval Pairing pairing_of(KernelName name) {
    for (const KernelEntry& entry : kKernels) {
        if (entry.name == name || entry.power == name) return entry.pairing;
    }
    throw "a kernel is missing in kKernels";
}

struct KernelFunction {
    KernelName name;
    double gamma;
    double coef0;
    int degree;
    double exponent = 1.0;  // q
};

// Examples in blocks of 16, inputs outside and examples inside: [block][input][16], so that one
// register holds one input of many examples. Copies of example 0 fill up the last block.
//
// A distance is a sum of three terms, each exact for equal inputs:
//   inputs    sum_j (x_j - x'_j)^2, or sum_j |x_j - x'_j|
//   bits      weight * (number of bits that differ): two-valued inputs of one scale
//   groups    w + w' where the categories differ: two-valued inputs that exclude each other
// Sparse examples are compressed rows s of what is stored, and a term of each example:
//   distances   ||s - s'||^2 = t + t' - 2 s.s'   with t = ||s||^2
//               ||s - s'||_1 = t + t' - 2 o      with t = ||s||_1, and the sum o over inputs of
//                                                the same sign of min(|s_j|, |s'_j|)
//   products    (s - c).(s' - c) = s.s' + t + t' with t = ||c||^2 / 2 - s.c, if there is a centre c
struct PackedView {
    bool double_precision;  // of inputs, weights, values and terms; otherwise float
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
    const void* terms;  // t of each example; null for products without a centre
    bool cancels;       // whether a distance may cancel by more than the kernel tolerates
};

// Some examples in the role of rows of the kernel matrix.
struct RowList {
    const PackedView* from;
    const std::int64_t* index;
    std::size_t count;
};

// What to do with the values k(row, x) of the examples x in blocks first..last-1:
//   f[o][x]  += coef[o][row] k(row, x)     for each output o, if there are any
//   keep[row][x] = k(row, x)               where neither keep nor keep[row] is null
struct RowUse {
    std::size_t first;
    std::size_t last;
    std::size_t outputs = 0;
    const double* coef = nullptr;  // outputs x rows
    double* f = nullptr;           // outputs x stride
    std::size_t stride = 0;        // a multiple of kBlock
    void* const* keep = nullptr;   // float or double, as the examples
    int threads = 1;
};

// The same with rows that are known: f[x] += coef[row] known[row][x].
struct KnownRows {
    const void* const* known;
    const double* coef;
    std::size_t count;
    std::size_t first;
    std::size_t last;
    double* f;
    bool double_precision;  // of the rows; otherwise float
    int threads;
};

// Gradients of expansions f_o(x) = sum_i coef[o][i] k(x_i, x) at some points.
struct GradientTask {
    const double* rows;  // n x width
    std::size_t count;   // n
    const double* coef;  // outputs x n
    std::size_t outputs;
    const double* points;  // m x width
    std::size_t m;
    std::size_t width;
    double* out;  // outputs x m x width
    int threads;
};

// Consecutive examples of the dual perceptron (kernel_perceptron.hpp).
struct DualPerceptronChunk {
    const double* tile;  // n x n: the kernel between the examples
    std::size_t count;   // n
    std::size_t outputs;
    const double* y;        // n targets, or class codes
    const double* weights;  // n, or null
    Targets targets;
    Criterion criterion;
    double rate;
    double bias_rate;          // lambda R^2, 0 without a bias
    double* f;                 // n x K: w . phi(x) without the bias; overwritten
    double* b;                 // K
    double* step;              // n x K: receives what was added to alpha_lk y_lk
    double mu = 0.0;           // weight decay
    double slowing = 0.0;      // lambda/(1 + slowing l) at example l of the chunk
    double* shrunk = nullptr;  // receives the factor of all earlier coefficients, if there is decay
};

}  // namespace widemargin
