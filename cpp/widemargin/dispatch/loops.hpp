// The table of hot loops, one per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "widemargin/kernel/types.hpp"
#include "widemargin/linear/types.hpp"
#include "widemargin/mlp/committee_types.hpp"
#include "widemargin/mlp/network_types.hpp"
#include "widemargin/rows/types.hpp"
#include "widemargin/svm/types.hpp"

namespace widemargin {

struct Loops {
    const char* isa;

    // rows/
    void (*decision)(const Rows&, std::size_t outputs, const double* w, const double* b,
                     double* out, int threads);
    void (*combine)(const Rows&, const double* coef, double* out, int threads);
    void (*moments)(const Rows&, std::size_t count, const std::int64_t* order,
                    const double* weights, double* mean, double* variance);
    std::size_t (*pack)(const Rows&, const double* y, const double* weights, const Packing&,
                        std::int32_t* lines, unsigned char* bytes);
    bool (*interleave)(const ColumnList&, void* out);

    // linear/
    void (*criterion)(const Criterion&, std::size_t count, const double* y, const double* f,
                      double* value, double* derivative);
    Tally (*stochastic_gradient)(const Rows&, const LinearState&, const Standardization&,
                                 const Pass&);
    DualTally (*dual_descent)(const Rows&, const LinearState&, const Standardization&,
                              const DualEpoch&);
    std::int64_t (*dual_epochs)(const Rows&, const LinearState&, const Standardization&,
                                const DualEpoch&, DualProgress&, double* sums, const DualEnd&,
                                std::int64_t visits);
    DualTally (*crammer_singer)(const Rows&, const ClassState&, const Standardization&,
                                const ClassEpoch&);
    void (*squared_norms)(const Rows&, const Standardization&, double* out);
    LossSums (*losses)(const Losses&, const double* f, const double* d, double t);

    // kernel/
    Tally (*kernel_perceptron)(const DualPerceptronChunk&);
    void (*kernel_rows)(const KernelFunction&, const RowList&, const PackedView&, const RowUse&);
    void (*add_known_rows)(const KnownRows&);
    void (*kernel_gradients)(const KernelFunction&, const GradientTask&);

    // svm/
    SubSolution (*solve_pairs)(const SubProblem&);

    // mlp/
    CommitteeTally (*train_committees)(const Rows&, const Committees&, const Standardization&,
                                       const CommitteePass&);
    void (*committee_scores)(const Rows&, Committees, const Standardization&, UnitName, double* out,
                             int threads);
    Tally (*network_batches)(const Rows&, const Network&, const Standardization&,
                             const NetworkPass&);
    Tally (*network_online)(const Rows&, const Network&, const Standardization&,
                            const NetworkPass&);
    void (*network_outputs)(const Rows&, const Network&, const Standardization&, double* out,
                            int threads);
};

// Every table that this CPU can run, best first.
std::vector<const Loops*> supported_loops();

// The loops that are best on this CPU, or those of the instruction set that WIDEMARGIN_ISA names.
const Loops& loops();

}  // namespace widemargin
