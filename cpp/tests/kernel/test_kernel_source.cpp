// Computed and given kernels have the same rows, over all examples and over some.
#include <algorithm>
#include <cmath>

#include "tests/kernel/kernel_examples.hpp"
#include "widemargin/kernel/kernel_source.hpp"

namespace widemargin::tests {

// A given kernel agrees with a computed one, whose diagonal and frames are right.
void test_kernel_source(Random& random) {
    Data data = make_data(random, Kind::numbers, 37, true);
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    const Selection selection{&stored, every.data(), every.size()};
    for (const KernelFunction& kernel : kernel_functions) {
        const auto packed =
            std::make_shared<PackedExamples>(selection, choose_encoding(kernel, {selection}, true));
        const ComputedKernel computed(kernel, packed);
        const auto all = compute(kernel, packed->view(), every, packed->view()).rows;
        Doubles diagonal(data.count);
        computed.diagonal(diagonal.data());
        for (std::size_t l = 0; l < data.count; ++l) {
            CHECK(diagonal[l] == all[l][l], "k(%zu, %zu)", l, l);
        }
        const GivenKernel given(data.count, diagonal,
                                [&](const std::int64_t* ids, std::size_t n, double* out) {
                                    for (std::size_t r = 0; r < n; ++r) {
                                        const Doubles& row = all[static_cast<std::size_t>(ids[r])];
                                        std::copy_n(row.begin(), data.count, out + r * data.count);
                                    }
                                });
        const Order rows = random_order(random, data.count, 150);
        for (const Order& places : {Order(), Order{5}, random_order(random, data.count, 23)}) {
            const std::size_t n = places.empty() ? data.count : places.size();
            const Doubles coef = random.vector(2 * rows.size());
            Doubles sums[2];
            for (const KernelSource* source : {static_cast<const KernelSource*>(&computed),
                                               static_cast<const KernelSource*>(&given)}) {
                const auto frame = source->frame(places.empty() ? nullptr : places.data(), n);
                Doubles& f = sums[source == &given];
                f.assign(2 * rounded_to_blocks(n), 0.0);
                Doubles last(rounded_to_blocks(n), kNaN);
                std::vector<void*> keep(rows.size(), nullptr);
                keep.back() = last.data();
                source->rows(rows.data(), rows.size(), *frame,
                             {0, rounded_to_blocks(n) / kBlock, 2, coef.data(), f.data(),
                              rounded_to_blocks(n), keep.data(), 1});
                for (std::size_t b = 0; b < n; ++b) {
                    const std::size_t l = places.empty() ? b : static_cast<std::size_t>(places[b]);
                    CHECK(last[b] == all[static_cast<std::size_t>(rows.back())][l], "at %zu", b);
                }
            }
            for (std::size_t i = 0; i < sums[0].size(); ++i) {
                if (i % rounded_to_blocks(n) >= n) continue;
                CHECK(std::fabs(sums[0][i] - sums[1][i]) <= 1e-12 * (1.0 + std::fabs(sums[0][i])),
                      "at %zu: %g, %g", i, sums[0][i], sums[1][i]);
            }
        }
    }
}

}  // namespace widemargin::tests
