#include "widemargin/base/buffer.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace widemargin {

void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: failure changes nothing
#endif
}

}  // namespace widemargin
