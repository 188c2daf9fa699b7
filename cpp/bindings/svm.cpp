// widemargin._core, support vector machines: the decomposition algorithm.
#include <cmath>

#include "arrays.hpp"
#include "kernel.hpp"
#include "widemargin/svm/decomposition.hpp"

namespace widemargin {
namespace {

Shrinking shrinking_of(const std::string& name) {
    static const std::pair<const char*, Shrinking> names[] = {
        {"never", Shrinking::never},
        {"checked", Shrinking::checked},
        {"heuristic", Shrinking::heuristic},
    };
    return named("shrinking", name, names);
}

// A solver, and the kernel that it works with: KernelExamples, MatrixExamples, or a function from
// row numbers to rows over all examples.
//
// It owns the only reference to the kernel, so that the garbage collector sees all of them.
class Solver {
   public:
    Solver(nb::object kernel, std::optional<Vector<const double>> diagonal,
           Matrix<const double> beta, Matrix<const double> lo, Matrix<const double> hi,
           Matrix<const double> s, std::optional<Matrix<const unsigned char>> group,
           std::size_t working_set, const std::string& shrinking, std::uint32_t patience,
           double threshold, double tol, std::size_t cache_bytes, std::int64_t max_steps,
           int threads, SolverMemory* memory)
        : kernel_(std::move(kernel)) {
        std::shared_ptr<const KernelSource> source;
        if (diagonal) {
            require(nb::isinstance<nb::callable>(kernel_), "kernel must be a function of rows");
            source = given_kernel(*diagonal);
        } else if (nb::isinstance<MatrixExamples>(kernel_)) {
            const auto& some = nb::cast<const MatrixExamples&>(kernel_);
            source = std::make_shared<MatrixKernel>(some.matrix, some.ids);
        } else {
            const auto& examples = nb::cast<const KernelExamples&>(kernel_);
            source = std::make_shared<ComputedKernel>(examples.kernel, examples.packed);
        }
        const std::size_t passes = beta.shape(0), count = beta.shape(1);
        require(count == source->count() && count > 0, "beta must have one column per example");
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
                require(b == 0.0 || x.beta[l] == 0.0,
                        "at most one variable of an example may differ from 0");
                if (high > 0.0) x.above[l] = s(pass, l);
                if (low < 0.0) x.below[l] = s(pass, l);
                if (b != 0.0) x.beta[l] = b;
            }
            require(x.lo[l] == 0.0 || x.hi[l] == 0.0 || x.below[l] <= x.above[l],
                    "the cost of a variable is not convex");
        }
        x.two_sums = group.has_value();
        require(working_set % 2 == 0, "working_set must be even");
        require(patience >= 1, "patience must be at least 1");
        const DecompositionOptions options{.working_set = working_set,
                                           .shrinking = shrinking_of(shrinking),
                                           .tol = tol,
                                           .cache_bytes = cache_bytes,
                                           .max_steps = max_steps,
                                           .threads = at_most_one_per_cpu(threads),
                                           .patience = patience,
                                           .threshold = threshold};
        SolverMemory taken = memory ? std::move(*memory) : SolverMemory();
        nb::gil_scoped_release release;
        solver_ = std::make_unique<Decomposition>(source, std::move(x), options, std::move(taken));
    }
    Solver(const Solver&) = delete;  // given_kernel() refers to it
    Solver& operator=(const Solver&) = delete;

    SolverMemory release() {
        SolverMemory memory = solver().release();
        solver_.reset();
        return memory;
    }

    nb::dict run(double seconds) {
        return as_dict([&] { return solver().run(seconds); });
    }
    nb::dict measure(double seconds) {
        return as_dict([&] { return solver().measure(seconds); });
    }

    void change_bounds(double t, Matrix<const double> lo, Matrix<const double> hi) {
        require(std::isfinite(t) && t >= 0.0, "the factor of beta must not be negative");
        require(complete_, "f is not known for every example");
        for (const auto* array : {&lo, &hi}) {
            require(array->shape(0) == passes_ && array->shape(1) == solver().examples(),
                    "lo and hi must have the shape of beta");
        }
        std::vector<double> low, high;
        net_bounds(lo, hi, low, high);
        nb::gil_scoped_release release;
        solver().change_bounds(t, low, high);
    }

