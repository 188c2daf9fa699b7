#include "widemargin/svm/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace widemargin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kStepsAtOnce = 1e8;  // times the size of the set: about a tenth of a second

// A working set is as large as its tile may be, but not larger than pays: each step of two
// variables reads two rows of it. Where rows are kept, iterations are cheap and may be many.
// Measured on the benchmarks' problems.
constexpr std::size_t kLeastSet = 3072, kLeastCachedSet = 1024, kLargestSet = 12288;
constexpr std::size_t kSmallSet = 2048;  // or a third of the examples, if that is more
constexpr double kTileInTime = 2e10;     // cost times values: a tile takes a tenth of a second
constexpr double kFreeShare = 1.5;       // of the number of free variables

// How much better than the whole a working set is solved.
constexpr double kInnerShare = 0.2;

// Rows are kept if computing them again costs more than reading them, and if there is room for
// a good part of them; the rest is for the tile.
constexpr double kCostOfReading = 150.0;
std::size_t cache_share(std::size_t bytes, const KernelSource& kernel) {
    const double all = static_cast<double>(kernel.count()) * static_cast<double>(kernel.count()) *
                       static_cast<double>(kernel.value_bytes());
    if (kernel.cost() < kCostOfReading || 0.1 * all > static_cast<double>(bytes)) return 0;
    return bytes / 4 * 3;
}

// Shrinking: an example leaves after it satisfied its conditions for some iterations; then all
// arrays are packed, if it is worth it.
constexpr double kSafe = 0.15;  // of the largest violation: by how much, to count
constexpr unsigned char kPatience = 5;
constexpr double kWorthPacking = 0.9;

constexpr double kAtBound = 1e-9;  // what rounding of a scaled variable may miss

constexpr std::size_t kPart = 2048;  // examples of a part of the first solution, at the most

std::size_t blocks_of(std::size_t n) {
    return (n + kBlock - 1) / kBlock;
}
std::size_t rounded(std::size_t n) {
    return blocks_of(n) * kBlock;
}

}  // namespace

Decomposition::Decomposition(std::shared_ptr<const KernelSource> kernel, Variables start,
                             const DecompositionOptions& options)
    : kernel_(std::move(kernel)),
      count_(kernel_->count()),
      stride_(rounded(count_)),
      options_(options),
      x_(std::move(start)),
      next_f_(stride_),
      satisfied_(count_),
      cache_(cache_share(options.cache_bytes, *kernel_), count_, kernel_->value_bytes()),
      set_(*kernel_, options.threads) {
    x_.id.resize(count_);
    std::iota(x_.id.begin(), x_.id.end(), 0);
    x_.f.assign(count_, 0.0);
    x_.diagonal.resize(count_);
    kernel_->diagonal(x_.diagonal.data());

    const std::size_t for_tile = (options.cache_bytes - cache_.bytes()) / kernel_->value_bytes();
    const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(for_tile)));
    const auto in_time = static_cast<std::size_t>(std::sqrt(kTileInTime / kernel_->cost()));
    largest_set_ =
        std::max<std::size_t>(2, std::min({side / kTileStep * kTileStep, in_time, kLargestSet}));
    if (options.working_set) largest_set_ = options.working_set;

    leavers_.push_back({count_, std::vector<double>(count_, 0.0)});
    const bool from_zero =
        std::all_of(x_.beta.begin(), x_.beta.end(), [](double beta) { return beta == 0.0; });
    const bool room =
        static_cast<std::size_t>(options_.threads) * kPart * kPart * kernel_->value_bytes() <=
        options.cache_bytes;
    if (from_zero && room && !options.working_set && count_ > options.worth_dividing) {
        phase_ = Phase::divide;
    } else {
        begin_rebuild();
    }
}

double Decomposition::Violation::middle(std::size_t g) const {
    if (top[g] == -kInfinity) return bottom[g] == kInfinity ? 0.0 : bottom[g];
    return bottom[g] == kInfinity ? top[g] : 0.5 * (top[g] + bottom[g]);
}

DecompositionProgress Decomposition::progress() const {
    return {phase_ == Phase::done,
            active_ == count_,
            violation_.worst,
            cost_,
            steps_,
            iterations_,
            kernel_values_ + set_.kernel_values(),
            rows_wanted_,
            rows_cached_,
            active_};
}

