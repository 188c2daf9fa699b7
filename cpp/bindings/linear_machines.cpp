// widemargin._core, linear support vector machines: epochs of dual coordinate descent, of one class
// or of all at once, and what they need.
#include <nanobind/stl/pair.h>

#include "rows_handle.hpp"

namespace widemargin {
namespace {

// Epochs of one problem, and the order in which they visit its examples.
struct CourseHandle {
    std::vector<std::int64_t> order;
    DualCourse course;

    CourseHandle(std::size_t examples, std::uint64_t seed, double intercept, bool free, double sum)
        : order(examples), course{examples, order.data(), seed, intercept, free, sum} {}
    CourseHandle(const CourseHandle&) = delete;
};

// `variables` has a row an example: beta, lo, hi, target, norm, ridge.
std::int64_t dual_course(const RowsHandle& rows, Vector<double> w, Vector<double> b,
                         Matrix<double> variables, CourseHandle& handle, Vector<double> sums,
                         std::optional<Vector<const double>> mean,
                         std::optional<Vector<const double>> scale, double epsilon,
                         double relaxation, std::uint64_t epochs, std::int64_t enough,
                         std::int64_t visits) {
    static_assert(sizeof(DualVariable) == 6 * sizeof(double));
    const Rows& x = rows.view();
    const Standardization s = standardization_of(x, mean, scale);
    require(w.shape(0) == x.width, "w must have one entry an input");
    require(b.shape(0) == 1, "b must have one entry");
    require(sums.shape(0) == x.width + 2, "sums must have two entries more than inputs");
    require(variables.shape(0) == x.count && variables.shape(1) == 6,
            "variables must have six entries an example");
    require(handle.order.size() == x.count, "the course is one of other examples");
    require(relaxation >= 1.0 && relaxation < 2.0, "relaxation must be in [1, 2)");
    const LinearState state{1, w.data(), b.data(), nullptr, nullptr, 0.0};
    DualEpoch like{};
    like.variables = reinterpret_cast<DualVariable*>(variables.data());
    like.epsilon = epsilon;
    like.relaxation = relaxation;
    nb::gil_scoped_release release;
    return kernels().dual_course(x, state, s, like, handle.course, sums.data(), {epochs, enough},
                                 visits);
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

std::pair<double, double> losses(Vector<const double> f, Vector<const double> d, double t,
                                 Vector<const double> target, Vector<const double> c,
                                 double epsilon, bool labels, bool squared) {
    const std::size_t count = f.shape(0);
    require(d.shape(0) == count && target.shape(0) == count && c.shape(0) == count,
            "d, target and c must have one entry an example");
    nb::gil_scoped_release release;
    const LossSums sums = kernels().losses(
        {count, target.data(), c.data(), epsilon, labels, squared}, f.data(), d.data(), t);
    return {sums.value, sums.slope};
}

}  // namespace

void bind_linear_machines(nb::module_& m) {
    nb::class_<CourseHandle>(m, "DualCourse")
        .def(nb::init<std::size_t, std::uint64_t, double, bool, double>(), "examples"_a, "seed"_a,
             "intercept"_a, "free"_a, "sum"_a)
        .def_prop_ro("epoch", [](const CourseHandle& h) { return h.course.epoch; })
        .def_prop_ro("visits", [](const CourseHandle& h) { return h.course.visits; })
        .def(
            "reached",
            [](const CourseHandle& h, std::uint64_t epochs, std::int64_t enough) {
                return DualEnd{epochs, enough}.reached(h.course);
            },
            "epochs"_a, "enough"_a);
    m.def("dual_course", &dual_course, "rows"_a, "w"_a.noconvert(), "b"_a.noconvert(),
          "variables"_a.noconvert(), "course"_a, "sums"_a.noconvert(), nb::kw_only(),
          "mean"_a.none(), "scale"_a.none(), "epsilon"_a, "relaxation"_a, "epochs"_a, "enough"_a,
          "visits"_a);
    m.def("losses", &losses, "f"_a, "d"_a, "t"_a, nb::kw_only(), "target"_a, "c"_a, "epsilon"_a,
          "labels"_a, "squared"_a);
    m.def("crammer_singer", &crammer_singer, "rows"_a, "w"_a.noconvert(), "b"_a.noconvert(),
          "sums"_a.noconvert(), "beta"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert(),
          "norms"_a.noconvert(), "order"_a.noconvert(), nb::kw_only(), "mean"_a.none(),
          "scale"_a.none(), "intercept"_a, "patience"_a);
    m.def("combine", &combine, "rows"_a, "coef"_a, "out"_a.noconvert(), "threads"_a);
    m.def("squared_norms", &squared_norms, "rows"_a, "mean"_a.none(), "scale"_a.none(),
          "out"_a.noconvert());
}

}  // namespace widemargin
