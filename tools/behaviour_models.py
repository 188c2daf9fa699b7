"""The estimators whose behaviour is recorded, and all names of their parameters."""

from importlib import import_module

from sklearn.linear_model import LogisticRegression

__all__ = ["DASK", "GATERS", "MODELS", "PATHS", "RENAMED", "STREAMED", "new"]


def new(name, **params):
    """An estimator by its name in `widemargin`, or in a module of it; reproducible."""
    module, _, short = f"widemargin.{name}".rpartition(".")
    model = getattr(import_module(module), short)(**params)
    fixed = {"random_state": 0, "n_jobs": 1}
    known = model.get_params(deep=False)
    return model.set_params(**{k: v for k, v in fixed.items() if k in known and k not in params})


# --------------------------------------------------------------------- what is fitted: names here

RENAMED = {  # name of an attribute today: the name under which it is recorded
    "geometric_margin_": "margin_",
    "feature_offset_": "feature_mean_",
}

SGD = {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 0.05, "momentum": 0.5}
NETWORK = {
    **SGD,
    "hidden_layer_sizes": (10, 5),
    "alpha": 2e-3,
    "output_alpha": 0.02,
    "batch_size": 20,
}
LAST = {"solver": "adamw", "learning_rate": "one_cycle", "alpha": 2.0, "max_iter": 20}
SOFT = {"n_experts": 3, "n_units": 5, "n_gater_units": 4, "max_iter": 20}
SOFT_STEPS = {"schedule": "one_cycle", "learning_rate": 0.01, "activation": "relu"}
FREE = {"intercept_scaling": None}  # the intercept is not penalised
HARD = {"n_experts": 3, "max_iter": 3}


def gater():
    return new("mixtures.MLPGater", hidden_layer_sizes=(5,), learning_rate=0.1, max_iter=5)


