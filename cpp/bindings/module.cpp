// widemargin._core. Every binding checks shapes, releases the GIL and calls a loop.
#include "arrays.hpp"

namespace widemargin {
namespace {

// The extensions of this CPU, for `widemargin info`.
std::vector<std::string> cpu_features() {
    std::vector<std::string> found;
#if defined(__x86_64__)
#define WIDEMARGIN_CPU(name) \
    if (__builtin_cpu_supports(name)) found.emplace_back(name)
    WIDEMARGIN_CPU("sse4.2");
    WIDEMARGIN_CPU("avx");
    WIDEMARGIN_CPU("avx2");
    WIDEMARGIN_CPU("fma");
    WIDEMARGIN_CPU("avx512f");
    WIDEMARGIN_CPU("avx512dq");
    WIDEMARGIN_CPU("avx512bw");
    WIDEMARGIN_CPU("avx512vl");
    WIDEMARGIN_CPU("avx512vpopcntdq");
#undef WIDEMARGIN_CPU
#endif
    return found;
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Hot loops over plain arrays; see cpp/widemargin for the algorithms.";
    loops();  // a wrong WIDEMARGIN_ISA is an error here, not in the middle of a fit
    bind_rows(m);
    bind_linear(m);
    bind_kernel(m);
    bind_svm(m);
    bind_committees(m);
    bind_networks(m);
    bind_mixtures(m);
    m.def("cpu_features", &cpu_features);
    m.attr("isa") = loops().isa;
#ifdef _OPENMP
    m.attr("openmp") = true;
#else
    m.attr("openmp") = false;
#endif
}

}  // namespace widemargin
