// widemargin._core, linear models: passes of stochastic gradient, and the dual methods of linear
// support vector machines, for one class or for all at once.
#include <nanobind/stl/pair.h>

#include "rows.hpp"

namespace widemargin {

Criterion criterion_of(const std::string& name, double parameter) {
    static const std::pair<const char*, CriterionName> names[] = {
        {"perceptron", CriterionName::perceptron},
        {"margin", CriterionName::margin},
        {"squared_margin", CriterionName::squared_margin},
        {"cross_entropy", CriterionName::cross_entropy},
        {"mse", CriterionName::mse},
        {"tanh_mse", CriterionName::tanh_mse},
        {"epsilon_insensitive", CriterionName::epsilon_insensitive},
    };
    return {named("criterion", name, names), parameter};
}

namespace {

void criterion(const std::string& name, double parameter, Vector<const double> y,
               Vector<const double> f, Vector<double> value, Vector<double> derivative) {
    const std::size_t count = y.shape(0);
    require(f.shape(0) == count && value.shape(0) == count && derivative.shape(0) == count,
            "y, f, value and derivative must have the same length");
    loops().criterion(criterion_of(name, parameter), count, y.data(), f.data(), value.data(),
                      derivative.data());
}

// ------------------------------------------------------------------------ stochastic gradient

TallyTuple stochastic_gradient(const RowsHandle& rows, Matrix<double> w, Vector<double> b,
                               std::optional<Matrix<double>> sum_w,
                               std::optional<Vector<double>> sum_b, double steps,
                               std::optional<Vector<const double>> mean,
                               std::optional<Vector<const double>> scale,
                               Vector<const std::int64_t> order, Vector<const double> y,
                               std::optional<Vector<const double>> weights, bool one_against_rest,
                               const std::string& criterion, double parameter, double rate,
                               double slowing, double mu, bool fit_intercept, int threads) {
    const Rows& x = rows.view();
    const std::size_t outputs = w.shape(0);
    require(!x.starts, "sparse examples must be packed for training");
    require(w.shape(1) == x.width, "w must have one column per input");
    require(b.shape(0) == outputs, "b must have one entry per row of w");
    require(y.shape(0) == x.count, "y must have one entry per example");
    require(!weights || weights->shape(0) == x.count, "weights must have one entry per example");
    require(sum_w.has_value() == sum_b.has_value(), "sum_w and sum_b go together");
    require(!sum_w || (sum_w->shape(0) == outputs && sum_w->shape(1) == x.width &&
                       sum_b->shape(0) == outputs),
            "sum_w and sum_b must have the shapes of w and b");
    require(one_against_rest || outputs == 1, "several outputs need one_against_rest");
    const Standardization s = standardization_of(x, mean, scale);
    require_order(order, x);

    std::vector<double> scores(outputs > 1 ? order.shape(0) * outputs : 0);
    const LinearState state{.outputs = outputs,
                            .w = w.data(),
                            .b = b.data(),
                            .sum_w = data_or_null(sum_w),
                            .sum_b = data_or_null(sum_b),
                            .steps = steps};
    const Pass pass{.order = order.data(),
                    .count = order.shape(0),
                    .y = y.data(),
                    .weights = data_or_null(weights),
                    .targets = one_against_rest ? Targets::one_against_rest : Targets::values,
                    .criterion = criterion_of(criterion, parameter),
                    .rate = rate,
                    .slowing = slowing,
                    .mu = mu,
                    .fit_intercept = fit_intercept,
                    .threads = at_most_one_per_cpu(threads),
                    .scores = outputs > 1 ? scores.data() : nullptr};
    nb::gil_scoped_release release;
    return as_tuple(loops().stochastic_gradient(x, state, s, pass));
}

// --------------------------------------------------------------------- dual coordinate descent

// The progress of one problem, and the order in which its examples are visited.
struct ProgressHandle {
    std::vector<std::int64_t> order;
    DualProgress progress;