# (label, class, parameters); the first of each class has its defaults
MODELS = [
    ("Perceptron/default", "Perceptron", {}),
    ("Perceptron/mean", "Perceptron", {"average": True, "scaling": "standard", "eta0": 0.5}),
    ("Perceptron/map", "Perceptron", {"feature_map": "polynomial", "early_stopping": True}),
    ("MarginPerceptron/default", "MarginPerceptron", {}),
    (
        "MarginPerceptron/cycle",
        "MarginPerceptron",
        {"margin": 0.5, "learning_rate": 0.05, "schedule": "one_cycle", "average": True},
    ),
    ("MarginPerceptron/map", "MarginPerceptron", {"feature_map": "nystroem", "max_iter": 20}),
    (
        "MarginPerceptron/raw",
        "MarginPerceptron",
        {"scaling": None, "schedule": "invscaling", "class_weight": "balanced"},
    ),
    ("SGDSVM/default", "SGDSVC", {}),
    (
        "SGDSVM/last",
        "SGDSVC",
        {"mu": 0.01, "learning_rate": 0.1, "schedule": "decay", "decay": 0.2, "average": False},
    ),
    ("SGDSVM/map", "SGDSVC", {"feature_map": "fourier", "schedule": "constant", "max_iter": 20}),
    ("KernelSGDSVC/default", "KernelSGDSVC", {"max_iter": 50}),
    ("KernelPerceptron/default", "KernelPerceptron", {}),
    (
        "KernelPerceptron/poly",
        "KernelPerceptron",
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "radius": 0.5, "scaling": None},
    ),
    (
        "KernelPerceptron/laplacian",
        "KernelPerceptron",
        {"kernel": "laplacian", "exponent": 0.75, "radius": 0.5},
    ),
    ("SVC/default", "SVC", {}),
    ("SVC/linear", "SVC", {"kernel": "linear", "multi_class": "ovr", "max_iter": 2000}),
    (
        "SVC/probability",
        "SVC",
        {"probability": True, "gamma": 0.1, "class_weight": "balanced", "shrinking": False},
    ),
    (
        "SVC/poly",
        "SVC",
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto", "working_set_size": 10}
        | {"decision_function_shape": "ovo", "dtype": "float64", "shrinking": "heuristic"}
        | {"max_iter": 2000},
    ),
    ("SVC/exponential", "SVC", {"kernel": "exponential", "scaling": "standard"}),
    ("NuSVC/default", "NuSVC", {}),
    ("NuSVC/probability", "NuSVC", {"nu": 0.2, "probability": True, "multi_class": "ovr"}),
    ("SVR/default", "SVR", {}),
    ("SVR/linear", "SVR", {"kernel": "linear", "C": 0.1, "epsilon": 0.01, "max_iter": 10_000}),
    ("SVR/laplacian", "SVR", {"kernel": "laplacian", "exponent": 0.7, "gamma": 0.2}),
    ("NuSVR/default", "NuSVR", {}),
    ("NuSVR/narrow", "NuSVR", {"nu": 0.3, "C": 5.0, "gamma": 0.2, "dtype": "float64"}),
    ("OneClassSVM/default", "OneClassSVM", {}),
    ("OneClassSVM/linear", "OneClassSVM", {"nu": 0.1, "kernel": "linear", "max_iter": 2000}),
    ("SVCCV/default", "SVCCV", {}),
    (
        "SVCCV/grid",
        "SVCCV",
        {"Cs": [0.1, 1.0], "gamma": [0.1, "scale"], "cv": 3, "probability": True}
        | {"scoring": "balanced_accuracy"},
    ),
    ("SVRCV/default", "SVRCV", {}),
    ("LinearSVC/default", "LinearSVC", {}),
    (
        "LinearSVC/hinge",
        "LinearSVC",
        {"loss": "hinge", "C": 10.0, **FREE, "scaling": "standard", "class_weight": "balanced"},
    ),
    ("LinearSVC/primal", "LinearSVC", {"dual": False, **FREE, "scaling": "standard"}),
    (
        "LinearSVC/dual",
        "LinearSVC",
        {"dual": True, "intercept_scaling": 1.0, "scaling": "standard"},
    ),
    (
        "LinearSVC/crammer_singer",
        "LinearSVC",
        {"multi_class": "crammer_singer", **FREE, "scaling": "standard"},
    ),
    ("LinearSVR/default", "LinearSVR", {}),
    (
        "LinearSVR/squared",
        "LinearSVR",
        {
            **FREE,
            "loss": "squared_epsilon_insensitive",
            "epsilon": 0.1,
            "dual": False,
            "scaling": "standard",
        },
    ),
    ("LinearSVR/no_bias", "LinearSVR", {"fit_intercept": False, "dual": True, "epsilon": 0.1}),
    ("LinearSVCCV/default", "LinearSVCCV", {}),
    (
        "LinearSVCCV/hinge",
        "LinearSVCCV",
        {"Cs": [0.1, 1.0], "cv": 3, **FREE, "loss": "hinge", "scaling": "standard"},
    ),
    ("LinearSVRCV/default", "LinearSVRCV", {}),
    ("MLPClassifier/default", "MLPClassifier", {}),
    (
        "MLPClassifier/margin",
        "MLPClassifier",
        {**NETWORK, "loss": "margin", "margin": 0.5, "dtype": "float64", "max_iter": 20},
    ),
    (
        "MLPClassifier/tanh_mse",
        "MLPClassifier",
        {**LAST, "loss": "tanh_squared_error", "scaling": None, "activation": "hard_tanh"},
    ),
    ("MLPRegressor/default", "MLPRegressor", {}),
    (
        "MLPRegressor/tube",
        "MLPRegressor",
        {**NETWORK, "loss": "epsilon_insensitive", "tube": 0.2, "max_iter": 20},
    ),
    ("MLPRegressor/cycle", "MLPRegressor", {**LAST, "early_stopping": True, "dtype": "float64"}),
    ("SimpleMLPClassifier/default", "SimpleMLPClassifier", {}),
    (
        "SimpleMLPClassifier/two",
        "SimpleMLPClassifier",
        {"n_units": 50, "margin": 0.3, "learning_rate": 0.05, "schedule": "decay", "decay": 0.1}
        | {"n_committees": 2, "multi_class": "ovr", "dropout": 0.2, "encoding": None},
    ),
    (
        "SimpleMLPClassifier/mean",
        "SimpleMLPClassifier",
        {"n_units": 50, "average": True, "encoding": "hat", "fit_intercept": False},
    ),
    ("NilssonMLPClassifier/default", "NilssonMLPClassifier", {}),
    (
        "NilssonMLPClassifier/margin",
        "NilssonMLPClassifier",
        {"n_units": 31, "margin": 0.2, "learning_rate": 0.05, "schedule": "linear"}
        | {"encoding": "hat", "class_weight": "balanced", "max_iter": 10},
    ),
    ("HatEncoder/default", "HatEncoder", {}),
    ("HatEncoder/few", "HatEncoder", {"n_knots": 5, "scaling": None}),
    ("HardMixtureClassifier/default", "HardMixtureClassifier", {}),
    ("HardMixtureClassifier/three", "HardMixtureClassifier", {**HARD, "scaling": "standard"}),
    (
        "HardMixtureClassifier/local",
        "HardMixtureClassifier",
        {**HARD, "gater": "local", "first_partition": "kmeans", "balance": None},
    ),
    (
        "HardMixtureClassifier/uniform",
        "HardMixtureClassifier",
        {**HARD, "gater": "uniform", "scaling": None, "balance": 1.5, "class_weight": "balanced"},
    ),
    (
        "HardMixtureClassifier/networks",
        "HardMixtureClassifier",
        {**HARD, "expert": new("MLPClassifier", hidden_layer_sizes=(5,), max_iter=5)}
        | {"gater": gater(), "reassign": "posterior", "early_stopping": True},
    ),
    (
        "HardMixtureClassifier/tuned",
        "HardMixtureClassifier",
        {"n_experts": 2, "max_iter": 2, "tune": "validation", "gater": "local"},
    ),
    (
        "HardMixtureClassifier/classifier",
        "HardMixtureClassifier",
        {
            **HARD,
            "expert": new("LinearSVC", scaling="standard", **FREE),
            "gater": LogisticRegression(),
        }
        | {"criterion": "likelihood", "gater_rows": 100, "gate_tolerance": 0.0},
    ),
    ("HardMixtureRegressor/default", "HardMixtureRegressor", {}),
    (
        "HardMixtureRegressor/local",
        "HardMixtureRegressor",
        {**HARD, "gater": "local", "expert": new("LinearSVR", scaling="standard", **FREE)},
    ),
    (
        "HardMixtureRegressor/networks",
        "HardMixtureRegressor",
        {**HARD, "expert": new("MLPRegressor", hidden_layer_sizes=(5,), max_iter=5)}
        | {"gater": gater(), "scaling": "standard"},
    ),
    ("MixtureOfExpertsClassifier/default", "MixtureOfExpertsClassifier", {}),
    (
        "MixtureOfExpertsClassifier/tanh_mse",
        "MixtureOfExpertsClassifier",
        {**SOFT, **SOFT_STEPS, "criterion": "tanh_mse", "scaling": None, "dtype": "float64"},
    ),
    (
        "MixtureOfExpertsClassifier/mse",
        "MixtureOfExpertsClassifier",
        {**SOFT, **SOFT_STEPS, "criterion": "mse"},
    ),
    ("MixtureOfExpertsClassifier/em", "MixtureOfExpertsClassifier", {**SOFT, "solver": "em"}),
    ("MixtureOfExpertsRegressor/default", "MixtureOfExpertsRegressor", {}),
    (
        "MixtureOfExpertsRegressor/mse",
        "MixtureOfExpertsRegressor",
        {**SOFT, **SOFT_STEPS, "criterion": "mse", "early_stopping": True},
    ),
    ("MixtureOfExpertsRegressor/em", "MixtureOfExpertsRegressor", {**SOFT, "solver": "em"}),
]

