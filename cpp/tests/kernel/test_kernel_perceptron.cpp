#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {

// The dual perceptron is the primal one with inner products for a kernel. With weight decay, all
// coefficients shrink at each example; a rate of 1/mu forgets them.
void test_kernel_perceptron(const Tables& tables) {
    Random random(5);
    for (std::size_t count = 1; count <= 40; ++count) {
        for (int options = 0; options < 16; ++options) {
            const std::size_t outputs = options & 1 ? 3 : 1;
            const bool weighted = options & 2;
            const Criterion q = criteria[random.below(std::size(criteria))];
            const Doubles y = random_targets(random, count, outputs);
            const Doubles weights = random_weights(random, count), b0 = random.vector(outputs);
            const Doubles f0 = random.vector(count * outputs);
            Doubles tile(count * count);
            for (std::size_t l = 0; l < count; ++l) {
                for (std::size_t m = 0; m <= l; ++m) {
                    tile[l * count + m] = tile[m * count + l] = random.centred();
                }
            }
            const double rate = 0.5, bias_rate = 0.2;
            const double mu = options & 4 ? (options & 8 ? 2.0 : 0.3) : 0.0;
            const double slowing = options & 8 ? 0.1 : 0.0;

            Tally tally;
            Doubles step(count * outputs), b = b0;
            double shrunk = 1.0;
            for (std::size_t l = 0; l < count; ++l) {
                const double c = weighted ? weights[l] : 1.0;
                if (c == 0.0) continue;
                Doubles f(outputs);
                for (std::size_t k = 0; k < outputs; ++k) {
                    f[k] = shrunk * f0[l * outputs + k] + b[k];
                    for (std::size_t m = 0; m < l; ++m) {
                        f[k] += step[m * outputs + k] * tile[m * count + l];
                    }
                }
                if (misclassified(f, y[l])) tally.errors += c;
                tally.weight += c;
                const double slower = 1.0 + slowing * static_cast<double>(l);
                const double left = 1.0 - rate / slower * mu;
                shrunk *= left;
                for (double& s : step) s *= left;
                for (std::size_t k = 0; k < outputs; ++k) {
                    const double y_k = target(y, l, k, outputs);
                    const double delta = -c * plain_derivative(q, y_k, f[k]);
                    step[l * outputs + k] += rate / slower * delta;
                    b[k] += bias_rate / slower * delta;
                    tally.updates += delta != 0.0;
                    tally.criterion += c * plain_value(q, y_k, f[k]);
                }
            }

            for (const Loops* table : tables) {
                Doubles f = f0, found_b = b0, found(count * outputs);
                double factor = 0.0;
                const Tally sums = table->kernel_perceptron(
                    {tile.data(), count, outputs, y.data(), weighted ? weights.data() : nullptr,
                     outputs > 1 ? Targets::one_against_rest : Targets::values, q, rate, bias_rate,
                     f.data(), found_b.data(), found.data(), mu, slowing, &factor});
                CHECK(close(sums, tally), "%s count %zu options %d", table->isa, count, options);
                CHECK(close(found, step) && close(found_b, b) && close(factor, shrunk),
                      "%s count %zu options %d criterion %d", table->isa, count, options,
                      static_cast<int>(q.name));
            }
        }
    }
}

}  // namespace widemargin::tests
