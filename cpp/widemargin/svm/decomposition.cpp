#include "widemargin/svm/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin {
namespace {

// The largest working set. Its tile must fit into the memory for it and take no longer than about
// a tenth of a second: that many operations, at the cost of one value.
constexpr std::size_t kMaxSetExamples = 12288;
constexpr double kTileOperations = 2e10;

// Steps of two variables before a look at the clock, times the size of the working set: about a
// tenth of a second.
constexpr double kStepsTimesSize = 1e8;

// Steps per variable of a working set before f is summed up anew. Steps that follow nothing but
// rounding then end soon: they do not lower J.
constexpr std::size_t kStepsPerVariable = 400;

// Gradients in a tile of float32 values fall to this fraction of the violation at most before f is
// summed up anew, in float64. Below it they are nothing but rounding, and steps would go in
// circles.
constexpr double kSingleFraction = 0x1p-20;

// A variable that was scaled is at its bound if it is within this relative distance of it.
constexpr double kBoundTolerance = 1e-9;

// Relative rounding of J, of a few operations.
constexpr double kRounding = 0x1p-52;

// Register operations that take as long as reading a value of a cached row.
constexpr double kReadOperations = 150.0;

// Rows are cached if computing them again costs more than reading them, and if a tenth of them
// fits. The rest of the memory is for the tile.
std::size_t row_cache_bytes(std::size_t bytes, const KernelSource& kernel) {
    const double all = static_cast<double>(kernel.count()) * static_cast<double>(kernel.count()) *
                       static_cast<double>(kernel.value_bytes());
    if (kernel.cost() < kReadOperations || 0.1 * all > static_cast<double>(bytes)) return 0;
    return bytes / 4 * 3;
}

template <class Clock>
typename Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<typename Clock::duration>(
                              std::chrono::duration<double>(seconds));
}

}  // namespace

Decomposition::Decomposition(std::shared_ptr<const KernelSource> kernel, Variables start,
                             const DecompositionOptions& options, SolverMemory memory)
    : kernel_(std::move(kernel)),
      count_(kernel_->count()),
      stride_(rounded_to_blocks(count_)),
      options_(options),
      x_(std::move(start)),
      next_f_(stride_),
      satisfied_(count_),
      cache_(row_cache_bytes(options.cache_bytes, *kernel_), count_, kernel_->value_bytes(),
             std::move(memory.rows)),
      set_(*kernel_, options.threads, std::move(memory.tile)) {
    x_.id.resize(count_);
    std::iota(x_.id.begin(), x_.id.end(), 0);
    x_.f.assign(count_, 0.0);
    x_.diagonal.resize(count_);
    kernel_->diagonal(x_.diagonal.data());

    const std::size_t for_tile = (options.cache_bytes - cache_.bytes()) / kernel_->value_bytes();
    const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(for_tile)));
    const auto in_time = static_cast<std::size_t>(std::sqrt(kTileOperations / kernel_->cost()));
    largest_set_ = std::max<std::size_t>(
        2, std::min({side / kTileStep * kTileStep, in_time, kMaxSetExamples}));
    if (options.working_set) largest_set_ = options.working_set;

    shrunk_.push_back({count_, std::vector<double>(count_, 0.0)});  // all examples, with f = 0
    const bool from_zero =
        std::all_of(x_.beta.begin(), x_.beta.end(), [](double beta) { return beta == 0.0; });
    const bool room = static_cast<std::size_t>(options_.threads) * kPartExamples * kPartExamples *
                          kernel_->value_bytes() <=
                      options.cache_bytes;
    traffic_ = sum_of_sizes();
    if (from_zero && room && !options.working_set && count_ > options.worth_dividing) {
        phase_ = Phase::divide;
    } else {
        begin_rebuild();
    }
}

DecompositionProgress Decomposition::progress() const {
    return {phase_ == Phase::done,
            stalled_,
            active_ == count_,
            violation_.worst,
            cost_,
            steps_,
            iterations_,
            kernel_values_ + set_.kernel_values(),
            rows_wanted_,
            rows_cached_,
            active_,
            traffic_};
}

