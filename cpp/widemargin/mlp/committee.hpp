// Committees of units without output weights, trained by stochastic gradient.
//
//   f(x) = b + sum_n h(v_n . x + a_n)
//   min over v, a, b    1/L sum_l |beta - y_l f(x_l)|+       (8.34), step lambda
//
// An example with y f(x) <= beta moves some units, all by lambda y (x, 1), and b by lambda y: the
// Simple MLP those with |v_n . x + a_n| <= 1 (Algorithm 8.2), the Nilsson MLP as few as make it
// right (Algorithm 8.3). With more classes there is a committee for each (committee_rules.hpp).
//
// Threads share the units, not the examples: they meet once an example, when all know f. Sums are
// made block by block in the same order, so that the result does not depend on their number. Or,
// without locks, each takes examples and all write to the same units: what comes out then depends
// on chance (Niu et al., 2011).
#pragma once

#include <cmath>
#include <type_traits>

#include "widemargin/mlp/committee_rules.hpp"
#include "widemargin/base/shuffle.hpp"
#include "widemargin/base/team.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// One thread's way through examples, with some of the blocks.
template <class X, class Rule>
class CommitteeWorker {
   public:
    CommitteeWorker(const X& x, const Committees& committees, const Centring& centring,
                    const CommitteePass& pass)
        : x_(x),
          committees_(committees),
          pass_(pass),
          row_(centring),
          presence_(static_cast<std::uint64_t>(std::lround((1.0 - pass.dropout) * (1 << kDigits)))),
          factor_(static_cast<double>(1 << kDigits) / static_cast<double>(presence_)),
          z_(committees.outputs * committees.blocks * kUnits),
          present_(pass.dropout > 0.0 ? z_.size() : 0),
          f_(committees.outputs),
          b_(committees.b, committees.b + committees.outputs),
          judge_(committees.outputs, pass) {}

    // Visits the examples first..last-1 of the order with the blocks begin..end-1 of all. `votes`
    // has two entries a block; meet() waits until all have come there.
    template <class Meet>
    void visit(std::size_t first, std::size_t last, std::size_t begin, std::size_t end,
               double* votes, Meet&& meet) {
        constexpr std::size_t ahead = 4;
        for (std::size_t n = first; n < last; ++n) {
            if (n + 2 * ahead < last) x_.prefetch_start(pass_.order[n + 2 * ahead]);
            if (n + ahead < last) x_.prefetch(pass_.order[n + ahead]);
            const auto l = static_cast<std::size_t>(pass_.order[n]);
            row_.read(x_[l]);
            double* these = votes + (n & 1) * committees_.outputs * committees_.blocks;
            for (std::size_t i = begin; i < end; ++i) {
                read_block(block(i), row_, z(i));
                if (pass_.dropout > 0.0) leave_out(n, i);
                these[i] = factor_ * Rule::vote(z(i), alive(i));
            }
            meet();
            for (std::size_t k = 0; k < f_.size(); ++k) {
                f_[k] = b_[k];
                for (std::size_t i = 0; i < committees_.blocks; ++i) {
                    f_[k] += these[k * committees_.blocks + i];
                }
            }
            if (judge_.decide(f_.data(), pass_.y[l], pass_.weights ? pass_.weights[l] : 1.0)) {
                learn(begin, end);
            }
        }
    }

