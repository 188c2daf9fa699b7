// Where rows of the kernel matrix come from: computed from examples, or given.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "widemargin/kernel/packed_examples.hpp"

namespace widemargin {

// The columns of a piece of the kernel matrix: some examples, prepared for computing rows over
// them.
class Frame {
   public:
    virtual ~Frame() = default;
};

class KernelSource {
   public:
    virtual ~KernelSource() = default;

    virtual std::size_t count() const = 0;
    virtual bool double_precision() const = 0;  // of the values; otherwise float

    // These examples, in this order; `ids` is null for all.
    virtual std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const = 0;
    // The rows of these examples over the frame.
    virtual void rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
                      const RowUse& use) const = 0;
    virtual void diagonal(double* out) const = 0;

    // The cost of one value, in register operations; large if the caller computes it.
    virtual double cost() const = 0;

    // How many examples take about a fiftieth of a second with this many rows.
    virtual std::size_t examples_at_once(std::size_t rows) const = 0;

    // A kernel that can also compare distances between examples far apart; null if there is none.
    virtual std::shared_ptr<const KernelSource> affinity() const { return nullptr; }

    // How many rows cost little more than one.
    virtual std::size_t rows_at_once() const = 0;

    std::size_t value_bytes() const { return double_precision() ? sizeof(double) : sizeof(float); }
};

class ComputedKernel final : public KernelSource {
   public:
    ComputedKernel(const KernelFunction& kernel, std::shared_ptr<const PackedExamples> examples)
        : kernel_(kernel), examples_(std::move(examples)) {}

    std::size_t count() const override { return examples_->view().count; }
    bool double_precision() const override { return examples_->view().double_precision; }
    double cost() const override { return examples_->cost(); }
    std::size_t examples_at_once(std::size_t rows) const override;
    std::size_t rows_at_once() const override { return examples_->view().values ? kSparseRows : 1; }
    std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const override;
    void rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
              const RowUse& use) const override;
    void diagonal(double* out) const override;
    std::shared_ptr<const KernelSource> affinity() const override;

   private:
    KernelFunction kernel_;
    std::shared_ptr<const PackedExamples> examples_;
};

// Rows that the caller computes: from a matrix, or by a Python function.
class GivenKernel final : public KernelSource {
   public:
    // Writes the rows of n examples over all examples, one after the other.
    using Provider = std::function<void(const std::int64_t* ids, std::size_t n, double* rows)>;

    GivenKernel(std::size_t count, std::vector<double> diagonal, Provider provide)
        : count_(count), diagonal_(std::move(diagonal)), provide_(std::move(provide)) {}

    std::size_t count() const override { return count_; }
    bool double_precision() const override { return true; }
    double cost() const override { return 1e4; }
    std::size_t examples_at_once(std::size_t) const override { return count_; }  // whole rows
    std::size_t rows_at_once() const override { return kRowsAtOnce; }
    std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const override;
    void rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
              const RowUse& use) const override;
    void diagonal(double* out) const override;

   private:
    static constexpr std::size_t kRowsAtOnce = 64;
    std::size_t count_;
    std::vector<double> diagonal_;
    Provider provide_;
};

}  // namespace widemargin
