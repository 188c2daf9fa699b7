#include "widemargin/base/parallel.hpp"

namespace widemargin {

FirstException::FirstException() = default;
FirstException::~FirstException() = default;

void FirstException::keep() noexcept {
    if (!taken_.test_and_set()) exception_ = std::current_exception();
}

void FirstException::rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
}

}  // namespace widemargin