    // What this thread saw; `active` and `reached` are of its own blocks.
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
        for (std::size_t i = begin; i < end;) {
            const std::size_t k = i / committees_.blocks;  // from here on those of committee k
            const std::size_t stop = std::min(end, (k + 1) * committees_.blocks);
            const double delta = judge_.delta(k);
            if (delta != 0.0) {
                const std::size_t units = (stop - i) * kUnits;
                const double sign = delta > 0.0 ? 1.0 : -1.0;
                active_ += rule_.choose(z(i), alive(i), units, sign, pass_.margin - sign * f_[k]);
                reached_ += static_cast<std::int64_t>(units);
                for (; i < stop; ++i) {
                    move_block(block(i), row_, z(i), static_cast<float>(delta));
                }
            }
            i = stop;
        }
        for (std::size_t k = 0; pass_.fit_intercept && k < b_.size(); ++k) b_[k] += judge_.delta(k);
    }

    // Some of the units of block i do not take part in the n-th visit. Who they are depends on the
    // seed, n and i alone. From the last binary digit of p to its first, a random bit joined by
    // "or" for 1 and "and" for 0 is 1 with probability p in the end.
    void leave_out(std::size_t n, std::size_t i) {
        SplitMix64 random(pass_.seed + n * 0xd1342543de82ef95u + i * 0xaf251af3b0f025b5u);
        std::uint64_t stay = 0;
        for (unsigned digit = 0; digit < kDigits; ++digit) {
            const std::uint64_t bits = random();
            stay = presence_ >> digit & 1 ? stay | bits : stay & bits;
        }
        const float* all_of_them = committees_.alive + (i % committees_.blocks) * kUnits;
        float* present = present_.data() + i * kUnits;
        for (std::size_t unit = 0; unit < kUnits; ++unit) {
            present[unit] = stay >> unit & 1 ? all_of_them[unit] : 0.0f;
        }
    }

    float* block(std::size_t i) const { return committees_.v + i * committees_.block_size(); }
    float* z(std::size_t i) { return z_.data() + i * kUnits; }
    const float* alive(std::size_t i) const {
        if (pass_.dropout > 0.0) return present_.data() + i * kUnits;
        return committees_.alive + (i % committees_.blocks) * kUnits;
    }

    const X& x_;
    const Committees& committees_;
    const CommitteePass& pass_;
    GatheredRow row_;
    static constexpr unsigned kDigits = 8;
    static_assert(kUnits == 64, "a bit a unit");
    std::uint64_t presence_;  // 2^kDigits times the probability that a unit takes part
    double factor_;           // its inverse, which votes are multiplied by
    std::vector<float> z_, present_;
    std::vector<double> f_, b_;
    Judge judge_;
    Rule rule_;
    std::int64_t active_ = 0, reached_ = 0;
};

inline void add(CommitteeTally& total, const CommitteeTally& part) {
    total.updates += part.updates;
    total.criterion += part.criterion;
    total.errors += part.errors;
    total.weight += part.weight;
    total.active += part.active;
    total.reached += part.reached;
}

// Threads share the blocks, or whole committees where a rule looks at all units of one.
template <class Worker>
CommitteeTally visit_together(std::vector<Worker>& workers, const CommitteePass& pass,
                              std::size_t blocks, std::size_t granularity, double* votes) {
    const std::size_t grains = blocks / granularity;
    with_team(static_cast<int>(workers.size()), [&](int me, int team, Barrier& barrier) {
        const auto part = [&](int i) {
            return granularity *
                   (grains * static_cast<std::size_t>(i) / static_cast<std::size_t>(team));
        };
        workers[static_cast<std::size_t>(me)].visit(0, pass.count, part(me), part(me + 1), votes,
                                                    [&] { barrier.wait(); });
    });
    CommitteeTally total = workers[0].tally();
    for (std::size_t i = 1; i < workers.size(); ++i) {
        total.active += workers[i].tally().active;
        total.reached += workers[i].tally().reached;
    }
    return total;
}

// Threads share the examples, and race for the units.
template <class Worker>
CommitteeTally visit_apart(std::vector<Worker>& workers, const Committees& committees,
                           const CommitteePass& pass, std::size_t blocks,
                           std::vector<double>& votes) {
    const std::size_t parts = workers.size();
    with_team(static_cast<int>(parts), [&](int me, int team, Barrier&) {
        for (auto part = static_cast<std::size_t>(me); part < parts;
             part += static_cast<std::size_t>(team)) {
            workers[part].visit(pass.count * part / parts, pass.count * (part + 1) / parts, 0,
                                blocks, votes.data() + 2 * blocks * part, [] {});
        }
    });
    CommitteeTally total;
    for (const Worker& worker : workers) add(total, worker.tally());
    for (std::size_t k = 0; k < committees.outputs; ++k) {  // b is the sum of all steps
        double steps = 0.0;
        for (const Worker& worker : workers) steps += worker.b()[k] - committees.b[k];
        committees.b[k] += steps;
    }
    return total;
}

