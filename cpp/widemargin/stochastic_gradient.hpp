// One pass of stochastic gradient over examples, for linear models (Algorithms 3.1 and 8.1).
//
//   min over (w, b)  1/L sum_l c_l Q(y_l, f(x_l)),     f(x) = w . x + b
//   for each l:      g = Q'(y_l, f(x_l));   w -= lambda c_l g x_l;   b -= lambda c_l g
//
// Standardised inputs xh_j = (x_j - m_j) / s_j are made on the way, the data stay as they are.
// With v the weights of xh and w_j = v_j / s_j, f(x) = w . (x - m) + b, and v += delta xh is
//
//   w_j += delta (x_j - m_j) / s_j^2
//
// Dense rows do just that.  Packed rows train v itself.  Their inputs are xh, or, where most are
// zero, z with xh = z - c and c the same for every example.  Write v = u - t c: the step is
// u += delta z and t += delta, which touches only the non-zero inputs, and exactly
//
//   f(x_l) = u . z_l - u . c - t c . (z_l - c) + b
//
// where c . (z_l - c) is a constant of the example and b - u . c a running sum.
//
// Several outputs (one against the rest) are independent problems over the same order.
#pragma once

#include <new>
#include <type_traits>

#include "widemargin/criteria.hpp"
#include "widemargin/packed_rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// The weights of one output during a pass, and the sums that make their average.
struct Unit {
    std::size_t width;
    AlignedVector w, sum_w;
    bool averaged;
    double b, sum_b = 0.0;

    Unit(const LinearState& state, std::size_t k, std::size_t width)
        : width(width),
          w(width),
          sum_w(state.sum_w ? width : 0),
          averaged(state.sum_w != nullptr),
          b(state.b[k]) {
        for (std::size_t j = 0; j < width; ++j) w.data()[j] = state.w[k * width + j];
    }

    void finish(const LinearState& state, std::size_t k) const {
        for (std::size_t j = 0; j < width; ++j) {
            state.w[k * width + j] = w.data()[j];
            if (averaged) state.sum_w[k * width + j] += sum_w.data()[j];
        }
        state.b[k] = b;
        if (averaged) state.sum_b[k] += sum_b;
    }
};

// Inputs as they are.
struct RawUnit : Unit {
    RawUnit(const LinearState& state, const Standardization&, std::size_t k, std::size_t width)
        : Unit(state, k, width) {}

    template <class Row>
    [[gnu::always_inline]] double f(const Row& x, double) const {
        return x.dot(w.data()) + b;
    }

    // `age` examples came before this one (for the average)
    template <class Row>
    [[gnu::always_inline]] void step(const Row& x, double, double delta, double delta_b,
                                     double age) {
        x.add_to(w.data(), delta);
        b += delta_b;
        if (averaged) {
            x.add_to(sum_w.data(), age * delta);
            sum_b += age * delta_b;
        }
    }
};

// Standardised dense inputs.
struct CentredUnit : Unit {
    AlignedVector mean, precision;  // m, 1 / s^2

    CentredUnit(const LinearState& state, const Standardization& s, std::size_t k,
                std::size_t width)
        : Unit(state, k, width), mean(width), precision(width) {
        for (std::size_t j = 0; j < width; ++j) {
            mean.data()[j] = s.mean[j];
            precision.data()[j] = 1.0 / (s.scale[j] * s.scale[j]);
        }
    }

    template <class Row>
    [[gnu::always_inline]] double f(const Row& x, double) const {
        return x.dot(w.data(), mean.data()) + b;
    }

    template <class Row>
    [[gnu::always_inline]] void step(const Row& x, double, double delta, double delta_b,
                                     double age) {
        x.add_to(w.data(), delta, precision.data(), mean.data());
        b += delta_b;
        if (averaged) {
            x.add_to(sum_w.data(), age * delta, precision.data(), mean.data());
            sum_b += age * delta_b;
        }
    }
};

// Standardised packed inputs: during the pass w holds u.
struct SplitUnit : Unit {
    const double* c;
    double c_dot_c;
    double offset;  // b - u . c
    double t = 0.0, sum_t = 0.0;

    SplitUnit(const LinearState& state, const Standardization& s, std::size_t k, std::size_t width)
        : Unit(state, k, width),
          c(s.mean),
          c_dot_c(dot(c, c, width)),
          offset(b - dot(w.data(), c, width)) {}

    template <class Row>
    [[gnu::always_inline]] double f(const Row& z, double shift) const {
        return z.dot(w.data()) + (offset - t * shift);
    }

    template <class Row>
    [[gnu::always_inline]] void step(const Row& z, double shift, double delta, double delta_b,
                                     double age) {
        z.add_to(w.data(), delta);
        t += delta;
        b += delta_b;
        offset += delta_b - delta * (shift + c_dot_c);
        if (averaged) {
            z.add_to(sum_w.data(), age * delta);
            sum_t += age * delta;
            sum_b += age * delta_b;
        }
    }

