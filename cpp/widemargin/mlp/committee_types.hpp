// Committees of units, as Python hands them to the core: views of plain arrays, owned by NumPy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

constexpr std::size_t kPanelUnits = 64;  // units per panel: side by side for each input
constexpr std::size_t kExtraRows = 2;  // of a panel, behind its inputs: biases, and room for a pass

// K committees of N units each, f_k(x) = b_k + sum_n h(v_kn . xh + a_kn).
//
// A committee consists of panels of kPanelUnits units. A panel has one row of weights per input, a
// row with the biases a of its units, and a row that is zero between passes.
struct Committees {
    std::size_t outputs;  // K
    std::size_t panels;   // per committee
    std::size_t width;    // d
    float* v;             // (K panels) x (d + kExtraRows) x kPanelUnits
    const float* alive;   // panels x kPanelUnits: 1, or 0 for places behind the last unit
    double* b;            // K

    [[gnu::always_inline]] std::size_t panel_size() const {
        return (width + kExtraRows) * kPanelUnits;
    }
};

// How a unit votes and when it learns, and which committees learn an example (committee_rules.hpp).
enum class UnitName { hard_tanh, sign };
enum class CommitteeTargets { binary, one_against_rest, best_other };

struct CommitteePass {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    const double* y;        // +-1, or class codes 0..K-1
    const double* weights;  // one per example, or null
    UnitName units;
    CommitteeTargets targets;
    double margin;  // beta
    double rate;    // lambda
    bool fit_intercept;
    double dropout;      // the fraction of units that a visit leaves out
    std::uint64_t seed;  // for choosing them
    int threads;
};

// Sums over the visited examples, each measured just before its own update.
struct CommitteeTally {
    std::int64_t updates = 0;
    double criterion = 0.0;
    double errors = 0.0;
    double weight = 0.0;
    std::int64_t active = 0;   // units that moved
    std::int64_t reached = 0;  // units of the committees that had to move
};

}  // namespace widemargin
