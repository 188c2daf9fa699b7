// Compiled once per instruction set: WIDEMARGIN_ISA names the namespace and the build flags.
#include "widemargin/committee.hpp"
#include "widemargin/crammer_singer.hpp"
#include "widemargin/dual_course.hpp"
#include "widemargin/interleave.hpp"
#include "widemargin/kernel_perceptron.hpp"
#include "widemargin/kernel_rows.hpp"
#include "widemargin/losses.hpp"
#include "widemargin/moments.hpp"
#include "widemargin/network_batches.hpp"
#include "widemargin/network_online.hpp"
#include "widemargin/pair_steps.hpp"
#include "widemargin/stochastic_gradient.hpp"

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