DecompositionProgress Decomposition::run(double seconds) {
    const auto deadline = after<Clock>(seconds);
    do {
        switch (phase_) {
            case Phase::divide: divide(deadline); break;
            case Phase::rebuild: rebuild(deadline); break;
            case Phase::select: select(); break;
            case Phase::solve: solve(); break;
            case Phase::update: update(deadline); break;
            case Phase::done: return progress();
        }
    } while (Clock::now() < deadline);
    return progress();
}

DecompositionProgress Decomposition::measure(double seconds) {
    const auto deadline = after<Clock>(seconds);
    if (phase_ == Phase::divide) {
        if (parts_.done < count_) parts_ = Partition();
        begin_rebuild();
    }
    if (phase_ == Phase::update) update(deadline);  // its sub-problem is solved already
    if (phase_ != Phase::rebuild && active_ < count_) begin_rebuild();
    if (phase_ == Phase::rebuild) rebuild(deadline);
    if (active_ == count_) {
        violation_ = measure_violation();
        cost_ = cost();
    }
    return progress();
}

void Decomposition::change_bounds(double t, const std::vector<double>& lo,
                                  const std::vector<double>& hi) {
    for (std::size_t p = 0; p < count_; ++p) {
        const auto id = static_cast<std::size_t>(x_.id[p]);
        x_.lo[p] = lo[id];
        x_.hi[p] = hi[id];
        double& beta = x_.beta[p];
        beta *= t;
        if (beta > (1.0 - kBoundTolerance) * hi[id]) beta = hi[id];
        if (beta < (1.0 - kBoundTolerance) * lo[id]) beta = lo[id];
        x_.f[p] *= t;
    }
    cost_ = cost();
    violation_ = measure_violation();
    steps_ = iterations_ = rows_wanted_ = rows_cached_ = 0;
    traffic_ = 0.0;
    stalled_ = false;
    may_shrink_ = true;
    kernel_values_ = -set_.kernel_values();
    cache_.reset(stride_);
    std::fill(satisfied_.begin(), satisfied_.end(), 0);
    phase_ = Phase::select;
}

void Decomposition::correct(const double* f, double tol) {
    for (std::size_t p = 0; p < count_; ++p) x_.f[p] = f[x_.id[p]];
    options_.tol = tol;
    cost_ = cost();
    violation_ = measure_violation();
    traffic_ = 0.0;
    stalled_ = false;
    phase_ = Phase::select;
}

void Decomposition::state(double* beta, double* f) const {
    for (std::size_t p = 0; p < count_; ++p) {
        beta[x_.id[p]] = x_.beta[p];
        f[x_.id[p]] = x_.f[p];
    }
}

double Decomposition::cost() const {
    double sum = 0.0;
    for (std::size_t p = 0; p < count_; ++p) {
        sum += x_.beta[p] * (0.5 * x_.f[p] + (x_.beta[p] > 0.0 ? x_.above[p] : x_.below[p]));
    }
    return sum;
}

double Decomposition::sum_of_sizes() const {
    double sum = 0.0;
    for (const double beta : x_.beta) sum += std::abs(beta);
    return sum;
}

std::vector<double> Decomposition::beta_by_example() const {
    std::vector<double> beta(count_);
    for (std::size_t p = 0; p < count_; ++p) beta[static_cast<std::size_t>(x_.id[p])] = x_.beta[p];
    return beta;
}

// ------------------------------------------------------------------ step 2: the sub-problem

