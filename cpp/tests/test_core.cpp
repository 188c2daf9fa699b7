// Every loop of the core, on every instruction set of this CPU, against plain loops.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {
namespace {

void test_criteria(const Kernels& table) {
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

void test_shuffle() {
    const auto shuffled = [](std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
        Order order = first_ones(count);
        shuffle(order.data(), count, seed, epoch);
        return order;
    };
    for (std::size_t count : {0, 1, 2, 3, 10, 1000}) {
        std::vector<int> seen(count);
        for (auto l : shuffled(count, 7, 2)) ++seen.at(static_cast<std::size_t>(l));
        CHECK(seen == std::vector<int>(count, 1), "count %zu", count);
    }
    CHECK(shuffled(100, 7, 2) == shuffled(100, 7, 2), "the same call twice");
    CHECK(shuffled(100, 7, 2) != shuffled(100, 8, 2), "another seed");
    CHECK(shuffled(100, 7, 2) != shuffled(100, 7, 3), "another epoch");

    // Each of the 6 orders of 3 comes up about as often: 1000 +- 4.9 standard deviations
    std::vector<int> times(27);
    for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) {
        const Order order = shuffled(3, 1, epoch);
        ++times[static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2])];
    }
    for (std::size_t code : {5, 7, 11, 15, 19, 21}) {
        CHECK(times[code] > 860 && times[code] < 1140, "order %zu: %d times", code, times[code]);
    }
}

}  // namespace

void test_stochastic_gradient(const Tables& tables);
void test_decision(const Tables& tables);
void test_combine(const Tables& tables);
void test_dual_descent(const Tables& tables);
void test_dual_course(const Tables& tables);
void test_crammer_singer(const Tables& tables);
void test_moments(const Tables& tables);
void test_kernel_perceptron(const Tables& tables);
void test_mixture_criteria(const Tables& tables);
void test_networks(const Tables& tables);
void test_committees(const Tables& tables);
void test_assignment();

}  // namespace widemargin::tests

int main() {
    using namespace widemargin::tests;
    const Tables tables = widemargin::supported_kernels();
    test_stochastic_gradient(tables);
    test_decision(tables);
    test_combine(tables);
    test_dual_descent(tables);
    test_dual_course(tables);
    test_crammer_singer(tables);
    test_moments(tables);
    test_kernel_perceptron(tables);
    test_networks(tables);
    test_mixture_criteria(tables);
    test_committees(tables);
    for (const auto* table : tables) test_criteria(*table);
    test_shuffle();
    test_assignment();
    std::printf("%d checks on", checks);
    for (const auto* table : tables) std::printf(" %s", table->isa);
    std::printf(": %d failed\n", failures);
    return failures == 0 ? 0 : 1;
}
