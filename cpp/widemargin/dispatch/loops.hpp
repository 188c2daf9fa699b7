// What crosses from Python to the core: views of plain arrays, owned by NumPy.
//
// Nothing here contains code, so that these types are the same for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "widemargin/mlp/committee_types.hpp"
#include "widemargin/kernel/types.hpp"
#include "widemargin/mlp/network_types.hpp"

namespace widemargin {

constexpr std::size_t kLine = 64;  // bytes of a cache line

enum class Layout { dense32, dense64, sparse32, sparse64, packed };

// L examples of d inputs: dense in C order, compressed sparse rows, or packed for training
// (see packed_rows.hpp).
struct Rows {
    Layout layout;
    const void* values;           // float or double; packed: cache lines
    const std::int32_t* columns;  // sparse: of the values; packed: the L + 1 first lines
    const std::int64_t* starts;   // sparse only: L + 1 offsets into values and columns
    std::size_t count;            // L
    std::size_t width;            // d
    std::size_t block = 0;        // packed only: inputs stored whether zero or not
};

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

// f_k(x) = w_k . (x - m) + b_k for K outputs; for packed examples w holds the weights v of their
// inputs, at the inputs' places (see stochastic_gradient.hpp). `sum_*` are the accumulators of the
// averaged weights, or null.
struct LinearState {
    std::size_t outputs;  // K
    double* w;            // K x d
    double* b;            // K
    double* sum_w;        // K x d
    double* sum_b;        // K
    double steps;         // examples seen before this pass (for the average)
};

// The statistics of implicitly standardised inputs; both null for raw inputs.
struct Standardization {
    const double* mean;   // m_j; for packed examples, c_j
    const double* scale;  // s_j; for packed examples, null: they are scaled
};

// How examples are packed (packed_rows.hpp); mean and scale null for raw inputs.
struct Packing {
    std::size_t block;           // inputs that are stored whether zero or not
    const std::int32_t* places;  // the new place of each input; 0..block-1 for those
    const double* mean;
    const double* scale;
};

struct Pass {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    const double* y;  // L targets, or class codes 0..K-1 (those the examples were packed with)
    const double* weights;  // L example weights, or null (likewise)
    Targets targets;
    Criterion criterion;
    double rate;     // lambda of the first example
    double slowing;  // and lambda / (1 + slowing n) after n more
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

// What dual coordinate descent (dual_descent.hpp) knows of an example, in one place.
struct DualVariable {
    double beta;
    double lo, hi;
    double target;  // t
    double norm;    // |xh|^2
    double ridge;   // q
};

// One epoch of it.
struct DualEpoch {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    DualVariable* variables;  // one an example
    double epsilon;
    double intercept;         // r, the square of the constant input; 0 without an intercept
    double patience;          // how safe an example must be to be put aside
    std::int64_t* kept;       // receives the examples that were not put aside; may be `order`
    double relaxation = 1.0;  // omega: a step goes so much further than to the best beta
};

struct DualTally {
    std::size_t kept = 0;
    std::int64_t updates = 0;
    double violation = 0.0;  // the largest, each measured just before its own update
    double sum = 0.0;        // of the changes of beta
};

// Epochs of it, one after the other, which a call may leave anywhere (dual_course.hpp).
struct DualCourse {
    std::size_t examples;  // L
    std::int64_t* order;   // L: in front the examples of this epoch
    std::uint64_t seed;
    double intercept;  // r, or for a free intercept the square of its input, which may grow
    bool free;         // whether the intercept is free
    double sum;        // of beta

    std::uint64_t epoch = 0;            // complete ones
    std::size_t active = 0;             // examples of this epoch; 0: it has not begun
    std::size_t visited = 0, kept = 0;  // of these
    std::size_t among_few = 0;          // visits since an epoch over all examples
    std::int64_t visits = 0;            // of all epochs
    double patience = 0.0;              // with which it began
    double violation = 0.0;             // the largest of this epoch so far,
    double of_all = 0.0;                // and of the last epoch over all examples
    double excess = 0.0;                // |sum of beta| after the last epoch, of a free intercept
};

// Where to leave them: after so many epochs, or behind the first one after so many visits.
struct DualEnd {
    std::uint64_t epochs;
    std::int64_t visits;

