"""Kernel machines that scale their inputs: what they compute, keep, save and refuse."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from widemargin import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    HardMixtureClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
    load,
    save,
)
from widemargin.persistence import save_libsvm
from widemargin.svm import svm_path

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}
LAYOUTS = {"dense": np.asarray, "CSR": sp.csr_array}
EXACT = {"tol": 1e-9}


def examples(rows=150):
    """Columns of other units, one constant, one far from 0, some mostly zero; three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 7)) * [1, 1e3, 1e-3, 1, 1, 1, 1] + [0, 5e6, 0, 0, 0, 0, 0]
    X[:, 3] = 7.0
    X[:, 4:] *= rng.random((rows, 3)) < 0.3
    score = X[:, 0] + 1e3 * X[:, 2] * X[:, 4] + X[:, 5]
    return X, np.digitize(score, np.quantile(score, [0.3, 0.7]))


X, Y = examples()


def target(cls):
    return 0.5 * Y + np.sin(np.arange(len(Y))) if is_regressor(cls()) else Y


def outputs(model, X):
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", SCALERS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "exponential", "laplacian"])
@pytest.mark.parametrize("cls", MACHINES)
def test_scaling_is_that_of_a_pipeline(cls, kernel, kind, layout):
    options = {"kernel": kernel, "degree": 2, "coef0": 1.0, **EXACT}
    if "nu" in cls().get_params():
        options["nu"] = 0.3
    some, y = LAYOUTS[layout](X), target(cls)
    own = cls(scaling=kind, **options).fit(some, y)
    pipeline = make_pipeline(SCALERS[kind](), cls(**options)).fit(X, y)
    assert_allclose(own.gamma_, pipeline[-1].gamma_, rtol=1e-9)
    assert_allclose(outputs(own, some), outputs(pipeline, X), atol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_linear_kernel_has_weights_of_the_inputs_as_given(layout, multi_class):
    some = LAYOUTS[layout](X)
    model = SVC(kernel="linear", scaling="standard", multi_class=multi_class, **EXACT)
    model.set_params(decision_function_shape="ovr" if multi_class == "ovr" else "ovo")
    model.fit(some, Y)
    expansion = SVC(
        kernel="poly", gamma=1.0, degree=1, scaling="standard", multi_class=multi_class, **EXACT
    ).set_params(decision_function_shape=model.decision_function_shape)
    expected = expansion.fit(some, Y).decision_function(some)
    assert_allclose(some @ model.coef_.T + model.intercept_, expected, atol=1e-4)
    assert_allclose(model.decision_function(some), expected, atol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_support_vectors_are_inputs_as_given(layout):
    some = LAYOUTS[layout](X)
    model = SVC(scaling="minmax").fit(some, Y)
    difference = model.support_vectors_ != some[model.support_]
    assert not np.any(difference.data if sp.issparse(difference) else difference)
    assert sp.issparse(model.support_vectors_) == sp.issparse(some)
    assert_allclose(model.feature_offset_, X.min(0))
    constant = X.max(0) == X.min(0)
    assert_allclose(model.feature_scale_, np.where(constant, 1.0, X.max(0) - X.min(0)))
    model.set_params(scaling=None).fit(some, Y)
    assert model.feature_offset_ is None
    assert model.feature_scale_ is None


def test_sparse_inputs_stay_sparse():
    """Only columns far from the origin, which hold few zeros, are stored in full."""
    rng = np.random.default_rng(0)
    wide = sp.random_array((60, 5000), density=0.002, rng=rng, format="csr")
    for kernel in ("rbf", "linear", "poly", "exponential", "laplacian"):
        model = SVC(kernel=kernel, scaling="standard").fit(wide, np.arange(60) % 2)
        inputs = model._kernel.inputs(wide)
        assert sp.issparse(inputs.x)
        assert inputs.x.nnz == wide.nnz


def test_weights_count_for_the_scaling():
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    weighted = SVC(gamma=0.2, scaling="standard", **EXACT).fit(X, Y, sample_weight=weights)
    copies = SVC(gamma=0.2, scaling="standard", **EXACT).fit(X[repeated], Y[repeated])
    assert_allclose(weighted.feature_offset_, copies.feature_offset_, rtol=1e-9, atol=1e-12)
    assert_allclose(weighted.decision_function(X), copies.decision_function(X), atol=1e-5)


def test_probabilities_saving_resuming_and_paths(tmp_path):
    model = SVC(scaling="standard", probability=True, warm_start=True).fit(X, Y)
    assert model.score(X, Y) > 0.9
    path = tmp_path / "model.safetensors"
    save(model, path)
    again = load(path)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    steps = int(again.n_iter_.sum())
    assert int(again.fit(X, Y).n_iter_.sum()) < steps / 4  # it resumes

    for fitted in svm_path(X, Y, [0.1, 1.0], scaling="standard", **EXACT).models:
        alone = SVC(C=fitted.C, scaling="standard", **EXACT).fit(X, Y)
        assert_allclose(fitted.decision_function(X), alone.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("cls", "one"), [(SVCCV, SVC), (SVRCV, SVR)])
def test_searches_scale(cls, one):
    search = cls(Cs=[0.1, 10.0], cv=3, scaling="standard").fit(X, target(cls))
    alone = one(C=search.C_, scaling="standard").fit(X, target(cls))
    assert search.gamma_ == pytest.approx(alone.gamma_, rel=1e-9)
    assert_allclose(outputs(search, X), outputs(alone, X), atol=0.01)


def test_experts_scale():
    mixture = HardMixtureClassifier(
        SVC(scaling="standard"), n_experts=2, scaling=None, random_state=0, max_iter=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert mixture.fit(X, Y).score(X, Y) > 0.8


def test_what_cannot_be_scaled_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"scaling='standard' needs a named kernel.*scaling=None"):
        SVC(kernel="precomputed", scaling="standard").fit(np.eye(6), [0, 1] * 3)
    with pytest.raises(ValueError, match="scaling='minmax' needs a named kernel"):
        SVR(kernel=lambda a, b: a @ b.T, scaling="minmax").fit(X, target(SVR))
    model = SVC(scaling="standard").fit(X, Y)
    with pytest.raises(ValueError, match=r"LIBSVM.*scaling='standard'.*pipeline"):
        save_libsvm(model, tmp_path / "model")
