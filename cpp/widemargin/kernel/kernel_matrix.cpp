#include "widemargin/kernel/kernel_matrix.hpp"

#include <algorithm>
#include <numeric>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin {
namespace {

constexpr std::size_t kRowsAtOnce = 128;  // a multiple of kBlock

// Columns of the matrix, as runs of columns that lie side by side; the last run fills up the last
// block.
struct ColumnFrame final : Frame {
    struct Run {
        std::size_t at, column, length;
    };
    std::vector<Run> runs;
};

// Copies the columns from place `first` to place `last` of the frame.
template <class T>
void copy_columns(const ColumnFrame& frame, std::size_t first, std::size_t last, const T* from,
                  T* to) {
    auto run = std::upper_bound(frame.runs.begin(), frame.runs.end(), first,
                                [](std::size_t at, const auto& other) { return at < other.at; });
    for (--run; run != frame.runs.end() && run->at < last; ++run) {
        const std::size_t begin = std::max(first, run->at);
        const std::size_t end = std::min(last, run->at + run->length);
        const T* source = from + run->column + (begin - run->at);
        for (std::size_t i = 0; i < end - begin; ++i) to[begin + i] = source[i];
    }
}

}  // namespace

KernelMatrix::KernelMatrix(const KernelFunction& kernel,
                           std::shared_ptr<const PackedExamples> examples)
    : kernel_(kernel, examples),
      stride_(rounded_to_blocks(kernel_.count())),
      values_(bytes(*examples)),
      diagonal_(kernel_.count()) {
    kernel_.diagonal(diagonal_.data());
}

std::size_t KernelMatrix::bytes(const PackedExamples& examples) {
    const std::size_t n = examples.view().count;
    return n * rounded_to_blocks(n) *
           (examples.view().double_precision ? sizeof(double) : sizeof(float));
}

// Some rows at a time, from the diagonal on. What is below it is copied: k(x, x') = k(x', x) bit
// by bit.
bool KernelMatrix::compute(double seconds, int threads) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto frame = kernel_.frame(nullptr, count());
    while (!complete()) {
        const std::size_t last = std::min(count(), next_ + kRowsAtOnce);
        std::vector<std::int64_t> ids(last - next_);
        std::iota(ids.begin(), ids.end(), static_cast<std::int64_t>(next_));
        std::vector<void*> keep;
        for (std::size_t l = next_; l < last; ++l) keep.push_back(const_cast<void*>(row(l)));
        kernel_.rows(ids.data(), ids.size(), *frame,
                     {.first = next_ / kBlock,
                      .last = stride_ / kBlock,
                      .keep = keep.data(),
                      .threads = threads});
        double_precision() ? mirror<double>(next_, last, threads)
                           : mirror<float>(next_, last, threads);
        next_ = last;
        if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds) break;
    }
    return complete();
}

// Copies the values of these rows to their columns, in squares that stay in the cache.
template <class T>
void KernelMatrix::mirror(std::size_t first, std::size_t last, [[maybe_unused]] int threads) {
    T* k = reinterpret_cast<T*>(values_.data());
    const auto blocks = static_cast<std::int64_t>(blocks_of(count()));
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
#endif
    for (std::int64_t b = static_cast<std::int64_t>(blocks_of(last)); b < blocks; ++b) {
        const std::size_t begin = static_cast<std::size_t>(b) * kBlock;
        const std::size_t end = std::min(count(), begin + kBlock);
        for (std::size_t m = begin; m < end; ++m) {
            for (std::size_t l = first; l < last; ++l) k[m * stride_ + l] = k[l * stride_ + m];
        }
    }
}

void MatrixKernel::diagonal(double* out) const {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
        out[i] = matrix_->diagonal()[static_cast<std::size_t>(ids_[i])];
    }
}

std::unique_ptr<Frame> MatrixKernel::frame(const std::int64_t* ids, std::size_t n) const {
    auto frame = std::make_unique<ColumnFrame>();
    auto& runs = frame->runs;
    const std::size_t some = ids ? n : count();
    for (std::size_t at = 0; at < some; ++at) {
        const auto l = ids_[ids ? static_cast<std::size_t>(ids[at]) : at];
        const auto column = static_cast<std::size_t>(l);
        if (!runs.empty() && runs.back().column + runs.back().length == column) {
            ++runs.back().length;
        } else {
            runs.push_back({at, column, 1});
        }
    }
    for (std::size_t at = some; at < rounded_to_blocks(some); ++at) {
        runs.push_back({at, runs.front().column, 1});
    }
    return frame;
}

void MatrixKernel::rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
                        const RowUse& use) const {
    const auto& columns = static_cast<const ColumnFrame&>(frame);
    const std::size_t first = use.first * kBlock, last = use.last * kBlock;
    constexpr std::size_t together = 8;
    std::vector<unsigned char> scratch(use.outputs ? together * last * value_bytes() : 0);
    const auto copy = [&](const auto* from, void* to) {
        using T = std::remove_cvref_t<decltype(*from)>;
        copy_columns(columns, first, last, from, static_cast<T*>(to));
    };
    for (std::size_t begin = 0; begin < n; begin += together) {
        const std::size_t m = std::min(together, n - begin);
        const void* known[together];
        for (std::size_t r = 0; r < m; ++r) {
            void* keep = use.keep ? use.keep[begin + r] : nullptr;
            if (!keep && !use.outputs) continue;
            void* to = keep ? keep : scratch.data() + r * last * value_bytes();
            const void* from = matrix_->row(
                static_cast<std::size_t>(ids_[static_cast<std::size_t>(ids[begin + r])]));
            double_precision() ? copy(static_cast<const double*>(from), to)
                               : copy(static_cast<const float*>(from), to);
            known[r] = to;
        }
        for (std::size_t o = 0; o < use.outputs; ++o) {
            loops().add_known_rows({.known = known,
                                    .coef = use.coef + o * n + begin,
                                    .count = m,
                                    .first = use.first,
                                    .last = use.last,
                                    .f = use.f + o * use.stride,
                                    .double_precision = double_precision(),
                                    .threads = 1});
        }
    }
}

}  // namespace widemargin
