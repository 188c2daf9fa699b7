// widemargin._core, kernel machines: examples in blocks, the decomposition algorithm, expansions.
#include <nanobind/stl/function.h>
#include <nanobind/stl/shared_ptr.h>

#include <cmath>
#include <numeric>

#include "rows_handle.hpp"
#include "widemargin/svm/decomposition.hpp"

namespace widemargin {
namespace {

KernelFunction kernel_of(const std::string& name, double gamma, double coef0, int degree) {
    static const std::pair<const char*, KernelName> names[] = {
        {"linear", KernelName::linear},
        {"poly", KernelName::poly},
        {"rbf", KernelName::rbf},
        {"sigmoid", KernelName::sigmoid},
    };
    for (const auto& [known, value] : names) {
        if (name == known) return {value, gamma, coef0, degree};
    }
    throw std::invalid_argument("unknown kernel '" + name + "'");
}

// Examples in the blocks of one kernel.
struct KernelExamples {
    KernelFunction kernel;
    std::shared_ptr<const PackedExamples> packed;
};

using Order = Vector<const std::int64_t>;

// Sets that share one encoding, so that rows of one can be computed over another.
std::vector<KernelExamples> pack_examples(const std::string& name, double gamma, double coef0,
                                          int degree, std::optional<bool> wide,
                                          const std::vector<std::tuple<RowsHandle, Order>>& sets) {
    require(!sets.empty(), "there are no examples to pack");
    const KernelFunction kernel = kernel_of(name, gamma, coef0, degree);
    require(degree >= 0, "degree must not be negative");
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
    nb::gil_scoped_release release;
    const Encoding encoding = choose_encoding(kernel, selections, wide);
    std::vector<KernelExamples> packed;
    for (const Selection& selection : selections) {
        packed.push_back({kernel, std::make_shared<PackedExamples>(selection, encoding)});
    }
    return packed;
}

// out[o] = sum over rows of coef[o][row] k(row, x)
void expand(const KernelExamples& rows, Matrix<const double> coef, const KernelExamples& x,
            Matrix<double> out, int threads) {
    const PackedView &from = rows.packed->view(), &at = x.packed->view();
    require(from.wide == at.wide && from.width == at.width && from.words == at.words &&
                from.groups == at.groups && (from.values == nullptr) == (at.values == nullptr),
            "the two sets were not packed together");
    require(coef.shape(1) == from.count, "coef must have one column a row");
    require(out.shape(0) == coef.shape(0) && out.shape(1) == at.count, "out has the wrong shape");
    nb::gil_scoped_release release;
    const std::size_t outputs = coef.shape(0), stride = x.packed->blocks() * kBlock;
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
        kernels().kernel_rows(rows.kernel, {&from, every.data() + first, n}, at,
                              {0, x.packed->blocks(), outputs, some_coef.data(), f.data(), stride,
                               nullptr, at_most_one_a_cpu(threads)});
    }
    for (std::size_t o = 0; o < outputs; ++o) {
        std::copy_n(f.data() + o * stride, at.count, out.data() + o * at.count);
    }
}

// The kernel as a function of Python: row numbers to rows over all examples.
using RowFunction = nb::callable;

std::shared_ptr<const KernelSource> given_kernel(Vector<const double> diagonal,
                                                 RowFunction rows_of) {
    const std::size_t count = diagonal.shape(0);
    auto provide = [count, rows_of](const std::int64_t* ids, std::size_t n, double* out) {
        nb::gil_scoped_acquire acquire;
        std::size_t shape[1] = {n};
        nb::ndarray<nb::numpy, const std::int64_t> wanted(ids, 1, shape);
        auto result =
            nb::cast<Matrix<const double>>(rows_of(nb::cast(wanted, nb::rv_policy::copy)));
        if (result.shape(0) != n || result.shape(1) != count) {
            throw std::invalid_argument("the kernel function gave a matrix of the wrong shape");
        }
        std::copy_n(result.data(), n * count, out);
    };
    return std::make_shared<GivenKernel>(
        count, std::vector<double>(diagonal.data(), diagonal.data() + count), provide);
}

class Solver {
   public:
    Solver(nb::object kernel, std::optional<Vector<const double>> diagonal,
           Matrix<const double> beta, Matrix<const double> lo, Matrix<const double> hi,
           Matrix<const double> s, std::optional<Matrix<const unsigned char>> group,
           std::size_t working_set, const std::string& shrinking, double tol,
           std::size_t cache_bytes, std::int64_t max_steps, int threads)
        : owner_(kernel) {
        std::shared_ptr<const KernelSource> source;
        if (diagonal) {
            source = given_kernel(*diagonal, nb::cast<RowFunction>(kernel));
        } else {
            const auto& examples = nb::cast<const KernelExamples&>(kernel);
            source = std::make_shared<ComputedKernel>(examples.kernel, examples.packed);
        }
        const std::size_t passes = beta.shape(0), count = beta.shape(1);
        require(count == source->count() && count > 0, "beta must have one column an example");
        require(passes == 1 || passes == 2, "an example has one or two variables");
        for (const auto* array : {&lo, &hi, &s}) {
            require(array->shape(0) == passes && array->shape(1) == count,
                    "lo, hi and s must have the shape of beta");
        }
        require(!group || (group->shape(0) == passes && group->shape(1) == count),
                "group must have the shape of beta");
        passes_ = passes;
        Variables x;
        for (auto* values : {&x.beta, &x.above, &x.below}) values->resize(count);
        net_bounds(lo, hi, x.lo, x.hi);
        for (std::size_t l = 0; l < count; ++l) {
            for (std::size_t pass = 0; pass < passes; ++pass) {
                const double b = beta(pass, l), low = lo(pass, l), high = hi(pass, l);
                require(low <= b && b <= high, "beta is outside its bounds");
                require(b == 0.0 || x.beta[l] == 0.0, "both variables of an example are not 0");
                if (high > 0.0) x.above[l] = s(pass, l);
                if (low < 0.0) x.below[l] = s(pass, l);
                if (b != 0.0) x.beta[l] = b;
            }
            require(x.lo[l] == 0.0 || x.hi[l] == 0.0 || x.below[l] <= x.above[l],
                    "the cost of a variable is not convex");
        }
        x.two_sums = group.has_value();
        require(working_set % 2 == 0, "working_set must be even");
        Shrinking how = Shrinking::checked;
        if (shrinking == "never") how = Shrinking::never;
        if (shrinking == "heuristic") how = Shrinking::heuristic;
        const DecompositionOptions options{working_set, how,       tol,
                                           cache_bytes, max_steps, at_most_one_a_cpu(threads)};
        nb::gil_scoped_release release;
        solver_ = std::make_unique<Decomposition>(source, std::move(x), options);
    }

