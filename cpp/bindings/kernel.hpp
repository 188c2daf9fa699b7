// Examples prepared for one kernel, as Python holds them.
#pragma once

#include <memory>
#include <vector>

#include "widemargin/kernel/kernel_matrix.hpp"

namespace widemargin {

struct KernelExamples {
    KernelFunction kernel;
    std::shared_ptr<const PackedExamples> packed;
};

// Some examples of a kernel matrix that is complete.
struct MatrixExamples {
    KernelExamples all;
    std::shared_ptr<const KernelMatrix> matrix;
    std::vector<std::int64_t> ids;
};

}  // namespace widemargin
