// Dual coordinate descent, epoch after epoch: orders, examples that are put aside, a free
// intercept.
//
// A free intercept asks for sum_l beta_l = 0, which no single beta can keep. The method of
// multipliers does: an intercept that is penalised for its distance from a centre is one more
// input, and after each epoch the centre moves to where the intercept is.
//
// Examples that an epoch puts aside are left out of the next ones, until what is violated among the
// others has become small, or they were visited often enough.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "widemargin/linear/dual_descent.hpp"
#include "widemargin/base/shuffle.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr double kSafe = 0.05;        // of the largest violation: what is put aside misses by that
constexpr double kSettled = 0.3;      // of the violation of all examples: look at all of them again
constexpr std::size_t kAmongFew = 2;  // times L: visits after which to do so in any case
constexpr double kUnbalanced = 0.01;  // the part of sum |beta| that |sum beta| may be

inline void begin_epoch(DualCourse& course) {
    if (course.epoch == 0) course.patience = std::numeric_limits<double>::infinity();
    if (course.active == 0) {
        course.active = course.examples;
        std::iota(course.order, course.order + course.examples, std::int64_t{0});
    }
    course.visited = course.kept = 0;
    course.violation = 0.0;
    shuffle(course.order, course.active, course.seed, course.epoch);
}

// Whether it was far off, and slow: then its square grows, and no example should be left out.
inline bool move_centre(DualCourse& course, const DualVariable* variables, double& b) {
    const double excess = std::fabs(course.sum);
    bool slow = excess > 0.5 * course.excess;
    if (slow) {
        double size = 0.0;
        for (std::size_t l = 0; l < course.examples; ++l) size += std::fabs(variables[l].beta);
        slow = excess > kUnbalanced * size;
        // Among few examples it may be slow because those that would answer are put aside.
        if (slow && course.active == course.examples) course.intercept *= 2.0;
    }
    b += course.intercept * course.sum;
    course.excess = excess;
    return slow;
}

inline void end_epoch(DualCourse& course, bool all_again) {
    course.among_few += course.active;
    if (course.active == course.examples) course.of_all = course.violation, course.among_few = 0;
    const bool settled = course.violation <= kSettled * course.of_all || course.kept == 0;
    const bool due = course.among_few >= kAmongFew * course.examples;
    course.active = settled || due || all_again ? 0 : course.kept;
    course.patience = kSafe * course.violation;
    course.visited = 0;
    ++course.epoch;
}

// Goes on until its end is reached, or for so many visits; returns the visits. `sums` (d + 2)
// receives w, b and 1 after each epoch.
inline std::int64_t dual_course(const Rows& rows, const LinearState& state,
                                const Standardization& s, const DualEpoch& like, DualCourse& course,
                                double* sums, const DualEnd& end, std::int64_t visits) {
    std::int64_t made = 0;
    while (made < visits && !end.reached(course)) {
        if (course.visited == 0) begin_epoch(course);
        DualEpoch part = like;
        part.order = course.order + course.visited;
        part.kept = course.order + course.kept;
        part.count =
            std::min(course.active - course.visited, static_cast<std::size_t>(visits - made));
        part.intercept = course.intercept;
        part.patience = course.patience;
        const DualTally tally = dual_descent(rows, state, s, part);
        made += static_cast<std::int64_t>(part.count);
        course.visits += static_cast<std::int64_t>(part.count);
        course.visited += part.count;
        course.kept += tally.kept;
        course.violation = std::max(course.violation, tally.violation);
        course.sum += tally.sum;
        if (course.visited < course.active) continue;
        end_epoch(course, course.free && move_centre(course, like.variables, *state.b));
        for (std::size_t j = 0; j < rows.width; ++j) sums[j] += state.w[j];
        sums[rows.width] += *state.b;
        sums[rows.width + 1] += 1.0;
    }
    return made;
}

}  // namespace widemargin::WIDEMARGIN_ISA