    nb::dict run(double seconds) {
        return as_dict([&] { return solver_->run(seconds); });
    }
    nb::dict measure(double seconds) {
        return as_dict([&] { return solver_->measure(seconds); });
    }

    void change_bounds(double t, Matrix<const double> lo, Matrix<const double> hi) {
        require(std::isfinite(t) && t >= 0.0, "the factor of beta must not be negative");
        require(complete_, "f is not known for every example");
        for (const auto* array : {&lo, &hi}) {
            require(array->shape(0) == passes_ && array->shape(1) == solver_->examples(),
                    "lo and hi must have the shape of beta");
        }
        std::vector<double> low, high;
        net_bounds(lo, hi, low, high);
        nb::gil_scoped_release release;
        solver_->change_bounds(t, low, high);
    }

    void state(Matrix<double> beta, Vector<double> f) const {
        const std::size_t count = solver_->examples();
        require(beta.shape(0) == passes_ && beta.shape(1) == count && f.shape(0) == count,
                "beta or f has the wrong shape");
        solver_->state(beta.data(), f.data());
        if (passes_ == 1) return;
        for (std::size_t l = 0; l < count; ++l) {
            const double net = beta(0, l);
            beta(0, l) = std::max(net, 0.0);
            beta(1, l) = std::min(net, 0.0);
        }
    }

   private:
    // Bounds of the net variable of each example, from those of its one or two.
    static void net_bounds(const Matrix<const double>& lo, const Matrix<const double>& hi,
                           std::vector<double>& low, std::vector<double>& high) {
        low.assign(lo.shape(1), 0.0);
        high.assign(lo.shape(1), 0.0);
        for (std::size_t pass = 0; pass < lo.shape(0); ++pass) {
            for (std::size_t l = 0; l < lo.shape(1); ++l) {
                const double from = lo(pass, l), to = hi(pass, l);
                require(from <= 0.0 && to >= 0.0 && (from == 0.0 || to == 0.0),
                        "a variable has one sign");
                if (to > 0.0) high[l] = to;
                if (from < 0.0) low[l] = from;
            }
        }
    }

    template <class Work>
    nb::dict as_dict(Work&& work) {
        DecompositionProgress p;
        {
            nb::gil_scoped_release release;
            p = work();
        }
        complete_ = p.complete;
        nb::dict d;
        d["done"] = p.done;
        d["complete"] = p.complete;
        d["violation"] = p.violation;
        d["cost"] = p.cost;
        d["steps"] = p.steps;
        d["iterations"] = p.iterations;
        d["kernel_evaluations"] = p.kernel_values;
        d["rows_wanted"] = p.rows_wanted;
        d["rows_cached"] = p.rows_cached;
        d["active"] = p.active;
        return d;
    }

    nb::object owner_;
    std::size_t passes_ = 1;
    bool complete_ = false;
    std::unique_ptr<Decomposition> solver_;
};

}  // namespace

void bind_kernel_machines(nb::module_& m) {
    nb::class_<KernelExamples>(m, "KernelExamples")
        .def_prop_ro("wide", [](const KernelExamples& x) { return x.packed->view().wide; })
        .def_prop_ro("layout", [](const KernelExamples& x) {
            const PackedView& view = x.packed->view();
            nb::dict d;
            d["sparse"] = view.values != nullptr;
            d["inputs"] = view.width;
            d["words"] = view.words;
            d["groups"] = view.groups;
            d["bytes"] = x.packed->bytes();
            return d;
        });
    m.def("pack_examples", &pack_examples, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a,
          "wide"_a.none(), "sets"_a);
    m.def("expand", &expand, "rows"_a, "coef"_a, "x"_a, "out"_a.noconvert(), "threads"_a);
    nb::class_<Solver>(m, "Decomposition")
        .def(nb::init<nb::object, std::optional<Vector<const double>>, Matrix<const double>,
                      Matrix<const double>, Matrix<const double>, Matrix<const double>,
                      std::optional<Matrix<const unsigned char>>, std::size_t, const std::string&,
                      double, std::size_t, std::int64_t, int>(),
             "kernel"_a, nb::kw_only(), "diagonal"_a.none(), "beta"_a, "lo"_a, "hi"_a, "s"_a,
             "group"_a.none(), "working_set"_a, "shrinking"_a, "tol"_a, "cache_bytes"_a,
             "max_steps"_a, "threads"_a)
        .def("run", &Solver::run, "seconds"_a)
        .def("measure", &Solver::measure, "seconds"_a)
        .def("change_bounds", &Solver::change_bounds, "t"_a, "lo"_a, "hi"_a)
        .def("state", &Solver::state, "beta"_a.noconvert(), "f"_a.noconvert());
}

}  // namespace widemargin
