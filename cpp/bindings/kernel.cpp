// widemargin._core, kernels: examples in blocks, expansions, and the dual perceptron.
#include "kernel.hpp"

#include <numeric>

#include "rows.hpp"

namespace widemargin {
namespace {

KernelFunction kernel_of(const std::string& text, double gamma, double coef0, int degree,
                         double exponent) {
    std::pair<const char*, KernelName> names[std::size(kKernels)];
    for (std::size_t i = 0; i < std::size(kKernels); ++i) {
        names[i] = {kKernels[i].text, kKernels[i].name};
    }
    const KernelName name = named("kernel", text, names);
    const auto entry = std::find_if(std::begin(kKernels), std::end(kKernels),
                                    [&](const auto& known) { return known.name == name; });
    require(degree >= 0, "degree must not be negative");
    require(exponent > 0.0 && exponent <= 2.0, "exponent must be in (0, 2]");
    require(exponent <= 1.0 || entry->pairing != Pairing::absolute_distance,
            "exponent of laplacian must be in (0, 1]");
    return {exponent == 1.0 ? name : entry->power, gamma, coef0, degree, exponent};
}

using Order = Vector<const std::int64_t>;

// Sets that share one encoding, so that rows of one can be computed over another.
std::vector<KernelExamples> pack_examples(const std::string& name, double gamma, double coef0,
                                          int degree, double exponent,
                                          std::optional<bool> double_precision,
                                          const std::vector<std::tuple<RowsHandle, Order>>& sets,
                                          std::optional<Vector<const double>> centre) {
    require(!sets.empty(), "there are no examples to pack");
    const KernelFunction kernel = kernel_of(name, gamma, coef0, degree, exponent);
    std::vector<Selection> selections;
    for (const auto& [rows, order] : sets) {
        const Rows& x = rows.view();
        require_plain(x);
        require_order(order, x);
        require(order.shape(0) > 0, "a set of examples is empty");
        require(x.width == std::get<0>(sets.front()).view().width,
                "the sets differ in their number of inputs");
        selections.push_back({&x, order.data(), order.shape(0)});
    }
    std::vector<double> subtracted;
    if (centre) {
        require(centre->shape(0) == selections.front().rows->width,
                "centre must have one entry per input");
        subtracted.assign(centre->data(), centre->data() + centre->shape(0));
    }
    nb::gil_scoped_release release;
    const Encoding encoding =
        choose_encoding(kernel, selections, double_precision, std::move(subtracted));
    std::vector<KernelExamples> packed;
    for (const Selection& selection : selections) {
        packed.push_back({kernel, std::make_shared<PackedExamples>(selection, encoding)});
    }
    return packed;
}

std::vector<std::int64_t> checked_ids(Order ids, std::size_t count) {
    require(ids.shape(0) > 0, "a set of examples is empty");
    for (std::size_t i = 0; i < ids.shape(0); ++i) {
        require(ids(i) >= 0 && static_cast<std::size_t>(ids(i)) < count,
                "an example is outside its set");
    }
    return {ids.data(), ids.data() + ids.shape(0)};
}

nb::dict layout_of(const KernelExamples& x) {
    const PackedView& view = x.packed->view();
    nb::dict d;
    d["sparse"] = view.values != nullptr;
    d["inputs"] = view.width;
    d["words"] = view.words;
    d["groups"] = view.groups;
    d["cancels"] = view.cancels;
    d["bytes"] = x.packed->bytes();
    return d;
}

// Some of the examples, in the same encoding.
KernelExamples take_examples(const KernelExamples& from, Order ids) {
    const std::vector<std::int64_t> some = checked_ids(ids, from.packed->view().count);
    nb::gil_scoped_release release;
    return {from.kernel,
            std::make_shared<PackedExamples>(from.packed->gather(some.data(), some.size()))};
}

// out[o] = sum over rows of coef[o][row] k(row, x)
void expand(const KernelExamples& rows, Matrix<const double> coef, const KernelExamples& x,
            Matrix<double> out, int threads) {
    const PackedView &from = rows.packed->view(), &at = x.packed->view();
    require(from.double_precision == at.double_precision && from.width == at.width &&
                from.words == at.words && from.groups == at.groups &&
                (from.values == nullptr) == (at.values == nullptr),
            "the two sets were not packed together");
    require(coef.shape(1) == from.count, "coef must have one column per row");
    require(out.shape(0) == coef.shape(0) && out.shape(1) == at.count, "out has the wrong shape");
    nb::gil_scoped_release release;
    const std::size_t outputs = coef.shape(0), stride = rounded_to_blocks(at.count);
    std::vector<std::int64_t> every(from.count);
    std::iota(every.begin(), every.end(), 0);
    std::vector<double> f(outputs * stride, 0.0);
    constexpr std::size_t rows_at_once = 4096;
    std::vector<double> some_coef;
    for (std::size_t first = 0; first < from.count; first += rows_at_once) {
        const std::size_t n = std::min(rows_at_once, from.count - first);
        some_coef.resize(outputs * n);
        for (std::size_t o = 0; o < outputs; ++o) {
            std::copy_n(coef.data() + o * from.count + first, n, some_coef.data() + o * n);
        }
        loops().kernel_rows(rows.kernel, {&from, every.data() + first, n}, at,
                            {.first = 0,
                             .last = x.packed->blocks(),
                             .outputs = outputs,
                             .coef = some_coef.data(),
                             .f = f.data(),
                             .stride = stride,
                             .threads = at_most_one_per_cpu(threads)});
    }
    for (std::size_t o = 0; o < outputs; ++o) {
        std::copy_n(f.data() + o * stride, at.count, out.data() + o * at.count);
    }
}

// out[o][x] = the gradient of sum over rows of coef[o][row] k(row, x) at the point x
void kernel_gradients(const std::string& name, double gamma, double coef0, int degree,
                      double exponent, Matrix<const double> rows, Matrix<const double> coef,
                      Matrix<const double> points, Cube<double> out, int threads) {
    const KernelFunction kernel = kernel_of(name, gamma, coef0, degree, exponent);
    require(coef.shape(1) == rows.shape(0), "coef must have one column per row");
    require(rows.shape(1) == points.shape(1), "rows and points differ in their number of inputs");
    require(out.shape(0) == coef.shape(0) && out.shape(1) == points.shape(0) &&
                out.shape(2) == points.shape(1),
            "out has the wrong shape");
    nb::gil_scoped_release release;
    loops().kernel_gradients(kernel, {.rows = rows.data(),
                                      .count = rows.shape(0),
                                      .coef = coef.data(),
                                      .outputs = coef.shape(0),
                                      .points = points.data(),
                                      .m = points.shape(0),
                                      .width = points.shape(1),
                                      .out = out.data(),
                                      .threads = at_most_one_per_cpu(threads)});
}

// A kernel matrix, and examples taken from it once it is complete.
class SharedMatrix {
   public:
    explicit SharedMatrix(const KernelExamples& examples)
        : examples_(examples),
          matrix_(std::make_shared<KernelMatrix>(examples.kernel, examples.packed)) {}

