// Every table of loops is complete: a designated initialiser that is missing would be a null
// pointer.
#include <cstring>

#include "tests/checks.hpp"

namespace widemargin::tests {

void test_tables(const Tables& tables) {
    constexpr std::size_t entries = sizeof(Loops) / sizeof(void*);
    static_assert(sizeof(Loops) == entries * sizeof(void*), "a table holds pointers only");
    for (const Loops* table : tables) {
        const void* pointers[entries];
        std::memcpy(pointers, table, sizeof(Loops));
        for (std::size_t i = 0; i < entries; ++i) {
            CHECK(pointers[i] != nullptr, "entry %zu of the table of %s", i, table->isa);
        }
    }
}

}  // namespace widemargin::tests
