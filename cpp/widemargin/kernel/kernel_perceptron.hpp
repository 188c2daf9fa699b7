// One chunk of examples of the dual perceptron (Yuille 2.5), or of stochastic gradient with weight
// decay in the dual (8.17).
//
//   f(x) = sum_l alpha_l y_l k(x_l, x) + b
//   for each l in the chunk:
//       alpha <- (1 - lambda mu) alpha
//       if l was misclassified, or inside the margin:
//           alpha_l += lambda c_l;   b += lambda c_l y_l R^2
//
// (The alpha of (8.17) are mu times these.) With decay alpha = a v, and only a shrinks at each
// example: steps are divided by a. Before a becomes so small that digits are lost, v takes it over.
//
// Inside the chunk, the tile of the kernel gives the effect of a step on the examples that follow.
// The effect on all other examples is one matrix product, which the caller computes once.
#pragma once

#include "widemargin/kernel/types.hpp"
#include "widemargin/linear/criteria.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr double kSmallestScale = 1e-3;  // of a

inline std::size_t largest(const double* f, const double* b, double a, std::size_t outputs) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < outputs; ++k) {
        if (a * f[k] + b[k] > a * f[best] + b[best]) best = k;
    }
    return best;
}

inline Tally kernel_perceptron(const DualPerceptronChunk& chunk) {
    const std::size_t n = chunk.count, outputs = chunk.outputs;
    Tally tally;
    double a = 1.0, shrunk = 1.0;  // a, and by what v was multiplied when it took a over
    with_criterion(chunk.criterion, [&](auto q) {
        for (std::size_t l = 0; l < n; ++l) {
            const double c = chunk.weights ? chunk.weights[l] : 1.0;
            if (c == 0.0) continue;
            double* f = chunk.f + l * outputs;
            const bool wrong =
                chunk.targets == Targets::values
                    ? (a * f[0] + chunk.b[0] > 0.0) != (chunk.y[l] > 0.0)
                    : static_cast<double>(largest(f, chunk.b, a, outputs)) != chunk.y[l];
            if (wrong) tally.errors += c;
            tally.weight += c;

            const double slower = 1.0 + chunk.slowing * static_cast<double>(l);
            const double rate = chunk.rate / slower, bias_rate = chunk.bias_rate / slower;
            const double before = a;
            a *= 1.0 - rate * chunk.mu;
            if (a < kSmallestScale) {
                for (std::size_t i = 0; i < l * outputs; ++i) chunk.step[i] *= a;
                for (std::size_t i = (l + 1) * outputs; i < n * outputs; ++i) chunk.f[i] *= a;
                shrunk *= a;
                a = 1.0;
            }
            for (std::size_t k = 0; k < outputs; ++k) {
                const double y = target(chunk.targets, chunk.y[l], k);
                const double score = before * f[k] + chunk.b[k];
                tally.criterion += c * q.value(y, score);
                if (!q.active(y, score)) continue;
                const double delta = -c * q.slope(y, score);
                const double step = rate * delta / a;
                chunk.step[l * outputs + k] += step;
                chunk.b[k] += bias_rate * delta;
                ++tally.updates;
                const double* row = chunk.tile + l * n;
                for (std::size_t m = l + 1; m < n; ++m) {
                    chunk.f[m * outputs + k] += step * row[m];
                }
            }
        }
    });
    for (std::size_t i = 0; i < n * outputs; ++i) chunk.step[i] *= a;
    if (chunk.shrunk) *chunk.shrunk = shrunk * a;
    return tally;
}

}  // namespace widemargin::WIDEMARGIN_ISA
