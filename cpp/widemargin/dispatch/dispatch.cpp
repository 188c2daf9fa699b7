// Chooses the instruction set when the module is loaded.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "widemargin/dispatch/loops.hpp"

namespace widemargin {

namespace baseline {
extern const Loops table;
}
#ifdef WIDEMARGIN_HAS_avx2
namespace avx2 {
extern const Loops table;
}
#endif
#ifdef WIDEMARGIN_HAS_avx512
namespace avx512 {
extern const Loops table;
}
#endif

std::vector<const Loops*> supported_loops() {
    std::vector<const Loops*> tables;
#ifdef WIDEMARGIN_HAS_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vpopcntdq")) {
        tables.push_back(&avx512::table);
    }
#endif
#ifdef WIDEMARGIN_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        tables.push_back(&avx2::table);
    }
#endif
    tables.push_back(&baseline::table);
    return tables;
}

namespace {

// The table that WIDEMARGIN_ISA names, or the best version of each loop.
Loops choose() {
    const auto tables = supported_loops();
    const char* wanted = std::getenv("WIDEMARGIN_ISA");
    if (wanted == nullptr) {
        Loops best = *tables.front();
#ifdef WIDEMARGIN_HAS_avx2
        // Short dependent sums gain nothing from AVX-512: AVX2 code measured a fifth faster.
        if (std::strcmp(best.isa, "avx512") == 0) {
            best.stochastic_gradient = avx2::table.stochastic_gradient;
            best.dual_descent = avx2::table.dual_descent;
            best.dual_epochs = avx2::table.dual_epochs;
        }
#endif
        return best;
    }
    for (const Loops* table : tables) {
        if (std::strcmp(wanted, table->isa) == 0) return *table;
    }
    throw std::runtime_error(std::string("WIDEMARGIN_ISA=") + wanted +
                             " is not an instruction set of this build and CPU; "
                             "use baseline, avx2 or avx512, or unset it");
}

}  // namespace

const Loops& loops() {
    static const Loops chosen = choose();
    return chosen;
}

}  // namespace widemargin
