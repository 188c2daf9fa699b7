// widemargin._core, examples: their memory, sums over them, and the order of visits.
#include "rows.hpp"

#include "widemargin/base/shuffle.hpp"

namespace widemargin {
namespace {

void decision(const RowsHandle& rows, Matrix<const double> w, Vector<const double> b,
              Matrix<double> out, int threads) {
    const Rows& x = rows.view();
    require_plain(x);
    require(w.shape(1) == x.width, "w must have one column per input");
    require(b.shape(0) == w.shape(0), "b must have one entry per row of w");
    require(out.shape(0) == x.count && out.shape(1) == w.shape(0), "out has the wrong shape");
    nb::gil_scoped_release release;
    loops().decision(x, w.shape(0), w.data(), b.data(), out.data(), at_most_one_per_cpu(threads));
}

void combine(const RowsHandle& rows, Vector<const double> coef, Vector<double> out, int threads) {
    const Rows& x = rows.view();
    require_plain(x);
    require(coef.shape(0) == x.count, "coef must have one entry per example");
    require(out.shape(0) == x.width, "out must have one entry per input");
    nb::gil_scoped_release release;
    loops().combine(x, coef.data(), out.data(), at_most_one_per_cpu(threads));
}

void moments(const RowsHandle& rows, Vector<const std::int64_t> order,
             std::optional<Vector<const double>> weights, Vector<double> mean,
             Vector<double> variance) {
    const Rows& x = rows.view();
    require_plain(x);
    require(mean.shape(0) == x.width && variance.shape(0) == x.width,
            "mean and variance must have one entry per input");
    require(!weights || weights->shape(0) == x.count, "weights must have one entry per example");
    require_order(order, x);
    nb::gil_scoped_release release;
    loops().moments(x, order.shape(0), order.data(), data_or_null(weights), mean.data(),
                    variance.data());
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
    return loops().interleave({.count = values.size(),
                               .rows = out.shape(0),
                               .values = values.data(),
                               .double_precision = sizeof(T) == sizeof(double)},
                              out.data());
}

void shuffle_order(Vector<std::int64_t> order, std::uint64_t seed, std::uint64_t epoch) {
    require(order.shape(0) < (std::uint64_t{1} << 32), "more than 2^32 examples in one epoch");
    nb::gil_scoped_release release;
    shuffle(order.data(), order.shape(0), seed, epoch);
}

}  // namespace

void bind_rows(nb::module_& m) {
    nb::class_<RowsHandle>(m, "Rows", collected<RowsHandle>())
        .def_static("dense", &RowsHandle::dense<float>, "x"_a.noconvert())
        .def_static("dense", &RowsHandle::dense<double>, "x"_a.noconvert())
        .def_static("sparse", &RowsHandle::sparse<float>, "values"_a.noconvert(),
                    "columns"_a.noconvert(), "starts"_a.noconvert(), "width"_a)
        .def_static("sparse", &RowsHandle::sparse<double>, "values"_a.noconvert(),
                    "columns"_a.noconvert(), "starts"_a.noconvert(), "width"_a)
        .def_static("packed", &RowsHandle::packed, "rows"_a, "y"_a, "weights"_a.none(),
                    "mean"_a.none(), "scale"_a.none(), "places"_a, "dense_inputs"_a,
                    "lines"_a.noconvert(), "bytes"_a.noconvert())
        .def("packed_bytes", &RowsHandle::packed_bytes, "places"_a, "dense_inputs"_a)
        .def_prop_ro("shape", [](const RowsHandle& rows) {
            return std::make_tuple(rows.view().count, rows.view().width);
        });
    m.def("decision", &decision, "rows"_a, "w"_a, "b"_a, "out"_a.noconvert(), "threads"_a);
    m.def("combine", &combine, "rows"_a, "coef"_a, "out"_a.noconvert(), "threads"_a);
    m.def("moments", &moments, "rows"_a, "order"_a, "weights"_a.none(), "mean"_a.noconvert(),
          "variance"_a.noconvert());
    m.def("interleave", &interleave<float>, "columns"_a, "out"_a.noconvert());
    m.def("interleave", &interleave<double>, "columns"_a, "out"_a.noconvert());
    m.def("shuffle", &shuffle_order, "order"_a.noconvert(), "seed"_a, "epoch"_a);
}

}  // namespace widemargin
