// widemargin._core, committees of units: passes of the Simple and the Nilsson MLP, and outputs.
#include "rows.hpp"

namespace widemargin {
namespace {

// `v` has panels of units, those of one committee after those of another.
Committees committees_of(const Rows& x, const Cube<float>& v, const Matrix<const float>& alive,
                         const Vector<double>& b) {
    require(!x.starts, "sparse examples must be packed for committees");
    require(v.shape(1) == x.width + kExtraRows && v.shape(2) == kPanelUnits,
            "a panel must have one row per input and two more, with one entry per unit");
    require(alive.shape(1) == kPanelUnits, "alive must have one entry per unit");
    require(v.shape(0) == alive.shape(0) * b.shape(0), "v must have all panels of all committees");
    return {.outputs = b.shape(0),
            .panels = alive.shape(0),
            .width = x.width,
            .v = v.data(),
            .alive = alive.data(),
            .b = b.data()};
}

CommitteeTargets targets_of(const std::string& name) {
    static const std::pair<const char*, CommitteeTargets> names[] = {
        {"binary", CommitteeTargets::binary},
        {"one_against_rest", CommitteeTargets::one_against_rest},
        {"best_other", CommitteeTargets::best_other},
    };
    return named("targets", name, names);
}

UnitName units_of(const std::string& name) {
    static const std::pair<const char*, UnitName> names[] = {{"hard_tanh", UnitName::hard_tanh},
                                                             {"sign", UnitName::sign}};
    return named("units", name, names);
}

using CommitteeTuple = std::tuple<std::int64_t, double, double, double, std::int64_t, std::int64_t>;

CommitteeTuple train_committees(const RowsHandle& rows, Cube<float> v, Matrix<const float> alive,
                                Vector<double> b, std::optional<Vector<const double>> mean,
                                std::optional<Vector<const double>> scale,
                                Vector<const std::int64_t> order, Vector<const double> y,
                                std::optional<Vector<const double>> weights,
                                const std::string& units, const std::string& targets, double margin,
                                double rate, bool fit_intercept, double dropout, std::uint64_t seed,
                                int threads) {
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    const Committees committees = committees_of(x, v, alive, b);
    require(y.shape(0) == x.count, "y must have one entry per example");
    require(!weights || weights->shape(0) == x.count, "weights must have one entry per example");
    require(dropout >= 0.0 && dropout <= 0.99, "dropout must be at least 0 and at most 0.99");
    require_order(order, x);
    const CommitteeTargets kind = targets_of(targets);
    require((kind == CommitteeTargets::binary) == (b.shape(0) == 1),
            "one committee is for two classes, several for more");
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        const double code = y(static_cast<std::size_t>(order(i)));
        require(kind == CommitteeTargets::binary ||
                    (code >= 0 && code < static_cast<double>(b.shape(0))),
                "y names a class that does not exist");
    }
    const CommitteePass pass{.order = order.data(),
                             .count = order.shape(0),
                             .y = y.data(),
                             .weights = data_or_null(weights),
                             .units = units_of(units),
                             .targets = kind,
                             .margin = margin,
                             .rate = rate,
                             .fit_intercept = fit_intercept,
                             .dropout = dropout,
                             .seed = seed,
                             .threads = at_most_one_per_cpu(threads)};
    nb::gil_scoped_release release;
    const CommitteeTally t = loops().train_committees(x, committees, s, pass);
    return {t.updates, t.criterion, t.errors, t.weight, t.active, t.reached};
}

void committee_scores(const RowsHandle& rows, Cube<float> v, Matrix<const float> alive,
                      Vector<double> b, std::optional<Vector<const double>> mean,
                      std::optional<Vector<const double>> scale, const std::string& units,
                      Matrix<double> out, int threads) {
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    const Committees committees = committees_of(x, v, alive, b);
    require(out.shape(0) == x.count && out.shape(1) == b.shape(0), "out has the wrong shape");
    const UnitName kind = units_of(units);
    nb::gil_scoped_release release;
    loops().committee_scores(x, committees, s, kind, out.data(), at_most_one_per_cpu(threads));
}

}  // namespace

void bind_committees(nb::module_& m) {
    m.def("train_committees", &train_committees, "rows"_a, "v"_a.noconvert(), "alive"_a,
          "b"_a.noconvert(), nb::kw_only(), "mean"_a.none(), "scale"_a.none(), "order"_a, "y"_a,
          "weights"_a.none(), "units"_a, "targets"_a, "margin"_a, "rate"_a, "fit_intercept"_a,
          "dropout"_a, "seed"_a, "threads"_a);
    m.def("committee_scores", &committee_scores, "rows"_a, "v"_a.noconvert(), "alive"_a,
          "b"_a.noconvert(), nb::kw_only(), "mean"_a.none(), "scale"_a.none(), "units"_a,
          "out"_a.noconvert(), "threads"_a);
    m.attr("units_per_panel") = kPanelUnits;
}

}  // namespace widemargin
