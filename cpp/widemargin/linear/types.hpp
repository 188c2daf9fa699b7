// Linear models, as Python hands them to the core: views of plain arrays, owned by NumPy.
//
// Nothing here contains code that is not inlined, so these types are the same for every instruction
// set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

// ----------------------------------------------------------------------------------- criteria

// A criterion Q(y, f) and its parameter (the margin beta, or the tube epsilon).
enum class CriterionName {
    perceptron,
    margin,
    squared_margin,
    cross_entropy,
    mse,
    tanh_mse,
    epsilon_insensitive,
};

struct Criterion {
    CriterionName name;
    double parameter;
};

// What y_lk means for output k: the target itself, or +1 for class k and -1 for the rest.
enum class Targets { values, one_against_rest };

// ------------------------------------------------------------------------ stochastic gradient

// f_k(x) = w_k . (x - m) + b_k for K outputs. For packed examples, w holds the weights v of their
// inputs, at the inputs' places (stochastic_gradient.hpp). `sum_*` are the accumulators of the
// averaged weights, or null.
struct LinearState {
    std::size_t outputs;  // K
    double* w;            // K x d
    double* b;            // K
    double* sum_w;        // K x d
    double* sum_b;        // K
    double steps;         // examples seen before this pass (for the average)
};

struct Pass {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    const double* y;  // L targets, or class codes 0..K-1 (those the examples were packed with)
    const double* weights;  // L example weights, or null (those the examples were packed with)
    Targets targets;
    Criterion criterion;
    double rate;     // lambda of the first example
    double slowing;  // lambda / (1 + slowing n) after n more examples
    double mu;       // weight decay
    bool fit_intercept;
    int threads;
    double* scores;  // count x K: receives f before each update; null for one output
};

// Sums over the visited examples, each measured just before its own update.
struct Tally {
    std::int64_t updates = 0;
    double criterion = 0.0;  // sum of weight * Q, over examples and outputs
    double errors = 0.0;     // sum of weight over misclassified examples
    double weight = 0.0;     // sum of weights
};

// --------------------------------------------------------------------- dual coordinate descent

// Everything that dual coordinate descent (dual_descent.hpp) knows of an example, side by side.
struct DualVariable {
    double beta;
    double lo, hi;
    double target;  // t
    double norm;    // |xh|^2
    double ridge;   // q
};

// One epoch.
struct DualEpoch {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    DualVariable* variables;  // one per example
    double epsilon;
    double intercept;         // r, the square of the constant input; 0 without an intercept
    double patience;          // by how much an example must be safe to be set aside
    std::int64_t* kept;       // receives the examples that were not set aside; may be `order`
    double relaxation = 1.0;  // omega: the length of a step, relative to the best one
};

struct DualTally {
    std::size_t kept = 0;
    std::int64_t updates = 0;
    double violation = 0.0;  // the largest, each measured just before its own update
    double sum = 0.0;        // of the changes of beta
};

// The progress of several epochs, which a call may leave anywhere (dual_epochs.hpp).
struct DualProgress {
    std::size_t examples;  // L
    std::int64_t* order;   // L: the examples of this epoch come first
    std::uint64_t seed;
    double intercept;  // r; for a free intercept the square of its input, which may grow
    bool free;         // whether the intercept is free
    double sum;        // of beta

    std::uint64_t epoch = 0;            // completed epochs
    std::size_t active = 0;             // examples of this epoch; 0 if it has not begun
    std::size_t visited = 0, kept = 0;  // of these
    std::size_t partial_visits = 0;     // visits since the last epoch over all examples
    std::int64_t visits = 0;            // of all epochs
    double patience = 0.0;              // of this epoch
    double violation = 0.0;             // the largest of this epoch so far
    double full_violation = 0.0;        // the largest of the last epoch over all examples
    double excess = 0.0;  // |sum of beta| after the last epoch, if the intercept is free
};

// When to stop: after a number of epochs, or at the end of the epoch with a given number of visits.
struct DualEnd {
    std::uint64_t epochs;
    std::int64_t visits;

    [[gnu::always_inline]] bool reached(const DualProgress& progress) const {
        return progress.visited == 0 && (progress.epoch >= epochs || progress.visits >= visits);
    }
};

// The losses of examples at f + t d (losses.hpp).
struct Losses {
    std::size_t count;
    const double* target;
    const double* c;  // costs
    double epsilon;
    bool labels;   // targets are +-1, and f beyond them costs nothing
    bool squared;  // losses are squares
};

struct LossSums {
    double value, slope;
};

// -------------------------------------------------------------------------- Crammer and Singer

// Every stride of the weights of classes is a multiple of this.
constexpr std::size_t kClassStep = 4;

// The weights of K classes, by input: rows of `stride` weights. Those behind the K-th only fill
// registers, and their b is -infinity (class_units.hpp).
struct ClassState {
    std::size_t stride;
    double* w;     // d x stride
    double* b;     // stride
    double* sums;  // stride: of all steps of a class
};

// One epoch of the sequential dual method (crammer_singer.hpp).
struct ClassEpoch {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    double* beta;           // L x stride
    const std::int32_t* y;  // L classes
    const double* c;        // L costs
    const double* norms;    // L values of |xh|^2
    double intercept;       // r, as in DualEpoch
    double patience;
    std::int64_t* kept;
};

}  // namespace widemargin
