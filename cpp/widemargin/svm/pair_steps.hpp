// The sub-problem (5.20) of a working set, solved in its tile of the kernel by steps of two
// variables.
//
// In beta = z alpha a step is beta_i += t, beta_j -= t, whatever the labels (5.24). Variable i may
// grow and violates most; variable j may fall and promises the largest decrease of the cost,
//     (u_i - w_j)^2 / 2a   with   a = K_ii + K_jj - 2 K_ij                    (5.25)
// where u = -(f + upper slope) and w = -(f + lower slope). The best step is (u_i - w_j) / a, but it
// ends at the next bound, or at 0, where the slopes change (5.27). A step whose u_i - w_j is within
// the rounding of f_i and f_j would follow noise, so it is not made.
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "widemargin/base/lanes.hpp"
#include "widemargin/base/vector.hpp"
#include "widemargin/svm/types.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// 1 / a, accurate enough to choose a partner.
template <class T>
[[gnu::always_inline]] inline Real<T> reciprocal(Real<T> a) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (Real<T>)_mm512_rcp14_ps((__m512)a);
    if constexpr (sizeof(T) == 8) return (Real<T>)_mm512_rcp14_pd((__m512d)a);
#elif defined(__AVX__)
    if constexpr (sizeof(T) == 4) return (Real<T>)_mm256_rcp_ps((__m256)a);
#endif
    return T{1} / a;
}

// The largest value seen in each lane, and where.
template <class T>
struct Largest {
    Real<T> value;
    Integer<T> place;

    [[gnu::always_inline]] void see(Real<T> candidate, Integer<T> at) {
        const auto better = candidate > value;
        value = better ? candidate : value;
        place = better ? at : place;
    }
};

// The best of all lanes and chains; among equals the first place.
template <class T, std::size_t chains>
[[gnu::always_inline]] inline std::size_t best(const Largest<T> (&found)[chains], T& top) {
    top = found[0].value[0];
    auto place = found[0].place[0];
    for (const Largest<T>& chain : found) {
        for (std::size_t i = 0; i < kLanes<T>; ++i) {
            if (chain.value[i] > top || (chain.value[i] == top && chain.place[i] < place)) {
                top = chain.value[i];
                place = chain.place[i];
            }
        }
    }
    return static_cast<std::size_t>(place);
}

template <class T, std::size_t sums>
class PairSteps {
   public:
    explicit PairSteps(const SubProblem& problem)
        : p_(problem),
          n_(problem.stride),
          memory_((2 * sums + 1) * n_),
          first_(memory_.data()),
          diagonal_(first_ + 2 * sums * n_) {
        for (std::size_t g = 0; g < sums; ++g) {
            for (std::size_t a = 0; a < n_; ++a) u(g)[a] = -infinity, w(g)[a] = infinity;
        }
        for (std::size_t a = 0; a < n_; ++a) {
            diagonal_[a] = a < p_.count ? static_cast<T>(p_.diagonal[a]) : T{0};
        }
        for (std::size_t a = 0; a < p_.count; ++a) mark(a, p_.v[a]);
    }

    SubSolution solve() {
        SubSolution solution{0, 0.0};
        advance(diagonal_, diagonal_, Real<T>{});  // changes nothing, finds the worst
        while (true) {
            solution.violation = violation();
            if (!(solution.violation > p_.tol) || solution.steps == p_.max_steps) break;
            if (!step()) break;
            ++solution.steps;
        }
        return solution;
    }

   private:
    static constexpr T infinity = static_cast<T>(__builtin_inf());
    static constexpr std::size_t kChains = 2;  // independent ones hide latency
    static constexpr double tau = 1e-12;       // where a <= 0: equal examples, kernels like sigmoid
    static constexpr double kRounding = 0x1p-51;  // of f, relative

    static double size(double x) { return x < 0.0 ? -x : x; }
    T* u(std::size_t g) const { return first_ + g * n_; }
    T* w(std::size_t g) const { return first_ + (sums + g) * n_; }
    const T* row(std::size_t a) const {
        if (!p_.ready[a]) p_.fetch(p_.context, a);
        return static_cast<const T*>(p_.tile) + a * n_;
    }

    // The sum that beta belongs to as it grows, and as it falls.
    std::size_t rising(std::size_t a) const { return sums == 2 && p_.beta[a] < 0.0; }
    std::size_t falling(std::size_t a) const { return sums == 2 && !(p_.beta[a] > 0.0); }
    double upper_slope(std::size_t a) const { return p_.beta[a] < 0.0 ? p_.below[a] : p_.above[a]; }
    double lower_slope(std::size_t a) const { return p_.beta[a] > 0.0 ? p_.above[a] : p_.below[a]; }

    // u and w of a variable with -f = v
    void mark(std::size_t a, double v) {
        for (std::size_t g = 0; g < sums; ++g) u(g)[a] = -infinity, w(g)[a] = infinity;
        if (p_.beta[a] < p_.hi[a]) u(rising(a))[a] = static_cast<T>(v - upper_slope(a));
        if (p_.beta[a] > p_.lo[a]) w(falling(a))[a] = static_cast<T>(v - lower_slope(a));
    }
    // -f of a variable, from its u if it has one, otherwise from its w
    double value(std::size_t a) const {
        if (p_.beta[a] < p_.hi[a]) return static_cast<double>(u(rising(a))[a]) + upper_slope(a);
        return static_cast<double>(w(falling(a))[a]) + lower_slope(a);
    }

