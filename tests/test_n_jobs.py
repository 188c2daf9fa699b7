"""The result of a fit never depends on `n_jobs`: one, two or three threads give the same bits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import is_regressor
from sklearn.linear_model import LogisticRegression

import widemargin
from widemargin import mixtures
from widemargin.training.certified import CertifiedMachine

rng = np.random.default_rng(0)
ROWS, COLUMNS = 600, 40
X = rng.normal(size=(ROWS, COLUMNS))
X[:, 30:] *= X[:, 30:] > 1  # some columns are mostly zero
SCORES = np.tanh(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=ROWS)
BINARY, CLASSES = SCORES > 0, np.digitize(SCORES, [-1.0, 0.0, 1.0])

#: Work enough for several threads: name -> estimators with the parameters of interest.
MODELS = {
    "SVC": [{}, {"kernel": "linear", "probability": True}],
    "NuSVC": [{"nu": 0.3}],
    "SVR": [{}],
    "NuSVR": [{}],
    "OneClassSVM": [{"nu": 0.2}],
    "LinearSVC": [
        {},
        {"loss": "hinge", "multi_class": "crammer_singer"},
        {"dual": False},
    ],
    "LinearSVR": [{}, {"loss": "squared_epsilon_insensitive", "dual": False}],
    "GradientMetric": [{"max_iter": 2}],
    "SVCCV": [{"Cs": 3, "cv": 3}],
    "SVRCV": [{"Cs": 3, "cv": 3}],
    "LinearSVCCV": [{"Cs": 3, "cv": 3}],
    "LinearSVRCV": [{"Cs": 3, "cv": 3}],
    "Perceptron": [{"max_iter": 5}],
    "MarginPerceptron": [{"max_iter": 5, "feature_map": "fourier"}],
    "SGDSVC": [{"max_iter": 5}],
    "MLPClassifier": [
        {"hidden_layer_sizes": (300, 150), "max_iter": 3},
        {"hidden_layer_sizes": (300,), "max_iter": 3, "solver": "sgd"},
        {"hidden_layer_sizes": (300,), "max_iter": 3, "solver": "lbfgs"},
    ],
    "MLPRegressor": [
        {"hidden_layer_sizes": (300,), "max_iter": 3},
        {"hidden_layer_sizes": (300,), "max_iter": 3, "early_stopping": True},
    ],
    "SimpleMLPClassifier": [
        {"n_units": 1000, "max_iter": 1},
        {"n_units": 300, "n_committees": 3, "dropout": 0.5, "max_iter": 2},
    ],
    "NilssonMLPClassifier": [{"n_units": 501, "max_iter": 2}],
    "HardMixtureClassifier": [{"n_experts": 3, "max_iter": 2}],
    "HardMixtureRegressor": [
        {"n_experts": 3, "max_iter": 2},
        {"n_experts": 3, "max_iter": 2, "gater": "local"},
    ],
    "MixtureOfExpertsClassifier": [
        {"n_experts": 4, "n_units": 100, "max_iter": 3},
        {"n_experts": 3, "solver": "em", "max_iter": 3},
        {"n_experts": 3, "solver": "em", "max_iter": 1, "expert": LogisticRegression()},
    ],
    "MixtureOfExpertsRegressor": [{"n_experts": 4, "n_units": 100, "max_iter": 3}],
    "MLPGater": [{"hidden_layer_sizes": (300,), "max_iter": 3}],
    "GaussianGater": [{"n_components": 3}],
    "TabularClassifier": [{"effort": 0.1}],
    "TabularRegressor": [{"effort": 0.1}],
}
TIMES = ("fit_time_", "predict_ms")
CASES = [(name, i) for name, variants in MODELS.items() for i in range(len(variants))]


def with_n_jobs():
    for module in (widemargin, mixtures):
        for name in module.__all__:
            cls = getattr(module, name)
            if hasattr(cls, "get_params") and "n_jobs" in cls._get_param_names():
                yield name


def make(name, options):
    cls = getattr(widemargin, name, None) or getattr(mixtures, name)
    if "random_state" in cls._get_param_names():
        options = {"random_state": 0} | options
    return cls(**options)


def fitted(name, options, inputs, n_jobs):
    model = make(name, options | {"n_jobs": n_jobs})
    if isinstance(model, mixtures.Gater):
        partition = np.digitize(X[:, 0], [-0.5, 0.5])
        outputs = np.stack([X[:, :1], -X[:, :1], X[:, 1:2]], axis=1).astype(np.float32)
        targets = np.where(BINARY, 1.0, -1.0)[:, None]
        return model.fit(inputs, outputs=outputs, targets=targets, partition=partition)
    return model.fit(inputs, SCORES if is_regressor(model) else CLASSES)


def assert_same(a, b, place):
    """Compares values of fitted attributes, however nested, but for times."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), place
        for key in a:
            if key not in ("n_jobs", *TIMES) and not str(key).endswith("seconds"):
                assert_same(a[key], b[key], f"{place}[{key!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), place
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{place}[{i}]")
    elif sp.issparse(a):
        parts = [[m.data, m.indices, m.indptr, m.shape] for m in (a, b)]
        assert_same(*parts, place)
    elif isinstance(a, (np.ndarray, np.generic, float)):
        assert_array_equal(a, b, err_msg=place)
    elif hasattr(a, "__dict__") and not callable(a):
        timed = {"history_"} if isinstance(a, CertifiedMachine) else set()  # record per time slice
        both = ({n: v for n, v in vars(m).items() if n not in timed} for m in (a, b))
        assert_same(*both, f"{place}.{type(a).__name__}")
    elif not callable(a):
        assert a == b, place


def test_every_model_is_here():
    assert sorted(MODELS) == sorted(set(with_n_jobs()))


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(("name", "variant"), CASES, ids=[f"{n}-{i}" for n, i in CASES])
def test_result_does_not_depend_on_n_jobs(name, variant, sparse):
    inputs = sp.csr_array(np.where(np.abs(X) > 1.5, X, 0.0)) if sparse else X
    options = MODELS[name][variant]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few epochs
        first, *others = (fitted(name, options, inputs, n_jobs) for n_jobs in (1, 2, 3))
    for other in others:
        assert_same(first, other, name)
        for method in ("predict", "decision_function", "predict_proba", "gates"):
            if hasattr(first, method):
                found = getattr(first, method)(inputs)
                assert_array_equal(getattr(other, method)(inputs), found, err_msg=method)
