#include "widemargin/kernel/kernel_source.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin {
namespace {

struct PackedFrame final : Frame {
    explicit PackedFrame(const PackedExamples& all) : examples(&all) {}
    PackedFrame(const PackedExamples& all, const std::int64_t* ids, std::size_t n)
        : own(std::make_unique<PackedExamples>(all.gather(ids, n))), examples(own.get()) {}

    std::unique_ptr<PackedExamples> own;
    const PackedExamples* examples;
};

struct ListFrame final : Frame {
    std::vector<std::int64_t> ids;
};

}  // namespace

std::unique_ptr<Frame> ComputedKernel::frame(const std::int64_t* ids, std::size_t n) const {
    return ids ? std::make_unique<PackedFrame>(*examples_, ids, n)
               : std::make_unique<PackedFrame>(*examples_);
}

void ComputedKernel::rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
                          const RowUse& use) const {
    const auto& at = static_cast<const PackedFrame&>(frame).examples->view();
    loops().kernel_rows(kernel_, {&examples_->view(), ids, n}, at, use);
}

// An operation of `cost` takes about a hundredth of a nanosecond per value.
std::size_t ComputedKernel::examples_at_once(std::size_t rows) const {
    const double values = 5e9 / cost();
    const double examples = values / static_cast<double>(std::max<std::size_t>(1, rows));
    return static_cast<std::size_t>(std::clamp(examples, 256.0, 8192.0)) / kBlock * kBlock;
}

// A broad kernel never underflows to equal values. A Gaussian is then nearly linear in the squared
// distance, a Laplacian in the distance.
std::shared_ptr<const KernelSource> ComputedKernel::affinity() const {
    KernelFunction broad = kernel_;
    const double q = kernel_.name == KernelName::rbf ? 2.0 : kernel_.exponent;
    switch (pairing_of(kernel_)) {
        case Pairing::product: break;
        case Pairing::squared_distance:
            broad = {KernelName::rbf, 1e-3 * std::pow(kernel_.gamma, 2.0 / q), 0.0, 0};
            break;
        case Pairing::absolute_distance:
            broad = {KernelName::laplacian, 1e-3 * std::pow(kernel_.gamma, 1.0 / q), 0.0, 0};
            break;
    }
    return std::make_shared<ComputedKernel>(broad, examples_);
}

// With the same arithmetic as every other value, block by block.
void ComputedKernel::diagonal(double* out) const {
    const std::size_t n = count();
    if (uses_distances(kernel_)) return std::fill(out, out + n, 1.0);
    for (std::size_t first = 0; first < n; first += kBlock) {
        const std::size_t some = std::min(kBlock, n - first);
        std::int64_t ids[kBlock];
        std::iota(ids, ids + some, static_cast<std::int64_t>(first));
        double doubles[kBlock][kBlock];
        float floats[kBlock][kBlock];
        void* keep[kBlock];
        for (std::size_t i = 0; i < kBlock; ++i) {
            keep[i] =
                double_precision() ? static_cast<void*>(doubles[i]) : static_cast<void*>(floats[i]);
        }
        const auto block = frame(ids, some);
        rows(ids, some, *block, {.first = 0, .last = 1, .keep = keep});
        for (std::size_t i = 0; i < some; ++i) {
            out[first + i] = double_precision() ? doubles[i][i] : static_cast<double>(floats[i][i]);
        }
    }
}

std::unique_ptr<Frame> GivenKernel::frame(const std::int64_t* ids, std::size_t n) const {
    auto list = std::make_unique<ListFrame>();
    list->ids.resize(ids ? n : count_);
    if (ids) {
        std::copy(ids, ids + n, list->ids.begin());
    } else {
        std::iota(list->ids.begin(), list->ids.end(), 0);
    }
    return list;
}

void GivenKernel::rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
                       const RowUse& use) const {
    const std::size_t batch = std::min(kRowsAtOnce, n);
    const auto& at = static_cast<const ListFrame&>(frame).ids;
    const std::size_t first = use.first * kBlock, last = use.last * kBlock;
    std::vector<double> full(batch * count_), some(batch * rounded_to_blocks(at.size()), 0.0);
    for (std::size_t begin = 0; begin < n; begin += batch) {
        const std::size_t m = std::min(batch, n - begin);
        provide_(ids + begin, m, full.data());
        std::vector<const void*> known(m);
        for (std::size_t r = 0; r < m; ++r) {
            double* row = some.data() + r * rounded_to_blocks(at.size());
            const double* from = full.data() + r * count_;
            for (std::size_t i = first; i < std::min(last, at.size()); ++i) row[i] = from[at[i]];
            known[r] = row;
            if (use.keep && use.keep[begin + r]) {
                std::copy(row + first, row + last,
                          static_cast<double*>(use.keep[begin + r]) + first);
            }
        }
        for (std::size_t o = 0; o < use.outputs; ++o) {
            loops().add_known_rows({.known = known.data(),
                                    .coef = use.coef + o * n + begin,
                                    .count = m,
                                    .first = use.first,
                                    .last = use.last,
                                    .f = use.f + o * use.stride,
                                    .double_precision = true,
                                    .threads = use.threads});
        }
    }
}

void GivenKernel::diagonal(double* out) const {
    std::copy(diagonal_.begin(), diagonal_.end(), out);
}

}  // namespace widemargin