DecompositionProgress Decomposition::run(double seconds) {
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(seconds));
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
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(seconds));
    if (phase_ == Phase::divide) {
        if (parts_.done < count_) parts_ = Parts();
        begin_rebuild();
    }
    if (phase_ == Phase::update) update(deadline);  // a step that is solved is worth finishing
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
        if (beta > (1.0 - kAtBound) * hi[id]) beta = hi[id];
        if (beta < (1.0 - kAtBound) * lo[id]) beta = lo[id];
        x_.f[p] *= t;
    }
    cost_ = cost();
    violation_ = measure_violation();
    steps_ = iterations_ = rows_wanted_ = rows_cached_ = 0;
    kernel_values_ = -set_.kernel_values();
    cache_.reset(stride_);
    std::fill(satisfied_.begin(), satisfied_.end(), 0);
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

std::vector<double> Decomposition::beta_by_example() const {
    std::vector<double> beta(count_);
    for (std::size_t p = 0; p < count_; ++p) beta[static_cast<std::size_t>(x_.id[p])] = x_.beta[p];
    return beta;
}

// ------------------------------------------------------------------ step 1: the working set

Decomposition::Violation Decomposition::measure_violation() const {
    Violation found{{-kInfinity, -kInfinity}, {kInfinity, kInfinity}, -kInfinity};
    for (std::size_t p = 0; p < active_; ++p) {
        if (x_.may_grow(p)) {
            double& top = found.top[x_.rising(p)];
            top = std::max(top, x_.upper(p));
        }
        if (x_.may_fall(p)) {
            double& bottom = found.bottom[x_.falling(p)];
            bottom = std::min(bottom, x_.lower(p));
        }
    }
    for (std::size_t g = 0; g < sums(); ++g) {
        found.worst = std::max(found.worst, found.top[g] - found.bottom[g]);
    }
    return found;
}

double Decomposition::bias() const {
    return sums() == 1 ? violation_.middle(0) : 0.5 * (violation_.middle(0) + violation_.middle(1));
}

void Decomposition::select() {
    violation_ = measure_violation();
    const bool spent = options_.max_steps >= 0 && steps_ >= options_.max_steps;
    if (violation_.worst > options_.tol && !spent) {
        choose_working_set();
        phase_ = Phase::solve;
    } else if (active_ == count_ || options_.shrinking == Shrinking::heuristic) {
        phase_ = Phase::done;
    } else {
        begin_rebuild();
    }
}

std::size_t Decomposition::next_size() const {
    if (options_.working_set) return std::min(active_, options_.working_set);
    std::size_t free = 0;
    for (std::size_t p = 0; p < active_; ++p) free += x_.is_free(p);
    const std::size_t least = cache_.bytes() > 0 ? kLeastCachedSet : kLeastSet;
    const std::size_t part = std::max(kSmallSet, count_ / 3);
    std::size_t size =
        std::max(least, static_cast<std::size_t>(kFreeShare * static_cast<double>(free)));
    if (free <= part) size = std::min(size, part);
    size = std::min(size, largest_set_);
    return active_ < size + size / 4 ? std::min(active_, largest_set_) : size;
}

