// Step 0 of the decomposition algorithm: a first solution from parts of the data that lie together.
//
// Each part is solved alone, as if the kernel were 0 between parts. That is close to the truth
// where the kernel is narrow (docs/decisions/0012).
#include <algorithm>
#include <cmath>

#include "widemargin/base/parallel.hpp"
#include "widemargin/svm/decomposition.hpp"

namespace widemargin {

void Decomposition::divide(Clock::time_point deadline) {
    if (!find_parts(deadline)) return;
    const double tol = std::max(options_.tol, 0.5 * kInnerFraction * violation_.worst);
    const double b = bias();
    const std::size_t parts = parts_.ends.size();
    do {
        const auto threads = static_cast<std::size_t>(options_.threads);
        if (!solve_parts(std::min(parts, next_part_ + threads), b, tol)) return begin_rebuild();
    } while (next_part_ < parts && Clock::now() < deadline);
    if (next_part_ == parts) begin_rebuild();
}

// False if the parts are not ready: more time is needed, or they are of no use and the algorithm
// starts without them.
bool Decomposition::find_parts(Clock::time_point deadline) {
    if (parts_.order.empty()) parts_ = one_part(count_);
    if (parts_.done == count_) return true;
    const auto affinity = kernel_->affinity();
    while (affinity && halve_next(*affinity, kPartExamples, options_.threads, parts_)) {
        if (Clock::now() >= deadline) return false;
    }
    if (!affinity || !parts_stand_alone(*kernel_, parts_, options_.threads)) {
        parts_ = Partition();
        begin_rebuild();
        return false;
    }
    active_ = count_;  // with f = 0
    violation_ = measure_violation();
    active_ = 0;
    return true;
}

// Solves the parts up to `last`, one thread per part. False if `max_steps` does not allow a step.
bool Decomposition::solve_parts(std::size_t last, double bias, double tol) {
    std::vector<std::unique_ptr<WorkingSet>> sets(last - next_part_);
    std::vector<SubSolution> solutions(sets.size());
    const auto n = static_cast<std::int64_t>(sets.size());
    auto most = static_cast<std::int64_t>(20 * kPartExamples);
    if (options_.max_steps >= 0) most = std::min(most, (options_.max_steps - steps_) / n);
    if (most == 0) return false;
    FirstException failure;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(options_.threads)
#endif
    for (std::int64_t i = 0; i < n; ++i) {
        failure.run([&] {
            const auto k = static_cast<std::size_t>(i);
            const std::size_t part = next_part_ + k, begin = part == 0 ? 0 : parts_.ends[part - 1];
            std::vector<std::size_t> places(
                parts_.order.begin() + static_cast<std::ptrdiff_t>(begin),
                parts_.order.begin() + static_cast<std::ptrdiff_t>(parts_.ends[part]));
            sets[k] = std::make_unique<WorkingSet>(*kernel_, 1);
            sets[k]->choose(std::move(places), x_);
            solutions[k] = sets[k]->solve(x_, bias, tol, most, nullptr, 0);
        });
    }
    failure.rethrow();
    for (std::size_t k = 0; k < sets.size(); ++k) {
        steps_ += solutions[k].steps;
        kernel_values_ += sets[k]->kernel_values();
        for (std::size_t a = 0; a < sets[k]->size(); ++a) {
            x_.beta[sets[k]->places()[a]] = sets[k]->beta()[a];
            traffic_ += std::abs(sets[k]->beta()[a]);
        }
    }
    next_part_ = last;
    return true;
}

// The parts ignored each other, so J(t beta) = t^2/2 beta.f + t h(beta) may be smallest for t < 1.
void Decomposition::scale_down() {
    double quadratic = 0.0;
    for (std::size_t p = 0; p < count_; ++p) quadratic += x_.beta[p] * x_.f[p];
    const double linear = cost() - 0.5 * quadratic;
    const double t = quadratic > 0.0 ? std::clamp(-linear / quadratic, 0.0, 1.0) : 1.0;
    for (std::size_t p = 0; p < count_; ++p) {
        x_.beta[p] *= t;
        x_.f[p] *= t;
    }
    parts_ = Partition();
}

}  // namespace widemargin
