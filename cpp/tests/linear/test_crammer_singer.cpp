// Crammer and Singer's machine: epochs of the sequential dual method.
#include <cmath>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {
namespace {

// The start of an epoch, and the epoch by the core and by a plain loop.
struct Machine : Inputs {
    std::size_t classes, stride;
    std::vector<std::int32_t> y;
    Doubles c, norms, beta;  // beta: L x classes
    Doubles w, b, sums;      // w: classes x d, for raw inputs
    double intercept, patience = kInfinity;
    Order order, kept;

    Machine(Random& random, const Data& data, bool standardized, std::size_t classes,
            double intercept)
        : Inputs(random, data, standardized),
          classes(classes),
          stride((classes + kClassStep - 1) / kClassStep * kClassStep),
          y(data.count),
          c(data.count),
          norms(data.count),
          beta(data.count * classes),
          w(classes * data.width),
          b(classes),
          sums(classes),
          intercept(intercept),
          order(first_ones(data.count)) {
        sparse_works = true;
        shuffle(order.data(), order.size(), random.below(1000), 0);
        for (std::size_t l = 0; l < data.count; ++l) {
            y[l] = static_cast<std::int32_t>(random.below(classes));
            c[l] = 0.1 + random.uniform();
            for (std::size_t j = 0; j < data.width; ++j) norms[l] += at(l, j) * at(l, j);
        }
    }

    double& B(std::size_t l, std::size_t k) { return beta[l * classes + k]; }
    std::size_t own(std::size_t l) const { return static_cast<std::size_t>(y[l]); }

    // Random rows of beta: zeros, all of c at one other class, some of it or all of it at a few. w,
    // b and sums need not match them.
    void scatter(Random& random) {
        for (std::size_t l = 0; l < data.count; ++l) {
            for (std::size_t few = random.below(4); few > 0; --few) {
                const std::size_t k = random.below(classes);
                if (k != own(l)) B(l, k) = -0.1 - random.uniform();
            }
            double total = 0.0;
            for (std::size_t k = 0; k < classes; ++k) total -= B(l, k);
            const bool full = random.below(2) == 0;
            const double scale = total > 0.0 ? (full ? 1.0 : random.uniform()) * c[l] / total : 0.0;
            double sum = 0.0;
            for (std::size_t k = 0; k < classes; ++k) sum -= B(l, k) *= scale;
            B(l, own(l)) = full && total > 0.0 ? c[l] : sum;
        }
        w = random.vector(w.size());
        b = random.vector(classes);
        sums = random.vector(classes);
    }

    // g of all classes: f, minus 1 for the class of the example
    Doubles slopes(std::size_t l) const {
        Doubles g = b;
        for (std::size_t k = 0; k < classes; ++k) {
            for (std::size_t j = 0; j < data.width; ++j) {
                g[k] += w[k * data.width + j] * scale[j] * at(l, j);
            }
        }
        g[own(l)] -= 1.0;
        return g;
    }

    // The row of beta that minimises the objective: theta by bisection.
    Doubles best(std::size_t l, const Doubles& g) {
        const double h = norms[l] + intercept;
        Doubles D(classes), row(classes);
        for (std::size_t k = 0; k < classes; ++k) D[k] = g[k] - h * B(l, k);
        double top = -kInfinity;
        for (std::size_t k = 0; k < classes; ++k) {
            if (k != own(l)) top = std::fmax(top, D[k]);
        }
        if (top <= D[own(l)]) return row;
        if (h < 1e-12) {
            for (std::size_t k = 0; k < classes; ++k) {
                if (k != own(l) && D[k] == top) row[k] = -c[l];
            }
            row[own(l)] = c[l];
            return row;
        }
        double low = D[own(l)], high = top;
        for (int i = 0; i < 200; ++i) {
            const double theta = 0.5 * (low + high);
            double sum = 0.0;
            for (std::size_t k = 0; k < classes; ++k) {
                row[k] = k == own(l) ? 0.0 : -std::fmax(0.0, D[k] - theta) / h;
                sum -= row[k];
            }
            row[own(l)] = std::fmin(c[l], sum);
            (sum > std::fmin(c[l], (theta - D[own(l)]) / h) ? low : high) = theta;
        }
        return row;
    }