    ProgressHandle(std::size_t examples, std::uint64_t seed, double intercept, bool free,
                   double sum)
        : order(examples), progress{examples, order.data(), seed, intercept, free, sum} {}
    ProgressHandle(const ProgressHandle&) = delete;
};

// `variables` has one row per example: beta, lo, hi, target, norm, ridge.
std::int64_t dual_epochs(const RowsHandle& rows, Vector<double> w, Vector<double> b,
                         Matrix<double> variables, ProgressHandle& handle, Vector<double> sums,
                         std::optional<Vector<const double>> mean,
                         std::optional<Vector<const double>> scale, double epsilon,
                         double relaxation, std::uint64_t epochs, std::int64_t enough,
                         std::int64_t visits) {
    static_assert(sizeof(DualVariable) == 6 * sizeof(double));
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    require(w.shape(0) == x.width, "w must have one entry per input");
    require(b.shape(0) == 1, "b must have one entry");
    require(sums.shape(0) == x.width + 2, "sums must have two entries more than inputs");
    require(variables.shape(0) == x.count && variables.shape(1) == 6,
            "variables must have six entries per example");
    require(handle.order.size() == x.count, "progress belongs to other examples");
    require(relaxation >= 1.0 && relaxation < 2.0, "relaxation must be in [1, 2)");
    const LinearState state{.outputs = 1, .w = w.data(), .b = b.data()};
    DualEpoch like{};
    like.variables = reinterpret_cast<DualVariable*>(variables.data());
    like.epsilon = epsilon;
    like.relaxation = relaxation;
    nb::gil_scoped_release release;
    return loops().dual_epochs(x, state, s, like, handle.progress, sums.data(), {epochs, enough},
                               visits);
}

void squared_norms(const RowsHandle& rows, std::optional<Vector<const double>> mean,
                   std::optional<Vector<const double>> scale, Vector<double> out) {
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    require(out.shape(0) == x.count, "out must have one entry per example");
    nb::gil_scoped_release release;
    loops().squared_norms(x, s, out.data());
}

std::pair<double, double> losses(Vector<const double> f, Vector<const double> d, double t,
                                 Vector<const double> target, Vector<const double> c,
                                 double epsilon, bool labels, bool squared) {
    const std::size_t count = f.shape(0);
    require(d.shape(0) == count && target.shape(0) == count && c.shape(0) == count,
            "d, target and c must have one entry per example");
    nb::gil_scoped_release release;
    const LossSums sums = loops().losses({count, target.data(), c.data(), epsilon, labels, squared},
                                         f.data(), d.data(), t);
    return {sums.value, sums.slope};
}

// -------------------------------------------------------------------------- Crammer and Singer

using ClassTuple = std::tuple<std::size_t, std::int64_t, double>;

// w, b, sums and beta have one column per class, and some more that fill registers.
ClassTuple crammer_singer(const RowsHandle& rows, Matrix<double> w, Vector<double> b,
                          Vector<double> sums, Matrix<double> beta, Vector<const std::int32_t> y,
                          Vector<const double> c, Vector<const double> norms,
                          Vector<std::int64_t> order, std::optional<Vector<const double>> mean,
                          std::optional<Vector<const double>> scale, double intercept,
                          double patience) {
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    const std::size_t stride = w.shape(1);
    require(stride > 0 && stride % kClassStep == 0,
            "the number of columns of w must be a multiple of four");
    require(w.shape(0) == x.width, "w must have one row per input");
    require(b.shape(0) == stride && sums.shape(0) == stride,
            "b and sums must have one entry per column of w");
    require(beta.shape(0) == x.count && beta.shape(1) == stride,
            "beta must have one row per example and the columns of w");
    require(y.shape(0) == x.count && c.shape(0) == x.count && norms.shape(0) == x.count,
            "y, c and norms must have one entry per example");
    bool known = true;
    for (std::size_t l = 0; l < x.count; ++l) {
        known &= static_cast<std::uint32_t>(y.data()[l]) < stride;
    }
    require(known, "y names a class that does not exist");
    require_order(order, x);
    const ClassState state{.stride = stride, .w = w.data(), .b = b.data(), .sums = sums.data()};
    const ClassEpoch epoch{.order = order.data(),
                           .count = order.shape(0),
                           .beta = beta.data(),
                           .y = y.data(),
                           .c = c.data(),
                           .norms = norms.data(),
                           .intercept = intercept,
                           .patience = patience,
                           .kept = order.data()};
    nb::gil_scoped_release release;
    const DualTally tally = loops().crammer_singer(x, state, s, epoch);
    return {tally.kept, tally.updates, tally.violation};
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("criterion", &criterion, "name"_a, "parameter"_a, "y"_a, "f"_a, "value"_a.noconvert(),
          "derivative"_a.noconvert());
    m.def("stochastic_gradient", &stochastic_gradient, "rows"_a, "w"_a.noconvert(),
          "b"_a.noconvert(), nb::kw_only(), "sum_w"_a.noconvert().none(),
          "sum_b"_a.noconvert().none(), "steps"_a, "mean"_a.none(), "scale"_a.none(), "order"_a,
          "y"_a, "weights"_a.none(), "one_against_rest"_a, "criterion"_a, "parameter"_a, "rate"_a,
          "slowing"_a, "mu"_a, "fit_intercept"_a, "threads"_a);
    nb::class_<ProgressHandle>(m, "DualProgress")
        .def(nb::init<std::size_t, std::uint64_t, double, bool, double>(), "examples"_a, "seed"_a,
             "intercept"_a, "free"_a, "sum"_a)
        .def_prop_ro("epoch", [](const ProgressHandle& h) { return h.progress.epoch; })
        .def_prop_ro("visits", [](const ProgressHandle& h) { return h.progress.visits; })
        .def(
            "reached",
            [](const ProgressHandle& h, std::uint64_t epochs, std::int64_t enough) {
                return DualEnd{epochs, enough}.reached(h.progress);
            },
            "epochs"_a, "enough"_a);
    m.def("dual_epochs", &dual_epochs, "rows"_a, "w"_a.noconvert(), "b"_a.noconvert(),
          "variables"_a.noconvert(), "progress"_a, "sums"_a.noconvert(), nb::kw_only(),
          "mean"_a.none(), "scale"_a.none(), "epsilon"_a, "relaxation"_a, "epochs"_a, "enough"_a,
          "visits"_a);
    m.def("squared_norms", &squared_norms, "rows"_a, "mean"_a.none(), "scale"_a.none(),
          "out"_a.noconvert());
    m.def("losses", &losses, "f"_a, "d"_a, "t"_a, nb::kw_only(), "target"_a, "c"_a, "epsilon"_a,
          "labels"_a, "squared"_a);
    m.def("crammer_singer", &crammer_singer, "rows"_a, "w"_a.noconvert(), "b"_a.noconvert(),
          "sums"_a.noconvert(), "beta"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert(),
          "norms"_a.noconvert(), "order"_a.noconvert(), nb::kw_only(), "mean"_a.none(),
          "scale"_a.none(), "intercept"_a, "patience"_a);
}

}  // namespace widemargin
