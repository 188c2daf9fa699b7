// Memory for the large arrays of kernel machines.
#pragma once

#include <memory>
#include <new>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

// Asks for large pages where there are any: fewer faults, on virtual machines above all.
void prefer_huge_pages(void* data, std::size_t bytes);

// Memory from the start of a cache line, not filled: a page costs nothing before it is used.
template <class T>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t n) : size_(n) {
        const std::size_t bytes = n * sizeof(T);
        const auto at = std::align_val_t{bytes < kHugePage ? kLine : kHugePage};
        data_ = Memory(static_cast<T*>(::operator new[](bytes, at)), Free{at});
        if (bytes >= kHugePage) prefer_huge_pages(data_.get(), bytes);
    }

    T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) const { return data_.get()[i]; }

   private:
    struct Free {
        std::align_val_t at{kLine};
        void operator()(T* data) const { ::operator delete[](data, at); }
    };
    using Memory = std::unique_ptr<T[], Free>;
    Memory data_;
    std::size_t size_ = 0;
};

}  // namespace widemargin