    // How far the row is from optimal, and the lead of the class that has all of c (or -infinity).
    struct State {
        double violation, lead;
    };
    State look(std::size_t l, const Doubles& g) {
        double top = -kInfinity, low = kInfinity, second = -kInfinity;
        std::size_t slots = 0, slot = 0;
        for (std::size_t k = 0; k < classes; ++k) {
            top = std::fmax(top, g[k]);
            if (B(l, k) >= (k == own(l) ? c[l] : 0.0)) continue;
            low = std::fmin(low, g[k]);
            slot = k;
            ++slots;
        }
        for (std::size_t k = 0; k < classes; ++k) {
            if (k != slot) second = std::fmax(second, g[k]);
        }
        return {top - low, slots == 1 ? g[slot] - second : -kInfinity};
    }

    DualTally plain() {
        DualTally tally;
        kept.clear();
        for (const auto id : order) {
            const auto l = static_cast<std::size_t>(id);
            const Doubles g = slopes(l);
            const auto [violation, lead] = look(l, g);
            if (lead > patience) continue;
            kept.push_back(id);
            tally.violation = std::fmax(tally.violation, violation);
            if (violation <= 0.0) continue;
            const Doubles row = best(l, g);
            for (std::size_t k = 0; k < classes; ++k) {
                const double delta = row[k] - B(l, k);
                B(l, k) = row[k];
                sums[k] += delta;
                b[k] += intercept * delta;
                for (std::size_t j = 0; j < data.width; ++j) {
                    w[k * data.width + j] += delta * at(l, j) / scale[j];
                }
            }
            ++tally.updates;
        }
        tally.kept = kept.size();
        return tally;
    }

    // The weights by input, filled up to whole registers; those of packed inputs are not centred.
    struct Filled {
        Doubles w, b, sums, beta;
    };
    Filled filled(const double* centre) const {
        Filled to{Doubles(data.width * stride), Doubles(stride, -kInfinity), Doubles(stride),
                  Doubles(data.count * stride)};
        for (std::size_t k = 0; k < classes; ++k) {
            to.b[k] = b[k];
            to.sums[k] = sums[k];
            for (std::size_t j = 0; j < data.width; ++j) {
                to.w[j * stride + k] = w[k * data.width + j] + (centre ? centre[j] * sums[k] : 0.0);
            }
            for (std::size_t l = 0; l < data.count; ++l) {
                to.beta[l * stride + k] = beta[l * classes + k];
            }
        }
        return to;
    }
    void take(const Filled& from, const double* centre) {
        bool untouched = true;  // classes that only fill registers
        for (std::size_t k = 0; k < stride; ++k) {
            for (std::size_t l = 0; l < data.count; ++l) {
                untouched &= k < classes || from.beta[l * stride + k] == 0.0;
                if (k < classes) B(l, k) = from.beta[l * stride + k];
            }
            if (k >= classes) {
                untouched &= from.b[k] == -kInfinity && from.sums[k] == 0.0;
                continue;
            }
            b[k] = from.b[k];
            sums[k] = from.sums[k];
            for (std::size_t j = 0; j < data.width; ++j) {
                w[k * data.width + j] =
                    from.w[j * stride + k] - (centre ? centre[j] * sums[k] : 0.0);
            }
        }
        CHECK(untouched, "%zu classes", classes);
    }