template <class Rule>
CommitteeTally train_committees(const Rows& rows, const Committees& committees,
                                const Standardization& s, const CommitteePass& pass) {
    const Centring centring(rows, s);
    const std::size_t blocks = committees.outputs * committees.blocks;
    const std::size_t granularity = Rule::kAlone ? 1 : committees.blocks;
    const std::size_t threads =
        pass.lock_free ? static_cast<std::size_t>(pass.threads)
                       : std::min(static_cast<std::size_t>(pass.threads), blocks / granularity);
    CommitteeTally total;
    for (std::size_t i = 0; i < blocks; ++i) {
        enter_block(committees.v + i * committees.block_size(), centring);
    }
    with_training_rows(rows, [&](auto x) {
        using Worker = CommitteeWorker<decltype(x), Rule>;
        std::vector<Worker> workers;
        workers.reserve(threads);
        for (std::size_t i = 0; i < threads; ++i)
            workers.emplace_back(x, committees, centring, pass);
        std::vector<double> votes(2 * blocks * threads);
        if (pass.lock_free) {
            total = visit_apart(workers, committees, pass, blocks, votes);
        } else {
            total = visit_together(workers, pass, blocks, granularity, votes.data());
            std::copy(workers[0].b().begin(), workers[0].b().end(), committees.b);
        }
    });
    for (std::size_t i = 0; i < blocks; ++i) {
        leave_block(committees.v + i * committees.block_size(), centring);
    }
    return total;
}

inline CommitteeTally train_committees(const Rows& rows, const Committees& committees,
                                       const Standardization& s, const CommitteePass& pass) {
    return pass.units == UnitName::hard_tanh
               ? train_committees<HardTanhUnits>(rows, committees, s, pass)
               : train_committees<SignUnits>(rows, committees, s, pass);
}

// out_lk = f_k(x_l); examples in tiles, which pass a block while it is in the cache
template <class Rule, class X>
void score_committees(const X& x, std::size_t count, const Committees& committees,
                      const Centring& centring, double* out, int threads) {
    constexpr std::size_t tile = 32;
    const std::size_t tiles = (count + tile - 1) / tile;
    const std::vector<GatheredRow> empty(tile, GatheredRow(centring));
    std::vector<std::vector<GatheredRow>> rows(static_cast<std::size_t>(threads), empty);
    with_team(threads, [&](int number, int team, Barrier&) {
        const auto me = static_cast<std::size_t>(number);
        float z[kUnits];
        for (std::size_t t = me; t < tiles; t += static_cast<std::size_t>(team)) {
            const std::size_t first = t * tile, last = std::min(count, first + tile);
            for (std::size_t l = first; l < last; ++l) rows[me][l - first].read(x[l]);
            for (std::size_t k = 0; k < committees.outputs; ++k) {
                for (std::size_t l = first; l < last; ++l) {
                    out[l * committees.outputs + k] = committees.b[k];
                }
                for (std::size_t i = 0; i < committees.blocks; ++i) {
                    const float* block =
                        committees.v + (k * committees.blocks + i) * committees.block_size();
                    for (std::size_t l = first; l < last; ++l) {
                        read_block(block, rows[me][l - first], z);
                        out[l * committees.outputs + k] +=
                            Rule::vote(z, committees.alive + i * kUnits);
                    }
                }
            }
        }
    });
}

inline void committee_scores(const Rows& rows, Committees committees, const Standardization& s,
                             UnitName units, double* out, int threads) {
    const Centring centring(rows, s);
    const std::size_t blocks = committees.outputs * committees.blocks;
    std::vector<float> entered(committees.v, committees.v + blocks * committees.block_size());
    committees.v = entered.data();
    for (std::size_t i = 0; i < blocks; ++i) {
        enter_block(entered.data() + i * committees.block_size(), centring);
    }
    with_training_rows(rows, [&](auto x) {
        units == UnitName::hard_tanh
            ? score_committees<HardTanhUnits>(x, rows.count, committees, centring, out, threads)
            : score_committees<SignUnits>(x, rows.count, committees, centring, out, threads);
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
