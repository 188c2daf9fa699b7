// Compiled once per instruction set: WIDEMARGIN_ISA names the namespace, and the build flags
// follow.
#include "widemargin/dispatch/loops.hpp"

#include "widemargin/kernel/kernel_gradients.hpp"
#include "widemargin/kernel/kernel_perceptron.hpp"
#include "widemargin/kernel/kernel_rows.hpp"
#include "widemargin/linear/crammer_singer.hpp"
#include "widemargin/linear/dual_epochs.hpp"
#include "widemargin/linear/losses.hpp"
#include "widemargin/linear/stochastic_gradient.hpp"
#include "widemargin/mlp/committee.hpp"
#include "widemargin/mlp/network_batches.hpp"
#include "widemargin/mlp/network_online.hpp"
#include "widemargin/rows/interleave.hpp"
#include "widemargin/rows/moments.hpp"
#include "widemargin/svm/pair_steps.hpp"

#define WIDEMARGIN_TEXT(name) #name
#define WIDEMARGIN_NAME(name) WIDEMARGIN_TEXT(name)

namespace widemargin::WIDEMARGIN_ISA {

extern const Loops table;
const Loops table = {
    .isa = WIDEMARGIN_NAME(WIDEMARGIN_ISA),

    .decision = decision,
    .combine = combine,
    .moments = moments,
    .pack = pack,
    .interleave = interleave,

    .criterion = evaluate_criterion,
    .stochastic_gradient = stochastic_gradient,
    .dual_descent = dual_descent,
    .dual_epochs = dual_epochs,
    .crammer_singer = crammer_singer,
    .squared_norms = squared_norms,
    .losses = losses,

    .kernel_perceptron = kernel_perceptron,
    .kernel_rows = kernel_rows,
    .add_known_rows = add_known_rows,
    .kernel_gradients = kernel_gradients,

    .solve_pairs = solve_pairs,

    .train_committees = train_committees,
    .committee_scores = committee_scores,
    .network_batches = network_batches,
    .network_online = network_online,
    .network_outputs = network_outputs,
};

}  // namespace widemargin::WIDEMARGIN_ISA