    // The kept examples go to an array of their own, or to the front of the order.
    DualTally run(const Loops& table, bool as_packed, bool in_place = false) {
        const Doubles nothing(data.count);
        kept = in_place ? order : Order(order.size(), -1);
        const DualTally tally = visit(
            table, as_packed, nothing.data(), nullptr, {&w},
            [&](const Rows& rows, const Standardization& statistics) {
                const double* centre = rows.layout == Layout::packed ? statistics.mean : nullptr;
                Filled state = filled(centre);
                const DualTally found = table.crammer_singer(
                    rows, {stride, state.w.data(), state.b.data(), state.sums.data()}, statistics,
                    {in_place ? kept.data() : order.data(), order.size(), state.beta.data(),
                     y.data(), c.data(), norms.data(), intercept, patience, kept.data()});
                take(state, centre);
                return found;
            });
        kept.resize(tally.kept);
        return tally;
    }
};

bool alike(const Doubles& a, const Doubles& b) {
    bool all = true;
    for (std::size_t i = 0; i < a.size(); ++i) all &= near(a[i], b[i], 1e-9);
    return all;
}

constexpr double intercepts[] = {0.0, 1.0, 2.5};
constexpr double patiences[] = {kInfinity, 0.3, 0.0};
constexpr std::size_t numbers[] = {2, 3, 4, 5, 8, 9, 13, 26, 32, 35, 70};

void test_epochs(const Tables& tables) {
    Random random(21);
    std::size_t aside = 0, full = 0;
    for (const std::size_t classes : numbers) {
        for (const std::size_t width : {1, 2, 3, 7, 16, 33}) {
            for (const Layout layout : layouts) {
                const Data data(random, layout, 23, width);
                Machine start(random, data, random.below(2) == 0, classes,
                              intercepts[random.below(std::size(intercepts))]);
                start.patience = patiences[random.below(std::size(patiences))];
                start.scatter(random);
                start.order = some_of(data, start.order, data.count - random.below(5));
                Machine expected = start;
                const DualTally tally = expected.plain();
                aside += start.order.size() - tally.kept;
                for (std::size_t l = 0; l < data.count; ++l) {
                    full += expected.B(l, expected.own(l)) == expected.c[l];
                }
                for (const Loops* table : tables) {
                    for (const bool packed : {false, true}) {
                        Machine found = start;
                        const DualTally other = found.run(*table, packed, packed);
                        CHECK(near(other.violation, tally.violation, 1e-9) &&
                                  found.kept == expected.kept,
                              "%s classes %zu width %zu layout %d packed %d: %zu kept, not %zu",
                              table->isa, classes, width, static_cast<int>(layout), packed,
                              found.kept.size(), expected.kept.size());
                        CHECK(alike(found.beta, expected.beta) && alike(found.w, expected.w) &&
                                  alike(found.b, expected.b) && alike(found.sums, expected.sums),
                              "%s classes %zu width %zu layout %d packed %d", table->isa, classes,
                              width, static_cast<int>(layout), packed);
                    }
                }
            }
        }
    }
    CHECK(aside > 50 && full > 500, "%zu set aside, %zu with all of c", aside, full);
}

// Epochs from 0: w, b and sums match B, its rows are within their bounds, and none can improve.
void test_convergence(const Loops& table) {
    Random random(22);
    for (const Layout layout : layouts) {
        for (int options = 0; options < 6; ++options) {
            const Data data(random, layout, 15, 9);
            Machine problem(random, data, options & 1, 3 + options, intercepts[options % 3]);
            const Order all = problem.order;
            for (std::uint64_t epoch = 0; epoch < 20000; ++epoch) {
                const bool anew = epoch % 20 == 0 || problem.order.empty();
                if (anew) problem.order = all;
                shuffle(problem.order.data(), problem.order.size(), 5, epoch);
                problem.patience = anew ? kInfinity : 0.1;
                const double violation = problem.run(table, epoch % 2).violation;
                problem.order = problem.kept;
                if (anew && violation <= 1e-10) break;
            }
            Doubles w(problem.w.size()), sums(problem.classes), b(problem.classes);
            double violation = 0.0;
            for (std::size_t l = 0; l < data.count; ++l) {
                double row = 0.0;
                for (std::size_t k = 0; k < problem.classes; ++k) {
                    const double beta = problem.B(l, k);
                    CHECK(beta <= (k == problem.own(l) ? problem.c[l] : 0.0), "beta %g", beta);
                    row += beta;
                    sums[k] += beta;
                    b[k] += problem.intercept * beta;
                    for (std::size_t j = 0; j < data.width; ++j) {
                        w[k * data.width + j] += beta * problem.at(l, j) / problem.scale[j];
                    }
                }
                CHECK(near(row, 0.0, 1e-12), "sum of row %zu: %g", l, row);
                const double one = problem.look(l, problem.slopes(l)).violation;
                violation = std::fmax(violation, one);
            }
            CHECK(violation <= 1e-8, "%s layout %d options %d: violation %g", table.isa,
                  static_cast<int>(layout), options, violation);
            CHECK(alike(problem.w, w) && alike(problem.sums, sums) && alike(problem.b, b),
                  "%s layout %d options %d", table.isa, static_cast<int>(layout), options);
        }
    }
}

}  // namespace

void test_crammer_singer(const Tables& tables) {
    test_epochs(tables);
    for (const Loops* table : tables) test_convergence(*table);
}

}  // namespace widemargin::tests