    void correct(Vector<const double> f, double tol) {
        require(complete_, "f is not known for every example");
        require(f.shape(0) == solver().examples(), "f must have one value per example");
        nb::gil_scoped_release release;
        solver().correct(f.data(), tol);
    }

    void state(Matrix<double> beta, Vector<double> f) const {
        const std::size_t count = solver().examples();
        require(beta.shape(0) == passes_ && beta.shape(1) == count && f.shape(0) == count,
                "beta or f has the wrong shape");
        solver().state(beta.data(), f.data());
        if (passes_ == 1) return;
        for (std::size_t l = 0; l < count; ++l) {
            const double net = beta(0, l);
            beta(0, l) = std::max(net, 0.0);
            beta(1, l) = std::min(net, 0.0);
        }
    }

    // For Python's garbage collector (arrays.hpp).
    void visit_owners(OwnerVisitor& visitor) const { visitor(kernel_); }
    void drop_owners() { kernel_.reset(); }

   private:
    Decomposition& solver() const {
        require(solver_ != nullptr, "the solver has given its memory away");
        return *solver_;
    }

    // Rows from the function; called without the GIL.
    std::shared_ptr<const KernelSource> given_kernel(const Vector<const double>& diagonal) const {
        const std::size_t count = diagonal.shape(0);
        auto provide = [this, count](const std::int64_t* ids, std::size_t n, double* out) {
            nb::gil_scoped_acquire acquire;
            if (!kernel_.is_valid()) throw std::runtime_error("the kernel function is gone");
            std::size_t shape[1] = {n};
            nb::ndarray<nb::numpy, const std::int64_t> wanted(ids, 1, shape);
            auto result =
                nb::cast<Matrix<const double>>(kernel_(nb::cast(wanted, nb::rv_policy::copy)));
            require(result.shape(0) == n && result.shape(1) == count,
                    "the kernel function returned a matrix of the wrong shape");
            std::copy_n(result.data(), n * count, out);
        };
        return std::make_shared<GivenKernel>(
            count, std::vector<double>(diagonal.data(), diagonal.data() + count), provide);
    }

    // Bounds of the net variable of each example, from those of its one or two variables.
    static void net_bounds(const Matrix<const double>& lo, const Matrix<const double>& hi,
                           std::vector<double>& low, std::vector<double>& high) {
        low.assign(lo.shape(1), 0.0);
        high.assign(lo.shape(1), 0.0);
        for (std::size_t pass = 0; pass < lo.shape(0); ++pass) {
            for (std::size_t l = 0; l < lo.shape(1); ++l) {
                const double from = lo(pass, l), to = hi(pass, l);
                require(from <= 0.0 && to >= 0.0 && (from == 0.0 || to == 0.0),
                        "a variable must not have bounds of both signs");
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
        d["stalled"] = p.stalled;
        d["traffic"] = p.traffic;
        return d;
    }

    nb::object kernel_;
    std::size_t passes_ = 1;
    bool complete_ = false;
    std::unique_ptr<Decomposition> solver_;
};

}  // namespace

void bind_svm(nb::module_& m) {
    nb::class_<SolverMemory>(m, "SolverMemory");
    nb::class_<Solver>(m, "Decomposition", collected<Solver>())
        .def(nb::init<nb::object, std::optional<Vector<const double>>, Matrix<const double>,
                      Matrix<const double>, Matrix<const double>, Matrix<const double>,
                      std::optional<Matrix<const unsigned char>>, std::size_t, const std::string&,
                      std::uint32_t, double, double, std::size_t, std::int64_t, int,
                      SolverMemory*>(),
             "kernel"_a, nb::kw_only(), "diagonal"_a.none(), "beta"_a, "lo"_a, "hi"_a, "s"_a,
             "group"_a.none(), "working_set"_a, "shrinking"_a, "patience"_a, "threshold"_a, "tol"_a,
             "cache_bytes"_a, "max_steps"_a, "threads"_a, "memory"_a.none())
        .def("release", &Solver::release)
        .def("run", &Solver::run, "seconds"_a)
        .def("measure", &Solver::measure, "seconds"_a)
        .def("change_bounds", &Solver::change_bounds, "t"_a, "lo"_a, "hi"_a)
        .def("correct", &Solver::correct, "f"_a, "tol"_a)
        .def("state", &Solver::state, "beta"_a.noconvert(), "f"_a.noconvert());
}

}  // namespace widemargin
