"""The models of tests/persistence/models, as the version that wrote them knew their parameters."""

import numpy as np
import pandas
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin as wm
from widemargin import dask
from widemargin.mixtures import EstimatorGater
from widemargin.tables import TextColumns, table_encoder

__all__ = ["ROWS", "STREAMS", "as_frame", "models", "problems", "table"]

ROWS, PROBES = 40, 16


def problems():
    """Name -> inputs and targets; the last rows are to be predicted."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(ROWS + PROBES, 3)) * [1.0, 1.0, 5.0] + [0.0, 1.0, -2.0]
    X[rng.random(X.shape) < 0.2] = 0.0
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))
    two = np.where(score > np.median(score), "yes", "no")
    three = np.array(["ash", "beech", "cedar"])[np.digitize(score, [0.0, 1.2])]
    values = np.stack([10 + score, X[:, 2] * X[:, 0]], axis=1)
    apart = np.concatenate([X[:, :2] / 10 + 5 * k for k in range(2)])[::2]
    return {
        "two": (X, two),
        "three": (X, three),
        "codes": (X, np.where(score > 0.5, 7, -7)),
        "value": (X, values[:, 0]),
        "values": (X, values),
        "apart": (apart, np.where(apart[:, 0] > 2.5, "far", "near")),
    }


def table():
    """A table with text and missing values."""
    rng = np.random.default_rng(5)
    n = ROWS + PROBES
    town, age = rng.choice(["Bern", "Sion", ""], n), np.where(rng.random(n) < 0.1, np.nan, 1.0)
    age *= rng.integers(20, 60, n)
    return {"age": age, "size": rng.normal(size=n), "town": town}, np.where(
        (np.nan_to_num(age) > 35) | (town == "Bern"), "in", "out"
    )


def as_frame(columns):
    frame = pandas.DataFrame(columns)
    return frame.assign(town=frame["town"].replace("", None))


# ----------------------------------------------------------------------------------- parameters

SEED = {"random_state": 0}
FEW = {"random_state": 0, "max_iter": 8}  # a short history
RUN = {"random_state": 3, "time_limit": 600.0, "warm_start": True, "n_jobs": 1}
STOP = {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2, "tol": 1e-5}
EPOCHS = {**RUN, **STOP, "max_iter": 6, "verbose": 1}
WEIGHTS = {"class_weight": {"no": 1.0, "yes": 2.0}}
LINEAR = {**EPOCHS, **WEIGHTS, "average": True, "fit_intercept": False, "shuffle": False}

KERNEL = {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0, "tol": 1e-4, "verbose": True}
KERNEL |= {"cache_size": 50, "max_iter": 1_000_000, "working_set_size": 4, "shrinking": False}
MACHINE = {**KERNEL, "time_limit": 600.0, "n_jobs": 1, "warm_start": True, "dtype": "float64"}
CLASSES = {"probability": True, "break_ties": True, "random_state": 3}
CLASSES |= {"multi_class": "ovr", "class_weight": "balanced"}

FLAT = {"tol": 1e-5, "fit_intercept": False, "max_iter": 500, "standardize": True, "dual": True}
FLAT |= {"time_limit": 600.0, "n_jobs": 1, "random_state": 3, "verbose": 1}

STEPS = {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 0.02, "power_t": 0.4}
STEPS |= {"momentum": 0.8, "nesterovs_momentum": False, "batch_size": 8, "shuffle": False}
NETWORK = {**EPOCHS, **STEPS, "hidden_layer_sizes": (4, 3), "activation": "tanh", "alpha": 0.01}
NETWORK |= {"standardize": False, "dtype": "float64", "mu": 1e-3, "nu": 1e-4, "epsilon": 1e-7}
NETWORK |= {"beta_1": 0.8, "beta_2": 0.99}
SMALL = {"hidden_layer_sizes": (4,), "max_iter": 5, "random_state": 0}

UNITS = {"n_units": 7, "learning_rate": 0.05, "schedule": "decay", "decay": 0.1, "power_t": 0.3}
UNITS |= {"init_scale": 0.3, "standardize": False, "shuffle": False}

GATER = {"hidden_layer_sizes": (4,), "activation": "relu", "solver": "sgd", "alpha": 0.01}
GATER |= {"batch_size": 8, "learning_rate": "cosine", "learning_rate_init": 0.05, "max_iter": 3}
GATER |= {"tol": 1e-5, "n_iter_no_change": 2, "shuffle": False, "standardize": False}
GATER |= {"dtype": "float64", "random_state": 3, "verbose": 1, "time_limit": 600.0, "n_jobs": 1}

HARD = {"n_experts": 2, "n_iter": 2, "random_state": 0}
SHARED = {**STOP, "n_experts": 3, "n_iter": 3, "capacity": 1.5, "reassign": "posterior"}
SHARED |= {"gater_rows": 30, "gate_tolerance": 0.01, "scale": "standard", "time_limit": 600.0}
SHARED |= {"verbose": 1, "random_state": 3}
PARTS = {**SHARED, "first_partition": "kmeans", "warm_start": True, "n_jobs": 1}

SOFT = {"n_experts": 3, "n_hidden": 2, "gater_units": 2, "max_iter": 10, "random_state": 0}
BLEND = {**EPOCHS, "n_experts": 2, "n_hidden": 3, "gater_units": 2, "activation": "relu"}
BLEND |= {"alpha": 0.01, "batch_size": 8, "learning_rate": "cosine", "learning_rate_init": 0.02}
BLEND |= {"criterion": "mse", "shuffle": False, "standardize": False, "dtype": "float64"}


def gater():
    return wm.MLPGater(**GATER)


def encoded(model):
    """What the command line writes for a table with text."""
    return make_pipeline(table_encoder(as_frame(table()[0])[:ROWS]), model)


def models():
    """File, model and problem, a family at a time."""
    yield from perceptrons()
    yield from machines()
    yield from linear_machines()
    yield from networks()
    yield from mixtures()
    yield "TextColumns-a", TextColumns(), "table"
    yield "TextColumns-b", TextColumns(missing="none"), "table"
    yield "Pipeline-a", encoded(wm.MarginPerceptron(**FEW)), "table"
    scaled = make_pipeline(StandardScaler(), Nystroem(n_components=5, random_state=0))
    yield "Pipeline-b", make_pipeline(scaled, wm.LinearSVC(C=2.0, n_jobs=1)), "three"
    yield "Pipeline-c", encoded(wm.SimpleMLPClassifier(n_units=5, **FEW)), "table"


def perceptrons():
    yield "Perceptron-a", wm.Perceptron(), "two"
    yield (
        "Perceptron-b",
        wm.Perceptron(**LINEAR, eta0=0.5, standardize=True, feature_map="polynomial"),
        "two:csr",
    )
    yield "MarginPerceptron-a", wm.MarginPerceptron(**FEW), "three"
    steps = {"learning_rate": 0.05, "schedule": "one_cycle", "decay": 0.2, "power_t": 0.4}
    yield (
        "MarginPerceptron-b",
        wm.MarginPerceptron(**LINEAR, **steps, margin=0.5, standardize=False),
        "two",
    )
    mapped = Nystroem(n_components=5, random_state=0)
    yield "MarginPerceptron-c", wm.MarginPerceptron(**FEW, feature_map=mapped), "codes"
    yield "SGDSVM-a", wm.SGDSVM(**FEW), "three"
    steps = {"mu": 0.01, "learning_rate": 0.1, "schedule": "decay", "decay": 0.2}
    yield (
        "SGDSVM-b",
        wm.SGDSVM(**LINEAR | {"average": False}, **steps, standardize=False),
        "two",
    )
    yield "KernelPerceptron-a", wm.KernelPerceptron(**FEW), "three"
    options = {name: value for name, value in EPOCHS.items() if name != "n_jobs"}
    kernel = {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.0, "radius": 0.5}
    yield (
        "KernelPerceptron-b",
        wm.KernelPerceptron(
            **options, **kernel, **WEIGHTS, fit_intercept=False, standardize=False, shuffle=False
        ),
        "two:csr",
    )


def machines():
    yield "SVC-a", wm.SVC(n_jobs=1), "two"
    yield "SVC-b", wm.SVC(**MACHINE, **CLASSES, C=2.0), "three"
    yield (
        "SVC-c",
        wm.SVC(kernel="linear", decision_function_shape="ovo", shrinking="heuristic"),
        "three:csr",
    )
    yield "NuSVC-a", wm.NuSVC(n_jobs=1), "two"
    yield "NuSVC-b", wm.NuSVC(**MACHINE, **CLASSES, nu=0.1), "three"
    yield "SVR-a", wm.SVR(n_jobs=1), "value"
    yield "SVR-b", wm.SVR(**MACHINE, C=2.0, epsilon=0.2), "value:csr"
    yield "NuSVR-a", wm.NuSVR(n_jobs=1), "value"
    yield "NuSVR-b", wm.NuSVR(**MACHINE, C=2.0, nu=0.3), "value"
    yield "OneClassSVM-a", wm.OneClassSVM(n_jobs=1), "value"
    yield "OneClassSVM-b", wm.OneClassSVM(**MACHINE, nu=0.3), "value"
    yield "SVCCV-a", wm.SVCCV(n_jobs=1), "two"
    options = {name: value for name, value in MACHINE.items() if name != "warm_start"}
    choice = {"Cs": [0.5, 1.0], "gamma": [0.3, "auto"], "cv": 3, "scoring": "balanced_accuracy"}
    yield "SVCCV-b", wm.SVCCV(**options | CLASSES | choice), "three"


def linear_machines():
    yield "LinearSVC-a", wm.LinearSVC(n_jobs=1, random_state=0), "three"
    hinge = {**FLAT, **WEIGHTS, "loss": "hinge"}
    yield "LinearSVC-b", wm.LinearSVC(**hinge, C=2.0, warm_start=True), "two"
    joint = {"multi_class": "crammer_singer", "intercept_scaling": 2.0, "warm_start": True}
    joint |= {"standardize": True, "tol": 0.01}
    yield "LinearSVC-c", wm.LinearSVC(**joint, n_jobs=1, random_state=0), "three:csr"
    yield "LinearSVR-a", wm.LinearSVR(n_jobs=1, random_state=0), "value"
    squared = {"loss": "squared_epsilon_insensitive", "epsilon": 0.2, "warm_start": True}
    yield "LinearSVR-b", wm.LinearSVR(**FLAT, **squared, C=2.0), "value:csr"
    yield "LinearSVCCV-a", wm.LinearSVCCV(n_jobs=1, random_state=0), "two"
    choice = {"Cs": [0.5, 1.0], "cv": 3, "scoring": "balanced_accuracy"}
    yield "LinearSVCCV-b", wm.LinearSVCCV(**hinge, **choice), "two"


def networks():
    yield "MLPClassifier-a", wm.MLPClassifier(**SMALL), "three"
    options = {**NETWORK, **WEIGHTS, "criterion": "margin", "margin": 0.5}
    yield "MLPClassifier-b", wm.MLPClassifier(**options), "two"
    yield "MLPRegressor-a", wm.MLPRegressor(**SMALL), "value"
    options = {**NETWORK, "criterion": "epsilon_insensitive", "tube": 0.2}
    yield "MLPRegressor-b", wm.MLPRegressor(**options), "values"
    yield "SimpleMLPClassifier-a", wm.SimpleMLPClassifier(n_units=5, **FEW), "two"
    options = {**EPOCHS, **UNITS, **WEIGHTS, "margin": 0.3, "n_committees": 2, "dropout": 0.2}
    options |= {"average": True, "multi_class": "ovr", "fit_intercept": False, "lock_free": True}
    yield "SimpleMLPClassifier-b", wm.SimpleMLPClassifier(**options, encoding=None), "two"
    hats = wm.HatEncoder(n_knots=4)
    yield (
        "SimpleMLPClassifier-c",
        wm.SimpleMLPClassifier(n_units=5, encoding=hats, **FEW),
        "three:csr",
    )
    yield "NilssonMLPClassifier-a", wm.NilssonMLPClassifier(n_units=5, random_state=0), "two"
    options = {**EPOCHS, **UNITS, **WEIGHTS, "margin": 0.3, "encoding": "hat"}
    yield "NilssonMLPClassifier-b", wm.NilssonMLPClassifier(**options), "two"
    yield "HatEncoder-a", wm.HatEncoder(), "two"
    yield "HatEncoder-b", wm.HatEncoder(n_knots=4, standardize=False), "two:csr"


def mixtures():
    yield "MLPGater-a", wm.MLPGater((4,), **SEED), "two"
    yield "MLPGater-b", gater(), "two"
    yield "GaussianGater-a", wm.GaussianGater(2, **SEED), "two"
    options = {"covariance_type": "spherical", "max_iter": 5, "tol": 1e-4, "reg_covar": 0.01}
    options |= {"standardize": False, "warm_start": False, "n_jobs": 1, "random_state": 3}
    yield "GaussianGater-b", wm.GaussianGater(3, **options), "two"
    yield "UniformGater-a", wm.UniformGater(), "two"
    yield "UniformGater-b", wm.UniformGater(), "three"
    yield "EstimatorGater-a", EstimatorGater(wm.SVC(probability=True, **SEED)), "two"
    yield "EstimatorGater-b", EstimatorGater(wm.MLPClassifier(**SMALL)), "two"
    yield "HardMixtureClassifier-a", wm.HardMixtureClassifier(**HARD), "two"
    options = {**PARTS, **WEIGHTS, "criterion": "likelihood"}
    yield (
        "HardMixtureClassifier-b",
        wm.HardMixtureClassifier(wm.SVC(C=2.0, n_jobs=1), gater(), **options),
        "two",
    )
    tuned = {"n_experts": 2, "n_iter": 2, "tune": "validation", "n_jobs": 1, "random_state": 0}
    yield (
        "HardMixtureClassifier-c",
        wm.HardMixtureClassifier(gater="local", **tuned),
        "three",
    )
    options = {**HARD, "warm_start": True, "first_partition": "kmeans", "capacity": None}
    yield (
        "HardMixtureClassifier-d",
        wm.HardMixtureClassifier(wm.MLPClassifier(**SMALL), "uniform", **options),
        "apart",
    )
    named = wm.SVC(probability=True, n_jobs=1, random_state=0)
    experts = wm.SimpleMLPClassifier(n_units=5, max_iter=3, random_state=0, n_jobs=1)
    yield "HardMixtureClassifier-e", wm.HardMixtureClassifier(experts, named, **HARD), "two"
    yield "HardMixtureRegressor-a", wm.HardMixtureRegressor(**HARD), "value"
    yield (
        "HardMixtureRegressor-b",
        wm.HardMixtureRegressor(wm.SVR(C=2.0, n_jobs=1), gater(), **PARTS, criterion="mse"),
        "values",
    )
    yield "MixtureOfExpertsClassifier-a", wm.MixtureOfExpertsClassifier(**SOFT), "three"
    yield "MixtureOfExpertsClassifier-b", wm.MixtureOfExpertsClassifier(**BLEND, **WEIGHTS), "two"
    em = {"n_experts": 2, "solver": "em", "max_iter": 3, "random_state": 0, "warm_start": True}
    experts = wm.SVC(probability=True, n_jobs=1, random_state=0)
    yield (
        "MixtureOfExpertsClassifier-c",
        wm.MixtureOfExpertsClassifier(**em, expert=experts),
        "two",
    )
    yield "MixtureOfExpertsClassifier-d", wm.MixtureOfExpertsClassifier(**em), "three"
    yield "MixtureOfExpertsRegressor-a", wm.MixtureOfExpertsRegressor(**SOFT), "value"
    yield "MixtureOfExpertsRegressor-b", wm.MixtureOfExpertsRegressor(**BLEND), "values"
    yield "MixtureOfExpertsRegressor-c", wm.MixtureOfExpertsRegressor(**em), "values"
    yield "dask.HardMixtureClassifier-a", dask.HardMixtureClassifier(**HARD), "two"
    options = {**SHARED, **WEIGHTS, "criterion": "likelihood"}
    yield (
        "dask.HardMixtureClassifier-b",
        dask.HardMixtureClassifier(wm.SVC(C=2.0, n_jobs=1), gater(), **options),
        "two",
    )
    yield "dask.HardMixtureRegressor-a", dask.HardMixtureRegressor(**HARD), "value"
    yield (
        "dask.HardMixtureRegressor-b",
        dask.HardMixtureRegressor(wm.SVR(C=2.0, n_jobs=1), "local", **SHARED),
        "values",
    )


# (file, model, problem, options of fit_stream)
STREAMS = [
    ("Checkpoint-a", wm.MarginPerceptron(random_state=0), "two", {"epochs": 2}),
    (
        "Checkpoint-b",
        wm.SGDSVM(mu=0.01, schedule="decay", learning_rate=0.1, random_state=0),
        "two",
        {"epochs": 2, "statistics": "first pass"},
    ),
]
