// A pass of committees, by the core and by plain loops.
//
// Inputs, statistics, weights and steps are multiples of small powers of two, so that no sum of
// floats is ever rounded: core and plain loops must agree in every bit, even at kinks and ties.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {

using Floats = std::vector<float>;

inline double on_grid(double value, double step) {
    return std::round(value / step) * step;
}

inline Data grid_data(Random& random, Layout layout, std::size_t count, std::size_t width) {
    Data data(random, layout, count, width);
    for (double& value : data.x) value = on_grid(value, 0.25);
    for (double& value : data.stored64) value = on_grid(value, 0.25);
    data.stored32.assign(data.stored64.begin(), data.stored64.end());
    return data;
}

inline bool same(const CommitteeTally& a, const CommitteeTally& b) {
    return a.updates == b.updates && a.criterion == b.criterion && a.errors == b.errors &&
           a.weight == b.weight && a.active == b.active && a.reached == b.reached;
}

// The kind of problem.
struct Options {
    std::size_t outputs, units;
    CommitteeTargets targets;
    UnitName kind;
    bool standardized, weighted;
};

// A pass, by the core and by a plain loop.
struct CommitteeProblem : Inputs {
    std::size_t outputs, units, panels;
    CommitteeTargets targets;
    UnitName kind;
    bool fit_intercept;
    double beta, rate = 0x1p-5, dropout = 0.0;
    std::uint64_t seed = 1;
    Order order;
    Doubles y, weights, b;
    Floats v, alive;

    CommitteeProblem(Random& random, const Data& data, const Options& options, bool rounded = true)
        : Inputs(random, data, options.standardized),
          outputs(options.outputs),
          units(options.units),
          panels((options.units + kPanelUnits - 1) / kPanelUnits),
          targets(options.targets),
          kind(options.kind),
          fit_intercept(options.kind == UnitName::hard_tanh && random.below(4) != 0),
          beta(options.kind == UnitName::hard_tanh ? 1.5 : 3.0 * random.below(3)),
          order(data.count ? random_order(random, data.count, data.count + 20) : Order()),
          y(random_targets(random, data.count, options.outputs)),
          weights(options.weighted ? random_weights(random, data.count) : Doubles()),
          b(outputs),
          v(outputs * panels * (data.width + kExtraRows) * kPanelUnits),
          alive(panels * kPanelUnits) {
        std::fill_n(alive.begin(), units, 1.0f);
        for (std::size_t k = 0; k < outputs; ++k) {
            if (fit_intercept) b[k] = on_grid(random.centred(), 0x1p-8);
            for (std::size_t n = 0; n < units; ++n) {
                for (std::size_t j = 0; j <= data.width; ++j) {
                    const double value = 0.5 * random.centred();
                    weight(k, n, j) = static_cast<float>(rounded ? on_grid(value, 0x1p-8) : value);
                }
            }
        }
        if (!rounded) return;
        for (double& value : mean) value = on_grid(value, 0.25);
        for (double& value : scale) value = standardized ? std::exp2(random.below(3)) / 2.0 : 1.0;
        for (double& value : weights) value = on_grid(value, 0.5);
    }

    // The weight of input j of unit n of committee k; for j = width, the bias.
    float& weight(std::size_t k, std::size_t n, std::size_t j) {
        return v[((k * panels + n / kPanelUnits) * (data.width + kExtraRows) + j) * kPanelUnits +
                 n % kPanelUnits];
    }

    // ------------------------------------------------------------------------ plain loops

    // v_n . xh + a_n of all units
    Doubles sums(std::size_t k, std::size_t l) {
        Doubles z(units);
        for (std::size_t n = 0; n < units; ++n) {
            z[n] = weight(k, n, data.width);
            for (std::size_t j = 0; j < data.width; ++j) z[n] += weight(k, n, j) * at(l, j);
        }
        return z;
    }

    double output(std::size_t k, const Doubles& z) const {
        double f = b[k];
        for (const double one : z) {
            f += kind == UnitName::hard_tanh ? std::clamp(one, -1.0, 1.0) : one > 0.0 ? 1.0 : -1.0;
        }
        return f;
    }

    // The units that learn.
    std::vector<std::size_t> chosen(const Doubles& z, double f, double sign) const {
        std::vector<std::size_t> these;
        for (std::size_t n = 0; n < units; ++n) {
            const bool learns =
                kind == UnitName::hard_tanh ? std::fabs(z[n]) <= 1.0 : sign * z[n] <= 0.0;
            if (learns) these.push_back(n);
        }
        if (kind == UnitName::sign) {
            std::stable_sort(these.begin(), these.end(), [&](std::size_t m, std::size_t n) {
                return std::fabs(z[m]) < std::fabs(z[n]);
            });
            const double missing = std::max(0.0, sign > 0.0 ? beta - f : beta + f);
            these.resize(std::min(these.size(), static_cast<std::size_t>(missing / 2.0) + 1));
        }
        return these;
    }

