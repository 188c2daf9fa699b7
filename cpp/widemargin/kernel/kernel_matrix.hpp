// The kernel matrix of all examples of a fit, computed once for all of its problems.
#pragma once

#include <chrono>

#include "widemargin/kernel/kernel_source.hpp"

namespace widemargin {

class KernelMatrix {
   public:
    // Nothing is computed yet.
    KernelMatrix(const KernelFunction& kernel, std::shared_ptr<const PackedExamples> examples);

    // Works for about this long; true when all values are known.
    bool compute(double seconds, int threads);

    static std::size_t bytes(const PackedExamples& examples);

    std::size_t count() const { return kernel_.count(); }
    bool complete() const { return next_ == count(); }
    bool double_precision() const { return kernel_.double_precision(); }
    const void* row(std::size_t l) const {
        return values_.data() + l * stride_ * kernel_.value_bytes();
    }
    const std::vector<double>& diagonal() const { return diagonal_; }

   private:
    template <class T>
    void mirror(std::size_t first, std::size_t last, int threads);

    ComputedKernel kernel_;
    std::size_t stride_, next_ = 0;  // rows before next_ are known, and so are their columns
    Buffer<unsigned char> values_;
    std::vector<double> diagonal_;
};

// The kernel between some examples of a matrix, which is complete.
class MatrixKernel final : public KernelSource {
   public:
    MatrixKernel(std::shared_ptr<const KernelMatrix> matrix, std::vector<std::int64_t> ids)
        : matrix_(std::move(matrix)), ids_(std::move(ids)) {}

    std::size_t count() const override { return ids_.size(); }
    bool double_precision() const override { return matrix_->double_precision(); }
    double cost() const override { return 32.0; }
    std::size_t examples_at_once(std::size_t) const override { return count(); }
    std::size_t rows_at_once() const override { return 1; }
    std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const override;
    void rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
              const RowUse& use) const override;
    void diagonal(double* out) const override;

   private:
    std::shared_ptr<const KernelMatrix> matrix_;
    std::vector<std::int64_t> ids_;  // of the examples, in the matrix
};

}  // namespace widemargin
