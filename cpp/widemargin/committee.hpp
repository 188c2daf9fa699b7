// The Simple MLP (Algorithm 8.2): committees of units without output weights.
//
//   f(x) = b + sum_n h(v_n . x + a_n)          h(z) = z clipped to -1..1 (HardTanh)
//   min over v, a, b    1/L sum_l |beta - y_l f(x_l)|+       by stochastic gradient, step lambda
//
// An example with y f(x) <= beta moves the units with |v_n . x + a_n| <= 1, all by lambda y (x, 1),
// and b by lambda y. With more than two classes there is a committee for each, and an example of
// class y is learnt
//
//   one_against_rest   by each committee whose y_k f_k <= beta, y_k = +1 for its class, else -1
//   best_other         if f_y - max_k f_k <= beta over the others: by y's with +1, by that k's with -1
//
// Threads share the units, not the examples: they meet once an example, when all know f. Sums are
// made block by block in the same order, so that the result does not depend on their number.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "widemargin/gathered_row.hpp"
#include "widemargin/lanes.hpp"
#include "widemargin/shuffle.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace widemargin::WIDEMARGIN_ISA {

constexpr std::size_t kUnitLanes = kLanes<float>;
constexpr std::size_t kPiece = std::min<std::size_t>(kUnits, 8 * kUnitLanes);  // sums in registers

[[gnu::always_inline]] inline float sum_of_lanes(Real<float> lanes) {
    float total = 0.0f;
    for (std::size_t i = 0; i < kUnitLanes; ++i) total += lanes[i];
    return total;
}

// v . xh + a of the units of a block
[[gnu::always_inline]] inline void read_block(const float* block, const GatheredRow& x, float* z) {
    for (std::size_t piece = 0; piece < kUnits; piece += kPiece) {
        Real<float> sums[kPiece / kUnitLanes] = {};
        for (std::size_t i = 0; i < x.count(); ++i) {
            const float* row = x.row(block, i) + piece;
            const Real<float> value = all<float>(x.value(i));
            for (std::size_t r = 0; r < kPiece / kUnitLanes; ++r) {
                sums[r] += value * load_lanes<float>(row + r * kUnitLanes);
            }
        }
        for (std::size_t r = 0; r < kPiece / kUnitLanes; ++r) {
            store_lanes<float>(z + piece + r * kUnitLanes, sums[r]);
        }
    }
}

// sum_n h(z_n)
[[gnu::always_inline]] inline double vote(const float* z, const float* alive) {
    Real<float> total{};
    for (std::size_t n = 0; n < kUnits; n += kUnitLanes) {
        Real<float> h = load_lanes<float>(z + n);
        h = h > 1.0f ? all<float>(1.0f) : h;
        h = h < -1.0f ? all<float>(-1.0f) : h;
        total += h * load_lanes<float>(alive + n);
    }
    return sum_of_lanes(total);
}

// The units with |z| <= 1 move by delta (xh, 1); returns how many they are.
[[gnu::always_inline]] inline std::int64_t learn_block(float* block, const GatheredRow& x, float* z,
                                                       const float* alive, float delta) {
    Real<float> moved{};
    for (std::size_t n = 0; n < kUnits; n += kUnitLanes) {
        const Real<float> h = load_lanes<float>(z + n);
        const Real<float> mask =
            (h <= 1.0f) & (h >= -1.0f) ? load_lanes<float>(alive + n) : Real<float>{};
        moved += mask;
        store_lanes<float>(z + n, mask);
    }
    for (std::size_t piece = 0; piece < kUnits; piece += kPiece) {
        Real<float> mask[kPiece / kUnitLanes];
        for (std::size_t r = 0; r < kPiece / kUnitLanes; ++r) {
            mask[r] = load_lanes<float>(z + piece + r * kUnitLanes);
        }
        for (std::size_t i = 0; i < x.count(); ++i) {
            float* row = x.row(block, i) + piece;
            const Real<float> step = all<float>(delta * x.value(i));
            for (std::size_t r = 0; r < kPiece / kUnitLanes; ++r) {
                float* at = row + r * kUnitLanes;
                store_lanes<float>(at, load_lanes<float>(at) + step * mask[r]);
            }
        }
    }
    return static_cast<std::int64_t>(sum_of_lanes(moved));
}

// sum_j c_j v_j for the units of a block
inline void centre_of_block(const float* block, const double* c, std::size_t width, double* out) {
    std::fill(out, out + kUnits, 0.0);
    for (std::size_t j = 0; j < width; ++j) {
        if (c[j] == 0.0) continue;
        for (std::size_t n = 0; n < kUnits; ++n) out[n] += c[j] * block[j * kUnits + n];
    }
}

