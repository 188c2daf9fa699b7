// One pass of stochastic gradient over examples, for linear models (Algorithms 3.1 and 8.1).
//
//   min over (w, b)  1/L sum_l c_l Q(y_l, f(x_l)),     f(x) = w . x + b
//   for each l:      g = Q'(y_l, f(x_l));   w -= lambda c_l g x_l;   b -= lambda c_l g
//
// Standardised inputs xh_j = (x_j - m_j) / s_j without touching the data.  With v the weights of
// xh and w_j = v_j / s_j, f(x) = w . (x - m) + b, and the step v += delta xh is
//
//   w_j += delta (x_j - m_j) / s_j^2
//
// whose centred part is the same vector for every example.  So write w = u - t q, where
// q_j = m_j / s_j^2: the step is u_j += delta x_j / s_j^2 and t += delta, which touches only the
// non-zero inputs, and exactly
//
//   f(x_l) = u . x_l - u . m - t q . (x_l - m) + b
//
// where q . (x_l - m) is a constant of the example and b - u . m a running sum.
//
// Several outputs (one against the rest) are independent problems over the same order.
#pragma once

#include "widemargin/criteria.hpp"
#include "widemargin/rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// The weights of one output during a pass.
template <bool standardized>
struct Unit {
    const Standardization& s;
    std::size_t width;
    double* u;
    double* sum_u;  // null when no average is wanted
    double b;
    double offset;                // b - u . m
    double t = 0.0;               // w = u - t q
    double q_dot_m = 0.0;
    double sum_b = 0.0, sum_t = 0.0;

    Unit(const LinearState& state, const Standardization& s, std::size_t k, std::size_t width)
        : s(s),
          width(width),
          u(state.w + k * width),
          sum_u(state.sum_w ? state.sum_w + k * width : nullptr),
          b(state.b[k]),
          offset(b) {
        if constexpr (standardized) {
            offset -= dot(u, s.mean, width);
            q_dot_m = dot(s.shift, s.mean, width);
        }
    }

    template <class Row>
    double f(const Row& x, std::size_t l) const {
        if constexpr (standardized) return x.dot(u) + (offset - t * s.row_shift[l]);
        return x.dot(u) + offset;
    }

    // v += delta xh and b += delta_b; `age` examples came before this one (for the average)
    template <class Row>
    void step(const Row& x, std::size_t l, double delta, double delta_b, double age) {
        add(x, u, delta);
        b += delta_b;
        offset += delta_b;
        if constexpr (standardized) {
            t += delta;
            offset -= delta * (s.row_shift[l] + q_dot_m);
        }
        if (sum_u) {
            add(x, sum_u, age * delta);
            sum_t += age * delta;
            sum_b += age * delta_b;
        }
    }

    // Leaves w = u - t q in place of u.
    void finish(const LinearState& state, std::size_t k) const {
        if constexpr (standardized) {
            for (std::size_t j = 0; j < width; ++j) u[j] -= t * s.shift[j];
            for (std::size_t j = 0; sum_u && j < width; ++j) sum_u[j] -= sum_t * s.shift[j];
        }
        state.b[k] = b;
        if (state.sum_b) state.sum_b[k] += sum_b;
    }

   private:
    template <class Row>
    void add(const Row& x, double* to, double delta) const {
        if constexpr (standardized) {
            x.add_to(to, delta, s.precision);
        } else {
            x.add_to(to, delta);
        }
    }
};

// The problem of output k.
template <bool standardized, class X, class Q>
Tally pass_over_output(const X& x, Q q, const LinearState& state, const Standardization& s,
                       const Pass& pass, std::size_t width, std::size_t k) {
    constexpr std::size_t ahead = 6;  // rows fetched before their turn: the order is random
    Unit<standardized> unit(state, s, k, width);
    Tally tally;
    for (std::size_t i = 0; i < pass.count; ++i) {
        if (i + 2 * ahead < pass.count) x.prefetch_start(pass.order[i + 2 * ahead]);
        if (i + ahead < pass.count) x.prefetch(pass.order[i + ahead]);
        const auto l = static_cast<std::size_t>(pass.order[i]);
        const double c = pass.weights ? pass.weights[l] : 1.0;
        if (c == 0.0) continue;  // as if the example were not there

        const double y = pass.targets == Targets::values ? pass.y[l]
                         : pass.y[l] == static_cast<double>(k) ? 1.0
                                                               : -1.0;
        const auto row = x[l];
        const double f = unit.f(row, l);
        const double g = q.derivative(y, f);
        if (g != 0.0) {
            const double delta = -pass.rate * c * g;
            unit.step(row, l, delta, pass.fit_intercept ? delta : 0.0, state.steps + i);
            ++tally.updates;
        }
        tally.criterion += c * q.value(y, f);
        tally.weight += c;
        tally.errors += c * ((f > 0.0) != (y > 0.0));  // sign(0) = -1; no branch to guess
        if (pass.scores) pass.scores[i * state.outputs + k] = f;
    }
    unit.finish(state, k);
    return tally;
}

// The weight of the examples whose largest score is not their own class.
inline double multiclass_errors(const LinearState& state, const Pass& pass) {
    double errors = 0.0;
    for (std::size_t i = 0; i < pass.count; ++i) {
        const auto l = static_cast<std::size_t>(pass.order[i]);
        const double c = pass.weights ? pass.weights[l] : 1.0;
        const double* f = pass.scores + i * state.outputs;
        std::size_t best = 0;
        for (std::size_t k = 1; k < state.outputs; ++k) {
            if (f[k] > f[best]) best = k;
        }
        if (c != 0.0 && pass.y[l] != static_cast<double>(best)) errors += c;
    }
    return errors;
}

inline Tally stochastic_gradient(const Rows& rows, const LinearState& state,
                                 const Standardization& s, const Pass& pass) {
    Tally total;
    const auto outputs = static_cast<std::int64_t>(state.outputs);
    with_rows(rows, [&](auto x) {
        with_criterion(pass.criterion, [&](auto q) {
            const auto run = [&](std::size_t k) {
                return s.precision
                           ? pass_over_output<true>(x, q, state, s, pass, rows.width, k)
                           : pass_over_output<false>(x, q, state, s, pass, rows.width, k);
            };
            std::int64_t updates = 0;
            double criterion = 0.0;
#ifdef _OPENMP
#pragma omp parallel for ordered schedule(static, 1) num_threads(pass.threads) \
    if (pass.threads > 1 && outputs > 1)
#endif
            for (std::int64_t k = 0; k < outputs; ++k) {
                const Tally tally = run(static_cast<std::size_t>(k));
#ifdef _OPENMP
#pragma omp ordered
#endif
                {  // in the order of k: the sum does not depend on the number of threads
                    updates += tally.updates;
                    criterion += tally.criterion;
                    total.errors = tally.errors;
                    total.weight = tally.weight;
                }
            }
            total.updates = updates;
            total.criterion = criterion;
        });
    });
    if (pass.scores) total.errors = multiclass_errors(state, pass);
    return total;
}

}  // namespace widemargin::WIDEMARGIN_ISA
