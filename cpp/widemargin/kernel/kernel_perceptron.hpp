// One block of examples of the dual perceptron (Yuille 2.5).
//
//   f(x) = sum_l alpha_l y_l k(x_l, x) + b
//   for each l in the block, if l is misclassified:
//       alpha_l += lambda c_l;   b += lambda c_l y_l R^2
//
// Inside the block the effect of a step on the examples that follow comes from the tile of the
// kernel; what the block changes outside is one matrix product, done once by the caller.
#pragma once

#include "widemargin/linear/criteria.hpp"

namespace widemargin::WIDEMARGIN_ISA {

inline std::size_t largest(const double* f, const double* b, std::size_t outputs) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < outputs; ++k) {
        if (f[k] + b[k] > f[best] + b[best]) best = k;
    }
    return best;
}

inline Tally kernel_perceptron(const KernelBlock& block) {
    const std::size_t n = block.count, outputs = block.outputs;
    Tally tally;
    with_criterion(block.criterion, [&](auto q) {
        for (std::size_t l = 0; l < n; ++l) {
            const double c = block.weights ? block.weights[l] : 1.0;
            if (c == 0.0) continue;
            double* f = block.f + l * outputs;
            const bool wrong =
                block.targets == Targets::values
                    ? (f[0] + block.b[0] > 0.0) != (block.y[l] > 0.0)
                    : static_cast<double>(largest(f, block.b, outputs)) != block.y[l];
            if (wrong) tally.errors += c;
            tally.weight += c;

            for (std::size_t k = 0; k < outputs; ++k) {
                const double y = target(block.targets, block.y[l], k);
                const double score = f[k] + block.b[k];
                tally.criterion += c * q.value(y, score);
                if (!q.active(y, score)) continue;
                const double delta = -c * q.slope(y, score);
                block.step[l * outputs + k] += block.rate * delta;
                block.b[k] += block.bias_rate * delta;
                ++tally.updates;
                const double* row = block.tile + l * n;
                for (std::size_t m = l + 1; m < n; ++m) {
                    block.f[m * outputs + k] += block.rate * delta * row[m];
                }
            }
        }
    });
    return tally;
}

}  // namespace widemargin::WIDEMARGIN_ISA
