// Registers of float or double, with the vector types of GCC and Clang, and 2^x on them.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include <cmath>
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
    static constexpr int bias = 127;            // of the exponent
    static constexpr float smallest = -126.0f;  // 2^x stays normal
    static constexpr float normal = 0x1p-126f;  // the smallest normal number
};

template <>
struct Vectors<double> {
    typedef double Real __attribute__((vector_size(kRegisterBytes)));
    typedef std::int64_t Integer __attribute__((vector_size(kRegisterBytes)));
    static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr int mantissa = 52;
    static constexpr int bias = 1023;
    static constexpr double smallest = -1022.0;
    static constexpr double normal = 0x1p-1022;
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

#pragma GCC diagnostic push  // of intrinsics, in GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

// a > b ? a : b, which is b if one of them is not a number. GCC makes two instructions of that.
template <class T>
[[gnu::always_inline]] inline Real<T> larger(Real<T> a, Real<T> b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        return (Real<T>)_mm512_max_ps((__m512)a, (__m512)b);
    } else {
        return (Real<T>)_mm512_max_pd((__m512d)a, (__m512d)b);
    }
#else
    return a > b ? a : b;
#endif
}

// a < b ? a : b
template <class T>
[[gnu::always_inline]] inline Real<T> smaller(Real<T> a, Real<T> b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        return (Real<T>)_mm512_min_ps((__m512)a, (__m512)b);
    } else {
        return (Real<T>)_mm512_min_pd((__m512d)a, (__m512d)b);
    }
#else
    return a < b ? a : b;
#endif
}

template <class T>
[[gnu::always_inline]] inline Real<T> absolute(Real<T> x) {
    const Integer<T> sign = (Integer<T>{} + 1) << (8 * sizeof(T) - 1);
    return reinterpret_cast<Real<T>>(reinterpret_cast<Integer<T>>(x) & ~sign);
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

// 2^x where it is a normal number; exact at 0
template <class T>
[[gnu::always_inline]] inline Real<T> exp2_in_range(Real<T> x) {
    const Real<T> shifted = x + Vectors<T>::magic;
    const Real<T> r = x - (shifted - Vectors<T>::magic);
    const Real<T> power = exp2_series<T>(r, T{1});
    const Integer<T> exponent = reinterpret_cast<Integer<T>>(shifted) << Vectors<T>::mantissa;
    return reinterpret_cast<Real<T>>(reinterpret_cast<Integer<T>>(power) + exponent);
}

// 2^x for x <= 0; exact at 0
template <class T>
[[gnu::always_inline]] inline Real<T> exp2_of_negative(Real<T> x) {
    return exp2_in_range<T>(larger<T>(x, all<T>(Vectors<T>::smallest)));
}

// log2(x) of a normal x = 2^e m, with m between sqrt(1/2) and sqrt(2):
//   log(m) = 2 (s + s^3/3 + s^5/5 + ...),  s = (m - 1)/(m + 1)
template <class T>
[[gnu::always_inline]] inline Real<T> log2_of(Real<T> x) {
    using Limits = Vectors<T>;
    constexpr std::size_t terms = sizeof(T) == 4 ? 5 : 11;
    const Integer<T> one = reinterpret_cast<Integer<T>>(all<T>(T{1}));
    const Integer<T> bits = reinterpret_cast<Integer<T>>(x);
    const Integer<T> fraction = bits & (((Integer<T>{} + 1) << Limits::mantissa) - 1);
    Real<T> m = reinterpret_cast<Real<T>>(fraction | one);  // 1 <= m < 2
    const auto large = m > all<T>(static_cast<T>(1.41421356237309504880168872420969808L));
    m = large ? T{0.5} * m : m;
    const Integer<T> exponent = (bits >> Limits::mantissa) - Limits::bias - large;  // true is -1
    const Real<T> s = (m - T{1}) / (m + T{1}), square = s * s;
    Real<T> sum = all<T>(T{1} / (2 * terms + 1));
    for (std::size_t k = terms; k-- > 0;) sum = sum * square + T{1} / static_cast<T>(2 * k + 1);
    constexpr T two_log2_e = static_cast<T>(2.88539008177792681471984936200378427L);
    return __builtin_convertvector(exponent, Real<T>) + two_log2_e * s * sum;
}

// x^h for x >= 0 and 0 < h <= 1; exact at 0
template <class T>
[[gnu::always_inline]] inline Real<T> power_of(Real<T> x, T h) {
    const Real<T> y = h * log2_of<T>(larger<T>(x, all<T>(Vectors<T>::normal)));
    const Real<T> power = exp2_in_range<T>(larger<T>(y, all<T>(Vectors<T>::smallest)));
    return x > Real<T>{} ? power : Real<T>{};
}

template <class T>
Real<T> square_root(Real<T> x);

// factor * sqrt(x) for x >= 0, within two units in the last place; exact at 0, NaN at infinity.
template <class T>
[[gnu::always_inline]] inline Real<T> scaled_root(Real<T> x, T factor) {
#if defined(__AVX512F__)
    // An estimate v of 1/sqrt(x) to 14 bits, g = x v, and steps of Newton's method take a third
    // of the time of vsqrtps and vsqrtpd:
    //   g <- g (3 - g v) / 2,   v <- v (3 - g v) / 2
    const Real<T> safe = larger<T>(x, all<T>(Vectors<T>::normal));
    if constexpr (sizeof(T) == 4) {
        const auto v = (Real<T>)_mm512_rsqrt14_ps((__m512)safe);
        const Real<T> g = x * v;
        return g * (T{1.5} * factor - T{0.5} * factor * (g * v));
    } else {
        const auto v = (Real<T>)_mm512_rsqrt14_pd((__m512d)safe);
        const Real<T> g = x * v, h = T{0.5} * v, r = T{0.5} - g * h;
        const Real<T> root = g + g * r;
        return factor * (root + (x - root * root) * (h + h * r));
    }
#else
    return factor * square_root<T>(x);
#endif
}

// sqrt(x), likewise.
template <class T>
[[gnu::always_inline]] inline Real<T> square_root(Real<T> x) {
#if defined(__AVX512F__)
    return scaled_root<T>(x, T{1});
#elif defined(__AVX__)
    if constexpr (sizeof(T) == 4) {
        return (Real<T>)_mm256_sqrt_ps((__m256)x);
    } else {
        return (Real<T>)_mm256_sqrt_pd((__m256d)x);
    }
#elif defined(__SSE2__)
    if constexpr (sizeof(T) == 4) {
        return (Real<T>)_mm_sqrt_ps((__m128)x);
    } else {
        return (Real<T>)_mm_sqrt_pd((__m128d)x);
    }
#else
    for (std::size_t i = 0; i < kLanes<T>; ++i) x[i] = std::sqrt(x[i]);
    return x;
#endif
}
#pragma GCC diagnostic pop

}  // namespace widemargin::WIDEMARGIN_ISA