// Half of it are the worst violators, of the upper and of the lower side; they make the steepest
// feasible direction (5.16). The other half stays from last time, free variables first.
void Decomposition::choose_working_set() {
    const std::size_t size = next_size();
    if (size == active_) {
        if (!whole_set_) {
            std::vector<std::size_t> every(active_);
            std::iota(every.begin(), every.end(), std::size_t{0});
            set_.choose(std::move(every), x_);
            whole_set_ = true;
        }
        return;
    }
    whole_set_ = false;
    struct Candidate {
        double violation;
        std::size_t place;
        bool operator<(const Candidate& other) const {  // the worst comes first
            return violation > other.violation ||
                   (violation == other.violation && place < other.place);
        }
    };
    std::vector<Candidate> sides[2][2];
    for (std::size_t p = 0; p < active_; ++p) {
        const std::size_t up = x_.rising(p), down = x_.falling(p);
        if (x_.may_grow(p) && x_.upper(p) > violation_.bottom[up]) {
            sides[up][0].push_back({x_.upper(p), p});
        }
        if (x_.may_fall(p) && x_.lower(p) < violation_.top[down]) {
            sides[down][1].push_back({-x_.lower(p), p});
        }
    }
    const bool first = set_.size() == 0;
    const std::size_t fresh = first || size == 2 ? size : size / 2;
    const std::size_t quota = std::max<std::size_t>(1, fresh / (2 * sums()));
    for (std::size_t g = 0; g < sums(); ++g) {
        for (auto& side : sides[g]) {
            if (quota < side.size()) {
                std::nth_element(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(quota),
                                 side.end());
                side.resize(quota);
            }
            std::sort(side.begin(), side.end());
        }
    }
    std::vector<std::size_t> places;
    std::vector<unsigned char> in_set(active_);
    const auto add = [&](std::size_t p) {
        if (in_set[p] || places.size() == size) return;
        in_set[p] = 1;
        places.push_back(p);
    };
    // the worst sum first: a set of two must hold its pair
    const std::size_t worst =
        sums() == 2 && violation_.top[1] - violation_.bottom[1] == violation_.worst;
    for (std::size_t k = 0; k < quota; ++k) {
        for (std::size_t turn = 0; turn < sums(); ++turn) {
            for (const auto& side : sides[turn == 0 ? worst : 1 - worst]) {
                if (k < side.size()) add(side[k].place);
            }
        }
    }
    if (size > 2) {
        for (const std::size_t p : set_.places()) {
            if (p < active_ && x_.is_free(p)) add(p);
        }
        for (const std::size_t p : set_.places()) {
            if (p < active_) add(p);
        }
    }
    std::sort(places.begin(), places.end());
    set_.choose(std::move(places), x_);
}

// ------------------------------------------------------------------ step 2: the sub-problem

