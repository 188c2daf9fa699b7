// Memory that begins at a cache line. `allocate_aligned` is the only allocation by hand in the
// core; its result always goes into an owner at once: a Buffer, or a Scratch (vector.hpp).
#pragma once

#include <cstddef>
#include <memory>

namespace widemargin {

constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kHugePageBytes = std::size_t{1} << 21;

// Memory for `count` values of `size` bytes, not filled. Throws std::bad_alloc.
void* allocate_aligned(std::size_t count, std::size_t size, std::size_t alignment);
void free_aligned(void* data, std::size_t alignment) noexcept;

// Asks the system to back this memory with huge pages: fewer page faults, above all on virtual
// machines.
void prefer_huge_pages(void* data, std::size_t bytes);

// Values that are not filled: a page of memory costs nothing before it is used.
//
// For code that is compiled once. Loops of an instruction set use Scratch instead, because a
// template outside their namespace may leave a weak symbol (docs/decisions/0001).
template <class T>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t n) : size_(n) {
        const std::size_t bytes = n * sizeof(T);
        const std::size_t at = bytes < kHugePageBytes ? kCacheLineBytes : kHugePageBytes;
        data_ = Memory(static_cast<T*>(allocate_aligned(n, sizeof(T), at)), Free{at});
        if (bytes >= kHugePageBytes) prefer_huge_pages(data_.get(), bytes);
    }

    T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) const { return data_.get()[i]; }

   private:
    struct Free {
        std::size_t alignment = kCacheLineBytes;
        void operator()(T* data) const noexcept { free_aligned(data, alignment); }
    };
    using Memory = std::unique_ptr<T[], Free>;
    Memory data_;
    std::size_t size_ = 0;
};

}  // namespace widemargin
