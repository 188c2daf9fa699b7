// The decomposition algorithm and its steps, on the instruction set that WIDEMARGIN_ISA names,
// against plain steps of two variables. Returns 77 if this CPU does not have that set.
#include "tests/checks.hpp"

namespace widemargin::tests {

void test_pair_steps(Random& random);
void test_row_cache(Random& random);
void test_partition(Random& random);
void test_decomposition(Random& random);
void test_first_solution(Random& random);

}  // namespace widemargin::tests

int main() {
    using namespace widemargin::tests;
    return run_tests(2, {test_pair_steps, test_row_cache, test_partition, test_decomposition,
                         test_first_solution});
}