    bool compute(double seconds, int threads) {
        nb::gil_scoped_release release;
        return matrix_->complete() || matrix_->compute(seconds, at_most_one_per_cpu(threads));
    }

    MatrixExamples take(Order ids) const {
        require(matrix_->complete(), "the kernel matrix is not complete");
        return {examples_, matrix_, checked_ids(ids, matrix_->count())};
    }

   private:
    KernelExamples examples_;
    std::shared_ptr<KernelMatrix> matrix_;
};

TallyTuple kernel_perceptron(Matrix<const double> tile, Matrix<double> f, Vector<double> b,
                             Matrix<double> step, Vector<const double> y,
                             std::optional<Vector<const double>> weights, bool one_against_rest,
                             const std::string& criterion, double parameter, double rate,
                             double bias_rate, double mu, double slowing,
                             std::optional<Vector<double>> shrunk) {
    const std::size_t count = tile.shape(0), outputs = f.shape(1);
    require(tile.shape(1) == count, "tile must be square");
    require(f.shape(0) == count && y.shape(0) == count, "f and y must have one entry per example");
    require(step.shape(0) == count && step.shape(1) == outputs, "step must have the shape of f");
    require(b.shape(0) == outputs, "b must have one entry per output");
    require(!weights || weights->shape(0) == count, "weights must have one entry per example");
    require(one_against_rest || outputs == 1, "several outputs need one_against_rest");
    require(mu >= 0.0 && rate * mu <= 1.0 && slowing >= 0.0, "rate times mu must be in [0, 1]");
    require(mu == 0.0 || shrunk, "weight decay needs shrunk, for the factor of the coefficients");
    require(!shrunk || shrunk->shape(0) == 1, "shrunk must have one entry");
    const DualPerceptronChunk chunk{
        .tile = tile.data(),
        .count = count,
        .outputs = outputs,
        .y = y.data(),
        .weights = data_or_null(weights),
        .targets = one_against_rest ? Targets::one_against_rest : Targets::values,
        .criterion = criterion_of(criterion, parameter),
        .rate = rate,
        .bias_rate = bias_rate,
        .f = f.data(),
        .b = b.data(),
        .step = step.data(),
        .mu = mu,
        .slowing = slowing,
        .shrunk = data_or_null(shrunk)};
    nb::gil_scoped_release release;
    return as_tuple(loops().kernel_perceptron(chunk));
}

}  // namespace

void bind_kernel(nb::module_& m) {
    nb::class_<KernelExamples>(m, "KernelExamples")
        .def_prop_ro("double_precision",
                     [](const KernelExamples& x) { return x.packed->view().double_precision; })
        .def_prop_ro("layout", &layout_of)
        .def_prop_ro("cost", [](const KernelExamples& x) { return x.packed->cost(); })
        .def_prop_ro("matrix_bytes",
                     [](const KernelExamples& x) { return KernelMatrix::bytes(*x.packed); })
        .def("take", &take_examples, "ids"_a);
    nb::class_<MatrixExamples>(m, "MatrixExamples")
        .def_prop_ro("double_precision",
                     [](const MatrixExamples& x) { return x.matrix->double_precision(); })
        .def_prop_ro("layout", [](const MatrixExamples& x) { return layout_of(x.all); });
    nb::class_<SharedMatrix>(m, "KernelMatrix")
        .def(nb::init<const KernelExamples&>(), "examples"_a)
        .def("compute", &SharedMatrix::compute, "seconds"_a, "threads"_a)
        .def("take", &SharedMatrix::take, "ids"_a);
    m.def("pack_examples", &pack_examples, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a,
          "exponent"_a, "double_precision"_a.none(), "sets"_a, "centre"_a.none());
    m.def("expand", &expand, "rows"_a, "coef"_a, "x"_a, "out"_a.noconvert(), "threads"_a);
    m.def("kernel_gradients", &kernel_gradients, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a,
          "exponent"_a, "rows"_a, "coef"_a, "points"_a, "out"_a.noconvert(), "threads"_a);
    m.def("kernel_perceptron", &kernel_perceptron, "tile"_a, "f"_a.noconvert(), "b"_a.noconvert(),
          "step"_a.noconvert(), nb::kw_only(), "y"_a, "weights"_a.none(), "one_against_rest"_a,
          "criterion"_a, "parameter"_a, "rate"_a, "bias_rate"_a, "mu"_a, "slowing"_a,
          "shrunk"_a.noconvert().none());
}

}  // namespace widemargin
