// Random problems of support vector machines, and their solutions by plain steps of two variables.
#pragma once

#include <algorithm>
#include <memory>

#include "tests/checks.hpp"
#include "widemargin/svm/decomposition.hpp"

namespace widemargin::tests {

// --------------------------------------------------------------------------------- problems

enum class Task { classification, regression, one_class, nu_classification, nu_regression };
constexpr Task tasks[] = {Task::classification, Task::regression, Task::one_class,
                          Task::nu_classification, Task::nu_regression};
inline const char* name_of(Task task) {
    static const char* names[] = {"classification", "regression", "one class", "nu-classification",
                                  "nu-regression"};
    return names[static_cast<int>(task)];
}

// Points in the plane; every fifth repeats the one before it.
inline Doubles random_points(Random& random, std::size_t n) {
    Doubles x = random.vector(2 * n);
    for (std::size_t l = 5; l < n; l += 5) {
        x[2 * l] = x[2 * l - 2];
        x[2 * l + 1] = x[2 * l - 1];
    }
    return x;
}

// Equal examples have different targets, so that one of them ends at a bound.
inline Doubles random_targets(Random& random, Task task, std::size_t n) {
    Doubles y = random.vector(n);
    const bool signs = task == Task::classification || task == Task::nu_classification;
    for (std::size_t l = 0; signs && l < n; ++l) y[l] = y[l] > 0.0 ? 1.0 : -1.0;
    for (std::size_t l = 5; l < n; l += 5) y[l] = -y[l - 1];
    return y;
}

// See decomposition.hpp; y is a sign or a number. Some variables are fixed at 0.
inline Variables make_variables(Random& random, Task task, const Doubles& y) {
    const std::size_t n = y.size();
    Variables x;
    x.two_sums = task == Task::nu_classification || task == Task::nu_regression;
    double sum[2] = {0.3 * static_cast<double>(n) / 2.0, 0.3 * static_cast<double>(n) / 2.0};
    for (std::size_t l = 0; l < n; ++l) {
        const double bound = l % 11 == 7 ? 0.0 : l % 3 == 0 ? 0.5 : 1.5 + random.uniform();
        const bool up = task == Task::one_class || task == Task::regression ||
                        task == Task::nu_regression || y[l] > 0.0;
        const bool down = task == Task::regression || task == Task::nu_regression ||
                          (task != Task::one_class && y[l] <= 0.0);
        x.hi.push_back(up ? bound : 0.0);
        x.lo.push_back(down ? -bound : 0.0);
        const bool linear =
            task == Task::classification || task == Task::regression || task == Task::nu_regression;
        const double tube = task == Task::regression ? 0.1 : 0.0;
        x.above.push_back((linear ? -y[l] : 0.0) + tube);
        x.below.push_back((linear ? -y[l] : 0.0) - tube);

        // the sums of a solution, from the first variables on, as much as their bounds allow
        double beta = 0.0;
        if (task == Task::one_class || x.two_sums) {
            const std::size_t g = up && down ? l % 2 : !up;
            const double part = std::min(bound, sum[g]);
            sum[g] -= part;
            beta = g == 0 ? part : -part;
        }
        x.beta.push_back(beta);
    }
    x.id = first_ones(n);
    x.f.assign(n, 0.0);
    return x;
}

// -------------------------------------------------------------------------------- solutions

// f = K beta, J, and the violation, from the definitions.
struct Point {
    Doubles f;
    double cost, violation;
};
inline Point look(const Variables& x, const Doubles& k, const Doubles& beta) {
    const std::size_t n = beta.size();
    Point point{Doubles(n), 0.0, -kInfinity};
    double top[2] = {-kInfinity, -kInfinity}, bottom[2] = {kInfinity, kInfinity};
    for (std::size_t a = 0; a < n; ++a) {
        double f = 0.0;
        for (std::size_t b = 0; b < n; ++b) f += k[a * n + b] * beta[b];
        point.f[a] = f;
        const double rise = beta[a] < 0.0 ? x.below[a] : x.above[a];
        const double fall = beta[a] > 0.0 ? x.above[a] : x.below[a];
        point.cost += beta[a] * (0.5 * f + (beta[a] > 0.0 ? x.above[a] : x.below[a]));
        const std::size_t up = x.two_sums && beta[a] < 0.0, down = x.two_sums && beta[a] <= 0.0;
        if (beta[a] < x.hi[a]) top[up] = std::max(top[up], -f - rise);
        if (beta[a] > x.lo[a]) bottom[down] = std::min(bottom[down], -f - fall);
    }
    for (std::size_t g = 0; g < 2; ++g) {
        point.violation = std::max(point.violation, top[g] - bottom[g]);
    }
    return point;
}

// Steps of the two variables that violate most, until no two do by more than tol.
inline Doubles plain_solve(const Variables& x, const Doubles& k, double tol) {
    const std::size_t n = x.beta.size();
    Doubles beta = x.beta, f = look(x, k, beta).f;
    for (int step = 0; step < 1000000; ++step) {
        double most = tol;
        std::size_t i = n, j = n;
        for (std::size_t g = 0; g < 2; ++g) {
            double top = -kInfinity, bottom = kInfinity;
            std::size_t at_top = n, at_bottom = n;
            for (std::size_t a = 0; a < n; ++a) {
                const double u = -f[a] - (beta[a] < 0.0 ? x.below[a] : x.above[a]);
                const double w = -f[a] - (beta[a] > 0.0 ? x.above[a] : x.below[a]);
                const std::size_t up = x.two_sums && beta[a] < 0.0;
                const std::size_t down = x.two_sums && beta[a] <= 0.0;
                if (up == g && beta[a] < x.hi[a] && u > top) top = u, at_top = a;
                if (down == g && beta[a] > x.lo[a] && w < bottom) bottom = w, at_bottom = a;
            }
            if (top - bottom > most) most = top - bottom, i = at_top, j = at_bottom;
        }
        if (i == n) break;
        const double end_i = beta[i] < 0.0 ? std::min(0.0, x.hi[i]) : x.hi[i];
        const double end_j = beta[j] > 0.0 ? std::max(0.0, x.lo[j]) : x.lo[j];
        const double a = std::max(1e-12, k[i * n + i] + k[j * n + j] - 2.0 * k[i * n + j]);
        const double t = std::min({most / a, end_i - beta[i], beta[j] - end_j});
        beta[i] = t == end_i - beta[i] ? end_i : beta[i] + t;
        beta[j] = t == beta[j] - end_j ? end_j : beta[j] - t;
        for (std::size_t l = 0; l < n; ++l) f[l] += t * (k[l * n + i] - k[l * n + j]);
    }
    return beta;
}

// beta is within its bounds and at them exactly, and its sums are those at the start.
inline void check_feasible(const Variables& x, const Doubles& beta, const char* text) {
    double before[2] = {}, after[2] = {};
    for (std::size_t a = 0; a < beta.size(); ++a) {
        CHECK(x.lo[a] <= beta[a] && beta[a] <= x.hi[a], "%s: beta %zu = %.17g", text, a, beta[a]);
        for (const double end : {x.lo[a], 0.0, x.hi[a]}) {
            CHECK(beta[a] == end || std::fabs(beta[a] - end) > 1e-14, "%s: beta %zu = %.17g", text,
                  a, beta[a]);
        }
        before[x.two_sums && x.beta[a] < 0.0] += x.beta[a];
        after[x.two_sums && beta[a] < 0.0] += beta[a];
    }
    for (std::size_t g = 0; g < 2; ++g) {
        CHECK(near(after[g], before[g], 1e-12), "%s: sum %.17g, not %.17g", text, after[g],
              before[g]);
    }
}

// ---------------------------------------------------------------------------------- kernels

inline std::shared_ptr<const PackedExamples> pack(const Doubles& x, std::size_t width,
                                                  const KernelFunction& kernel,
                                                  bool double_precision) {
    const Rows rows{Layout::dense64, x.data(), nullptr, nullptr, x.size() / width, width};
    const Order every = first_ones(rows.count);
    const Selection all{&rows, every.data(), every.size()};
    return std::make_shared<PackedExamples>(all, choose_encoding(kernel, {all}, double_precision));
}

// Another kernel, one block of examples at a time, so that every update takes many slices.
class InBlocks : public KernelSource {
   public:
    explicit InBlocks(std::shared_ptr<const KernelSource> kernel,
                      std::shared_ptr<const KernelSource> affinity = nullptr)
        : kernel_(std::move(kernel)), affinity_(std::move(affinity)) {}

    std::size_t count() const override { return kernel_->count(); }
    bool double_precision() const override { return kernel_->double_precision(); }
    double cost() const override { return kernel_->cost(); }
    std::size_t examples_at_once(std::size_t) const override { return kBlock; }
    std::size_t rows_at_once() const override { return kernel_->rows_at_once(); }
    std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const override {
        return kernel_->frame(ids, n);
    }
    void rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
              const RowUse& use) const override {
        kernel_->rows(ids, n, frame, use);
    }
    void diagonal(double* out) const override { kernel_->diagonal(out); }
    std::shared_ptr<const KernelSource> affinity() const override { return affinity_; }

   private:
    std::shared_ptr<const KernelSource> kernel_, affinity_;
};

}  // namespace widemargin::tests
