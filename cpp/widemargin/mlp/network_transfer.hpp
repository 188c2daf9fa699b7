// Transfer functions h of hidden layers, on registers; h' comes from the value h or from the sum z.
//
// At the kinks of HardTanh h' is 1, as in 8.5.2; at the kink of the ReLU it is 0. A sum that is NaN
// stays NaN.
#pragma once

#include <cstring>

#include "widemargin/base/lanes.hpp"
#include "widemargin/mlp/network_types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Calls use(load, store, j): `load(p)` and `store(p, value)` move p[j..] to and from a register.
// The last call moves only the rest of n; its other lanes are 0.
template <class T, class Use>
[[gnu::always_inline]] inline void for_registers(std::size_t n, Use&& use) {
    std::size_t j = 0;
    for (; j + kLanes<T> <= n; j += kLanes<T>) {
        use([j](const T* from) { return load_lanes<T>(from + j); },
            [j](T* to, Real<T> value) { store_lanes<T>(to + j, value); });
    }
    if (j == n) return;
    const std::size_t bytes = (n - j) * sizeof(T);
    use(
        [j, bytes](const T* from) {
            Real<T> value{};
            std::memcpy(&value, from + j, bytes);
            return value;
        },
        [j, bytes](T* to, Real<T> value) { std::memcpy(to + j, &value, bytes); });
}

template <class T>
[[gnu::always_inline]] inline Real<T> exp_of_negative(Real<T> x) {
    return exp2_of_negative<T>(x * static_cast<T>(1.44269504088896340735992468100189L));
}

// tanh |z| = (1 - e) / (1 + e) with e = exp(-2 |z|)
template <class T>
[[gnu::always_inline]] inline Real<T> tanh_of(Real<T> z) {
    const Real<T> e = exp_of_negative<T>(z < T{0} ? z + z : -(z + z));
    const Real<T> t = (T{1} - e) / (T{1} + e);
    return z == z ? (z < T{0} ? -t : t) : z;
}

struct IdentityTransfer {
    static constexpr bool needs_sum = false;
    template <class T>
    static Real<T> value(Real<T> z) {
        return z;
    }
    template <class T>
    static Real<T> slope(Real<T>) {
        return all<T>(1);
    }
};

struct SigmoidTransfer {
    static constexpr bool needs_sum = false;
    template <class T>
    static Real<T> value(Real<T> z) {
        const Real<T> e = exp_of_negative<T>(z < T{0} ? z : -z);
        const Real<T> s = (z < T{0} ? e : all<T>(1)) / (T{1} + e);
        return z == z ? s : z;
    }
    template <class T>
    static Real<T> slope(Real<T> h) {
        return h * (T{1} - h);
    }
};

struct TanhTransfer {
    static constexpr bool needs_sum = false;
    template <class T>
    static Real<T> value(Real<T> z) {
        return tanh_of<T>(z);
    }
    template <class T>
    static Real<T> slope(Real<T> h) {
        return T{1} - h * h;
    }
};

// tanh z + slant z (Bottou 1991): its slope needs the sum z, h is not enough
struct SlantedTanhTransfer {
    static constexpr bool needs_sum = true;
    template <class T>
    static Real<T> value(Real<T> z) {
        return tanh_of<T>(z) + static_cast<T>(kSlant) * z;
    }
    template <class T>
    static Real<T> slope(Real<T> z) {
        const Real<T> t = tanh_of<T>(z);
        return T{1} + static_cast<T>(kSlant) - t * t;
    }
};

// (8.31), h'(z) = 1 for |z| <= 1: the slope needs the sum z, since h = ±1 beyond the kinks too
struct HardTanhTransfer {
    static constexpr bool needs_sum = true;
    template <class T>
    static Real<T> value(Real<T> z) {
        const Real<T> one = all<T>(1);
        return z > one ? one : (z < -one ? -one : z);
    }
    template <class T>
    static Real<T> slope(Real<T> z) {
        const Real<T> one = all<T>(1);
        return (z <= one) & (z >= -one) ? one : Real<T>{};
    }
};

struct ReluTransfer {
    static constexpr bool needs_sum = false;
    template <class T>
    static Real<T> value(Real<T> z) {
        return z < T{0} ? Real<T>{} : z;
    }
    template <class T>
    static Real<T> slope(Real<T> h) {
        return h > T{0} ? all<T>(1) : Real<T>{};
    }
};

// Calls visitor(transfer) with the type of the function.
template <class Visitor>
decltype(auto) with_transfer(Transfer transfer, Visitor&& visitor) {
    switch (transfer) {
        case Transfer::identity: return visitor(IdentityTransfer{});
        case Transfer::sigmoid: return visitor(SigmoidTransfer{});
        case Transfer::tanh: return visitor(TanhTransfer{});
        case Transfer::slanted_tanh: return visitor(SlantedTanhTransfer{});
        case Transfer::hard_tanh: return visitor(HardTanhTransfer{});
        case Transfer::relu: break;
    }
    return visitor(ReluTransfer{});
}

// Whether h' is computed from the sums z, which must be kept.
inline bool slope_needs_sum(Transfer transfer) {
    return with_transfer(transfer, []<class H>(H) { return H::needs_sum; });
}

// h = transfer(h + b) for `count` rows of n sums, `width` apart; keeps the sums z if the slopes
// need them.
template <class T>
void apply_transfer(Transfer transfer, std::size_t count, std::size_t n, std::size_t width,
                    const T* b, T* h, T* sums) {
    with_transfer(transfer, [=]<class H>(H) {
        for (std::size_t i = 0; i < count; ++i) {
            for_registers<T>(n, [&](auto load, auto store) {
                const Real<T> z = load(h + i * width) + load(b);
                if constexpr (H::needs_sum) store(sums + i * width, z);
                store(h + i * width, H::template value<T>(z));
            });
        }
    });
}

// delta *= transfer'(h) for `count` rows of n, `width` apart; adds the sums of the columns to
// `total`.
template <class T>
void apply_slopes(Transfer transfer, std::size_t count, std::size_t n, std::size_t width,
                  const T* h, const T* sums, T* delta, T* total) {
    with_transfer(transfer, [=]<class H>(H) {
        const T* from = H::needs_sum ? sums : h;
        for (std::size_t i = 0; i < count; ++i) {
            for_registers<T>(n, [&](auto load, auto store) {
                const Real<T> slope = H::template slope<T>(load(from + i * width));
                const Real<T> d = load(delta + i * width) * slope;
                store(delta + i * width, d);
                store(total, load(total) + d);
            });
        }
    });
}

}  // namespace widemargin::WIDEMARGIN_ISA
