#include "widemargin/svm/working_set.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin {

void WorkingSet::choose(std::vector<std::size_t> places, const Variables& all) {
    places_ = std::move(places);
    stride_ = (size() + kTileStep - 1) / kTileStep * kTileStep;
    if (tile_.size() < size() * stride_ * bytes()) {
        tile_ = Buffer<unsigned char>();  // frees the old one first
        tile_ = Buffer<unsigned char>(size() * stride_ * bytes());
    }
    ids_.resize(size());
    for (std::size_t a = 0; a < size(); ++a) ids_[a] = all.id[places_[a]];
    frame_ = kernel_->frame(ids_.data(), size());
    ready_.assign(stride_, 0);
}

void WorkingSet::fill(const std::vector<std::size_t>& rows) {
    const std::size_t n = size(), blocks = blocks_of(n);
    std::vector<std::int64_t> fresh;
    std::vector<void*> keep;
    for (const std::size_t a : rows) {
        if (ready_[a]) continue;
        ready_[a] = 1;
        unsigned char* row = tile_.data() + a * stride_ * bytes();
        const void* known = cache_ ? cache_->find(ids_[a], now_) : nullptr;
        if (known) {
            const auto copy = [&](const auto* from, auto* to) {
                for (std::size_t b = 0; b < n; ++b) to[b] = from[places_[b]];
                for (std::size_t b = n; b < stride_; ++b) to[b] = 0;
            };
            kernel_->double_precision()
                ? copy(static_cast<const double*>(known), reinterpret_cast<double*>(row))
                : copy(static_cast<const float*>(known), reinterpret_cast<float*>(row));
        } else {
            fresh.push_back(ids_[a]);
            keep.push_back(row);
            std::memset(row + blocks * kBlock * bytes(), 0, (stride_ - blocks * kBlock) * bytes());
        }
    }
    if (fresh.empty()) return;
    kernel_->rows(fresh.data(), fresh.size(), *frame_,
                  {.first = 0,
                   .last = blocks,
                   .keep = keep.data(),
                   .threads = fresh.size() > 1 ? threads_ : 1});
    kernel_values_ += static_cast<std::int64_t>(fresh.size() * n);
}

// Computes the needed row, together with rows that are likely to be needed next if they cost
// little.
void WorkingSet::fetch(void* self, std::size_t a) {
    auto& set = *static_cast<WorkingSet*>(self);
    std::vector<std::size_t> rows{a};
    const std::size_t most = set.kernel_->rows_at_once();
    for (; rows.size() < most && set.next_likely_ < set.likely_.size(); ++set.next_likely_) {
        const std::size_t b = set.likely_[set.next_likely_];
        if (b != a && !set.ready_[b]) rows.push_back(b);
    }
    set.fill(rows);
}

SubSolution WorkingSet::solve(const Variables& all, double bias, double tol, std::int64_t max_steps,
                              RowCache* cache, std::int64_t now) {
    const std::size_t n = size();
    cache_ = cache;
    now_ = now;
    std::vector<double> v(n), above(n), below(n), lo(n), hi(n), diagonal(n);
    std::vector<std::size_t> violating;
    std::vector<std::pair<double, std::size_t>> rest;  // how far each is from violating
    beta_.resize(n);
    for (std::size_t a = 0; a < n; ++a) {
        const std::size_t p = places_[a];
        v[a] = -all.f[p] - bias;  // only differences matter: near a solution they are small
        above[a] = all.above[p];
        below[a] = all.below[p];
        beta_[a] = all.beta[p];
        lo[a] = all.lo[p];
        hi[a] = all.hi[p];
        diagonal[a] = all.diagonal[static_cast<std::size_t>(all.id[p])];
        double excess = -std::numeric_limits<double>::infinity();
        if (all.may_grow(p)) excess = all.upper(p) - bias;
        if (all.may_fall(p)) excess = std::max(excess, bias - all.lower(p));
        if (excess > 0.5 * tol) {
            violating.push_back(a);
        } else {
            rest.emplace_back(-excess, a);
        }
    }
    likely_.clear();
    next_likely_ = 0;
    if (kernel_->rows_at_once() > 1) {
        std::sort(rest.begin(), rest.end());
        for (const auto& [distance, a] : rest) likely_.push_back(a);
    }
    fill(violating);
    return loops().solve_pairs({.double_precision = kernel_->double_precision(),
                                .tile = tile_.data(),
                                .ready = ready_.data(),
                                .fetch = &WorkingSet::fetch,
                                .context = this,
                                .count = n,
                                .stride = stride_,
                                .two_sums = all.two_sums,
                                .v = v.data(),
                                .bias = bias,
                                .above = above.data(),
                                .below = below.data(),
                                .diagonal = diagonal.data(),
                                .beta = beta_.data(),
                                .lo = lo.data(),
                                .hi = hi.data(),
                                .tol = tol,
                                .max_steps = max_steps});
}

}  // namespace widemargin
