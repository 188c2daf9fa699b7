// A working set: some examples, their tile of the kernel, and the sub-problem (5.20) on them.
#pragma once

#include <memory>
#include <vector>

#include "widemargin/kernel/kernel_source.hpp"
#include "widemargin/svm/row_cache.hpp"
#include "widemargin/svm/types.hpp"

namespace widemargin {

// The variables of the problem, at places 0, 1, ... (decomposition.hpp).
struct Variables {
    std::vector<std::int64_t> id;  // which example is at a place
    std::vector<double> f, beta, lo, hi, above, below, diagonal;
    bool two_sums = false;

    bool may_grow(std::size_t p) const { return beta[p] < hi[p]; }
    bool may_fall(std::size_t p) const { return beta[p] > lo[p]; }
    bool is_free(std::size_t p) const { return beta[p] != 0.0 && may_grow(p) && may_fall(p); }
    // u and w of pair_steps.hpp: at a solution the bias separates them
    double upper(std::size_t p) const { return -f[p] - (beta[p] < 0.0 ? below[p] : above[p]); }
    double lower(std::size_t p) const { return -f[p] - (beta[p] > 0.0 ? above[p] : below[p]); }
    // the sum that beta belongs to as it grows, and as it falls
    std::size_t rising(std::size_t p) const { return two_sums && beta[p] < 0.0; }
    std::size_t falling(std::size_t p) const { return two_sums && !(beta[p] > 0.0); }
};

class WorkingSet {
   public:
    // `memory` is used for tiles that fit into it.
    WorkingSet(const KernelSource& kernel, int threads, Buffer<unsigned char> memory = {})
        : kernel_(&kernel), threads_(threads), tile_(std::move(memory)) {}

    // Gives its memory away; the set cannot be used any more.
    Buffer<unsigned char> release() { return std::move(tile_); }

    // A new set, at these places; nothing of its tile is computed yet.
    void choose(std::vector<std::size_t> places, const Variables& all);

    // Solves the sub-problem until nothing violates by more than `tol`, or until rounding hides the
    // next step; the result is in `beta`. u and w are compared with `bias`. Rows of the tile come
    // from the cache if it has them; those of variables that violate at the start are computed
    // together.
    SubSolution solve(const Variables& all, double bias, double tol, std::int64_t max_steps,
                      RowCache* cache, std::int64_t now);

    std::size_t size() const { return places_.size(); }
    const std::vector<std::size_t>& places() const { return places_; }
    const std::vector<double>& beta() const { return beta_; }
    const void* row(std::size_t a) const { return tile_.data() + a * stride_ * bytes(); }
    std::int64_t kernel_values() const { return kernel_values_; }

   private:
    std::size_t bytes() const { return kernel_->value_bytes(); }
    void fill(const std::vector<std::size_t>& rows);
    static void fetch(void* self, std::size_t a);

    const KernelSource* kernel_;
    int threads_;
    RowCache* cache_ = nullptr;
    std::int64_t now_ = 0, kernel_values_ = 0;
    std::vector<std::size_t> places_;
    std::vector<std::int64_t> ids_;
    std::vector<double> beta_;
    std::size_t stride_ = 0;
    std::unique_ptr<Frame> frame_;
    Buffer<unsigned char> tile_;
    std::vector<unsigned char> ready_;  // which rows of the tile are known
    std::vector<std::size_t> likely_;   // rows in the order in which they may be needed
    std::size_t next_likely_ = 0;
};

}  // namespace widemargin
