// Committees of units without output weights, trained by stochastic gradient.
//
//   f(x) = b + sum_n h(v_n . x + a_n)
//   min over v, a, b    1/L sum_l |beta - y_l f(x_l)|+       (8.34), step lambda
//
// An example with y f(x) <= beta moves some units, all by lambda y (x, 1), and b by lambda y. The
// Simple MLP moves those with |v_n . x + a_n| <= 1 (Algorithm 8.2), the Nilsson MLP as few as make
// the example right (Algorithm 8.3). With more classes there is one committee per class
// (committee_rules.hpp).
//
// Threads share the units, not the examples: they meet once per example, when all know f. Sums are
// computed panel by panel in the same order, so that the result does not depend on the number of
// threads.
#pragma once

#include <cmath>

#include "widemargin/base/shuffle.hpp"
#include "widemargin/base/team.hpp"
#include "widemargin/mlp/committee_rules.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// One thread, which visits examples with some of the panels.
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
          z_(committees.outputs * committees.panels * kPanelUnits),
          present_(pass.dropout > 0.0 ? z_.size() : 0),
          f_(committees.outputs),
          b_(committees.b, committees.b + committees.outputs),
          steps_(committees.outputs, pass),
          rule_(committees.panels * kPanelUnits) {}

    // Visits the examples of the order with the panels begin..end-1 of all. `votes` has two entries
    // per panel; meet() waits until all threads have come there.
    template <class Meet>
    void visit(std::size_t begin, std::size_t end, double* votes, Meet&& meet) {
        constexpr std::size_t ahead = 4;
        const std::size_t last = pass_.count;
        for (std::size_t n = 0; n < last; ++n) {
            if (n + 2 * ahead < last) x_.prefetch_start(pass_.order[n + 2 * ahead]);
            if (n + ahead < last) x_.prefetch(pass_.order[n + ahead]);
            const auto l = static_cast<std::size_t>(pass_.order[n]);
            row_.read(x_[l]);
            double* these = votes + (n & 1) * committees_.outputs * committees_.panels;
            for (std::size_t i = begin; i < end; ++i) {
                read_panel(panel(i), row_, z(i));
                if (pass_.dropout > 0.0) leave_out(n, i);
                these[i] = factor_ * Rule::vote(z(i), alive(i));
            }
            meet();
            for (std::size_t k = 0; k < f_.size(); ++k) {
                f_[k] = b_[k];
                for (std::size_t i = 0; i < committees_.panels; ++i) {
                    f_[k] += these[k * committees_.panels + i];
                }
            }
            if (steps_.decide(f_.data(), pass_.y[l], pass_.weights ? pass_.weights[l] : 1.0)) {
                learn(begin, end);
            }
        }
    }

    // The sums of this thread; `active` and `reached` are those of its own panels.
    CommitteeTally tally() const {
        CommitteeTally tally = steps_.tally();
        tally.active = active_;
        tally.reached = reached_;
        return tally;
    }
    const Vector<double>& b() const { return b_; }

   private:
    void learn(std::size_t begin, std::size_t end) {
        row_.prepare_step();
        for (std::size_t i = begin; i < end;) {
            const std::size_t k = i / committees_.panels;  // panels i..stop-1 are of committee k
            const std::size_t stop = std::min(end, (k + 1) * committees_.panels);
            const double delta = steps_.delta(k);
            if (delta != 0.0) {
                const std::size_t units = (stop - i) * kPanelUnits;
                const double sign = delta > 0.0 ? 1.0 : -1.0;
                active_ += rule_.choose(z(i), alive(i), units, sign, pass_.margin - sign * f_[k]);
                reached_ += static_cast<std::int64_t>(units);
                for (; i < stop; ++i) {
                    move_panel(panel(i), row_, z(i), static_cast<float>(delta));
                }
            }
            i = stop;
        }
        for (std::size_t k = 0; pass_.fit_intercept && k < b_.size(); ++k) b_[k] += steps_.delta(k);
    }

    // Dropout: leaves some units of panel i out of the n-th visit. Which ones depends only on the
    // seed, n and i. Combining random bits from the last binary digit of p to the first, by "or"
    // for 1 and "and" for 0, gives 1 with probability p.
    void leave_out(std::size_t n, std::size_t i) {
        SplitMix64 random(pass_.seed + n * 0xd1342543de82ef95u + i * 0xaf251af3b0f025b5u);
        std::uint64_t stay = 0;
        for (unsigned digit = 0; digit < kDigits; ++digit) {
            const std::uint64_t bits = random();
            stay = presence_ >> digit & 1 ? stay | bits : stay & bits;
        }
        const float* all_of_them = committees_.alive + (i % committees_.panels) * kPanelUnits;
        float* present = present_.data() + i * kPanelUnits;
        for (std::size_t unit = 0; unit < kPanelUnits; ++unit) {
            present[unit] = stay >> unit & 1 ? all_of_them[unit] : 0.0f;
        }
    }

    float* panel(std::size_t i) const { return committees_.v + i * committees_.panel_size(); }
    float* z(std::size_t i) { return z_.data() + i * kPanelUnits; }
    const float* alive(std::size_t i) const {
        if (pass_.dropout > 0.0) return present_.data() + i * kPanelUnits;
        return committees_.alive + (i % committees_.panels) * kPanelUnits;
    }

    const X& x_;
    const Committees& committees_;
    const CommitteePass& pass_;
    GatheredRow row_;
    static constexpr unsigned kDigits = 8;
    static_assert(kPanelUnits == 64, "one bit per unit");
    std::uint64_t presence_;  // 2^kDigits times the probability that a unit takes part
    double factor_;           // its inverse, by which votes are multiplied
    Vector<float> z_, present_;
    Vector<double> f_, b_;
    OutputSteps steps_;
    Rule rule_;
    std::int64_t active_ = 0, reached_ = 0;
};