    void move(std::size_t k, std::size_t l, const Doubles& z, double f, double step,
              CommitteeTally& tally) {
        const auto these = chosen(z, f, step);
        tally.active += static_cast<std::int64_t>(these.size());
        tally.reached += static_cast<std::int64_t>(panels * kPanelUnits);
        for (const std::size_t n : these) {
            for (std::size_t j = 0; j < data.width; ++j) {
                weight(k, n, j) += static_cast<float>(step * at(l, j));
            }
            weight(k, n, data.width) += static_cast<float>(step);
        }
        if (fit_intercept) b[k] += step;
    }

    // In which direction each committee moves: 1, -1 or 0.
    Doubles signs(const Doubles& f, double target, double c, CommitteeTally& tally) const {
        Doubles sign(outputs);
        const auto learn = [&](std::size_t k, double s, double margin) {
            if (margin > beta || c == 0.0) return;
            ++tally.updates;
            tally.criterion += c * (beta - margin);
            sign[k] = s;
        };
        if (targets == CommitteeTargets::binary) {
            learn(0, target, target * f[0]);
            return sign;
        }
        const auto own = static_cast<std::size_t>(target);
        if (targets == CommitteeTargets::one_against_rest) {
            for (std::size_t k = 0; k < outputs; ++k) {
                const double s = k == own ? 1.0 : -1.0;
                learn(k, s, s * f[k]);
            }
            return sign;
        }
        Doubles others = f;
        others[own] = -kInfinity;
        const auto best = std::max_element(others.begin(), others.end());
        learn(own, 1.0, f[own] - *best);
        sign[static_cast<std::size_t>(best - others.begin())] = -sign[own];
        return sign;
    }

    CommitteeTally plain() {
        CommitteeTally tally;
        for (const auto row : order) {
            const auto l = static_cast<std::size_t>(row);
            const double c = weights.empty() ? 1.0 : weights[l];
            std::vector<Doubles> z(outputs);
            Doubles f(outputs);
            for (std::size_t k = 0; k < outputs; ++k) {
                z[k] = sums(k, l);
                f[k] = output(k, z[k]);
            }
            tally.weight += c;
            if (misclassified(f, y[l])) tally.errors += c;
            const Doubles sign = signs(f, y[l], c, tally);
            for (std::size_t k = 0; k < outputs; ++k) {
                if (sign[k] != 0.0) move(k, l, z[k], f[k], rate * c * sign[k], tally);
            }
        }
        return tally;
    }

    Doubles plain_scores() {
        Doubles f;
        for (std::size_t l = 0; l < data.count; ++l) {
            for (std::size_t k = 0; k < outputs; ++k) f.push_back(output(k, sums(k, l)));
        }
        return f;
    }

    // --------------------------------------------------------------------------- the core

    // Weights at the places of packed inputs, or back, if the rows are packed.
    Floats placed(const Rows& rows, const Floats& from, bool back) const {
        Floats to(from);
        if (rows.layout != Layout::packed) return to;
        const std::size_t height = data.width + kExtraRows;
        for (std::size_t i = 0; i < outputs * panels; ++i) {
            for (std::size_t j = 0; j < data.width; ++j) {
                const std::size_t here = (i * height + j) * kPanelUnits;
                const std::size_t there =
                    (i * height + static_cast<std::size_t>(places[j])) * kPanelUnits;
                std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(back ? there : here),
                            kPanelUnits,
                            to.begin() + static_cast<std::ptrdiff_t>(back ? here : there));
            }
        }
        return to;
    }

    // Calls work(rows, committees, statistics) on this layout.
    template <class Work>
    auto on(const Loops& table, bool as_packed, Work&& work) {
        return visit(table, as_packed, y.data(), nullptr, {},
                     [&](const Rows& rows, const Standardization& statistics) {
                         Floats core = placed(rows, v, false);
                         const Committees committees{outputs,     panels,       data.width,
                                                     core.data(), alive.data(), b.data()};
                         const auto result = work(rows, committees, statistics);
                         v = placed(rows, core, true);
                         return result;
                     });
    }

    CommitteeTally run(const Loops& table, int threads, bool as_packed) {
        const CommitteePass pass{
            order.data(),  order.size(), y.data(), weights.empty() ? nullptr : weights.data(),
            kind,          targets,      beta,     rate,
            fit_intercept, dropout,      seed,     threads};
        return on(table, as_packed,
                  [&](const Rows& rows, const Committees& committees, const Standardization& s) {
                      return table.train_committees(rows, committees, s, pass);
                  });
    }

    Doubles scores(const Loops& table, int threads, bool as_packed) {
        return on(table, as_packed,
                  [&](const Rows& rows, const Committees& committees, const Standardization& s) {
                      Doubles out(data.count * outputs, kNaN);
                      table.committee_scores(rows, committees, s, kind, out.data(), threads);
                      return out;
                  });
    }
};

}  // namespace widemargin::tests
