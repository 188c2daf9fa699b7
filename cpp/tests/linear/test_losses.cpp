// Losses of linear support vector machines on a line.
#include <cmath>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {

void test_losses(const Tables& tables) {
    Random random(17);
    for (std::size_t count = 0; count < 40; ++count) {
        for (int options = 0; options < 4; ++options) {
            const bool labels = options & 1, squared = options & 2;
            const Doubles f = random.vector(count), d = random.vector(count);
            Doubles target = random.vector(count), c = random.vector(count);
            const double epsilon = labels ? 0.0 : 0.2, t = 0.7;
            double value = 0.0, slope = 0.0;
            for (std::size_t l = 0; l < count; ++l) {
                c[l] = std::fabs(c[l]);
                if (labels) target[l] = target[l] > 0.0 ? 1.0 : -1.0;
                const double at = f[l] + t * d[l];
                const double sign = labels ? -target[l] : at > target[l] ? 1.0 : -1.0;
                const double xi = labels ? 1.0 - target[l] * at : sign * (at - target[l]) - epsilon;
                if (xi <= 0.0) continue;
                value += c[l] * (squared ? xi * xi : xi);
                slope += c[l] * (squared ? 2.0 * xi : 1.0) * sign * d[l];
            }
            for (const Loops* table : tables) {
                const LossSums found =
                    table->losses({count, target.data(), c.data(), epsilon, labels, squared},
                                  f.data(), d.data(), t);
                CHECK(close(found.value, value) && close(found.slope, slope),
                      "%s count %zu options %d: %g, not %g", table->isa, count, options,
                      found.value, value);
            }
        }
    }
}

}  // namespace widemargin::tests