    // Calls visit(a, places, chain) for every register of variables.
    template <class Visit>
    [[gnu::always_inline]] void for_variables(Visit&& visit) const {
        Integer<T> place{};
        for (std::size_t lane = 0; lane < kLanes<T>; ++lane) place[lane] = static_cast<int>(lane);
        for (std::size_t a = 0; a < n_; a += kChains * kLanes<T>) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kChains; ++c) {
                visit(a + c * kLanes<T>, place, c);
                place += static_cast<int>(kLanes<T>);
            }
        }
    }

    // f += t (K_i - K_j); finds the most violating variable of each sum in the same pass.
    void advance(const T* ki, const T* kj, Real<T> t) {
        Largest<T> top[sums][kChains];
        Real<T> bottom[sums][kChains];
        for (std::size_t g = 0; g < sums; ++g) {
            for (std::size_t c = 0; c < kChains; ++c) {
                top[g][c] = {all<T>(-infinity), Integer<T>{}};
                bottom[g][c] = all<T>(infinity);
            }
        }
        for_variables([&](std::size_t a, Integer<T> place, std::size_t c) {
            const Real<T> change = t * (load_lanes(ki + a) - load_lanes(kj + a));
#pragma GCC unroll 2
            for (std::size_t g = 0; g < sums; ++g) {
                const Real<T> upper = load_lanes(u(g) + a) - change;
                const Real<T> lower = load_lanes(w(g) + a) - change;
                store_lanes(u(g) + a, upper);
                store_lanes(w(g) + a, lower);
                top[g][c].see(upper, place);
                bottom[g][c] = lower < bottom[g][c] ? lower : bottom[g][c];
            }
        });
        for (std::size_t g = 0; g < sums; ++g) {
            worst_[g] = best(top[g], top_[g]);
            bottom_[g] = infinity;
            for (std::size_t c = 0; c < kChains; ++c) {
                for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
                    if (bottom[g][c][lane] < bottom_[g]) bottom_[g] = bottom[g][c][lane];
                }
            }
        }
    }

    // The larger violation of the sums; the next step is made in that sum.
    double violation() {
        double largest = -__builtin_inf();
        for (std::size_t g = 0; g < sums; ++g) {
            const double gap = static_cast<double>(top_[g]) - static_cast<double>(bottom_[g]);
            if (gap > largest) largest = gap, chosen_ = g;
        }
        return largest;
    }

    std::size_t partner(std::size_t i) const {
        const T* ki = row(i);
        const T* lower = w(chosen_);
        const Real<T> ui = all<T>(u(chosen_)[i]), kii = all<T>(diagonal_[i]);
        Largest<T> decrease[kChains];
        for (auto& chain : decrease) chain = {all<T>(T{-1}), Integer<T>{}};
        for_variables([&](std::size_t a, Integer<T> place, std::size_t c) {
            const Real<T> slope = larger<T>(ui - load_lanes(lower + a), Real<T>{});
            const Real<T> curvature =
                larger<T>(kii + load_lanes(diagonal_ + a) - T{2} * load_lanes(ki + a),
                          all<T>(static_cast<T>(tau)));
            decrease[c].see(slope * slope * reciprocal<T>(curvature), place);
        });
        T ignored;
        return best(decrease, ignored);
    }

    // False if rounding hides the best step.
    bool step() {
        const std::size_t i = worst_[chosen_], j = partner(i);
        double a = static_cast<double>(diagonal_[i]) + static_cast<double>(diagonal_[j]) -
                   2.0 * static_cast<double>(row(i)[j]);
        if (!(a > tau)) a = tau;
        const double vi = value(i), vj = value(j);
        const double slope = static_cast<double>(u(chosen_)[i]) - static_cast<double>(w(chosen_)[j]);
        if (!(slope > kRounding * (size(vi) + size(vj) + 2.0 * size(p_.bias)))) return false;
        double t = slope / a;
        const double end_i = p_.beta[i] < 0.0 && p_.hi[i] > 0.0 ? 0.0 : p_.hi[i];
        const double end_j = p_.beta[j] > 0.0 && p_.lo[j] < 0.0 ? 0.0 : p_.lo[j];
        const double room_i = end_i - p_.beta[i], room_j = p_.beta[j] - end_j;
        if (t > room_i) t = room_i;
        if (t > room_j) t = room_j;
        // exactly at the end, so that comparisons find it there
        p_.beta[i] = t == room_i ? end_i : p_.beta[i] + t;
        p_.beta[j] = t == room_j ? end_j : p_.beta[j] - t;
        mark(i, vi);
        mark(j, vj);
        advance(row(i), row(j), all<T>(static_cast<T>(t)));
        return true;
    }

    const SubProblem& p_;
    const std::size_t n_;
    Scratch<T> memory_;
    T* const first_;  // u and w of every sum
    T* const diagonal_;
    std::size_t worst_[sums] = {};
    T top_[sums] = {}, bottom_[sums] = {};
    std::size_t chosen_ = 0;
};

template <class T>
SubSolution solve_pairs_of(const SubProblem& problem) {
    return problem.two_sums ? PairSteps<T, 2>(problem).solve() : PairSteps<T, 1>(problem).solve();
}

inline SubSolution solve_pairs(const SubProblem& problem) {
    return problem.double_precision ? solve_pairs_of<double>(problem)
                                    : solve_pairs_of<float>(problem);
}

}  // namespace widemargin::WIDEMARGIN_ISA
