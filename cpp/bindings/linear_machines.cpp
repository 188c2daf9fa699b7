// widemargin._core, linear support vector machines: epochs of dual coordinate descent, of one class
// or of all at once, and what they need.
#include "rows_handle.hpp"

namespace widemargin {
namespace {

// The statistics of implicitly standardised inputs, checked against the rows.
Standardization standardization_of(const Rows& x, const std::optional<Vector<const double>>& mean,
                                   const std::optional<Vector<const double>>& scale) {
    require(x.layout != Layout::sparse32 && x.layout != Layout::sparse64,
            "sparse examples must be packed for training");
    require(scale.has_value() == (mean.has_value() && x.layout != Layout::packed),
            "mean and scale go together, but packed examples are scaled already");
    require((!mean || mean->shape(0) == x.width) && (!scale || scale->shape(0) == x.width),
            "the standardisation does not fit the examples");
    return {data_or_null(mean), data_or_null(scale)};
}

using DualTuple = std::tuple<std::size_t, std::int64_t, double, double>;

// `variables` has a row an example: beta, lo, hi, target, norm, ridge.
DualTuple dual_descent(const RowsHandle& rows, Vector<double> w, Vector<double> b,
                       Matrix<double> variables, Vector<std::int64_t> order,
                       std::optional<Vector<const double>> mean,
                       std::optional<Vector<const double>> scale, double epsilon, double intercept,
                       double patience) {
    static_assert(sizeof(DualVariable) == 6 * sizeof(double));
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    require(w.shape(0) == x.width, "w must have one entry an input");
    require(b.shape(0) == 1, "b must have one entry");
    require(variables.shape(0) == x.count && variables.shape(1) == 6,
            "variables must have six entries an example");
    require_order(order, x);
    const LinearState state{1, w.data(), b.data(), nullptr, nullptr, 0.0};
    const DualEpoch epoch{
        order.data(), order.shape(0), reinterpret_cast<DualVariable*>(variables.data()),
        epsilon,      intercept,      patience,
        order.data()};
    nb::gil_scoped_release release;
    const DualTally tally = kernels().dual_descent(x, state, s, epoch);
    return {tally.kept, tally.updates, tally.violation, tally.sum};
}

using ClassTuple = std::tuple<std::size_t, std::int64_t, double>;

// Crammer and Singer's machine: weights, b, sums and beta have a column a class, and some more.
ClassTuple crammer_singer(const RowsHandle& rows, Matrix<double> w, Vector<double> b,
                          Vector<double> sums, Matrix<double> beta, Vector<const std::int32_t> y,
                          Vector<const double> c, Vector<const double> norms,
                          Vector<std::int64_t> order, std::optional<Vector<const double>> mean,
                          std::optional<Vector<const double>> scale, double intercept,
                          double patience) {
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    const std::size_t stride = w.shape(1);
    require(stride > 0 && stride % kStride == 0, "w must have a multiple of four columns");
    require(w.shape(0) == x.width, "w must have one row an input");
    require(b.shape(0) == stride && sums.shape(0) == stride,
            "b and sums must fit the columns of w");
    require(beta.shape(0) == x.count && beta.shape(1) == stride,
            "beta must have one row an example and the columns of w");
    require(y.shape(0) == x.count && c.shape(0) == x.count && norms.shape(0) == x.count,
            "y, c and norms must have one entry an example");
    bool known = true;
    for (std::size_t l = 0; l < x.count; ++l) {
        known &= static_cast<std::uint32_t>(y.data()[l]) < stride;
    }
    require(known, "y names a class that does not exist");
    require_order(order, x);
    const ClassState state{stride, w.data(), b.data(), sums.data()};
    const ClassEpoch epoch{order.data(), order.shape(0), beta.data(), y.data(),    c.data(),
                           norms.data(), intercept,      patience,    order.data()};
    nb::gil_scoped_release release;
    const DualTally tally = kernels().crammer_singer(x, state, s, epoch);
    return {tally.kept, tally.updates, tally.violation};
}

void squared_norms(const RowsHandle& rows, std::optional<Vector<const double>> mean,
                   std::optional<Vector<const double>> scale, Vector<double> out) {
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    require(out.shape(0) == x.count, "out must have one entry an example");
    nb::gil_scoped_release release;
    kernels().squared_norms(x, s, out.data());
}

void combine(const RowsHandle& rows, Vector<const double> coef, Vector<double> out, int threads) {
    const Rows& x = rows.view();
    require_plain(x);
    require(coef.shape(0) == x.count, "coef must have one entry an example");
    require(out.shape(0) == x.width, "out must have one entry an input");
    nb::gil_scoped_release release;
    kernels().combine(x, coef.data(), out.data(), at_most_one_a_cpu(threads));
}

}  // namespace

void bind_linear_machines(nb::module_& m) {
    m.def("dual_descent", &dual_descent, "rows"_a, "w"_a.noconvert(), "b"_a.noconvert(),
          "variables"_a.noconvert(), "order"_a.noconvert(), nb::kw_only(), "mean"_a.none(),
          "scale"_a.none(), "epsilon"_a, "intercept"_a, "patience"_a);
    m.def("crammer_singer", &crammer_singer, "rows"_a, "w"_a.noconvert(), "b"_a.noconvert(),
          "sums"_a.noconvert(), "beta"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert(),
          "norms"_a.noconvert(), "order"_a.noconvert(), nb::kw_only(), "mean"_a.none(),
          "scale"_a.none(), "intercept"_a, "patience"_a);
    m.def("combine", &combine, "rows"_a, "coef"_a, "out"_a.noconvert(), "threads"_a);
    m.def("squared_norms", &squared_norms, "rows"_a, "mean"_a.none(), "scale"_a.none(),
          "out"_a.noconvert());
}

}  // namespace widemargin