// Threads share the panels, or whole committees if the rule needs all units of one.
template <class Worker>
CommitteeTally visit_together(Vector<Worker>& workers, std::size_t panels, std::size_t granularity,
                              double* votes) {
    const std::size_t grains = panels / granularity;
    with_team(static_cast<int>(workers.size()), [&](int me, int team, Barrier& barrier) {
        const auto boundary = [&](int i) {
            return granularity *
                   (grains * static_cast<std::size_t>(i) / static_cast<std::size_t>(team));
        };
        workers[static_cast<std::size_t>(me)].visit(boundary(me), boundary(me + 1), votes,
                                                    [&] { barrier.wait(); });
    });
    CommitteeTally total = workers[0].tally();
    for (std::size_t i = 1; i < workers.size(); ++i) {
        total.active += workers[i].tally().active;
        total.reached += workers[i].tally().reached;
    }
    return total;
}

template <class Rule>
CommitteeTally train_committees(const Rows& rows, const Committees& committees,
                                const Standardization& s, const CommitteePass& pass) {
    const Centring centring(rows, s);
    const std::size_t panels = committees.outputs * committees.panels;
    const std::size_t granularity = Rule::kIndependent ? 1 : committees.panels;
    const std::size_t threads =
        std::min(static_cast<std::size_t>(pass.threads), panels / granularity);
    CommitteeTally total;
    for (std::size_t i = 0; i < panels; ++i) {
        enter_panel(committees.v + i * committees.panel_size(), centring);
    }
    with_training_rows(rows, [&](auto x) {
        using Worker = CommitteeWorker<decltype(x), Rule>;
        Vector<Worker> workers;
        workers.reserve(threads);
        for (std::size_t i = 0; i < threads; ++i)
            workers.emplace_back(x, committees, centring, pass);
        Vector<double> votes(2 * panels);
        total = visit_together(workers, panels, granularity, votes.data());
        std::copy(workers[0].b().begin(), workers[0].b().end(), committees.b);
    });
    for (std::size_t i = 0; i < panels; ++i) {
        leave_panel(committees.v + i * committees.panel_size(), centring);
    }
    return total;
}

inline CommitteeTally train_committees(const Rows& rows, const Committees& committees,
                                       const Standardization& s, const CommitteePass& pass) {
    return pass.units == UnitName::hard_tanh
               ? train_committees<HardTanhUnits>(rows, committees, s, pass)
               : train_committees<SignUnits>(rows, committees, s, pass);
}

// out_lk = f_k(x_l); a chunk of examples passes each panel while it is in the cache
template <class Rule, class X>
void score_committees(const X& x, std::size_t count, const Committees& committees,
                      const Centring& centring, double* out, int threads) {
    constexpr std::size_t chunk = 32;  // examples
    const std::size_t chunks = (count + chunk - 1) / chunk;
    const Vector<GatheredRow> empty(chunk, GatheredRow(centring));
    Vector<Vector<GatheredRow>> rows(static_cast<std::size_t>(threads), empty);
    with_team(threads, [&](int number, int team, Barrier&) {
        const auto me = static_cast<std::size_t>(number);
        float z[kPanelUnits];
        for (std::size_t c = me; c < chunks; c += static_cast<std::size_t>(team)) {
            const std::size_t first = c * chunk, last = std::min(count, first + chunk);
            for (std::size_t l = first; l < last; ++l) rows[me][l - first].read(x[l]);
            for (std::size_t k = 0; k < committees.outputs; ++k) {
                for (std::size_t l = first; l < last; ++l) {
                    out[l * committees.outputs + k] = committees.b[k];
                }
                for (std::size_t i = 0; i < committees.panels; ++i) {
                    const float* panel =
                        committees.v + (k * committees.panels + i) * committees.panel_size();
                    for (std::size_t l = first; l < last; ++l) {
                        read_panel(panel, rows[me][l - first], z);
                        out[l * committees.outputs + k] +=
                            Rule::vote(z, committees.alive + i * kPanelUnits);
                    }
                }
            }
        }
    });
}

inline void committee_scores(const Rows& rows, Committees committees, const Standardization& s,
                             UnitName units, double* out, int threads) {
    const Centring centring(rows, s);
    const std::size_t panels = committees.outputs * committees.panels;
    Vector<float> entered(committees.v, committees.v + panels * committees.panel_size());
    committees.v = entered.data();
    for (std::size_t i = 0; i < panels; ++i) {
        enter_panel(entered.data() + i * committees.panel_size(), centring);
    }
    with_training_rows(rows, [&](auto x) {
        units == UnitName::hard_tanh
            ? score_committees<HardTanhUnits>(x, rows.count, committees, centring, out, threads)
            : score_committees<SignUnits>(x, rows.count, committees, centring, out, threads);
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
