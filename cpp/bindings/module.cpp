// widemargin._core: checks shapes, releases the GIL, calls.
#include "rows_handle.hpp"
#include "widemargin/base/shuffle.hpp"

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
    for (const auto& [known, value] : names) {
        if (name == known) return {value, parameter};
    }
    throw std::invalid_argument("unknown criterion '" + name + "'");
}

namespace {

using TallyTuple = std::tuple<std::int64_t, double, double, double>;

TallyTuple as_tuple(const Tally& tally) {
    return {tally.updates, tally.criterion, tally.errors, tally.weight};
}

void require_targets(std::size_t outputs, bool one_against_rest) {
    require(one_against_rest || outputs == 1, "several outputs need one_against_rest");
}

// ----------------------------------------------------------------------------------- calls

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
    require(w.shape(1) == x.width, "w must have one column an input");
    require(b.shape(0) == outputs, "b must have one entry a row of w");
    require(y.shape(0) == x.count, "y must have one entry an example");
    require(!weights || weights->shape(0) == x.count, "weights must have one entry an example");
    require(sum_w.has_value() == sum_b.has_value(), "sum_w and sum_b go together");
    require(!sum_w || (sum_w->shape(0) == outputs && sum_w->shape(1) == x.width &&
                       sum_b->shape(0) == outputs),
            "sum_w and sum_b must have the shapes of w and b");
    const bool packed = x.layout == Layout::packed;  // then scaled already, and mean is the centre
    require(scale.has_value() == (mean.has_value() && !packed),
            "mean and scale go together, but packed examples are scaled already");
    require((!mean || mean->shape(0) == x.width) && (!scale || scale->shape(0) == x.width),
            "the standardisation does not fit the examples");
    require(x.layout != Layout::sparse32 && x.layout != Layout::sparse64,
            "sparse examples must be packed for training");
    require_targets(outputs, one_against_rest);
    require_order(order, x);

    std::vector<double> scores(outputs > 1 ? order.shape(0) * outputs : 0);
    const LinearState state{outputs, w.data(), b.data(), data_or_null(sum_w), data_or_null(sum_b),
                            steps};
    const Standardization s{data_or_null(mean), data_or_null(scale)};
    const Pass pass{order.data(),
                    order.shape(0),
                    y.data(),
                    data_or_null(weights),
                    one_against_rest ? Targets::one_against_rest : Targets::values,
                    criterion_of(criterion, parameter),
                    rate,
                    slowing,
                    mu,
                    fit_intercept,
                    at_most_one_a_cpu(threads),
                    outputs > 1 ? scores.data() : nullptr};
    nb::gil_scoped_release release;
    return as_tuple(kernels().stochastic_gradient(x, state, s, pass));
}

void decision(const RowsHandle& rows, Matrix<const double> w, Vector<const double> b,
              Matrix<double> out, int threads) {
    const Rows& x = rows.view();
    require_plain(x);
    require(w.shape(1) == x.width, "w must have one column an input");
    require(b.shape(0) == w.shape(0), "b must have one entry a row of w");
    require(out.shape(0) == x.count && out.shape(1) == w.shape(0), "out has the wrong shape");
    nb::gil_scoped_release release;
    kernels().decision(x, w.shape(0), w.data(), b.data(), out.data(), at_most_one_a_cpu(threads));
}

void moments(const RowsHandle& rows, Vector<const std::int64_t> order,
             std::optional<Vector<const double>> weights, Vector<double> mean,
             Vector<double> variance) {
    const Rows& x = rows.view();
    require_plain(x);
    require(mean.shape(0) == x.width && variance.shape(0) == x.width,
            "mean and variance must have one entry an input");
    require(!weights || weights->shape(0) == x.count, "weights must have one entry an example");
    require_order(order, x);
    nb::gil_scoped_release release;
    kernels().moments(x, order.shape(0), order.data(), data_or_null(weights), mean.data(),
                      variance.data());
}

TallyTuple kernel_perceptron(Matrix<const double> tile, Matrix<double> f, Vector<double> b,
                             Matrix<double> step, Vector<const double> y,
                             std::optional<Vector<const double>> weights, bool one_against_rest,
                             const std::string& criterion, double parameter, double rate,
                             double bias_rate) {
    const std::size_t count = tile.shape(0), outputs = f.shape(1);
    require(tile.shape(1) == count, "tile must be square");
    require(f.shape(0) == count && y.shape(0) == count, "f and y must have one entry an example");
    require(step.shape(0) == count && step.shape(1) == outputs, "step must have the shape of f");
    require(b.shape(0) == outputs, "b must have one entry an output");
    require(!weights || weights->shape(0) == count, "weights must have one entry an example");
    require_targets(outputs, one_against_rest);
    const KernelBlock block{tile.data(),
                            count,
                            outputs,
                            y.data(),
                            data_or_null(weights),
                            one_against_rest ? Targets::one_against_rest : Targets::values,
                            criterion_of(criterion, parameter),
                            rate,
                            bias_rate,
                            f.data(),
                            b.data(),
                            step.data()};
    nb::gil_scoped_release release;
    return as_tuple(kernels().kernel_perceptron(block));
}

