// One chunk of examples of the dual perceptron (Yuille 2.5).
//
//   f(x) = sum_l alpha_l y_l k(x_l, x) + b
//   for each l in the chunk, if l is misclassified:
//       alpha_l += lambda c_l;   b += lambda c_l y_l R^2
//
// Inside the chunk, the tile of the kernel gives the effect of a step on the examples that follow.
// The effect on all other examples is one matrix product, which the caller computes once.
#pragma once

#include "widemargin/kernel/types.hpp"
#include "widemargin/linear/criteria.hpp"

namespace widemargin::WIDEMARGIN_ISA {

inline std::size_t largest(const double* f, const double* b, std::size_t outputs) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < outputs; ++k) {
        if (f[k] + b[k] > f[best] + b[best]) best = k;
    }
    return best;
}

inline Tally kernel_perceptron(const DualPerceptronChunk& chunk) {
    const std::size_t n = chunk.count, outputs = chunk.outputs;
    Tally tally;
    with_criterion(chunk.criterion, [&](auto q) {
        for (std::size_t l = 0; l < n; ++l) {
            const double c = chunk.weights ? chunk.weights[l] : 1.0;
            if (c == 0.0) continue;
            double* f = chunk.f + l * outputs;
            const bool wrong =
                chunk.targets == Targets::values
                    ? (f[0] + chunk.b[0] > 0.0) != (chunk.y[l] > 0.0)
                    : static_cast<double>(largest(f, chunk.b, outputs)) != chunk.y[l];
            if (wrong) tally.errors += c;
            tally.weight += c;

            for (std::size_t k = 0; k < outputs; ++k) {
                const double y = target(chunk.targets, chunk.y[l], k);
                const double score = f[k] + chunk.b[k];
                tally.criterion += c * q.value(y, score);
                if (!q.active(y, score)) continue;
                const double delta = -c * q.slope(y, score);
                chunk.step[l * outputs + k] += chunk.rate * delta;
                chunk.b[k] += chunk.bias_rate * delta;
                ++tally.updates;
                const double* row = chunk.tile + l * n;
                for (std::size_t m = l + 1; m < n; ++m) {
                    chunk.f[m * outputs + k] += chunk.rate * delta * row[m];
                }
            }
        }
    });
    return tally;
}

}  // namespace widemargin::WIDEMARGIN_ISA
