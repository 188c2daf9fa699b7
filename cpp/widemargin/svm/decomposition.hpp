// The decomposition algorithm for support vector machines (thesis, Chapter 5).
//
//   min over beta   J = 1/2 sum_lm beta_l beta_m k(x_l, x_m) + sum_l h_l(beta_l)
//   subject to      lo <= beta <= hi,   the sum of beta as it is at the start
//
// which is (5.6)-(5.8) in beta = z alpha. h is linear on either side of 0, with slope `above` for
// beta > 0, where z = 1, and `below` for beta < 0, where z = -1:
//   classification   h(beta) = -y beta                    (y beta >= 0)
//   regression       h(beta) = epsilon |beta| - y beta    (beta = alpha - alpha*)
// The two variables of an example are chosen independently, as in the thesis: one may grow while
// the other may fall; at most one of them is not 0. With f_l = sum_m beta_m k(x_l, x_m) and
//   u = -(f + slope upwards) where beta may grow,   w = -(f + slope downwards) where it may fall,
// a solution has  max u - min w <= tol,  and the bias lies between. The problems with nu fix the
// sum of the positive beta and that of the negative ones, and require this of each.
//
//   step 0   a first solution from parts of the data          first_solution.cpp
//   step 1   choose a working set                              selection.cpp
//   step 2   solve the sub-problem on it                       decomposition.cpp
//   step 3   update f                                          decomposition.cpp
//   step 4   set examples aside (shrinking)                    shrinking.cpp
//   step 5   check the solution on all examples                shrinking.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "widemargin/svm/partition.hpp"
#include "widemargin/svm/working_set.hpp"

namespace widemargin {

enum class Shrinking { never, checked, heuristic };

struct DecompositionOptions {
    std::size_t working_set;  // examples; 0 lets the algorithm choose
    Shrinking shrinking;
    double tol;
    std::size_t cache_bytes;  // for the tile and the cache of rows
    std::int64_t max_steps;   // of two variables; negative for no limit
    int threads;
    std::size_t worth_dividing = 16384;  // examples above which parts may give a first solution
    // An example is set aside after it has satisfied its conditions for `patience` iterations, each
    // time by more than `threshold`; if that is negative, by a fraction of the largest violation.
    std::uint32_t patience = 5;
    double threshold = -1.0;
};

struct DecompositionProgress {
    bool done;      // nothing is left to do: optimal, max_steps reached, or stalled
    bool stalled;   // rounding hides any further decrease of J
    bool complete;  // f is known for every example
    double violation;
    double cost;  // J
    std::int64_t steps;
    std::int64_t iterations;
    std::int64_t kernel_values;
    std::int64_t rows_wanted;
    std::int64_t rows_cached;
    std::size_t active;
    double traffic;  // sum of |change of beta| over all updates of f since f was last given
};

// The large arrays of a solver, which the solver of another problem may use again: fresh memory
// costs time when it is written to first.
struct SolverMemory {
    Buffer<unsigned char> tile, rows;
};

class Decomposition {
   public:
    // `start` has its variables in the order of the examples, and a feasible beta.
    Decomposition(std::shared_ptr<const KernelSource> kernel, Variables start,
                  const DecompositionOptions& options, SolverMemory memory = {});
    // Gives its memory away; the solver cannot be used any more.
    SolverMemory release() { return {set_.release(), cache_.release()}; }

    // Works for about this long; can be called again. It never leaves a step half done: `state`
    // gives the last point whose f is known.
    DecompositionProgress run(double seconds);
    // Works on bringing f up to date for every example, for about this long.
    DecompositionProgress measure(double seconds);
    // Continues with other bounds, in the order of the examples, from t beta; a variable within
    // rounding of a bound is put at it. Everything else stays; counts start again at 0. The last
    // progress must have been complete.
    void change_bounds(double t, const std::vector<double>& lo, const std::vector<double>& hi);
    // Continues with this f of the present beta, in the order of the examples, towards this tol.
    // The last progress must have been complete.
    void correct(const double* f, double tol);
    // In the order of the examples. f is right if the last progress was complete.
    void state(double* beta, double* f) const;

    std::size_t examples() const { return count_; }

   private:
    using Clock = std::chrono::steady_clock;
    enum class Phase { divide, rebuild, select, solve, update, done };

    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // A sub-problem is solved until its violation is this fraction of that of the whole problem.
    static constexpr double kInnerFraction = 0.2;
    static constexpr std::size_t kPartExamples = 2048;  // per part of the first solution, at most

    struct Violation {
        double top[2], bottom[2];  // max u, min w, for each sum
        double worst;
        double middle(std::size_t g) const;
    };
    // Examples that were set aside together; their f is that of these beta.
    struct ShrunkExamples {
        std::size_t end;           // of their places, which begin where the previous ones end
        std::vector<double> beta;  // of all examples, in their order
    };

    std::size_t sums() const { return x_.two_sums ? 2 : 1; }
    DecompositionProgress progress() const;
    double cost() const;
    double sum_of_sizes() const;
    std::vector<double> beta_by_example() const;

    void divide(Clock::time_point deadline);
    bool find_parts(Clock::time_point deadline);
    bool solve_parts(std::size_t last, double bias, double tol);
    void scale_down();

    void select();
    Violation measure_violation() const;
    double bias() const;
    std::size_t next_size() const;
    void choose_working_set();

    void solve();
    void update(Clock::time_point deadline);
    void commit();
    void stall();

    double need(std::size_t p, const Violation& now) const;
    void shrink();
    void compact(const std::vector<std::size_t>& keep);
    void begin_rebuild();
    void begin_shrunk_examples();
    void rebuild(Clock::time_point deadline);

    std::shared_ptr<const KernelSource> kernel_;
    const std::size_t count_, stride_;  // L, and L rounded up to whole blocks
    DecompositionOptions options_;
    std::size_t largest_set_;

    Variables x_;             // the first active_ places are active
    std::size_t active_ = 0;  // f is up to date only for them
    Buffer<double> next_f_;
    std::vector<std::uint32_t> satisfied_;  // for how many iterations
    std::unique_ptr<Frame> frame_;          // the active examples
    std::vector<ShrunkExamples> shrunk_;    // the last ones are next to the active examples
    RowCache cache_;

    Phase phase_ = Phase::rebuild;
    Violation violation_{};
    double cost_ = 0.0, traffic_ = 0.0;
    bool stalled_ = false, may_shrink_ = true;
    WorkingSet set_;
    bool whole_set_ = false;          // the working set is everything that is active
    std::vector<std::int64_t> rows_;  // examples that moved, now or since others were set aside
    std::vector<double> coef_;        // by how much; first those of rows_, then those of known_
    std::vector<void*> keep_;         // where the cache wants their rows
    std::vector<const void*> known_;  // rows that are already known
    std::size_t cursor_ = 0;
    Partition parts_;  // for the first solution
    std::size_t next_part_ = 0;

    std::int64_t steps_ = 0, iterations_ = 0, kernel_values_ = 0, rows_wanted_ = 0,
                 rows_cached_ = 0;
};

}  // namespace widemargin