void criterion(const std::string& name, double parameter, Vector<const double> y,
               Vector<const double> f, Vector<double> value, Vector<double> derivative) {
    const std::size_t count = y.shape(0);
    require(f.shape(0) == count && value.shape(0) == count && derivative.shape(0) == count,
            "y, f, value and derivative must have the same length");
    kernels().criterion(criterion_of(name, parameter), count, y.data(), f.data(), value.data(),
                        derivative.data());
}

void shuffle_order(Vector<std::int64_t> order, std::uint64_t seed, std::uint64_t epoch) {
    require(order.shape(0) < (std::uint64_t{1} << 32), "more than 2^32 examples in one epoch");
    nb::gil_scoped_release release;
    shuffle(order.data(), order.shape(0), seed, epoch);
}

// The extensions this CPU has, for `widemargin versions`.
std::vector<std::string> cpu_features() {
    std::vector<std::string> found;
#if defined(__x86_64__)
#define WIDEMARGIN_CPU(name) \
    if (__builtin_cpu_supports(name)) found.emplace_back(name)
    WIDEMARGIN_CPU("sse4.2");
    WIDEMARGIN_CPU("avx");
    WIDEMARGIN_CPU("avx2");
    WIDEMARGIN_CPU("fma");
    WIDEMARGIN_CPU("avx512f");
    WIDEMARGIN_CPU("avx512dq");
    WIDEMARGIN_CPU("avx512bw");
    WIDEMARGIN_CPU("avx512vl");
#undef WIDEMARGIN_CPU
#endif
    return found;
}

template <class T>
bool interleave(const std::vector<Vector<const T>>& columns, Matrix<T> out) {
    require(columns.size() == out.shape(1), "out must have one column for each given");
    std::vector<const void*> values;
    for (const auto& column : columns) {
        require(column.shape(0) == out.shape(0), "the columns must be as long as out");
        values.push_back(column.data());
    }
    nb::gil_scoped_release release;
    return kernels().interleave({values.size(), out.shape(0), values.data(), sizeof(T) == 8},
                                out.data());
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Hot loops over plain arrays; see cpp/widemargin for the algorithms.";
    kernels();  // a wrong WIDEMARGIN_ISA is an error here, not in the middle of a fit

    nb::class_<RowsHandle>(m, "Rows")
        .def_static("dense", &RowsHandle::dense<float>, "x"_a.noconvert())
        .def_static("dense", &RowsHandle::dense<double>, "x"_a.noconvert())
        .def_static("sparse", &RowsHandle::sparse<float>, "values"_a.noconvert(),
                    "columns"_a.noconvert(), "starts"_a.noconvert(), "width"_a)
        .def_static("sparse", &RowsHandle::sparse<double>, "values"_a.noconvert(),
                    "columns"_a.noconvert(), "starts"_a.noconvert(), "width"_a)
        .def_static("packed", &RowsHandle::packed, "rows"_a, "y"_a, "weights"_a.none(),
                    "mean"_a.none(), "scale"_a.none(), "places"_a, "block"_a, "lines"_a.noconvert(),
                    "bytes"_a.noconvert())
        .def("packed_bytes", &RowsHandle::packed_bytes, "places"_a, "block"_a)
        .def_prop_ro("shape", [](const RowsHandle& rows) {
            return std::make_tuple(rows.view().count, rows.view().width);
        });

    m.def("stochastic_gradient", &stochastic_gradient, "rows"_a, "w"_a.noconvert(),
          "b"_a.noconvert(), nb::kw_only(), "sum_w"_a.noconvert().none(),
          "sum_b"_a.noconvert().none(), "steps"_a, "mean"_a.none(), "scale"_a.none(), "order"_a,
          "y"_a, "weights"_a.none(), "one_against_rest"_a, "criterion"_a, "parameter"_a, "rate"_a,
          "slowing"_a, "mu"_a, "fit_intercept"_a, "threads"_a);
    m.def("decision", &decision, "rows"_a, "w"_a, "b"_a, "out"_a.noconvert(), "threads"_a);
    m.def("moments", &moments, "rows"_a, "order"_a, "weights"_a.none(), "mean"_a.noconvert(),
          "variance"_a.noconvert());
    m.def("kernel_perceptron", &kernel_perceptron, "tile"_a, "f"_a.noconvert(), "b"_a.noconvert(),
          "step"_a.noconvert(), nb::kw_only(), "y"_a, "weights"_a.none(), "one_against_rest"_a,
          "criterion"_a, "parameter"_a, "rate"_a, "bias_rate"_a);
    m.def("criterion", &criterion, "name"_a, "parameter"_a, "y"_a, "f"_a, "value"_a.noconvert(),
          "derivative"_a.noconvert());
    m.def("interleave", &interleave<float>, "columns"_a, "out"_a.noconvert());
    m.def("interleave", &interleave<double>, "columns"_a, "out"_a.noconvert());
    m.def("shuffle", &shuffle_order, "order"_a.noconvert(), "seed"_a, "epoch"_a);
    bind_committees(m);
    bind_kernel_machines(m);
    bind_linear_machines(m);
    bind_mixtures(m);
    bind_networks(m);
    m.def("cpu_features", &cpu_features);
    m.attr("isa") = kernels().isa;
#ifdef _OPENMP
    m.attr("openmp") = true;
#else
    m.attr("openmp") = false;
#endif
}

}  // namespace widemargin
