// The decomposition algorithm and its parts, on the instruction set that WIDEMARGIN_ISA names (77:
// this CPU has no such set), against plain steps of two variables.
#include "tests/checks.hpp"

namespace widemargin::tests {

void test_pair_steps(Random& random);
void test_row_cache(Random& random);
void test_partition(Random& random);
void test_decomposition(Random& random);
void test_divide(Random& random);

}  // namespace widemargin::tests

int main() {
    using namespace widemargin::tests;
    return run_tests(
        2, {test_pair_steps, test_row_cache, test_partition, test_decomposition, test_divide});
}