// a becomes o = a - v . c, and t = 0
inline void enter_block(float* block, const Centring& s) {
    if (!s.split) return;
    double centre[kUnits];
    centre_of_block(block, s.mean, s.width, centre);
    float* o = block + s.width * kUnits;
    for (std::size_t n = 0; n < kUnits; ++n) {
        o[n] = static_cast<float>(o[n] - centre[n]);
        o[kUnits + n] = 0.0f;
    }
}

// and back: a = o + u . c, v = u - t c
inline void leave_block(float* block, const Centring& s) {
    if (!s.split) return;
    double centre[kUnits];
    centre_of_block(block, s.mean, s.width, centre);
    float *o = block + s.width * kUnits, *t = o + kUnits;
    for (std::size_t n = 0; n < kUnits; ++n) o[n] = static_cast<float>(o[n] + centre[n]);
    for (std::size_t j = 0; j < s.width; ++j) {
        const auto c = static_cast<float>(s.mean[j]);
        for (std::size_t n = 0; n < kUnits; ++n) block[j * kUnits + n] -= t[n] * c;
    }
    std::fill(t, t + kUnits, 0.0f);
}

// Which committees learn an example, and how fast: delta_k = 0 for those that do not.
class Judge {
   public:
    Judge(const Committees& committees, const CommitteePass& pass)
        : pass_(pass), outputs_(committees.outputs), delta_(committees.outputs) {}

    // f are the outputs for an example of target y and weight c; true if anything is to be learnt.
    bool decide(const double* f, double y, double c) {
        std::fill(delta_.begin(), delta_.end(), 0.0);
        tally_.weight += c;
        std::size_t best = 0;
        for (std::size_t k = 1; k < outputs_; ++k) best = f[k] > f[best] ? k : best;
        const auto own = static_cast<std::size_t>(y);
        switch (pass_.targets) {
            case CommitteeTargets::binary:
                if ((f[0] > 0.0) != (y > 0.0)) tally_.errors += c;
                return learn(f[0] * y, c, 0, y);
            case CommitteeTargets::one_against_rest: {
                if (best != own) tally_.errors += c;
                bool any = false;
                for (std::size_t k = 0; k < outputs_; ++k) {
                    const double sign = k == own ? 1.0 : -1.0;
                    any |= learn(sign * f[k], c, k, sign);
                }
                return any;
            }
            case CommitteeTargets::best_other: break;
        }
        if (best != own) tally_.errors += c;
        std::size_t other = own == 0 ? 1 : 0;
        for (std::size_t k = 0; k < outputs_; ++k) {
            if (k != own && f[k] > f[other]) other = k;
        }
        const bool learnt = learn(f[own] - f[other], c, own, 1.0);
        if (learnt) delta_[other] = -delta_[own];
        return learnt;
    }

    double delta(std::size_t k) const { return delta_[k]; }
    const CommitteeTally& tally() const { return tally_; }

   private:
    bool learn(double margin, double c, std::size_t k, double sign) {
        if (!(margin <= pass_.margin)) {  // a NaN is counted below
            if (margin > pass_.margin) return false;
        }
        tally_.criterion += c * (pass_.margin - margin);
        if (c == 0.0) return false;
        delta_[k] = pass_.rate * c * sign;
        ++tally_.updates;
        return true;
    }

    const CommitteePass& pass_;
    std::size_t outputs_;
    std::vector<double> delta_;
    CommitteeTally tally_;
};

// Threads that go from example to example together.
class Team {
   public:
    explicit Team(std::size_t threads) : seats_(threads) {}

    // Waits until all have come to meeting n, counted from 1.
    void meet(std::size_t me, std::size_t n) {
        seats_[me].at.store(n, std::memory_order_release);
        for (auto& seat : seats_) {
            for (int tries = 0; seat.at.load(std::memory_order_acquire) < n; ++tries) {
                if (tries > 2000) std::this_thread::yield();  // it may have lost its CPU
            }
        }
    }

   private:
    struct alignas(kLine) Seat {
        std::atomic<std::size_t> at{0};
    };
    std::vector<Seat> seats_;
};

// One thread's way through some examples with some blocks.
template <class X>
class Worker {
   public:
    Worker(const X& x, const Committees& committees, const Centring& centring,
           const CommitteePass& pass)
        : x_(x),
          committees_(committees),
          pass_(pass),
          row_(centring),
          z_(committees.outputs * committees.blocks * kUnits),
          f_(committees.outputs),
          b_(committees.b, committees.b + committees.outputs),
          judge_(committees, pass) {}

