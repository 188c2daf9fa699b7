// Compiled once per instruction set: WIDEMARGIN_ISA names the namespace and the build flags.
#include "widemargin/mlp/committee.hpp"
#include "widemargin/linear/crammer_singer.hpp"
#include "widemargin/linear/dual_epochs.hpp"
#include "widemargin/rows/interleave.hpp"
#include "widemargin/kernel/kernel_perceptron.hpp"
#include "widemargin/kernel/kernel_rows.hpp"
#include "widemargin/linear/losses.hpp"
#include "widemargin/rows/moments.hpp"
#include "widemargin/mlp/network_batches.hpp"
#include "widemargin/mlp/network_online.hpp"
#include "widemargin/svm/pair_steps.hpp"
#include "widemargin/linear/stochastic_gradient.hpp"

#define WIDEMARGIN_TEXT(name) #name
#define WIDEMARGIN_NAME(name) WIDEMARGIN_TEXT(name)

namespace widemargin::WIDEMARGIN_ISA {

extern const Kernels table;
const Kernels table = {
    WIDEMARGIN_NAME(WIDEMARGIN_ISA),
    stochastic_gradient,
    decision,
    combine,
    pack,
    moments,
    dual_descent,
    dual_course,
    crammer_singer,
    squared_norms,
    losses,
    interleave,
    kernel_perceptron,
    train_committees,
    committee_scores,
    evaluate_criterion,
    kernel_rows,
    add_known_rows,
    solve_pairs,
    network_batches,
    network_online,
    network_outputs,
};

}  // namespace widemargin::WIDEMARGIN_ISA
