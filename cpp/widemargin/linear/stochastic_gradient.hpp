// One pass of stochastic gradient over examples, for linear models (Algorithms 3.1 and 8.1, and
// with weight decay mu eq. 8.16).
//
//   min over (w, b)  mu/2 ||w||^2 + 1/L sum_l c_l Q(y_l, f(x_l)),     f(x) = w . x + b
//   for each l:      g = Q'(y_l, f(x_l))
//                    w <- (1 - lambda mu) w - lambda c_l g x_l;   b -= lambda c_l g
//
// Units (linear_units.hpp) hold the weights of one output and make its steps, with or without
// standardisation on the fly and weight decay.
//
// Several outputs (one against the rest) are independent problems over the same order.
#pragma once

#include <type_traits>

#include "widemargin/base/parallel.hpp"
#include "widemargin/linear/criteria.hpp"
#include "widemargin/linear/linear_units.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// A chunk of examples. Their targets and weights are gathered before the steps, and their costs are
// summed after them, so that neither waits for the other.
struct Chunk {
    static constexpr std::size_t kExamples = 64;
    std::size_t count;
    double y[kExamples], c[kExamples], shift[kExamples], f[kExamples];

    Chunk(const Pass& pass, std::size_t first)
        : count(pass.count - first < kExamples ? pass.count - first : kExamples) {}

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
    constexpr std::size_t ahead = 12;  // rows are fetched so early, since the order is random
    Weights unit(state, s, k, width);
    Tally tally;
    for (std::size_t first = 0; first < pass.count; first += Chunk::kExamples) {
        Chunk chunk(pass, first);
        if constexpr (!X::packed) chunk.gather(pass, first, k);
        for (std::size_t i = 0; i < chunk.count; ++i) {
            const std::size_t n = first + i;  // examples before this one
            if (n + 2 * ahead < pass.count) x.prefetch_start(pass.order[n + 2 * ahead]);
            if (n + ahead < pass.count) x.prefetch(pass.order[n + ahead]);
            const auto row = x[static_cast<std::size_t>(pass.order[n])];
            if constexpr (X::packed) {
                chunk.y[i] = target(pass.targets, row.header.y, k);
                chunk.c[i] = row.header.c;
                chunk.shift[i] = row.header.shift;
            }
            chunk.f[i] = unit.f(row, chunk.shift[i]);
            const double rate = unit.rate(pass, n);
            unit.decay(rate, pass.mu);
            if (q.active(chunk.y[i], chunk.f[i]) && chunk.c[i] != 0.0) {
                const double delta = -rate * chunk.c[i] * q.slope(chunk.y[i], chunk.f[i]);
                const double delta_b = pass.fit_intercept ? delta : 0.0;
                unit.step(row, chunk.shift[i], delta, delta_b, state.steps + n);
                ++tally.updates;
            }
            unit.count();
            if (pass.scores) pass.scores[n * state.outputs + k] = chunk.f[i];
        }
        chunk.add_to(tally, q);
    }
    unit.finish(state, k, pass.count);
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
            using Standardized = std::conditional_t<x.packed, SplitUnit, CentredUnit>;
            const auto run = [&](std::size_t k) {
                const auto with = [&]<class Weights>() {
                    return pass_over_output<Weights>(x, q, state, s, pass, rows.width, k);
                };
                if (pass.mu != 0.0 || pass.slowing != 0.0) {
                    return s.mean ? with.template operator()<Decayed<Standardized>>()
                                  : with.template operator()<Decayed<RawUnit>>();
                }
                return s.mean ? with.template operator()<Standardized>()
                              : with.template operator()<RawUnit>();
            };
            std::int64_t updates = 0;
            double criterion = 0.0;
            FirstException failure;
#ifdef _OPENMP
#pragma omp parallel for ordered schedule(static, 1) \
    num_threads(pass.threads) if (pass.threads > 1 && outputs > 1)
#endif
            for (std::int64_t k = 0; k < outputs; ++k) {
                Tally tally;
                failure.run([&] { tally = run(static_cast<std::size_t>(k)); });
#ifdef _OPENMP
#pragma omp ordered
#endif
                {  // in the order of k, so that the sum does not depend on the number of threads
                    updates += tally.updates;
                    criterion += tally.criterion;
                    total.errors = tally.errors;
                    total.weight = tally.weight;
                }
            }
            failure.rethrow();
            total.updates = updates;
            total.criterion = criterion;
        });
    });
    if (pass.scores) total.errors = multiclass_errors(state, pass);
    return total;
}

}  // namespace widemargin::WIDEMARGIN_ISA
