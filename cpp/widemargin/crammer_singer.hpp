// Crammer and Singer's machine of K classes, one epoch of the sequential dual method (Keerthi and
// others, 2008).
//
//   min over B   1/2 sum_k |w_k|^2 - sum_l B_l,y_l            w_k = sum_l B_lk xh_l
//   subject to   B_lk <= 0 for k != y_l,  B_l,y_l <= c_l,  every row of B has sum 0
//
// Penalised intercepts are one more input, constant, of square r. Write a_k = -B_k for the classes
// k != y of an example, and g_k = f_k(x) but for g_y = f_y(x) - 1. With h = |xh|^2 + r the best row
// has, for one theta,
//
//   a_k = |D_k - theta|+ / h,   D_k = g_k + h a_k(before);
//   B_y = sum_k a_k = min(c, (theta - D_y) / h),   D_y = g_y - h B_y(before)
//
// theta is the mean of D_y and of those D_k that are above it, or, where B_y would exceed c, what
// makes the sum of the others h c. Both are found by leaving out what is below the mean so far,
// until nothing is (Michelot, 1986).
//
// Seen as c e_y - B, a row is a distribution of c over the classes. If all of it is at one class,
// and g of any other is lower by more than `patience`, the example is put aside (shrinking).
#pragma once

#include <cmath>
#include <limits>

#include "widemargin/class_units.hpp"
#include "widemargin/dual_descent.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr double kNone = -std::numeric_limits<double>::infinity();

[[gnu::always_inline]] inline double largest(const double* values, std::size_t stride) {
    Register most = load<Register>(values);
    for (std::size_t k = kRegister; k < stride; k += kRegister) {
        const Register some = load<Register>(values + k);
        most = some > most ? some : most;
    }
    double found = most[0];
    for (std::size_t i = 1; i < kRegister; ++i) found = most[i] > found ? most[i] : found;
    return found;
}

// Drops what is not above (sum of D + more) / (n + weight), until nothing is to drop: that mean.
inline double threshold(double* D, std::size_t& n, double more, double weight) {
    for (;;) {
        double sum = more;
        for (std::size_t i = 0; i < n; ++i) sum += D[i];
        const double theta = sum / (static_cast<double>(n) + weight);
        std::size_t above = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double value = D[i];
            D[above] = value;
            above += value > theta;
        }
        if (above == n || above == 0) return theta;
        n = above;
    }
}

// What an epoch knows of the example at hand; arrays of `stride`, at the start of a line.
struct ClassRow {
    AlignedVector g, D, step;
    std::size_t stride;

    explicit ClassRow(std::size_t stride) : g(stride), D(stride), step(stride), stride(stride) {}

    // How far the row is from its best, and whether it can be put aside.
    struct State {
        double violation;
        bool safe;
    };
    State look(const double* B, std::size_t y, double c, double patience) {
        double* g = this->g.data();
        std::size_t slot = y, slots = B[y] < c;
        double low = slots ? g[y] : -kNone;
        if (B[y] > 0.0) {
            for (std::size_t k = 0; k < stride; ++k) {
                if (B[k] >= 0.0) continue;
                low = g[k] < low ? g[k] : low;
                slot = k;
                ++slots;
            }
        }
        if (slots > 1) return {largest(g, stride) - low, false};
        const double own = g[slot];
        g[slot] = kNone;
        const double lead = own - largest(g, stride);
        g[slot] = own;
        return {lead < 0.0 ? -lead : 0.0, lead > patience};
    }

    // Moves B to the best row; `step` is by how much.
    void solve(double* B, std::size_t y, double c, double h) {
        double *g = this->g.data(), *D = this->D.data(), *step = this->step.data();
        const double own = g[y] - h * B[y];
        g[y] = kNone;
        std::size_t n = 0;
        for (std::size_t k = 0; k < stride; ++k) {
            const double value = g[k] - h * B[k];
            g[k] = value;
            D[n] = value;
            n += k != y && value > own;
        }
        double theta = n ? threshold(D, n, own, 1.0) : own;
        const bool full = theta - own >= h * c;
        if (full) theta = threshold(D, n, -h * c, 0.0);
        const double inverse = 1.0 / h;
        double total = 0.0;
        for (std::size_t k = 0; k < stride; ++k) {  // g_y is -infinity here
            step[k] = g[k] > theta ? (g[k] - theta) * inverse : 0.0;
            total += step[k];
        }
        spread(step, y, total, c, full);
        for (std::size_t k = 0; k < stride; ++k) {
            const double after = k == y ? (full || total > c ? c : total) : -step[k];
            step[k] = after - B[k];
            B[k] = after;
        }
    }

   private:
    // Rounding must not change the sum of a full row. Without any curvature it may be lost.
    void spread(double* a, std::size_t y, double total, double c, bool full) const {
        if (!full && total <= c) return;
        if (!(total > 0.0) || !std::isfinite(total)) {
            std::size_t best = y == 0;
            for (std::size_t k = 0; k < stride; ++k) {
                if (k != y && g.data()[k] > g.data()[best]) best = k;
                a[k] = 0.0;
            }
            a[best] = c;
            return;
        }
        for (std::size_t k = 0; k < stride; ++k) a[k] *= c / total;
    }
};

template <class Units, class X>
DualTally class_epoch(const X& x, const ClassState& state, const Standardization& s,
                      const ClassEpoch& epoch, std::size_t width) {
    constexpr std::size_t ahead = 4;
    Units units(state, s, width);
    ClassRow at(state.stride);
    DualTally tally;
    for (std::size_t n = 0; n < epoch.count; ++n) {
        if (n + 2 * ahead < epoch.count) x.prefetch_start(epoch.order[n + 2 * ahead]);
        if (n + ahead < epoch.count) {
            const auto soon = static_cast<std::size_t>(epoch.order[n + ahead]);
            const double* beta = epoch.beta + soon * state.stride;
            x.prefetch(soon);
            prefetch_lines(beta, beta + state.stride);
        }
        const auto l = static_cast<std::size_t>(epoch.order[n]);
        const auto y = static_cast<std::size_t>(epoch.y[l]);
        const double c = epoch.c[l], shift = shift_of(x, l);
        double* B = epoch.beta + l * state.stride;
        const auto row = x[l];
        scores(units, row, shift, at.g.data());
        at.g.data()[y] -= 1.0;

        const auto [violation, safe] = at.look(B, y, c, epoch.patience);
        if (safe) continue;
        epoch.kept[tally.kept++] = epoch.order[n];
        if (violation > tally.violation) tally.violation = violation;
        if (!(violation > 0.0)) continue;
        at.solve(B, y, c, std::fmax(epoch.norms[l] + epoch.intercept, kLeastCurvature));
        bool moved = false;
        for (std::size_t k = 0; k < state.stride; k += kRegister) {
            bool any = false;
            for (std::size_t i = 0; i < kRegister; ++i) any |= at.step.data()[k + i] != 0.0;
            if (!any) continue;
            step(units, row, shift, k, load<Register>(at.step.data() + k), epoch.intercept);
            moved = true;
        }
        tally.updates += moved;
    }
    return tally;
}

inline DualTally crammer_singer(const Rows& rows, const ClassState& state, const Standardization& s,
                                const ClassEpoch& epoch) {
    return with_training_rows(rows, [&](auto x) {
        using Standardized = std::conditional_t<x.packed, SplitClasses, CentredClasses>;
        return s.mean ? class_epoch<Standardized>(x, state, s, epoch, rows.width)
                      : class_epoch<RawClasses>(x, state, s, epoch, rows.width);
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
