#include "widemargin/svm/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace widemargin {
namespace {

// One row of the kernel, as doubles.
std::vector<double> row_over(const KernelSource& kernel, std::int64_t id, const Frame& frame,
                             std::size_t n, int threads) {
    const std::size_t blocks = blocks_of(n);
    std::vector<double> f(blocks * kBlock, 0.0);
    const double one = 1.0;
    kernel.rows(&id, 1, frame,
                {.first = 0,
                 .last = blocks,
                 .outputs = 1,
                 .coef = &one,
                 .f = f.data(),
                 .stride = f.size(),
                 .threads = threads});
    f.resize(n);
    return f;
}

std::int64_t farthest(const std::vector<double>& affinity, const std::int64_t* ids) {
    return ids[std::min_element(affinity.begin(), affinity.end()) - affinity.begin()];
}

}  // namespace

Partition one_part(std::size_t count) {
    Partition parts;
    parts.order.resize(count);
    std::iota(parts.order.begin(), parts.order.end(), 0);
    parts.open.push_back(count);
    return parts;
}

bool halve_next(const KernelSource& affinity, std::size_t most, int threads, Partition& parts) {
    while (!parts.open.empty() && parts.open.back() - parts.done <= most) {
        parts.done = parts.open.back();
        parts.ends.push_back(parts.done);
        parts.open.pop_back();
    }
    if (parts.open.empty()) return false;
    const std::size_t n = parts.open.back() - parts.done;
    std::int64_t* ids = parts.order.data() + parts.done;
    const auto frame = affinity.frame(ids, n);
    const auto row = [&](std::int64_t id) { return row_over(affinity, id, *frame, n, threads); };
    const std::int64_t a = farthest(row(ids[n / 2]), ids);
    const std::vector<double> near_a = row(a);
    const std::vector<double> near_b = row(farthest(near_a, ids));
    std::vector<std::pair<double, std::int64_t>> score(n);
    for (std::size_t i = 0; i < n; ++i) score[i] = {near_b[i] - near_a[i], ids[i]};
    const auto middle = score.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(score.begin(), middle, score.end());
    for (std::size_t i = 0; i < n; ++i) ids[i] = score[i].second;
    parts.open.push_back(parts.done + n / 2);
    return true;
}

// The fraction of the kernel's sum that must be inside parts. Below it the first solution was not
// worth its time on the data sets of the benchmarks.
constexpr double kInsideFraction = 0.2;

bool parts_stand_alone(const KernelSource& kernel, const Partition& parts, int threads) {
    constexpr std::size_t samples = 32;
    const std::size_t n = parts.order.size();
    const auto frame = kernel.frame(parts.order.data(), n);
    double own = 0.0, all = 0.0;
    for (std::size_t s = 0; s < samples; ++s) {
        const std::size_t at = (2 * s + 1) * n / (2 * samples);
        const auto row = row_over(kernel, parts.order[at], *frame, n, threads);
        const auto end = std::upper_bound(parts.ends.begin(), parts.ends.end(), at);
        const std::size_t begin = end == parts.ends.begin() ? 0 : *(end - 1);
        for (std::size_t i = 0; i < n; ++i) {
            all += std::abs(row[i]);
            if (begin <= i && i < *end) own += std::abs(row[i]);
        }
    }
    return own > kInsideFraction * all;
}

}  // namespace widemargin
