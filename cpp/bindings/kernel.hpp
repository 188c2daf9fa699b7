// Examples prepared for one kernel, as Python holds them.
#pragma once

#include <memory>

#include "widemargin/kernel/packed_examples.hpp"

namespace widemargin {

struct KernelExamples {
    KernelFunction kernel;
    std::shared_ptr<const PackedExamples> packed;
};

}  // namespace widemargin