    void finish(const LinearState& state, std::size_t k) {
        for (std::size_t j = 0; j < width; ++j) {
            w.data()[j] -= t * c[j];
            if (averaged) sum_w.data()[j] -= sum_t * c[j];
        }
        Unit::finish(state, k);
    }
};

// A few examples: what they need beside their inputs is gathered before, and what is only counted
// is counted after the steps, both without waiting for one another.
struct Batch {
    static constexpr std::size_t kSize = 64;
    std::size_t count;
    double y[kSize], c[kSize], shift[kSize], f[kSize];

    Batch(const Pass& pass, std::size_t first)
        : count(pass.count - first < kSize ? pass.count - first : kSize) {}

    void gather(const Pass& pass, std::size_t first, std::size_t k) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto l = static_cast<std::size_t>(pass.order[first + i]);
            y[i] = target(pass.targets, pass.y[l], k);
            c[i] = pass.weights ? pass.weights[l] : 1.0;
            shift[i] = 0.0;
        }
    }

    template <class Q>
    void add_to(Tally& tally, Q q) const {
        double criterion = 0.0, errors = 0.0, weight = 0.0;
#pragma omp simd reduction(+ : criterion, errors, weight)
        for (std::size_t i = 0; i < count; ++i) {
            criterion += c[i] * q.value(y[i], f[i]);
            errors += (f[i] > 0.0) != (y[i] > 0.0) ? c[i] : 0.0;  // sign(0) = -1
            weight += c[i];
        }
        tally.criterion += criterion;
        tally.errors += errors;
        tally.weight += weight;
    }
};

// The problem of output k.
template <class Weights, class X, class Q>
Tally pass_over_output(const X& x, Q q, const LinearState& state, const Standardization& s,
                       const Pass& pass, std::size_t width, std::size_t k) {
    constexpr std::size_t ahead = 12;  // rows fetched before their turn: the order is random
    Weights unit(state, s, k, width);
    Tally tally;
    for (std::size_t first = 0; first < pass.count; first += Batch::kSize) {
        Batch batch(pass, first);
        if constexpr (!X::packed) batch.gather(pass, first, k);
        for (std::size_t i = 0; i < batch.count; ++i) {
            const std::size_t n = first + i;  // examples before this one
            if (n + 2 * ahead < pass.count) x.prefetch_start(pass.order[n + 2 * ahead]);
            if (n + ahead < pass.count) x.prefetch(pass.order[n + ahead]);
            const auto row = x[static_cast<std::size_t>(pass.order[n])];
            if constexpr (X::packed) {
                batch.y[i] = target(pass.targets, row.header.y, k);
                batch.c[i] = row.header.c;
                batch.shift[i] = row.header.shift;
            }
            batch.f[i] = unit.f(row, batch.shift[i]);
            if (q.active(batch.y[i], batch.f[i]) && batch.c[i] != 0.0) {
                const double delta = -pass.rate * batch.c[i] * q.slope(batch.y[i], batch.f[i]);
                const double delta_b = pass.fit_intercept ? delta : 0.0;
                unit.step(row, batch.shift[i], delta, delta_b, state.steps + n);
                ++tally.updates;
            }
            if (pass.scores) pass.scores[n * state.outputs + k] = batch.f[i];
        }
        batch.add_to(tally, q);
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
    with_training_rows(rows, [&](auto x) {
        with_criterion(pass.criterion, [&](auto q) {
            const auto run = [&](std::size_t k) {
                using Standardized = std::conditional_t<x.packed, SplitUnit, CentredUnit>;
                return s.mean ? pass_over_output<Standardized>(x, q, state, s, pass, rows.width, k)
                              : pass_over_output<RawUnit>(x, q, state, s, pass, rows.width, k);
            };
            std::int64_t updates = 0;
            double criterion = 0.0;
            bool out_of_memory = false;  // no exception may leave a parallel loop
#ifdef _OPENMP
#pragma omp parallel for ordered schedule(static, 1) \
    num_threads(pass.threads) if (pass.threads > 1 && outputs > 1)
#endif
            for (std::int64_t k = 0; k < outputs; ++k) {
                Tally tally;
                bool failed = false;
                try {
                    tally = run(static_cast<std::size_t>(k));
                } catch (const std::bad_alloc&) {
                    failed = true;
                }
#ifdef _OPENMP
#pragma omp ordered
#endif
                {  // in the order of k: the sum does not depend on the number of threads
                    updates += tally.updates;
                    criterion += tally.criterion;
                    total.errors = tally.errors;
                    total.weight = tally.weight;
                    out_of_memory |= failed;
                }
            }
            if (out_of_memory) throw std::bad_alloc();
            total.updates = updates;
            total.criterion = criterion;
        });
    });
    if (pass.scores) total.errors = multiclass_errors(state, pass);
    return total;
}

}  // namespace widemargin::WIDEMARGIN_ISA
