// widemargin._core, multi-layer perceptrons: passes over examples, and outputs.
#include "rows.hpp"

namespace widemargin {
namespace {

Transfer transfer_of(const std::string& name) {
    static const std::pair<const char*, Transfer> names[] = {
        {"identity", Transfer::identity},   {"sigmoid", Transfer::sigmoid},
        {"tanh", Transfer::tanh},           {"slanted_tanh", Transfer::slanted_tanh},
        {"hard_tanh", Transfer::hard_tanh}, {"relu", Transfer::relu},
    };
    return named("transfer", name, names);
}

UpdateRule solver_of(const std::string& name) {
    static const std::pair<const char*, UpdateRule> names[] = {
        {"sgd", UpdateRule::sgd}, {"adam", UpdateRule::adam}, {"adamw", UpdateRule::adamw}};
    return named("solver", name, names);
}

using Units = Vector<const std::int64_t>;

// The network that these parameters are, checked against the examples.
template <class T>
Network network_of(const Rows& x, const Units& units, const std::string& transfer,
                   const Vector<T>& parameters, std::uintptr_t gemm) {
    require_plain(x);
    require(units.shape(0) >= 2, "units must have at least two entries: inputs and outputs");
    require(static_cast<std::size_t>(units(0)) == x.width,
            "units must begin with the number of inputs");
    std::size_t count = 0;
    for (std::size_t k = 0; k < units.shape(0); ++k) {
        require(units(k) >= 1 && units(k) < (std::int64_t{1} << 31), "a layer must have units");
        if (k > 0) count += static_cast<std::size_t>((units(k - 1) + 1) * units(k));
    }
    require(parameters.shape(0) == count, "parameters must have one entry per weight and bias");
    require(gemm != 0, "gemm must be the address of a function");
    return {.double_precision = sizeof(T) == sizeof(double),
            .layers = units.shape(0) - 1,
            .units = units.data(),
            .transfer = transfer_of(transfer),
            .parameters = const_cast<std::remove_const_t<T>*>(parameters.data()),
            .gemm = reinterpret_cast<const void*>(gemm)};
}

Criteria mixture_of(const std::string& name) {
    static const std::pair<const char*, Criteria> names[] = {
        {"tanh_mse", Criteria::mixture_tanh_mse},
        {"mse", Criteria::mixture_mse},
        {"likelihood", Criteria::mixture_likelihood}};
    return named("criterion", name, names);
}

using Experts = Cube<const float>;

// Completes the targets of a mixture; checks the experts against the examples and the gater's
// outputs.
void complete_mixture(NetworkTargets& targets, const Experts& experts, std::size_t rows,
                      std::size_t outputs, const std::string& criterion) {
    require(
        experts.shape(0) == rows && experts.shape(1) == outputs && experts.shape(2) >= 1,
        "experts must have one row per example, one column per output of the gater, and values");
    require(!targets.codes, "a mixture cannot have class codes");
    targets.criteria = mixture_of(criterion);
    targets.experts = experts.data();
    targets.columns = experts.shape(2);
    require(targets.columns == 1 || targets.criteria != Criteria::mixture_likelihood,
            "a likelihood needs one value per expert");
}

// Completes the targets of the network's own outputs.
void complete_outputs(NetworkTargets& targets, const Matrix<const double>& y, std::size_t outputs) {
    require(!targets.codes || outputs >= 2, "class codes need one output per class");
    require(targets.codes || targets.error_scale || outputs == 1,
            "several outputs need codes or error_scale");
    for (std::size_t l = 0; targets.codes && l < y.shape(0); ++l) {
        require(y(l, 0) >= 0.0 && y(l, 0) < static_cast<double>(outputs),
                "y names a class that does not exist");
    }
    const bool margin = targets.q->name == CriterionName::margin;
    if (targets.codes && (margin || targets.q->name == CriterionName::cross_entropy)) {
        targets.criteria = margin ? Criteria::margin_to_best : Criteria::softmax;
    }
}

template <class T>
TallyTuple network_pass(const RowsHandle& rows, Vector<T> parameters, Vector<T> first,
                        Vector<T> second, Units units, const std::string& transfer,
                        std::uintptr_t gemm, std::optional<Vector<const double>> mean,
                        std::optional<Vector<const double>> scale, Units order, std::size_t batch,
                        Matrix<const double> y, bool codes,
                        std::optional<Vector<const double>> weights,
                        std::optional<Vector<const double>> error_scale,
                        std::optional<Experts> experts, const std::string& criterion,
                        double parameter, const std::string& solver, double rate, double momentum,
                        bool nesterov, double beta_1, double beta_2, double epsilon, double mu,
                        double nu, double dropout, std::uint64_t seed, std::int64_t steps,
                        std::size_t slices, int threads) {
    const Rows& x = rows.view();
    const Network network = network_of(x, units, transfer, parameters, gemm);
    const auto outputs = static_cast<std::size_t>(units(units.shape(0) - 1));
    const UpdateRule how = solver_of(solver);
    require(first.shape(0) == parameters.shape(0), "first must have the shape of parameters");
    require(how == UpdateRule::sgd || second.shape(0) == parameters.shape(0),
            "second must have the shape of parameters");
    const std::size_t values = experts ? experts->shape(2) : outputs;
    require(y.shape(0) == x.count && y.shape(1) == (codes ? 1 : values),
            "y must have one row per example, and one column per output or class codes");
    require(!weights || weights->shape(0) == x.count, "weights must have one entry per example");
    require(!error_scale || error_scale->shape(0) == values,
            "error_scale must have one entry per output");
    const Criterion q = experts ? Criterion{} : criterion_of(criterion, parameter);
    NetworkTargets targets{.y = y.data(),
                           .codes = codes,
                           .weights = data_or_null(weights),
                           .error_scale = data_or_null(error_scale),
                           .criteria = Criteria::of_outputs,
                           .q = &q};
    if (experts) {
        complete_mixture(targets, *experts, x.count, outputs, criterion);
    } else {
        complete_outputs(targets, y, outputs);
    }
    require(batch >= 1, "batch must be at least 1");
    require(slices >= 1, "slices must be at least 1");
    require(dropout >= 0.0 && dropout <= 0.99, "dropout must be at least 0 and at most 0.99");
    require_order(order, x);
    const Standardization s = plain_standardization(x, mean, scale);
    const NetworkPass pass{.order = order.data(),
                           .count = order.shape(0),
                           .batch = batch,
                           .targets = targets,
                           .step = {.solver = how,
                                    .rate = rate,
                                    .momentum = momentum,
                                    .nesterov = nesterov,
                                    .beta_1 = beta_1,
                                    .beta_2 = beta_2,
                                    .epsilon = epsilon,
                                    .mu = mu,
                                    .nu = nu,
                                    .first = first.data(),
                                    .second = second.data(),
                                    .steps = steps},
                           .dropout = dropout,
                           .seed = seed,
                           .slices = slices,
                           .threads = at_most_one_per_cpu(threads)};
    const bool online = batch == 1 && how == UpdateRule::sgd && momentum == 0.0 && dropout == 0.0;
    nb::gil_scoped_release release;
    const Tally tally = online ? loops().network_online(x, network, s, pass)
                               : loops().network_batches(x, network, s, pass);
    return as_tuple(tally);
}

template <class T>
void network_outputs(const RowsHandle& rows, Vector<const T> parameters, Units units,
                     const std::string& transfer, std::uintptr_t gemm,
                     std::optional<Vector<const double>> mean,
                     std::optional<Vector<const double>> scale, Matrix<double> out, int threads) {
    const Rows& x = rows.view();
    const Network network = network_of(x, units, transfer, parameters, gemm);
    require(out.shape(0) == x.count &&
                out.shape(1) == static_cast<std::size_t>(units(units.shape(0) - 1)),
            "out must have one row per example and one column per output");
    const Standardization s = plain_standardization(x, mean, scale);
    nb::gil_scoped_release release;
    loops().network_outputs(x, network, s, out.data(), at_most_one_per_cpu(threads));
}

template <class T>
void bind(nb::module_& m) {
    m.def("network_pass", &network_pass<T>, "rows"_a, "parameters"_a.noconvert(),
          "first"_a.noconvert(), "second"_a.noconvert(), nb::kw_only(), "units"_a, "transfer"_a,
          "gemm"_a, "mean"_a.none(), "scale"_a.none(), "order"_a, "batch"_a, "y"_a, "codes"_a,
          "weights"_a.none(), "error_scale"_a.none(), "experts"_a.none().noconvert(), "criterion"_a,
          "parameter"_a, "solver"_a, "rate"_a, "momentum"_a, "nesterov"_a, "beta_1"_a, "beta_2"_a,
          "epsilon"_a, "mu"_a, "nu"_a, "dropout"_a, "seed"_a, "steps"_a, "slices"_a, "threads"_a);
    m.def("network_outputs", &network_outputs<T>, "rows"_a, "parameters"_a.noconvert(),
          nb::kw_only(), "units"_a, "transfer"_a, "gemm"_a, "mean"_a.none(), "scale"_a.none(),
          "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_networks(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace widemargin
