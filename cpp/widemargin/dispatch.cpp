// Chooses the instruction set when the module is loaded.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "widemargin/problem.hpp"

namespace widemargin {

namespace baseline {
extern const Kernels table;
}
#ifdef WIDEMARGIN_HAS_avx2
namespace avx2 {
extern const Kernels table;
}
#endif
#ifdef WIDEMARGIN_HAS_avx512
namespace avx512 {
extern const Kernels table;
}
#endif

namespace {

// Every table this CPU can run, best first.
template <class Visitor>
const Kernels* first_supported(Visitor&& accept) {
#ifdef WIDEMARGIN_HAS_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        accept(avx512::table)) {
        return &avx512::table;
    }
#endif
#ifdef WIDEMARGIN_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && accept(avx2::table)) {
        return &avx2::table;
    }
#endif
    return accept(baseline::table) ? &baseline::table : nullptr;
}

const Kernels& choose() {
    const char* wanted = std::getenv("WIDEMARGIN_ISA");
    const Kernels* found = first_supported([wanted](const Kernels& table) {
        return wanted == nullptr || std::strcmp(wanted, table.isa) == 0;
    });
    if (found == nullptr) {
        throw std::runtime_error(std::string("WIDEMARGIN_ISA=") + wanted +
                                 " is not an instruction set of this build and CPU; "
                                 "use baseline, avx2 or avx512, or unset it");
    }
    return *found;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace widemargin
