#include "widemargin/base/buffer.hpp"

#include <limits>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace widemargin {

void* allocate_aligned(std::size_t count, std::size_t size, std::size_t alignment) {
    if (count > std::numeric_limits<std::size_t>::max() / size) throw std::bad_array_new_length();
    return ::operator new(count * size, std::align_val_t{alignment});
}

void free_aligned(void* data, std::size_t alignment) noexcept {
    ::operator delete(data, std::align_val_t{alignment});
}

void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // Only a hint: nothing changes if the system refuses.
    madvise(data, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
#endif
}

}  // namespace widemargin
