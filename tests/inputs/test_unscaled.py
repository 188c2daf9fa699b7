"""A kernel of distances warns once of inputs whose units drown the others."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from widemargin import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    HardMixtureClassifier,
    KernelPerceptron,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from widemargin.kernels import UnscaledInputsWarning
from widemargin.svm import svm_path

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) * [1.0, 300.0, 1.0, 0.02] + [0.0, 0.0, 5.0, 0.0]
Y = (X[:, 0] + 50 * X[:, 3] > 0).astype(int)
MODELS = [
    SVC(),
    NuSVC(nu=0.3),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVCCV(Cs=[0.1, 1.0], cv=2),
    SVRCV(Cs=[0.1, 1.0], cv=2),
    KernelPerceptron(scaling=None, random_state=0),
    HardMixtureClassifier(SVC(), n_experts=2, max_iter=2, scaling=None, random_state=0),
]


def caught(model, X, y=Y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(one.message) for one in found if one.category is UnscaledInputsWarning]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_one_warning_per_fit_names_the_columns_and_the_remedy(model, layout):
    model = clone(model)
    (message,) = caught(model, layout(X))
    assert "the variance of column 1 is more than 10,000 times that of columns 3, 0" in message
    assert "scaling='standard'" in message
    assert caught(model.set_params(scaling="standard"), layout(X)) == []


def test_columns_of_a_table_are_named():
    (message,) = caught(SVC(), pd.DataFrame(X, columns=["age", "income", "year", "share"]))
    assert "the variance of column 'income' is" in message
    assert "columns 'share', 'age' and 'year'" in message


def test_a_path_warns_once():
    with pytest.warns(UnscaledInputsWarning) as found:
        svm_path(X, Y, [0.1, 1.0, 10.0])
    assert len(found) == 1


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel="linear"),
        SVC(kernel="poly"),
        SVC(kernel=lambda a, b: a @ b.T),
        KernelPerceptron(random_state=0),
    ],
    ids=["linear", "poly", "function", "scaled by default"],
)
def test_other_kernels_do_not_warn(model):
    assert caught(model, X / 100) == []


def test_columns_that_do_not_warn():
    """Variances within the ratio; constant columns, also of large numbers; rare indicators."""
    near = X * [1.0, 0.1, 1.0, 1.0]
    assert caught(SVC(), near / [1.0, 1.0, 1.0, 0.05]) == []
    constant = np.column_stack([near[:, 0], np.full(80, 1e9), np.full(80, 0.1), near[:, 2]])
    assert caught(SVC(), constant) == []
    rare = np.zeros((30_000, 2))
    rare[:, 0], rare[0, 1] = np.arange(30_000) % 2, 1.0  # variances 1/4 and 3e-5
    assert caught(OneClassSVM(nu=0.001), rare) == []


def test_squares_that_overflow_are_no_error_of_the_warning():
    assert SVC(gamma=1.0).fit(X * [1.0, 1e300, 1.0, 1.0], Y).n_support_.sum() == 80