    bool reached(const DualCourse& course) const {
        return course.visited == 0 && (course.epoch >= epochs || course.visits >= visits);
    }
};

// Columns of equal length, float or double (interleave.hpp).
struct ColumnList {
    std::size_t count, rows;
    const void* const* values;
    bool wide;  // double
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

// The weights of K classes, by input: rows of `stride` weights, K and some that only fill
// registers, whose b is -infinity (see class_units.hpp).
struct ClassState {
    std::size_t stride;
    double* w;     // d x stride
    double* b;     // stride
    double* sums;  // stride: of all steps of a class
};

constexpr std::size_t kStride = 4;  // what every stride is a multiple of

// One epoch of the sequential dual method (crammer_singer.hpp).
struct ClassEpoch {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    double* beta;           // L x stride
    const std::int32_t* y;  // L classes
    const double* c;        // L costs
    const double* norms;    // L times |xh|^2
    double intercept;       // r, as in DualEpoch
    double patience;
    std::int64_t* kept;
};

// One block of the dual perceptron: `tile` holds the kernel between its examples.
struct KernelBlock {
    const double* tile;  // n x n
    std::size_t count;   // n
    std::size_t outputs;
    const double* y;        // n targets, or class codes
    const double* weights;  // n, or null
    Targets targets;
    Criterion criterion;
    double rate;
    double bias_rate;  // lambda R^2, 0 without a bias
    double* f;         // n x K: w . phi(x) without the bias; overwritten
    double* b;         // K
    double* step;      // n x K: out, what was added to alpha_lk y_lk
};

// The hot loops of one instruction set.
struct Kernels {
    const char* isa;
    Tally (*stochastic_gradient)(const Rows&, const LinearState&, const Standardization&,
                                 const Pass&);
    void (*decision)(const Rows&, std::size_t outputs, const double* w, const double* b,
                     double* out, int threads);
    void (*combine)(const Rows&, const double* coef, double* out, int threads);
    std::size_t (*pack)(const Rows&, const double* y, const double* weights, const Packing&,
                        std::int32_t* lines, unsigned char* bytes);
    void (*moments)(const Rows&, std::size_t count, const std::int64_t* order,
                    const double* weights, double* mean, double* variance);
    DualTally (*dual_descent)(const Rows&, const LinearState&, const Standardization&,
                              const DualEpoch&);
    std::int64_t (*dual_course)(const Rows&, const LinearState&, const Standardization&,
                                const DualEpoch&, DualCourse&, double* sums, const DualEnd&,
                                std::int64_t visits);
    DualTally (*crammer_singer)(const Rows&, const ClassState&, const Standardization&,
                                const ClassEpoch&);
    void (*squared_norms)(const Rows&, const Standardization&, double* out);
    LossSums (*losses)(const Losses&, const double* f, const double* d, double t);
    bool (*interleave)(const ColumnList&, void* out);
    Tally (*kernel_perceptron)(const KernelBlock&);
    CommitteeTally (*train_committees)(const Rows&, const Committees&, const Standardization&,
                                       const CommitteePass&);
    void (*committee_scores)(const Rows&, Committees, const Standardization&, UnitName, double* out,
                             int threads);
    void (*criterion)(const Criterion&, std::size_t count, const double* y, const double* f,
                      double* value, double* derivative);
    void (*kernel_rows)(const KernelFunction&, const RowList&, const PackedView&, const RowUse&);
    void (*add_known_rows)(const KnownRows&);
    SubSolution (*solve_pairs)(const SubProblem&);
    Tally (*network_batches)(const Rows&, const Network&, const Standardization&,
                             const NetworkPass&);
    Tally (*network_online)(const Rows&, const Network&, const Standardization&,
                            const NetworkPass&);
    void (*network_outputs)(const Rows&, const Network&, const Standardization&, double* out,
                            int threads);
};

// Every table that this CPU can run, best first.
std::vector<const Kernels*> supported_kernels();

// The loops that are best on this CPU, or those of the instruction set that WIDEMARGIN_ISA names.
const Kernels& kernels();

}  // namespace widemargin
