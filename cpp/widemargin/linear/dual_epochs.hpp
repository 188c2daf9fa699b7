// Dual coordinate descent, epoch after epoch: orders, shrinking, a free intercept.
//
// A free intercept needs sum_l beta_l = 0, which a step of one beta cannot keep. The method of
// multipliers enforces it: an intercept that is penalised for its distance from a centre is one
// more input, and after each epoch the centre moves to where the intercept is.
//
// Shrinking: the next epochs leave out the examples that an epoch sets aside, until the violation
// among the others has become small or they have been visited often enough.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "widemargin/base/shuffle.hpp"
#include "widemargin/linear/dual_descent.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// An example is set aside if it satisfies its conditions by this fraction of the largest violation.
constexpr double kSafeFraction = 0.05;
// An epoch over all examples follows when the violation has fallen to this fraction of theirs, or
// when this many visits per example have gone to a part of them.
constexpr double kSettledFraction = 0.3;
constexpr std::size_t kPartialVisits = 2;
// |sum beta| may be this fraction of sum |beta|.
constexpr double kUnbalancedFraction = 0.01;

inline void begin_epoch(DualProgress& progress) {
    if (progress.epoch == 0) progress.patience = std::numeric_limits<double>::infinity();
    if (progress.active == 0) {
        progress.active = progress.examples;
        std::iota(progress.order, progress.order + progress.examples, std::int64_t{0});
    }
    progress.visited = progress.kept = 0;
    progress.violation = 0.0;
    shuffle(progress.order, progress.active, progress.seed, progress.epoch);
}

// Returns whether the sum was far from 0 and fell slowly. Then the square of the input grows, and
// no example should be left out.
inline bool move_centre(DualProgress& progress, const DualVariable* variables, double& b) {
    const double excess = std::fabs(progress.sum);
    bool slow = excess > 0.5 * progress.excess;
    if (slow) {
        double size = 0.0;
        for (std::size_t l = 0; l < progress.examples; ++l) size += std::fabs(variables[l].beta);
        slow = excess > kUnbalancedFraction * size;
        // In a partial epoch it may be slow because the examples that would help are set aside.
        if (slow && progress.active == progress.examples) progress.intercept *= 2.0;
    }
    b += progress.intercept * progress.sum;
    progress.excess = excess;
    return slow;
}

inline void end_epoch(DualProgress& progress, bool all_again) {
    progress.partial_visits += progress.active;
    if (progress.active == progress.examples)
        progress.full_violation = progress.violation, progress.partial_visits = 0;
    const bool settled =
        progress.violation <= kSettledFraction * progress.full_violation || progress.kept == 0;
    const bool due = progress.partial_visits >= kPartialVisits * progress.examples;
    progress.active = settled || due || all_again ? 0 : progress.kept;
    progress.patience = kSafeFraction * progress.violation;
    progress.visited = 0;
    ++progress.epoch;
}

// Continues until the end is reached, or for this many visits; returns the visits made. `like`
// holds what all epochs have in common. w, b and 1 are added to `sums` (d + 2) after each epoch.
inline std::int64_t dual_epochs(const Rows& rows, const LinearState& state,
                                const Standardization& s, const DualEpoch& like,
                                DualProgress& progress, double* sums, const DualEnd& end,
                                std::int64_t visits) {
    std::int64_t made = 0;
    while (made < visits && !end.reached(progress)) {
        if (progress.visited == 0) begin_epoch(progress);
        DualEpoch part = like;
        part.order = progress.order + progress.visited;
        part.kept = progress.order + progress.kept;
        part.count =
            std::min(progress.active - progress.visited, static_cast<std::size_t>(visits - made));
        part.intercept = progress.intercept;
        part.patience = progress.patience;
        const DualTally tally = dual_descent(rows, state, s, part);
        made += static_cast<std::int64_t>(part.count);
        progress.visits += static_cast<std::int64_t>(part.count);
        progress.visited += part.count;
        progress.kept += tally.kept;
        progress.violation = std::max(progress.violation, tally.violation);
        progress.sum += tally.sum;
        if (progress.visited < progress.active) continue;
        end_epoch(progress, progress.free && move_centre(progress, like.variables, *state.b));
        for (std::size_t j = 0; j < rows.width; ++j) sums[j] += state.w[j];
        sums[rows.width] += *state.b;
        sums[rows.width + 1] += 1.0;
    }
    return made;
}

}  // namespace widemargin::WIDEMARGIN_ISA
