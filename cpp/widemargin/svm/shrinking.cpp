// Steps 4 and 5 of the decomposition algorithm: shrinking, and the check on all examples.
#include <algorithm>

#include "widemargin/svm/decomposition.hpp"

namespace widemargin {
namespace {

// An example satisfies its conditions safely if it does so by this fraction of the largest
// violation, unless a threshold is given.
constexpr double kSafeFraction = 0.15;
// All arrays are compacted if at most this fraction of the active examples stays.
constexpr double kCompactFraction = 0.9;

}  // namespace

// ------------------------------------------------------- step 4: examples are set aside

// How much an example needs to stay active: infinite if its variable is free, positive if it
// violates its conditions, and negative by how far it satisfies them.
double Decomposition::need(std::size_t p, const Violation& now) const {
    if (x_.is_free(p)) return kInfinity;
    double most = -kInfinity;
    if (x_.may_grow(p)) most = x_.upper(p) - now.middle(x_.rising(p));
    if (x_.may_fall(p)) most = std::max(most, now.middle(x_.falling(p)) - x_.lower(p));
    return most;
}

void Decomposition::shrink() {
    const Violation now = measure_violation();
    const double given = options_.threshold;
    const double threshold = given < 0.0 ? kSafeFraction * now.worst : given;
    std::vector<std::size_t> keep;
    for (std::size_t p = 0; p < active_; ++p) {
        const bool satisfied = need(p, now) < -threshold;
        satisfied_[p] = satisfied ? std::min(satisfied_[p] + 1, options_.patience) : 0;
        if (satisfied_[p] < options_.patience) keep.push_back(p);
    }
    const auto worth = kCompactFraction * static_cast<double>(active_);
    if (keep.size() >= 2 && static_cast<double>(keep.size()) < worth) compact(keep);
}

// Moves the places to keep (ascending) to the front and the others behind them.
void Decomposition::compact(const std::vector<std::size_t>& keep) {
    shrunk_.push_back({active_, beta_by_example()});
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
    cache_.compact(keep, rounded_to_blocks(active_));
}

// ------------------------------------------------------- step 5: the check on all examples

void Decomposition::begin_rebuild() {
    whole_set_ = false;
    phase_ = Phase::rebuild;
    begin_shrunk_examples();
}

// Which variables have moved since the last examples were set aside.
void Decomposition::begin_shrunk_examples() {
    const std::vector<double> now = beta_by_example();
    const std::vector<double>& then = shrunk_.back().beta;
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
    while (!shrunk_.empty()) {
        const std::size_t end = shrunk_.back().end;
        while (cursor_ < end && !rows_.empty()) {
            const std::size_t n = std::min(kernel_->examples_at_once(rows_.size()), end - cursor_);
            const auto frame = kernel_->frame(x_.id.data() + cursor_, n);
            std::copy_n(x_.f.data() + cursor_, n, next_f_.data());
            std::fill(next_f_.data() + n, next_f_.data() + rounded_to_blocks(n), 0.0);
            for (std::size_t r = 0; r < rows_.size(); r += rows_at_once) {
                kernel_->rows(rows_.data() + r, std::min(rows_at_once, rows_.size() - r), *frame,
                              {.first = 0,
                               .last = blocks_of(n),
                               .outputs = 1,
                               .coef = coef_.data() + r,
                               .f = next_f_.data(),
                               .stride = stride_,
                               .threads = options_.threads});
            }
            kernel_values_ += static_cast<std::int64_t>(rows_.size() * n);
            std::copy_n(next_f_.data(), n, x_.f.data() + cursor_);
            cursor_ += n;
            if (Clock::now() >= deadline && cursor_ < end) return;
        }
        active_ = end;
        shrunk_.pop_back();
        if (!shrunk_.empty()) begin_shrunk_examples();
    }
    std::fill(satisfied_.begin(), satisfied_.end(), 0);
    const bool as_given = std::is_sorted(x_.id.begin(), x_.id.end());
    frame_ = kernel_->frame(as_given ? nullptr : x_.id.data(), count_);
    cache_.reset(stride_);
    if (!parts_.ends.empty()) scale_down();
    cost_ = cost();
    phase_ = Phase::select;
}

}  // namespace widemargin
