// Multi-layer perceptrons: what the loops of every instruction set see of a network.
//
// Nothing here contains code, so these types are the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "widemargin/linear/types.hpp"

namespace widemargin {

enum class Criteria {
    of_outputs,
    softmax,
    margin_to_best,
    mixture_tanh_mse,  // the network is the gater of a mixture (mixture/mixture_criteria.hpp)
    mixture_mse,
    mixture_likelihood,
};
enum class Transfer { identity, sigmoid, tanh, slanted_tanh, hard_tanh, relu };
enum class UpdateRule { sgd, adam, adamw };

constexpr double kSlant = 0.01;  // of the slanted tanh: tanh z + slant z

// h^0 = x,  h^(k+1) = h(h^k W^k + b^k),  f = h^D W^D + b^D
//
// The parameters are one array: W^0 (inputs x units, in C order), b^0, W^1, b^1, ...
struct Network {
    bool double_precision;      // of the parameters and of all sums of layers; otherwise float
    std::size_t layers;         // D + 1 pairs of W and b
    const std::int64_t* units;  // layers + 1 numbers: inputs, hidden layers, outputs
    Transfer transfer;          // h of the hidden layers
    void* parameters;
    const void* gemm;  // Fortran's sgemm or dgemm
};

// What the outputs should be, and what errors cost.
struct NetworkTargets {
    const double* y;            // L class codes; or L x K values (K = 1: +-1 for two classes)
    bool codes;                 // y holds class codes
    const double* weights;      // L example weights, or null
    const double* error_scale;  // K: the error is sum_k scale_k (y_k - f_k)^2; null: classes
    Criteria criteria;          // a sum over the outputs, or one value for all of them together
    const Criterion* q;         // of each output; or its parameter alone
    // For a mixture, whose experts the network's K outputs weigh; y and error_scale then have C
    // columns.
    const float* experts = nullptr;  // L x K x C: the outputs of each expert for each example
    std::size_t columns = 0;         // C
};

// How the parameters follow the gradient; decays of output and hidden weights.
struct NetworkStep {
    UpdateRule solver;
    double rate;
    double momentum;
    bool nesterov;
    double beta_1, beta_2, epsilon;
    double mu, nu;
    void* first;         // as the parameters: the momentum, or the first moment of gradients
    void* second;        // the second moment; null for sgd
    std::int64_t steps;  // made before
};

struct NetworkPass {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    std::size_t batch;  // examples per step
    NetworkTargets targets;
    NetworkStep step;
    double dropout;      // the probability that a hidden unit is left out of an example's step
    std::uint64_t seed;  // of dropout
    std::size_t slices;  // of a batch: their gradients are computed one by one and added in order
    int threads;         // share the slices
};

}  // namespace widemargin
