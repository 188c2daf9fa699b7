// Partitions: every example is in one part, no part is too large, and two clusters are kept apart.
#include "tests/svm/svm_problems.hpp"

namespace widemargin::tests {

void test_partition(Random& random) {
    Doubles x = random.vector(2 * 203);
    for (std::size_t l = 0; l < 203; ++l) x[2 * l] += l % 2 ? 40.0 : 0.0;
    for (const double gamma : {1.0, 1e-6}) {
        const KernelFunction rbf{KernelName::rbf, gamma, 0.0, 0};
        const ComputedKernel kernel(rbf, pack(x, 2, rbf, false));
        for (const std::size_t most : {203, 102, 30, 1}) {
            Partition parts = one_part(203);
            while (halve_next(*kernel.affinity(), most, 1, parts)) {
            }
            CHECK(parts.done == 203 && parts.open.empty(), "parts of %zu", most);
            std::vector<int> seen(203);
            for (const std::int64_t id : parts.order) ++seen.at(static_cast<std::size_t>(id));
            CHECK(seen == std::vector<int>(203, 1), "parts of %zu", most);
            std::size_t begin = 0, least = 203;
            for (const std::size_t end : parts.ends) {
                least = std::min(least, end - begin);
                CHECK(end - begin <= most, "a part of %zu", end - begin);
                begin = end;
            }
            CHECK(begin == 203 && 2 * (least + 1) > most, "the least of %zu has %zu", most, least);
            for (std::size_t i = 0; most == 102 && i < parts.ends[0]; ++i) {
                CHECK(parts.order[i] % 2 == parts.order[0] % 2, "both sides in one part");
            }
            const std::size_t enough = gamma == 1.0 ? 30 : 102;
            CHECK(parts_stand_alone(kernel, parts, 1) == (most >= enough), "gamma %g, parts of %zu",
                  gamma, most);
        }
    }
}

}  // namespace widemargin::tests