void Decomposition::solve() {
    const std::size_t n = set_.size();
    const double tol = whole_set_ ? 0.5 * options_.tol
                                  : std::max(0.5 * options_.tol, kInnerShare * violation_.worst);
    auto most =
        n == 2 ? std::int64_t{1} : static_cast<std::int64_t>(kStepsAtOnce / static_cast<double>(n));
    if (options_.max_steps >= 0) most = std::min(most, options_.max_steps - steps_);
    RowCache* cache = whole_set_ || cache_.bytes() == 0 ? nullptr : &cache_;
    steps_ += set_.solve(x_, bias(), tol, most, cache, iterations_).steps;
    ++iterations_;

    rows_.clear();
    coef_.clear();
    keep_.clear();
    known_.clear();
    std::vector<double> known_coef;
    for (std::size_t a = 0; a < n; ++a) {
        const double change = set_.beta()[a] - x_.beta[set_.places()[a]];
        if (change == 0.0) continue;
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
    std::fill(next_f_.data() + active_, next_f_.data() + rounded(active_), 0.0);
    cursor_ = 0;
    phase_ = Phase::update;
}

// ------------------------------------------------------- step 3: f, for variables that moved

void Decomposition::update(Clock::time_point deadline) {
    const std::size_t blocks = blocks_of(active_);
    const std::size_t at_once = blocks_of(kernel_->examples_at_once(rows_.size()));
    do {
        const std::size_t last = std::min(blocks, cursor_ + at_once);
        if (!rows_.empty()) {
            kernel_->rows(rows_.data(), rows_.size(), *frame_,
                          {cursor_, last, 1, coef_.data(), next_f_.data(), stride_, keep_.data(),
                           options_.threads});
        }
        kernels().add_known_rows({known_.data(), coef_.data() + rows_.size(), known_.size(),
                                  cursor_, last, next_f_.data(), kernel_->wide(),
                                  options_.threads});
        cursor_ = last;
    } while (cursor_ < blocks && Clock::now() < deadline);
    if (cursor_ == blocks) commit();
}

void Decomposition::commit() {
    for (std::size_t a = 0; a < set_.size(); ++a) {
        const std::size_t p = set_.places()[a];
        const double before = x_.beta[p], after = set_.beta()[a];
        const double slope_before = before > 0.0 ? x_.above[p] : x_.below[p];
        const double slope_after = after > 0.0 ? x_.above[p] : x_.below[p];
        cost_ += 0.5 * (after - before) * (x_.f[p] + next_f_[p]) + after * slope_after -
                 before * slope_before;
        x_.beta[p] = after;
    }
    std::copy_n(next_f_.data(), active_, x_.f.data());
    phase_ = Phase::select;
    if (options_.shrinking != Shrinking::never && !whole_set_) shrink();
}

// -------------------------------------------------------------------- step 4: the shrinking

// How much an example asks to be in the game: infinite with a free variable, positive when it
// violates the conditions, negative by how far it satisfies them.
double Decomposition::need(std::size_t p, const Violation& now) const {
    if (x_.is_free(p)) return kInfinity;
    double most = -kInfinity;
    if (x_.may_grow(p)) most = x_.upper(p) - now.middle(x_.rising(p));
    if (x_.may_fall(p)) most = std::max(most, now.middle(x_.falling(p)) - x_.lower(p));
    return most;
}

void Decomposition::shrink() {
    const Violation now = measure_violation();
    std::vector<std::size_t> keep;
    for (std::size_t p = 0; p < active_; ++p) {
        const bool satisfied = need(p, now) < -kSafe * now.worst;
        satisfied_[p] = satisfied ? std::min<unsigned char>(satisfied_[p] + 1, kPatience) : 0;
        if (satisfied_[p] < kPatience) keep.push_back(p);
    }
    const auto worth = kWorthPacking * static_cast<double>(active_);
    if (keep.size() >= 2 && static_cast<double>(keep.size()) < worth) compact(keep);
}

// Moves the places to keep, ascending, to the front, and the others behind them.
void Decomposition::compact(const std::vector<std::size_t>& keep) {
    leavers_.push_back({active_, beta_by_example()});
    std::vector<unsigned char> kept(active_);
    for (const std::size_t p : keep) kept[p] = 1;
    std::vector<std::size_t> order = keep;
    for (std::size_t p = 0; p < active_; ++p) {
        if (!kept[p]) order.push_back(p);
    }
    const auto permute = [&](auto& values) {
        const auto before = values;
        for (std::size_t p = 0; p < order.size(); ++p) values[p] = before[order[p]];
    };
    permute(x_.id);
    permute(satisfied_);
    for (auto* values : {&x_.f, &x_.beta, &x_.lo, &x_.hi, &x_.above, &x_.below}) permute(*values);

    std::vector<std::size_t> to(active_);
    for (std::size_t p = 0; p < active_; ++p) to[order[p]] = p;
    std::vector<std::size_t> places;
    for (const std::size_t p : set_.places()) {
        if (kept[p]) places.push_back(to[p]);
    }
    set_.choose(std::move(places), x_);
    active_ = keep.size();
    frame_ = kernel_->frame(x_.id.data(), active_);
    cache_.compact(keep, rounded(active_));
}

// ------------------------------------------------------- step 5: the check on the full set

void Decomposition::begin_rebuild() {
    whole_set_ = false;
    phase_ = Phase::rebuild;
    begin_leavers();
}

// What the last leavers have missed.
void Decomposition::begin_leavers() {
    const std::vector<double> now = beta_by_example();
    const std::vector<double>& then = leavers_.back().beta;
    rows_.clear();
    coef_.clear();
    for (std::size_t id = 0; id < count_; ++id) {
        if (now[id] == then[id]) continue;
        rows_.push_back(static_cast<std::int64_t>(id));
        coef_.push_back(now[id] - then[id]);
    }
    cursor_ = active_;
}

void Decomposition::rebuild(Clock::time_point deadline) {
    constexpr std::size_t rows_at_once = 4096;
    while (!leavers_.empty()) {
        const std::size_t end = leavers_.back().end;
        while (cursor_ < end && !rows_.empty()) {
            const std::size_t n = std::min(kernel_->examples_at_once(rows_.size()), end - cursor_);
            const auto frame = kernel_->frame(x_.id.data() + cursor_, n);
            std::copy_n(x_.f.data() + cursor_, n, next_f_.data());
            std::fill(next_f_.data() + n, next_f_.data() + rounded(n), 0.0);
            for (std::size_t r = 0; r < rows_.size(); r += rows_at_once) {
                kernel_->rows(rows_.data() + r, std::min(rows_at_once, rows_.size() - r), *frame,
                              {0, blocks_of(n), 1, coef_.data() + r, next_f_.data(), stride_,
                               nullptr, options_.threads});
            }
            kernel_values_ += static_cast<std::int64_t>(rows_.size() * n);
            std::copy_n(next_f_.data(), n, x_.f.data() + cursor_);
            cursor_ += n;
            if (Clock::now() >= deadline && cursor_ < end) return;
        }
        active_ = end;
        leavers_.pop_back();
        if (!leavers_.empty()) begin_leavers();
    }
    std::fill(satisfied_.begin(), satisfied_.end(), 0);
    const bool as_given = std::is_sorted(x_.id.begin(), x_.id.end());
    frame_ = kernel_->frame(as_given ? nullptr : x_.id.data(), count_);
    cache_.reset(stride_);
    if (!parts_.ends.empty()) scale_down();
    cost_ = cost();
    phase_ = Phase::select;
}

// ------------------------------------------------------------------- step 0: divide, conquer

// A first solution from parts of the data that lie together: each part is solved alone, as if
// the kernel were 0 between parts. That is near the truth where the kernel is narrow.
void Decomposition::divide(Clock::time_point deadline) {
    if (parts_.order.empty()) parts_ = one_part(count_);
    if (parts_.done < count_) {
        const auto affinity = kernel_->affinity();
        if (!affinity) {
            parts_ = Parts();
            return begin_rebuild();
        }
        while (halve_next(*affinity, kPart, options_.threads, parts_)) {
            if (Clock::now() >= deadline) return;
        }
        if (!parts_stand_alone(*kernel_, parts_, options_.threads)) {
            parts_ = Parts();
            return begin_rebuild();
        }
        active_ = count_;  // with f = 0
        violation_ = measure_violation();
        active_ = 0;
    }
    const double tol = std::max(options_.tol, 0.5 * kInnerShare * violation_.worst);
    const double b = bias();
    do {
        const std::size_t last =
            std::min(parts_.ends.size(), part_ + static_cast<std::size_t>(options_.threads));
        std::vector<std::unique_ptr<WorkingSet>> sets(last - part_);
        std::vector<SubSolution> solutions(last - part_);
        const auto n = static_cast<std::int64_t>(sets.size());
        auto most = static_cast<std::int64_t>(20 * kPart);
        if (options_.max_steps >= 0) most = std::min(most, (options_.max_steps - steps_) / n);
        if (most == 0) return begin_rebuild();
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(options_.threads)
#endif
        for (std::int64_t i = 0; i < n; ++i) {
            const auto k = static_cast<std::size_t>(i);
            const std::size_t part = part_ + k, begin = part == 0 ? 0 : parts_.ends[part - 1];
            std::vector<std::size_t> places(
                parts_.order.begin() + static_cast<std::ptrdiff_t>(begin),
                parts_.order.begin() + static_cast<std::ptrdiff_t>(parts_.ends[part]));
            sets[k] = std::make_unique<WorkingSet>(*kernel_, 1);
            sets[k]->choose(std::move(places), x_);
            solutions[k] = sets[k]->solve(x_, b, tol, most, nullptr, 0);
        }
        for (std::size_t k = 0; k < sets.size(); ++k) {
            steps_ += solutions[k].steps;
            kernel_values_ += sets[k]->kernel_values();
            for (std::size_t a = 0; a < sets[k]->size(); ++a) {
                x_.beta[sets[k]->places()[a]] = sets[k]->beta()[a];
            }
        }
        part_ = last;
    } while (part_ < parts_.ends.size() && Clock::now() < deadline);
    if (part_ == parts_.ends.size()) begin_rebuild();
}

// The parts did not know of each other: J(t beta) = t^2/2 beta.f + t h(beta) may be least for t
// < 1.
void Decomposition::scale_down() {
    double quadratic = 0.0;
    for (std::size_t p = 0; p < count_; ++p) quadratic += x_.beta[p] * x_.f[p];
    const double linear = cost() - 0.5 * quadratic;
    const double t = quadratic > 0.0 ? std::clamp(-linear / quadratic, 0.0, 1.0) : 1.0;
    for (std::size_t p = 0; p < count_; ++p) {
        x_.beta[p] *= t;
        x_.f[p] *= t;
    }
    parts_ = Parts();
}

}  // namespace widemargin
