// Crammer and Singer's machine of K classes, one epoch of the sequential dual method (Keerthi and
// others, 2008).
//
//   min over B   1/2 sum_k |w_k|^2 - sum_l B_l,y_l            w_k = sum_l B_lk xh_l
//   subject to   B_lk <= 0 for k != y_l,  B_l,y_l <= c_l,  every row of B has sum 0
//
// Penalised intercepts are one more input, a constant of square r. Write a_k = -B_k for the classes
// k != y of an example, g_k = f_k(x) for these and g_y = f_y(x) - 1. With h = |xh|^2 + r the best
// row has, for one theta,
//
//   a_k = |D_k - theta|+ / h,   D_k = g_k + h a_k(before);
//   B_y = sum_k a_k = min(c, (theta - D_y) / h),   D_y = g_y - h B_y(before)
//
// theta is the mean of D_y and of the D_k above it. Where B_y would exceed c, theta makes the sum
// of the others h c instead.
//
// c e_y - B is a distribution of c over the classes. Shrinking: if all of it is at one class, and g
// of every other class is lower by more than `patience`, the example is set aside.
#pragma once

#include <cmath>
#include <limits>

#include "widemargin/linear/class_units.hpp"
#include "widemargin/linear/dual_descent.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

typedef std::int64_t Mask __attribute__((vector_size(sizeof(Register)), aligned(8)));

[[gnu::always_inline]] inline Register spread(double value) {
    return Register{} + value;
}
[[gnu::always_inline]] inline Register larger(Register a, Register b) {
    return a > b ? a : b;
}
[[gnu::always_inline]] inline double largest(Register values) {
    double most = values[0];
    for (std::size_t i = 1; i < kRegister; ++i) most = values[i] > most ? values[i] : most;
    return most;
}

// The row of B of one example. All loops go over whole registers, without a branch.
class ClassRow {
   public:
    explicit ClassRow(std::size_t stride) : stride_(stride), f_(stride), D_(stride) {}

    double* f() { return f_.data(); }

    struct State {
        double violation;
        bool safe;  // can be set aside
    };

    // How far the row is from the best one.
    [[gnu::always_inline]] State look(const double* B, std::size_t y, double c, double h,
                                      double patience) {
        const double* f = f_.data();
        const double g = f[y] - 1.0;
        Register most = spread(kMinusInfinity), rest = most, high = most,
                 low = spread(-kMinusInfinity);
        Register slots = Register{};
        for_classes(y, [&](std::size_t k, Mask own) {
            const Register of_class = own ? spread(kMinusInfinity) : load<Register>(f + k);
            const Register beta = load<Register>(B + k), D = of_class - h * beta;
            const Mask has = beta < 0.0;
            store(D_.data() + k, D);
            most = larger(most, D);
            rest = larger(rest, has ? spread(kMinusInfinity) : of_class);
            high = larger(high, has ? of_class : spread(kMinusInfinity));
            low = -larger(-low, has ? -of_class : spread(kMinusInfinity));
            slots += has ? spread(1.0) : Register{};
        });
        own_ = g - h * B[y];
        most_ = largest(most);
        const double others = largest(rest), lowest = -largest(-low);
        const bool left = B[y] < c;  // some of c is at the class itself
        if (sum(slots) + left == 1.0) {
            const double lead = left ? g - others : lowest - (others > g ? others : g);
            return {lead < 0.0 ? -lead : 0.0, lead > patience};
        }
        const double top = std::fmax(std::fmax(others, largest(high)), g);
        return {top - (left ? std::fmin(lowest, g) : lowest), false};
    }

    // Moves B to the best row; calls step(k, delta) for each register that moves.
    template <class Step>
    [[gnu::always_inline]] bool solve(double* B, std::size_t y, double c, double h, Step&& step) {
        // theta is at least the mean of D_y and the largest D_k, or the value for the latter alone
        double theta = threshold(0.5 * (own_ + most_), own_, 1.0);
        const bool full = theta - own_ >= h * c;
        if (full) theta = threshold(std::fmax(theta, most_ - h * c), -h * c, 0.0);
        // without curvature, rounding may leave nothing above theta: c goes to the largest
        if (full && !(theta < most_)) theta = std::nextafter(most_, kMinusInfinity);
        const double inverse = 1.0 / h;
        Register sums = Register{};
        for (std::size_t k = 0; k < stride_; k += kRegister) {
            const Register above = load<Register>(D_.data() + k) - theta;
            const Register alpha = above > 0.0 ? above * inverse : Register{};
            sums += alpha;
            store(D_.data() + k, alpha);
        }
        double total = sum(sums), scale = 1.0;
        if (full || total > c) {  // rounding must not change the sum
            scale = c / total;
            total = c;
        }
        bool moved = false;
        for_classes(y, [&](std::size_t k, Mask own) {
            const Register alpha = load<Register>(D_.data() + k) * scale;
            const Register before = load<Register>(B + k), after = own ? spread(total) : -alpha;
            const Register delta = after - before;
            if (sum(delta != 0.0 ? spread(1.0) : Register{}) == 0.0) return;
            store(B + k, after);
            step(k, delta);
            moved = true;
        });
        return moved;
    }

   private:
    // Calls step(k, mask of class y) for each register.
    template <class Step>
    [[gnu::always_inline]] void for_classes(std::size_t y, Step&& step) {
        Mask number = Mask{};
        for (std::size_t i = 0; i < kRegister; ++i) number[i] = static_cast<std::int64_t>(i);
        for (std::size_t k = 0; k < stride_; k += kRegister) {
            step(k, number == static_cast<std::int64_t>(y));
            number += static_cast<std::int64_t>(kRegister);
        }
    }

    // The mean of `more`, which has this weight, and of the D above the mean. It starts from a
    // value that is too low and rises until no more of them fall below it (Michelot, 1986).
    [[gnu::always_inline]] double threshold(double theta, double more, double weight) const {
        double before = -kMinusInfinity;
        for (;;) {
            Register sums = Register{}, counts = Register{};
            for (std::size_t k = 0; k < stride_; k += kRegister) {
                const Register D = load<Register>(D_.data() + k);
                sums += D > theta ? D : Register{};
                counts += D > theta ? spread(1.0) : Register{};
            }
            const double count = sum(counts);
            if (count >= before || count == 0.0) return theta;
            theta = (more + sum(sums)) / (count + weight);
            before = count;
        }
    }

    std::size_t stride_;
    AlignedVector f_, D_;
    double own_ = 0.0, most_ = 0.0;  // D_y, the largest D_k
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
        const double h = std::fmax(epoch.norms[l] + epoch.intercept, kSmallestCurvature);
        double* B = epoch.beta + l * state.stride;
        const auto row = x[l];
        scores(units, row, shift, at.f());
        const auto [violation, safe] = at.look(B, y, c, h, epoch.patience);
        if (safe) continue;
        epoch.kept[tally.kept++] = epoch.order[n];
        if (violation > tally.violation) tally.violation = violation;
        if (!(violation > 0.0)) continue;
        tally.updates += at.solve(B, y, c, h, [&](std::size_t k, Register delta) {
            step(units, row, shift, k, delta, epoch.intercept);
        });
    }
    return tally;
}

inline DualTally crammer_singer(const Rows& rows, const ClassState& state, const Standardization& s,
                                const ClassEpoch& epoch) {
    const auto visitor = [&]<class Units>(auto x, Units*) {
        return class_epoch<Units>(x, state, s, epoch, rows.width);
    };
    return with_units<RawClasses, CentredClasses, SplitClasses>(rows, s, visitor);
}

}  // namespace widemargin::WIDEMARGIN_ISA
