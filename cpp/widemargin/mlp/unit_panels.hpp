// Blocks of units: their sums for an example, and a step of some of them.
#pragma once

#include <algorithm>

#include "widemargin/mlp/gathered_row.hpp"
#include "widemargin/base/lanes.hpp"

namespace widemargin::WIDEMARGIN_ISA {

using Units = Real<float>;  // a register of units
constexpr std::size_t kUnitLanes = kLanes<float>;
constexpr std::size_t kPiece = std::min<std::size_t>(kUnits, 8 * kUnitLanes);  // sums in registers
constexpr std::size_t kPieceRegisters = kPiece / kUnitLanes;

[[gnu::always_inline]] inline float sum_of_lanes(Units lanes) {
    float total = 0.0f;
    for (std::size_t i = 0; i < kUnitLanes; ++i) total += lanes[i];
    return total;
}

// z_n = v_n . xh + a_n for the units of a block
[[gnu::always_inline]] inline void read_block(const float* block, const GatheredRow& x, float* z) {
    for (std::size_t piece = 0; piece < kUnits; piece += kPiece) {
        Units sums[kPieceRegisters] = {};
        for (std::size_t i = 0; i < x.count(); ++i) {
            const float* row = x.row(block, i) + piece;
            const Units value = all<float>(x.value(i));
            for (std::size_t r = 0; r < kPieceRegisters; ++r) {
                sums[r] += value * load_lanes<float>(row + r * kUnitLanes);
            }
        }
        for (std::size_t r = 0; r < kPieceRegisters; ++r) {
            store_lanes<float>(z + piece + r * kUnitLanes, sums[r]);
        }
    }
}

// (v_n, a_n) += delta mask_n (xh, 1), x having been turned
[[gnu::always_inline]] inline void move_block(float* block, const GatheredRow& x, const float* mask,
                                              float delta) {
    for (std::size_t piece = 0; piece < kUnits; piece += kPiece) {
        Units masks[kPieceRegisters];
        for (std::size_t r = 0; r < kPieceRegisters; ++r) {
            masks[r] = load_lanes<float>(mask + piece + r * kUnitLanes);
        }
        for (std::size_t i = 0; i < x.count(); ++i) {
            float* row = x.row(block, i) + piece;
            const Units step = all<float>(delta * x.value(i));
            for (std::size_t r = 0; r < kPieceRegisters; ++r) {
                float* at = row + r * kUnitLanes;
                store_lanes<float>(at, load_lanes<float>(at) + step * masks[r]);
            }
        }
    }
}

// sum_j c_j v_nj for the units of a block
inline void dot_centre(const float* block, const Centring& s, double* out) {
    std::fill(out, out + kUnits, 0.0);
    for (std::size_t j = 0; j < s.width; ++j) {
        if (s.mean[j] == 0.0) continue;
        for (std::size_t n = 0; n < kUnits; ++n) out[n] += s.mean[j] * block[j * kUnits + n];
    }
}

// Before a pass: the row of a becomes that of o = a - v . c, the last one t = 0 (gathered_row.hpp).
inline void enter_block(float* block, const Centring& s) {
    if (!s.split) return;
    double centre[kUnits];
    dot_centre(block, s, centre);
    float *o = block + s.width * kUnits, *t = o + kUnits;
    for (std::size_t n = 0; n < kUnits; ++n) o[n] = static_cast<float>(o[n] - centre[n]);
    std::fill(t, t + kUnits, 0.0f);
}

// After it: a = o + u . c, v = u - t c.
inline void leave_block(float* block, const Centring& s) {
    if (!s.split) return;
    double centre[kUnits];
    dot_centre(block, s, centre);
    float *o = block + s.width * kUnits, *t = o + kUnits;
    for (std::size_t n = 0; n < kUnits; ++n) o[n] = static_cast<float>(o[n] + centre[n]);
    for (std::size_t j = 0; j < s.width; ++j) {
        const auto c = static_cast<float>(s.mean[j]);
        for (std::size_t n = 0; n < kUnits; ++n) block[j * kUnits + n] -= t[n] * c;
    }
    std::fill(t, t + kUnits, 0.0f);
}

}  // namespace widemargin::WIDEMARGIN_ISA
