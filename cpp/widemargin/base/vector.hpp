// Arrays for the loops of one instruction set.
//
// A member function of std::vector<double> that is not inlined is a weak symbol: the linker keeps
// one copy for all instruction sets, perhaps one with AVX-512 instructions (docs/decisions/0001).
// An allocator of this namespace makes the type, and so each of its functions, the set's own.
#pragma once

#include <memory>
#include <vector>

#include "widemargin/base/buffer.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <class T>
struct Allocator {
    using value_type = T;

    Allocator() = default;
    template <class U>
    Allocator(const Allocator<U>&) noexcept {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T))); }
    void deallocate(T* data, std::size_t) noexcept { ::operator delete(data); }
    bool operator==(const Allocator&) const = default;
};

template <class T>
using Vector = std::vector<T, Allocator<T>>;

// Values that are not filled, from the start of a cache line: no register straddles two lines.
template <class T>
class Scratch {
   public:
    explicit Scratch(std::size_t n)
        : data_(static_cast<T*>(allocate_aligned(n, sizeof(T), kCacheLineBytes))) {}

    T* data() const { return data_.get(); }

   private:
    struct Free {
        void operator()(T* data) const noexcept { free_aligned(data, kCacheLineBytes); }
    };
    std::unique_ptr<T[], Free> data_;
};

// The same, filled with zeros.
class AlignedVector : public Scratch<double> {
   public:
    explicit AlignedVector(std::size_t n) : Scratch(n) {
        for (std::size_t j = 0; j < n; ++j) data()[j] = 0.0;
    }
};

}  // namespace widemargin::WIDEMARGIN_ISA