void Decomposition::solve() {
    const std::size_t n = set_.size();
    const double fraction =
        !whole_set_ ? kInnerFraction : (kernel_->double_precision() ? 0.0 : kSingleFraction);
    const double tol = std::max(0.5 * options_.tol, fraction * violation_.worst);
    auto most = n == 2
                    ? std::int64_t{1}
                    : std::min(static_cast<std::int64_t>(kStepsPerVariable * n),
                               static_cast<std::int64_t>(kStepsTimesSize / static_cast<double>(n)));
    if (options_.max_steps >= 0) most = std::min(most, options_.max_steps - steps_);
    RowCache* cache = whole_set_ || cache_.bytes() == 0 ? nullptr : &cache_;
    const std::int64_t made = set_.solve(x_, bias(), tol, most, cache, iterations_).steps;
    steps_ += made;
    ++iterations_;
    if (made == 0) return stall();

    rows_.clear();
    coef_.clear();
    keep_.clear();
    known_.clear();
    std::vector<double> known_coef;
    for (std::size_t a = 0; a < n; ++a) {
        const double change = set_.beta()[a] - x_.beta[set_.places()[a]];
        if (change == 0.0) continue;
        traffic_ += std::abs(change);
        ++rows_wanted_;
        const std::int64_t id = x_.id[set_.places()[a]];
        const void* known =
            whole_set_ ? set_.row(a) : (cache ? cache_.find(id, iterations_) : nullptr);
        if (known) {
            ++rows_cached_;
            known_.push_back(known);
            known_coef.push_back(change);
        } else {
            rows_.push_back(id);
            coef_.push_back(change);
        }
    }
    for (const std::int64_t id : rows_) {
        keep_.push_back(cache ? cache_.claim(id, iterations_) : nullptr);
    }
    coef_.insert(coef_.end(), known_coef.begin(), known_coef.end());
    kernel_values_ += static_cast<std::int64_t>(rows_.size() * active_);
    std::copy_n(x_.f.data(), active_, next_f_.data());
    std::fill(next_f_.data() + active_, next_f_.data() + rounded_to_blocks(active_), 0.0);
    cursor_ = 0;
    phase_ = Phase::update;
}

// ------------------------------------------------------- step 3: f, after some variables moved

void Decomposition::update(Clock::time_point deadline) {
    const std::size_t blocks = blocks_of(active_);
    const std::size_t at_once = blocks_of(kernel_->examples_at_once(rows_.size()));
    do {
        const std::size_t last = std::min(blocks, cursor_ + at_once);
        if (!rows_.empty()) {
            kernel_->rows(rows_.data(), rows_.size(), *frame_,
                          {.first = cursor_,
                           .last = last,
                           .outputs = 1,
                           .coef = coef_.data(),
                           .f = next_f_.data(),
                           .stride = stride_,
                           .keep = keep_.data(),
                           .threads = options_.threads});
        }
        loops().add_known_rows({.known = known_.data(),
                                .coef = coef_.data() + rows_.size(),
                                .count = known_.size(),
                                .first = cursor_,
                                .last = last,
                                .f = next_f_.data(),
                                .double_precision = kernel_->double_precision(),
                                .threads = options_.threads});
        cursor_ = last;
    } while (cursor_ < blocks && Clock::now() < deadline);
    if (cursor_ == blocks) commit();
}

// With J, also the decrease that rounding of f, of the slopes and of the change may feign.
// Gradients are taken from the bias: where rounding lets one variable of a pair move alone, the sum
// of beta is not what J pays for.
void Decomposition::commit() {
    double decrease = 0.0, sums = 0.0, rounding = 0.0, moved = 0.0;
    for (std::size_t a = 0; a < set_.size(); ++a) {
        const std::size_t p = set_.places()[a];
        const double before = x_.beta[p], after = set_.beta()[a], change = after - before;
        const double rise = std::max(after, 0.0) - std::max(before, 0.0);
        const double slopes = x_.above[p] * rise + x_.below[p] * (change - rise);
        const double bias = violation_.middle(x_.two_sums && before + after < 0.0);
        sums += bias * change;
        decrease -= 0.5 * change * (x_.f[p] + next_f_[p]) + bias * change + slopes;
        rounding +=
            std::abs(change) * (std::abs(x_.f[p]) + std::abs(next_f_[p])) + std::abs(slopes);
        moved +=
            std::abs(change) * std::sqrt(std::abs(x_.diagonal[static_cast<std::size_t>(x_.id[p])]));
        x_.beta[p] = after;
    }
    cost_ -= decrease + sums;
    std::copy_n(next_f_.data(), active_, x_.f.data());
    if (!(decrease > kRounding * (rounding + moved * moved))) return stall();
    phase_ = Phase::select;
    if (options_.shrinking != Shrinking::never && may_shrink_ && !whole_set_) shrink();
}

// Rounding hides the decrease of J on the active examples: the others, if any, are examined.
void Decomposition::stall() {
    violation_ = measure_violation();
    if (active_ == count_ || options_.shrinking == Shrinking::heuristic) {
        stalled_ = true;
        phase_ = Phase::done;
    } else {
        may_shrink_ = false;  // from here on the violation is near that of rounding
        begin_rebuild();
    }
}

}  // namespace widemargin
