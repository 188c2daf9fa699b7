// k(x, x') from the inner product or the distance of two examples, in registers.
#pragma once

#include <iterator>
#include <type_traits>
#include <utility>

#include "widemargin/base/lanes.hpp"
#include "widemargin/kernel/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Calls visit(name) with the name of the kernel as a constant.
template <class Visit>
[[gnu::always_inline]] inline void with_kernel(KernelName name, Visit&& visit) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        const auto one = [&](auto constant) {
            if (constant.value == name) visit(constant);
        };
        (one(std::integral_constant<KernelName, kKernels[i].name>{}), ...);
        const auto other = [&]<std::size_t j>(std::integral_constant<std::size_t, j>) {
            constexpr KernelEntry entry = kKernels[j];
            if constexpr (entry.power != entry.name) {
                one(std::integral_constant<KernelName, entry.power>{});
            }
        };
        (other(std::integral_constant<std::size_t, i>{}), ...);
    }(std::make_index_sequence<std::size(kKernels)>{});
}

template <class T>
[[gnu::always_inline]] inline Real<T> power(Real<T> base, int degree) {
    Real<T> result = all<T>(1);
    for (; degree > 0; degree >>= 1) {
        if (degree & 1) result *= base;
        base *= base;
    }
    return result;
}

// tanh(x) = sign(x) (1 - e) / (1 + e) with e = exp(-2|x|)
template <class T>
[[gnu::always_inline]] inline Real<T> hyperbolic_tangent(Real<T> x) {
    constexpr T two_log2_e = static_cast<T>(2.88539008177792681471984936200378427L);
    const Real<T> size = larger<T>(x, -x);
    const Real<T> e = exp2_of_negative<T>(size * -two_log2_e);
    const Real<T> value = (T{1} - e) / (T{1} + e);
    return x < Real<T>{} ? -value : value;
}

// x^h for x >= 0 and 0 < h <= 1. Multiples of 1/8 are products of repeated square roots. Not
// inline: a tile that calls it leaves its registers, which costs little beside the power.
template <class T>
[[gnu::noinline]] inline Real<T> power_or_roots(Real<T> x, T h) {
    const int eighths = static_cast<int>(8 * h);
    if (static_cast<T>(eighths) != 8 * h) return power_of<T>(x, h);
    if (eighths == 8) return x;
    Real<T> root = square_root<T>(x), result = eighths & 4 ? root : all<T>(1);
    if (eighths & 3) root = square_root<T>(root);
    if (eighths & 2) result *= root;
    if (eighths & 1) result *= square_root<T>(root);
    return result;
}

// `sum` is what the kernel is a function of: see kKernels.
template <class T, KernelName name>
[[gnu::always_inline]] inline Real<T> finish(Real<T> sum, const KernelFunction& kernel) {
    if constexpr (pairing_of(name) != Pairing::product) {
        constexpr double log2_e = 1.44269504088896340735992468100189214;
        const T factor = static_cast<T>(-kernel.gamma * log2_e);
        if constexpr (name == KernelName::exponential) {
            return exp2_of_negative<T>(scaled_root<T>(sum, factor));
        }
        if constexpr (name == KernelName::exponential_power) {
            sum = power_or_roots<T>(sum, static_cast<T>(0.5 * kernel.exponent));
        }
        if constexpr (name == KernelName::laplacian_power) {
            sum = power_or_roots<T>(sum, static_cast<T>(kernel.exponent));
        }
        return exp2_of_negative<T>(sum * factor);
    } else if constexpr (name == KernelName::linear) {
        return sum;
    } else {
        const auto gamma = static_cast<T>(kernel.gamma), coef0 = static_cast<T>(kernel.coef0);
        const Real<T> inner = sum * gamma + coef0;
        return name == KernelName::poly ? power<T>(inner, kernel.degree)
                                        : hyperbolic_tangent<T>(inner);
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
