// Criteria and their derivatives, also at the kinks.
#include <cmath>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {
namespace {

void test_values(const Loops& table) {
    Doubles y, f;
    for (double target : {-1.0, 1.0}) {
        for (double output = -3.0; output <= 3.0; output += 0.0625) {
            y.push_back(target);
            f.push_back(output);
        }
    }
    const double kink[] = {0.0, 0.7, -0.7, 1.2, 0.8};  // z = 0, beta and y +- epsilon
    for (double output : kink) {
        y.push_back(1.0);
        f.push_back(output);
    }
    for (const Criterion& q : criteria) {
        Doubles value(y.size()), derivative(y.size());
        table.criterion(q, y.size(), y.data(), f.data(), value.data(), derivative.data());
        for (std::size_t l = 0; l < y.size(); ++l) {
            CHECK(close(value[l], plain_value(q, y[l], f[l])) &&
                      close(derivative[l], plain_derivative(q, y[l], f[l])),
                  "%s criterion %d at y=%g f=%g", table.isa, static_cast<int>(q.name), y[l], f[l]);
        }
        const double one = 1.0;
        double lost = 0.0, slope = 0.0;
        table.criterion(q, 1, &one, &kNaN, &lost, &slope);
        CHECK(std::isnan(lost), "%s criterion %d of NaN", table.isa, static_cast<int>(q.name));
    }
}

}  // namespace

void test_criteria(const Tables& tables) {
    for (const Loops* table : tables) test_values(*table);
}

}  // namespace widemargin::tests
