// Every loop of the core, on every instruction set of this CPU, against plain loops.
#include <cstdio>

#include "tests/checks.hpp"

namespace widemargin::tests {

void test_lanes(const Tables& tables);
void test_parallel(const Tables& tables);
void test_shuffle();
void test_tables(const Tables& tables);
void test_decision(const Tables& tables);
void test_combine(const Tables& tables);
void test_moments(const Tables& tables);
void test_criteria(const Tables& tables);
void test_stochastic_gradient(const Tables& tables);
void test_dual_descent(const Tables& tables);
void test_dual_epochs(const Tables& tables);
void test_losses(const Tables& tables);
void test_crammer_singer(const Tables& tables);
void test_kernel_perceptron(const Tables& tables);
void test_networks(const Tables& tables);
void test_committees(const Tables& tables);
void test_mixture_criteria(const Tables& tables);
void test_assignment();

}  // namespace widemargin::tests

int main() {
    using namespace widemargin::tests;
    const Tables tables = widemargin::supported_loops();
    for (const auto test :
         {test_lanes, test_parallel, test_tables, test_decision, test_combine, test_moments,
          test_criteria, test_stochastic_gradient, test_dual_descent, test_dual_epochs, test_losses,
          test_crammer_singer, test_kernel_perceptron, test_networks, test_committees,
          test_mixture_criteria}) {
        test(tables);
    }
    test_shuffle();
    test_assignment();
    std::printf("%d checks on", checks);
    for (const auto* table : tables) std::printf(" %s", table->isa);
    std::printf(": %d failed\n", failures);
    return failures == 0 ? 0 : 1;
}
