// Compiled once per instruction set.
#include "tests/base/lane_functions.hpp"

#include "widemargin/base/lanes.hpp"

namespace widemargin::WIDEMARGIN_ISA {
namespace {

template <class T, class Function>
void replace(T* x, std::size_t n, const Function& function) {
    for (std::size_t i = 0; i < n; i += kLanes<T>) store_lanes(x + i, function(load_lanes(x + i)));
}

template <class T>
tests::LaneFunctions<T> functions() {
    return {
        .square_root =
            [](T* x, std::size_t n) { replace(x, n, [](Real<T> r) { return square_root<T>(r); }); },
        .log2 = [](T* x, std::size_t n) { replace(x, n, [](Real<T> r) { return log2_of<T>(r); }); },
        .power = [](T* x, std::size_t n,
                    T h) { replace(x, n, [h](Real<T> r) { return power_of<T>(r, h); }); },
        .exp2 =
            [](T* x, std::size_t n) {
                replace(x, n, [](Real<T> r) { return exp2_of_negative<T>(r); });
            },
        .absolute = [](T* x,
                       std::size_t n) { replace(x, n, [](Real<T> r) { return absolute<T>(r); }); }};
}

}  // namespace

tests::LaneTable lane_table();

tests::LaneTable lane_table() {
    return {functions<float>(), functions<double>()};
}

}  // namespace widemargin::WIDEMARGIN_ISA
