// Loops over doubles in registers, for sums and updates that wait for one another.
//
// Weights and sums are double whatever the inputs are.
#pragma once

#include <cstddef>

namespace widemargin::WIDEMARGIN_ISA {

// GCC's and Clang's vector types: one source for every instruction set.
using Lanes4 = double __attribute__((vector_size(32), aligned(8)));
using Lanes2 = double __attribute__((vector_size(16), aligned(8)));

template <class Lanes, class T>
[[gnu::always_inline]] inline Lanes load(const T* x) {
    if constexpr (sizeof(Lanes) == sizeof(double)) {
        return *x;
    } else {
        typedef T Source __attribute__((vector_size(sizeof(T) * (sizeof(Lanes) / sizeof(double))),
                                        aligned(alignof(T))));
        return __builtin_convertvector(*reinterpret_cast<const Source*>(x), Lanes);
    }
}

// Registers of 32 bytes where the CPU has them. Larger stores, which the next example reloads at
// once, measured slower on CPUs that have larger registers.
#if defined(__AVX__)
using Register = Lanes4;
#else
using Register = Lanes2;
#endif
constexpr std::size_t kRegister = sizeof(Register) / sizeof(double);

[[gnu::always_inline]] inline double sum(double one) {
    return one;
}
[[gnu::always_inline]] inline double sum(Lanes2 two) {
    return two[0] + two[1];
}
[[gnu::always_inline]] inline double sum(Lanes4 four) {
    return (four[0] + four[2]) + (four[1] + four[3]);
}

// Calls step(lanes, j) for the rest of 0..n-1 behind the whole registers, 2 and 1 at a time.
template <class Step>
[[gnu::always_inline]] inline void for_rest(std::size_t n, std::size_t j, Step&& step) {
    if constexpr (kRegister > 2) {
        if (n & 2) step(Lanes2{}, j), j += 2;
    }
    if (n & 1) step(double{}, j);
}

// Calls step(lanes, j) for all of 0..n-1. All loops cut a vector at the same places, so one loop
// can load what another has stored without waiting.
template <class Step>
[[gnu::always_inline]] inline void for_lanes(std::size_t n, Step&& step) {
    std::size_t j = 0;
    for (; j + kRegister <= n; j += kRegister) step(Register{}, j);
    for_rest(n, j, step);
}

template <class Lanes>
[[gnu::always_inline]] inline void store(double* to, Lanes value) {
    *reinterpret_cast<Lanes*>(to) = value;
}

// sum over j of term(lanes, j), in short chains: an update must wait for this sum
template <class Term>
[[gnu::always_inline]] inline double sum_lanes(std::size_t n, Term&& term) {
    Register even{}, odd{};
    std::size_t j = 0;
    for (; j + 2 * kRegister <= n; j += 2 * kRegister) {
        even += term(Register{}, j);
        odd += term(Register{}, j + kRegister);
    }
    if (n & kRegister) even += term(Register{}, j), j += kRegister;
    double total = sum(even + odd);
    for_rest(n, j, [&](auto lanes, std::size_t at) { total += sum(term(lanes, at)); });
    return total;
}

template <class T>
[[gnu::always_inline]] inline double dot(const double* w, const T* x, std::size_t n) {
    return sum_lanes(n, [&]<class Lanes>(Lanes, std::size_t j) {
        return load<Lanes>(w + j) * load<Lanes>(x + j);
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