# (label, class, parameters) of gaters that are fitted alone
GATERS = [
    ("MLPGater/default", "mixtures.MLPGater", {}),
    (
        "MLPGater/sgd",
        "mixtures.MLPGater",
        {"hidden_layer_sizes": (), "solver": "sgd", "schedule": "cosine", "dtype": "float64"}
        | {"learning_rate": 0.1, "mu": 1e-3 / 200, "scaling": None},
    ),
    ("GaussianGater/default", "mixtures.GaussianGater", {}),
    (
        "GaussianGater/spherical",
        "mixtures.GaussianGater",
        {"n_components": 3, "covariance_type": "spherical", "scaling": None},
    ),
    ("UniformGater/default", "mixtures.UniformGater", {}),
    (
        "EstimatorGater/default",
        "mixtures.EstimatorGater",
        {"estimator": LogisticRegression()},
    ),
]

# (label, module, function, parameters)
PATHS = [
    ("svm_path/default", ".svm", "svm_path", {"n_jobs": 1}),
    ("linear_svm_path/default", ".linear_svm", "linear_svm_path", {"n_jobs": 1, "random_state": 0}),
    (
        "linear_svm_path/hinge",
        ".linear_svm",
        "linear_svm_path",
        {"n_jobs": 1, "random_state": 0, "loss": "hinge", **FREE},
    ),
]

# (label, class, parameters, options of fit_stream)
STREAMED = [
    ("stream/MarginPerceptron", "MarginPerceptron", {}, {"epochs": 3}),
    ("stream/SGDSVM", "SGDSVC", {}, {"epochs": 2, "statistics": "first pass"}),
    ("stream/MLPClassifier", "MLPClassifier", {"hidden_layer_sizes": (5,)}, {"epochs": 2}),
    ("stream/SimpleMLPClassifier", "SimpleMLPClassifier", {"n_units": 20}, {"epochs": 2}),
]

# (label, class, parameters, problem)
DASK = [
    ("dask/HardMixtureClassifier/mlp", "dask.HardMixtureClassifier", HARD, "classes"),
    (
        "dask/HardMixtureClassifier/local",
        "dask.HardMixtureClassifier",
        {**HARD, "gater": "local", "balance": None, "scaling": "standard"},
        "binary",
    ),
    ("dask/HardMixtureRegressor/mlp", "dask.HardMixtureRegressor", HARD, "smooth"),
]
