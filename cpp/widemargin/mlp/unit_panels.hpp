// Panels of units: their sums for an example, and a step of some of them.
#pragma once

#include <algorithm>

#include "widemargin/base/lanes.hpp"
#include "widemargin/mlp/gathered_row.hpp"

namespace widemargin::WIDEMARGIN_ISA {

using Units = Real<float>;  // a register of units
constexpr std::size_t kUnitLanes = kLanes<float>;
// Units whose sums are in registers at the same time.
constexpr std::size_t kStripUnits = std::min<std::size_t>(kPanelUnits, 8 * kUnitLanes);
constexpr std::size_t kStripRegisters = kStripUnits / kUnitLanes;

[[gnu::always_inline]] inline float sum_of_lanes(Units lanes) {
    float total = 0.0f;
    for (std::size_t i = 0; i < kUnitLanes; ++i) total += lanes[i];
    return total;
}

// z_n = v_n . xh + a_n for the units of a panel
[[gnu::always_inline]] inline void read_panel(const float* panel, const GatheredRow& x, float* z) {
    for (std::size_t strip = 0; strip < kPanelUnits; strip += kStripUnits) {
        Units sums[kStripRegisters] = {};
        for (std::size_t i = 0; i < x.count(); ++i) {
            const float* row = x.row(panel, i) + strip;
            const Units value = all<float>(x.value(i));
            for (std::size_t r = 0; r < kStripRegisters; ++r) {
                sums[r] += value * load_lanes<float>(row + r * kUnitLanes);
            }
        }
        for (std::size_t r = 0; r < kStripRegisters; ++r) {
            store_lanes<float>(z + strip + r * kUnitLanes, sums[r]);
        }
    }
}

// (v_n, a_n) += delta mask_n (xh, 1), after x.prepare_step()
[[gnu::always_inline]] inline void move_panel(float* panel, const GatheredRow& x, const float* mask,
                                              float delta) {
    for (std::size_t strip = 0; strip < kPanelUnits; strip += kStripUnits) {
        Units masks[kStripRegisters];
        for (std::size_t r = 0; r < kStripRegisters; ++r) {
            masks[r] = load_lanes<float>(mask + strip + r * kUnitLanes);
        }
        for (std::size_t i = 0; i < x.count(); ++i) {
            float* row = x.row(panel, i) + strip;
            const Units step = all<float>(delta * x.value(i));
            for (std::size_t r = 0; r < kStripRegisters; ++r) {
                float* at = row + r * kUnitLanes;
                store_lanes<float>(at, load_lanes<float>(at) + step * masks[r]);
            }
        }
    }
}

// sum_j c_j v_nj for the units of a panel
inline void dot_centre(const float* panel, const Centring& s, double* out) {
    std::fill(out, out + kPanelUnits, 0.0);
    for (std::size_t j = 0; j < s.width; ++j) {
        if (s.mean[j] == 0.0) continue;
        for (std::size_t n = 0; n < kPanelUnits; ++n)
            out[n] += s.mean[j] * panel[j * kPanelUnits + n];
    }
}

// Before a pass: the row of a becomes o = a - v . c, and the last row t = 0 (gathered_row.hpp).
inline void enter_panel(float* panel, const Centring& s) {
    if (!s.split) return;
    double centre[kPanelUnits];
    dot_centre(panel, s, centre);
    float *o = panel + s.width * kPanelUnits, *t = o + kPanelUnits;
    for (std::size_t n = 0; n < kPanelUnits; ++n) o[n] = static_cast<float>(o[n] - centre[n]);
    std::fill(t, t + kPanelUnits, 0.0f);
}

// After a pass: a = o + u . c, v = u - t c.
inline void leave_panel(float* panel, const Centring& s) {
    if (!s.split) return;
    double centre[kPanelUnits];
    dot_centre(panel, s, centre);
    float *o = panel + s.width * kPanelUnits, *t = o + kPanelUnits;
    for (std::size_t n = 0; n < kPanelUnits; ++n) o[n] = static_cast<float>(o[n] + centre[n]);
    for (std::size_t j = 0; j < s.width; ++j) {
        const auto c = static_cast<float>(s.mean[j]);
        for (std::size_t n = 0; n < kPanelUnits; ++n) panel[j * kPanelUnits + n] -= t[n] * c;
    }
    std::fill(t, t + kPanelUnits, 0.0f);
}

}  // namespace widemargin::WIDEMARGIN_ISA
