// A kernel matrix that is computed once has the rows of the kernel itself, bit by bit.
#include <algorithm>

#include "tests/kernel/kernel_examples.hpp"
#include "widemargin/kernel/kernel_matrix.hpp"

namespace widemargin::tests {
namespace {

using Bytes = std::vector<unsigned char>;

struct Found {
    Doubles f, diagonal;
    Bytes kept;
};

// Two outputs of some rows over some places, the last row, and the diagonal.
Found found(const KernelSource& source, const Order& rows, const Order& places,
            const Doubles& coef) {
    const std::size_t n = places.empty() ? source.count() : places.size();
    const std::size_t stride = rounded_to_blocks(n);
    Found result{Doubles(2 * stride), Doubles(source.count()), Bytes(stride * 8)};
    std::vector<void*> keep(rows.size(), nullptr);
    keep.back() = result.kept.data();
    const auto frame = source.frame(places.empty() ? nullptr : places.data(), n);
    for (std::size_t block = 0; block < stride / kBlock; ++block) {
        source.rows(rows.data(), rows.size(), *frame,
                    {block, block + 1, 2, coef.data(), result.f.data(), stride, keep.data(), 1});
    }
    result.kept.resize(n * source.value_bytes());
    source.diagonal(result.diagonal.data());
    return result;
}

}  // namespace

void test_kernel_matrix(Random& random) {
    for (const Kind kind : {Kind::numbers, Kind::sparse}) {
        Data data = make_data(random, kind, 300, true);
        const Rows stored = data.dense();
        const Order every = first_ones(data.count);
        const Selection selection{&stored, every.data(), every.size()};
        for (const KernelFunction& kernel : kernel_functions) {
            for (const bool wide : {false, true}) {
                const auto packed = std::make_shared<PackedExamples>(
                    selection, choose_encoding(kernel, {selection}, wide));
                const auto matrix = std::make_shared<KernelMatrix>(kernel, packed);
                CHECK(!matrix->complete(), "nothing is computed");
                std::size_t calls = 0;
                while (!matrix->compute(0.0, 1 + static_cast<int>(calls % 2))) ++calls;
                CHECK(calls > 0 && matrix->complete(), "%zu calls", calls);

                Order members = random_order(random, data.count, 111);
                std::sort(members.begin(), members.begin() + 60);
                const MatrixKernel shared(matrix, members);
                const ComputedKernel own(kernel, std::make_shared<PackedExamples>(packed->gather(
                                                     members.data(), members.size())));
                CHECK(shared.count() == own.count(), "%zu examples", shared.count());
                const Order rows = random_order(random, members.size(), 19);
                const Doubles coef = random.vector(2 * rows.size());
                for (const Order& places :
                     {Order(), Order{5}, random_order(random, members.size(), 45)}) {
                    const Found a = found(shared, rows, places, coef);
                    const Found b = found(own, rows, places, coef);
                    CHECK(a.kept == b.kept, "a row over %zu places", places.size());
                    CHECK(a.diagonal == b.diagonal, "the diagonal");
                    const std::size_t n = places.empty() ? own.count() : places.size();
                    for (std::size_t i = 0; i < n; ++i) {
                        CHECK(std::fabs(a.f[i] - b.f[i]) <= 1e-12 * (1.0 + std::fabs(b.f[i])),
                              "at %zu: %g, %g", i, a.f[i], b.f[i]);
                    }
                }
            }
        }
    }
}

}  // namespace widemargin::tests
