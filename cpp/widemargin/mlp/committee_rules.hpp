// How the units of a committee vote, and which of them learn an example.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "widemargin/mlp/unit_panels.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Simple MLP (Algorithm 8.2): h(z) = z clipped to -1..1 (HardTanh); units with |z| <= 1 learn.
struct HardTanhUnits {
    static constexpr bool kIndependent = true;  // a unit depends only on its own z

    explicit HardTanhUnits(std::size_t) {}

    static double vote(const float* z, const float* alive) {
        Units total{};
        for (std::size_t n = 0; n < kPanelUnits; n += kUnitLanes) {
            Units h = load_lanes<float>(z + n);
            h = h > 1.0f ? all<float>(1.0f) : h;
            h = h < -1.0f ? all<float>(-1.0f) : h;
            total += h * load_lanes<float>(alive + n);
        }
        return sum_of_lanes(total);
    }

    // Sets z to 1 for the units that learn and to 0 for the others; returns how many learn.
    std::int64_t choose(float* z, const float* alive, std::size_t units, double, double) {
        Units chosen{};
        for (std::size_t n = 0; n < units; n += kUnitLanes) {
            const Units h = load_lanes<float>(z + n), on = load_lanes<float>(alive + n);
            const Units mask = (h <= 1.0f) & (h >= -1.0f) ? on : Units{};
            chosen += mask;
            store_lanes<float>(z + n, mask);
        }
        return static_cast<std::int64_t>(sum_of_lanes(chosen));
    }
};

// Nilsson MLP (Algorithm 8.3): h(z) = sign z, with sign 0 = -1. Of the units with y z <= 0, those
// nearest to 0 learn: as few as bring y f above beta, where a changed vote counts twice. With
// beta = 0 and N odd, these are (|f| + 1) / 2 units.
struct SignUnits {
    static constexpr bool kIndependent = false;
    Vector<std::pair<float, std::size_t>> wrong;  // |z| and the unit

    // No more memory is needed for committees of `units` units: threads must not allocate.
    explicit SignUnits(std::size_t units) { wrong.reserve(units); }

    static double vote(const float* z, const float* alive) {
        Units total{};
        for (std::size_t n = 0; n < kPanelUnits; n += kUnitLanes) {
            const Units sign =
                load_lanes<float>(z + n) > 0.0f ? all<float>(1.0f) : all<float>(-1.0f);
            total += sign * load_lanes<float>(alive + n);
        }
        return sum_of_lanes(total);
    }

    // `missing` is beta - y f.
    std::int64_t choose(float* z, const float* alive, std::size_t units, double sign,
                        double missing) {
        wrong.clear();
        for (std::size_t n = 0; n < units; ++n) {
            if (alive[n] != 0.0f && sign * z[n] <= 0.0) wrong.emplace_back(std::fabs(z[n]), n);
            z[n] = 0.0f;
        }
        const double most = static_cast<double>(units);  // for any margin; at least one learns
        const auto wanted = static_cast<std::size_t>(std::clamp(missing / 2.0, 0.0, most)) + 1;
        const std::size_t count = std::min(wanted, wrong.size());
        if (count < wrong.size()) {
            std::nth_element(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(count),
                             wrong.end());
        }
        for (std::size_t i = 0; i < count; ++i) z[wrong[i].second] = 1.0f;
        return static_cast<std::int64_t>(count);
    }
};

// Which committees learn an example, and how fast: delta_k, which is 0 for those that do not.
//
//   binary             if y f <= beta: lambda y
//   one_against_rest   each with y_k f_k <= beta: lambda y_k, y_k = +1 for the own class, else -1
//   best_other         if f_y - f_k <= beta for the best other k: lambda for y, -lambda for k
class OutputSteps {
   public:
    OutputSteps(std::size_t outputs, const CommitteePass& pass)
        : pass_(pass), outputs_(outputs), delta_(outputs) {}

    // For an example with outputs f, target y and weight c; returns whether any committee learns.
    bool decide(const double* f, double y, double c) {
        std::fill(delta_.begin(), delta_.end(), 0.0);
        tally_.weight += c;
        if (pass_.targets == CommitteeTargets::binary) {
            if ((f[0] > 0.0) != (y > 0.0)) tally_.errors += c;
            return learn(0, y * f[0], y, c);
        }
        const auto own = static_cast<std::size_t>(y);
        std::size_t other = own == 0 ? 1 : 0;
        for (std::size_t k = 0; k < outputs_; ++k) {
            if (k != own && f[k] > f[other]) other = k;
        }
        const bool wrong = f[other] > f[own] || (f[other] == f[own] && other < own);
        if (wrong) tally_.errors += c;  // the first of the largest outputs is predicted
        if (pass_.targets == CommitteeTargets::best_other) {
            const bool learnt = learn(own, f[own] - f[other], 1.0, c);
            delta_[other] = -delta_[own];
            return learnt;
        }
        bool any = false;
        for (std::size_t k = 0; k < outputs_; ++k) {
            const double sign = k == own ? 1.0 : -1.0;
            any |= learn(k, sign * f[k], sign, c);
        }
        return any;
    }

    double delta(std::size_t k) const { return delta_[k]; }
    const CommitteeTally& tally() const { return tally_; }

   private:
    bool learn(std::size_t k, double margin, double sign, double c) {
        if (margin > pass_.margin || c == 0.0) return false;
        tally_.criterion += c * (pass_.margin - margin);
        ++tally_.updates;
        delta_[k] = pass_.rate * c * sign;
        return true;
    }

    const CommitteePass& pass_;
    std::size_t outputs_;
    Vector<double> delta_;
    CommitteeTally tally_;
};

}  // namespace widemargin::WIDEMARGIN_ISA
