// Registers of float or double, with the vector types of GCC and Clang, and 2^x on them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin::WIDEMARGIN_ISA {

#if defined(__AVX512F__)
constexpr std::size_t kRegisterBytes = 64;
constexpr std::size_t kAccumulators = 24;  // registers for the sums of a tile
#elif defined(__AVX__)
constexpr std::size_t kRegisterBytes = 32;
constexpr std::size_t kAccumulators = 12;
#else
constexpr std::size_t kRegisterBytes = 16;
constexpr std::size_t kAccumulators = 12;
#endif

template <class T>
struct Vectors;

template <>
struct Vectors<float> {
    typedef float Real __attribute__((vector_size(kRegisterBytes)));
    typedef std::int32_t Integer __attribute__((vector_size(kRegisterBytes)));
    static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    static constexpr int mantissa = 23;
    static constexpr float smallest = -126.0f;  // 2^x stays normal
};

template <>
struct Vectors<double> {
    typedef double Real __attribute__((vector_size(kRegisterBytes)));
    typedef std::int64_t Integer __attribute__((vector_size(kRegisterBytes)));
    static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr int mantissa = 52;
    static constexpr double smallest = -1022.0;
};

template <class T>
using Real = typename Vectors<T>::Real;
template <class T>
using Integer = typename Vectors<T>::Integer;

template <class T>
constexpr std::size_t kLanes = kRegisterBytes / sizeof(T);

template <class T>
[[gnu::always_inline]] inline Real<T> all(T value) {
    return Real<T>{} + value;
}

template <class T>
[[gnu::always_inline]] inline Real<T> larger(Real<T> a, Real<T> b) {
    return a > b ? a : b;
}

template <class T>
[[gnu::always_inline]] inline Real<T> load_lanes(const T* from) {
    typedef T Unaligned __attribute__((vector_size(kRegisterBytes), aligned(alignof(T))));
    return *reinterpret_cast<const Unaligned*>(from);
}

template <class T>
[[gnu::always_inline]] inline void store_lanes(T* to, Real<T> value) {
    typedef T Unaligned __attribute__((vector_size(kRegisterBytes), aligned(alignof(T))));
    *reinterpret_cast<Unaligned*>(to) = value;
}

// 2^r = sum_k (ln 2)^k / k! r^k on |r| <= 1/2, up to the last term that changes a T
template <class T, std::size_t k = 1>
[[gnu::always_inline]] inline Real<T> exp2_series(Real<T> r, T factor) {
    constexpr std::size_t order = sizeof(T) == 4 ? 7 : 13;
    if constexpr (k > order) {
        return all<T>(factor);
    } else {
        const T next = factor * static_cast<T>(0.693147180559945309417232121458L / k);
        return exp2_series<T, k + 1>(r, next) * r + factor;
    }
}

// 2^x for x <= 0; exact at 0
template <class T>
[[gnu::always_inline]] inline Real<T> exp2_of_negative(Real<T> x) {
    x = larger<T>(x, all<T>(Vectors<T>::smallest));
    const Real<T> shifted = x + Vectors<T>::magic;
    const Real<T> r = x - (shifted - Vectors<T>::magic);
    const Real<T> power = exp2_series<T>(r, T{1});
    const Integer<T> exponent = reinterpret_cast<Integer<T>>(shifted) << Vectors<T>::mantissa;
    return reinterpret_cast<Real<T>>(reinterpret_cast<Integer<T>>(power) + exponent);
}

}  // namespace widemargin::WIDEMARGIN_ISA
