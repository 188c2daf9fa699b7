// Committees of units, as Python sees them: views of plain arrays, owned by NumPy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace widemargin {

constexpr std::size_t kUnits = 64;  // units of a block: their weights of an input lie side by side
constexpr std::size_t kExtraRows = 2;  // of a block, behind its inputs: a, and room for a pass

// K committees of N units each, f_k(x) = b_k + sum_n h(v_kn . xh + a_kn).
//
// A committee is cut into blocks of kUnits units. A block has one row an input, with the weights
// of its units, a row with their biases a, and one that is zero between passes.
struct Committees {
    std::size_t outputs;  // K
    std::size_t blocks;   // of one committee
    std::size_t width;    // d
    float* v;             // (K blocks) x (d + kExtraRows) x kUnits
    const float* alive;   // blocks x kUnits: 1, or 0 for places behind the last unit
    double* b;            // K

    std::size_t block_size() const { return (width + kExtraRows) * kUnits; }
};

// What a unit says and when it learns, and which committees learn an example (committee_rules.hpp).
enum class UnitName { hard_tanh, sign };
enum class CommitteeTargets { binary, one_against_rest, best_other };

struct CommitteePass {
    const std::int64_t* order;  // the examples to visit, in this order
    std::size_t count;
    const double* y;        // +-1, or class codes 0..K-1
    const double* weights;  // one an example, or null
    UnitName units;
    CommitteeTargets targets;
    double margin;  // beta
    double rate;    // lambda
    bool fit_intercept;
    double dropout;      // the part of the units that a visit leaves out
    std::uint64_t seed;  // of the choice which
    int threads;
    bool lock_free;  // threads take examples, not units: quick, but no two runs are the same
};

// Sums over the visited examples, each measured just before its own update.
struct CommitteeTally {
    std::int64_t updates = 0;
    double criterion = 0.0;
    double errors = 0.0;
    double weight = 0.0;
    std::int64_t active = 0;   // units that were moved
    std::int64_t reached = 0;  // units of the committees that were told to move
};

}  // namespace widemargin