    // Visits pass.order[first..last) with the blocks begin..end of all; `sums` has room for two
    // votes of each block, and meet(n) waits for the others.
    template <class Meet>
    void visit(std::size_t first, std::size_t last, std::size_t begin, std::size_t end,
               double* sums, Meet&& meet) {
        constexpr std::size_t ahead = 4;
        const std::size_t blocks = committees_.outputs * committees_.blocks;
        for (std::size_t n = first; n < last; ++n) {
            if (n + 2 * ahead < last) x_.prefetch_start(pass_.order[n + 2 * ahead]);
            if (n + ahead < last) x_.prefetch(pass_.order[n + ahead]);
            const auto l = static_cast<std::size_t>(pass_.order[n]);
            row_.read(x_[l]);
            double* votes = sums + (n & 1) * blocks;
            for (std::size_t i = begin; i < end; ++i) {
                read_block(block(i), row_, z(i));
                votes[i] = vote(z(i), alive(i));
            }
            meet(n - first + 1);
            for (std::size_t k = 0; k < committees_.outputs; ++k) {
                f_[k] = b_[k];
                for (std::size_t i = 0; i < committees_.blocks; ++i) {
                    f_[k] += votes[k * committees_.blocks + i];
                }
            }
            if (judge_.decide(f_.data(), pass_.y[l], pass_.weights ? pass_.weights[l] : 1.0)) {
                learn(begin, end);
            }
        }
    }

    CommitteeTally tally() const {
        CommitteeTally tally = judge_.tally();
        tally.active = active_;
        tally.reached = reached_;
        return tally;
    }
    const std::vector<double>& b() const { return b_; }

   private:
    void learn(std::size_t begin, std::size_t end) {
        row_.turn();
        for (std::size_t i = begin; i < end; ++i) {
            const double delta = judge_.delta(i / committees_.blocks);
            if (delta == 0.0) continue;
            active_ += learn_block(block(i), row_, z(i), alive(i), static_cast<float>(delta));
            reached_ += kUnits;
        }
        for (std::size_t k = 0; pass_.fit_intercept && k < b_.size(); ++k) b_[k] += judge_.delta(k);
    }

    float* block(std::size_t i) const { return committees_.v + i * committees_.block_size(); }
    float* z(std::size_t i) { return z_.data() + i * kUnits; }
    const float* alive(std::size_t i) const {
        return committees_.alive + (i % committees_.blocks) * kUnits;
    }

    const X& x_;
    const Committees& committees_;
    const CommitteePass& pass_;
    GatheredRow row_;
    std::vector<float> z_;
    std::vector<double> f_, b_;
    Judge judge_;
    std::int64_t active_ = 0, reached_ = 0;
};

inline CommitteeTally train_committees(const Rows& rows, const Committees& committees,
                                       const Standardization& s, const CommitteePass& pass) {
    const Centring centring(rows, s);
    const std::size_t blocks = committees.outputs * committees.blocks;
    CommitteeTally total;
    for (std::size_t i = 0; i < blocks; ++i) {
        enter_block(committees.v + i * committees.block_size(), centring);
    }
    with_training_rows(rows, [&](auto x) {
        std::vector<double> sums(2 * blocks);
        Worker worker(x, committees, centring, pass);
        worker.visit(0, pass.count, 0, blocks, sums.data(), [](std::size_t) {});
        total = worker.tally();
        std::copy(worker.b().begin(), worker.b().end(), committees.b);
    });
    for (std::size_t i = 0; i < blocks; ++i) {
        leave_block(committees.v + i * committees.block_size(), centring);
    }
    return total;
}

// out_lk = f_k(x_l)
inline void committee_scores(const Rows& rows, const Committees& committees,
                             const Standardization& s, double* out, [[maybe_unused]] int threads) {
    const Centring centring(rows, s);
    const std::size_t blocks = committees.outputs * committees.blocks;
    std::vector<float> v(committees.v, committees.v + blocks * committees.block_size());
    for (std::size_t i = 0; i < blocks; ++i) {
        enter_block(v.data() + i * committees.block_size(), centring);
    }
    with_training_rows(rows, [&](auto x) {
        GatheredRow row(centring);
        float z[kUnits];
        for (std::size_t l = 0; l < rows.count; ++l) {
            row.read(x[l]);
            for (std::size_t k = 0; k < committees.outputs; ++k) {
                double f = committees.b[k];
                for (std::size_t i = 0; i < committees.blocks; ++i) {
                    read_block(v.data() + (k * committees.blocks + i) * committees.block_size(), row, z);
                    f += vote(z, committees.alive + i * kUnits);
                }
                out[l * committees.outputs + k] = f;
            }
        }
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
