"""GradientMetric finds the inputs that matter, in whatever form they come."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import widemargin
from widemargin import SVC, SVR, GradientMetric
from widemargin.kernels import UnscaledInputsWarning
from widemargin.metrics.learning import median_distance

RELEVANT = [2, 5]


def problem(rows=600, width=12, seed=0, noise=0.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, width))
    score = X[:, 2] * X[:, 5] + noise * random.normal(size=rows)
    return X, np.where(score > 0, "yes", "no"), score


def top(metric):
    return sorted(np.argsort(metric.feature_importances_)[-2:].tolist())


@pytest.mark.parametrize("kernel", ["exponential", "laplacian", "rbf"])
def test_finds_the_inputs_of_a_product(kernel):
    X, y, _ = problem()
    metric = GradientMetric(kernel=kernel).fit(X, y)
    assert top(metric) == RELEVANT
    assert metric.feature_importances_.sum() == pytest.approx(1.0)
    assert metric.converged_
    assert metric.loss_ == min(record["loss"] for record in metric.history_)


def test_regression_many_classes_and_text():
    X, _, score = problem()
    assert top(GradientMetric().fit(X, score)) == RELEVANT
    assert top(GradientMetric(task="regression").fit(X, np.round(10 * score))) == RELEVANT
    classes = np.array(["a", "b", "c"])[np.digitize(score, [-0.4, 0.4])]
    assert top(GradientMetric().fit(X, classes)) == RELEVANT


def test_a_machine_is_better_in_the_metric():
    X, y, _ = problem(1200, 20)
    train, test = slice(0, 600), slice(600, None)
    plain = SVC(kernel="exponential", C=10.0).fit(X[train], y[train]).score(X[test], y[test])
    model = make_pipeline(GradientMetric(), SVC(kernel="exponential", C=10.0))
    learnt = model.fit(X[train], y[train]).score(X[test], y[test])
    assert learnt > plain + 0.1


def test_full_finds_directions():
    """The target depends on one sum of many inputs, which no diagonal can find."""
    random = np.random.default_rng(1)
    X = random.normal(size=(800, 10))
    direction = np.ones(10) / np.sqrt(10)
    y = np.sin(2 * (X @ direction))
    metric = GradientMetric(structure="full", metric_power=0.5).fit(X, y)
    values, vectors = np.linalg.eigh(metric.scale_ @ metric.scale_.T)
    assert abs(vectors[:, -1] @ direction) > 0.99
    assert values[-1] > 10 * values[-2]


def test_the_metric_has_gamma_one():
    """In the metric, the machine that was kept has γ = 1."""
    X, y, _ = problem()
    metric = GradientMetric(sharpness=2.0).fit(X, y)
    Z = metric.transform(X)
    found = median_distance(Z, "exponential", np.random.RandomState(0))
    assert found == pytest.approx(2.0, rel=0.1)


def test_transform_is_an_affine_map():
    X, y, _ = problem()
    metric = GradientMetric().fit(X, y)
    kept = metric.get_support(indices=True)
    wanted = ((X - metric.feature_offset_) * metric.scale_)[:, kept]
    assert metric.transform(X) == pytest.approx(wanted)
    assert metric.transform(X.astype(np.float32)).dtype == np.float32
    assert np.array_equal(np.flatnonzero(metric.get_support()), kept)


def test_vanishing_inputs_are_dropped_without_a_warning_of_the_machine():
    X, y, _ = problem(1500)
    model = make_pipeline(GradientMetric(metric_power=1.0), SVC(kernel="exponential"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnscaledInputsWarning)
        model.fit(X, y)
    assert set(RELEVANT) <= set(model[0].get_support(indices=True)) < set(range(12))


def test_feature_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y, _ = problem()
    frame = pandas.DataFrame(X, columns=[f"input {j}" for j in range(12)])
    metric = GradientMetric().fit(frame, y)
    names = metric.get_feature_names_out()
    assert list(names) == [f"input {j}" for j in metric.get_support(indices=True)]
    shown = metric.set_output(transform="pandas").transform(frame)
    assert list(shown.columns) == list(names)
    full = GradientMetric(structure="full").fit(frame, y).get_feature_names_out()
    assert list(full)[:2] == ["gradientmetric0", "gradientmetric1"]


def test_sparse_equals_dense():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 15)) * (random.random((500, 15)) < 0.5)
    y = X[:, 2] + X[:, 5] > 0
    options = {"scaling": None, "max_iter": 3, "sharpness": 1.0}
    dense = GradientMetric(**options).fit(X, y)
    sparse = GradientMetric(**options).fit(sp.csr_matrix(X), y)
    assert sparse.scale_ == pytest.approx(dense.scale_, rel=1e-6)
    found = sparse.transform(sp.csr_matrix(X))
    assert sp.issparse(found)
    assert found.toarray() == pytest.approx(dense.transform(X), rel=1e-6)
    assert dense.transform(sp.csr_matrix(X)).shape == dense.transform(X).shape


def test_full_refuses_sparse():
    X, y, _ = problem(50)
    with pytest.raises(ValueError, match="structure='diagonal'"):
        GradientMetric(structure="full").fit(sp.csr_matrix(X), y)


def test_weights_of_zero_leave_examples_out():
    X, y, _ = problem(400)
    wrong = np.where(y == "yes", "no", "yes")
    both = np.vstack([X, X]), np.concatenate([y, wrong]), np.repeat([1.0, 0.0], 400)
    metric = GradientMetric().fit(*both)
    alone = GradientMetric().fit(X, y)
    assert metric.scale_ == pytest.approx(alone.scale_)


def test_given_validation_rows():
    X, y, _ = problem(900)
    X, X_val, y, y_val = train_test_split(X, y, random_state=0)
    metric = GradientMetric().fit(X, y, X_val=X_val, y_val=y_val)
    assert top(metric) == RELEVANT
    with pytest.raises(ValueError, match="classes that y does not have"):
        GradientMetric().fit(X, y, X_val=X_val, y_val=np.full(len(y_val), "maybe"))


def test_subsets_grow():
    X, y, _ = problem(12_000, 6, noise=0.1)
    metric = GradientMetric(max_rows=9000, max_iter=2).fit(X, y)
    sizes = [record["rows"] for record in metric.history_]
    assert sizes == sorted(sizes)
    assert {4000, 9000} <= set(sizes)


def test_many_examples_teach_a_metric_with_a_third_of_them(monkeypatch):
    X, y, _ = problem(9000, 6, noise=0.1)
    monkeypatch.setattr("widemargin.metrics.examples.MANY_ROWS", 1000)
    many = GradientMetric(max_iter=1, sharpness=1.0).fit(X, y)
    assert many.history_[-1]["rows"] == 7200 // 3  # a fifth is held out
    few = GradientMetric(max_iter=1, sharpness=1.0).fit(X[:2000], y[:2000])
    assert few.history_[-1]["rows"] == 1000


def test_a_matrix_needs_more_rows_than_factors():
    """The first subset of d inputs has d² rows at least: a matrix has about as many numbers."""
    X, y, _ = problem(10_000, 70, noise=0.1)
    first = {
        structure: GradientMetric(structure=structure, max_iter=1, sharpness=1.0)
        .fit(X, y)
        .history_[0]["rows"]
        for structure in ("diagonal", "full")
    }
    assert first == {"diagonal": 4000, "full": 4900}


def test_a_seed_decides():
    X, y, _ = problem(300, noise=0.5)
    scales = [GradientMetric(random_state=s).fit(X, y).scale_ for s in (0, 0, 1)]
    assert np.array_equal(scales[0], scales[1])
    assert not np.array_equal(scales[0], scales[2])
    assert np.array_equal(scales[0], GradientMetric(n_jobs=2).fit(X, y).scale_)


@pytest.mark.slow(4)
def test_time_limit():
    X, y, _ = problem(30_000, 40, noise=1.0)
    begun = time.perf_counter()
    with pytest.warns(UserWarning, match="time_limit"):
        metric = GradientMetric(time_limit=1.0).fit(X, y)
    assert metric.stop_reason_ == "time_limit"
    assert not metric.converged_
    assert metric.transform(X[:5]).shape[0] == 5
    assert time.perf_counter() - begun < 30


@pytest.mark.slow(3)
def test_ctrl_c_keeps_the_best_metric(ctrl_c):
    X, y, _ = problem(20_000, 30, noise=1.0)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    metric = GradientMetric(tol=1e-4).fit(X, y)
    assert metric.stop_reason_ == "interrupted"
    assert metric.transform(X[:5]).shape[0] == 5


def test_model_files(tmp_path):
    X, y, _ = problem(300)
    model = make_pipeline(GradientMetric(), SVC(kernel="exponential", C=10.0)).fit(X, y)
    widemargin.save(model, tmp_path / "model.safetensors")
    again = widemargin.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again[0].history_ == model[0].history_


def test_verbose(capsys):
    X, y, _ = problem(200)
    metric = GradientMetric(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.strip().split("\n")
    assert len(lines) == metric.n_iter_ == len(metric.history_)
    assert "loss" in lines[0]


def test_errors():
    X, y, _ = problem(60)
    with pytest.raises(ValueError, match=r"exponent=1\.5"):
        GradientMetric(kernel="laplacian", exponent=1.5).fit(X, y)
    with pytest.raises(ValueError, match="task='regression'"):
        GradientMetric().fit(np.arange(600.0).reshape(300, 2), np.arange(300))
    with pytest.raises(NotFittedError):
        GradientMetric().transform(X)
    with pytest.raises(ValueError, match="NaN"):
        GradientMetric().fit(np.where(X > 2, np.nan, X), y)


def test_inputs_that_say_nothing():
    random = np.random.default_rng(0)
    constant = np.ones((100, 3))
    metric = GradientMetric().fit(constant, random.integers(0, 2, 100))
    assert metric.transform(constant).shape == (100, 3)
    few = GradientMetric().fit(random.normal(size=(4, 2)), [0, 1, 0, 1])
    assert np.all(np.isfinite(few.transform(np.zeros((1, 2)))))


def test_svr_in_the_metric():
    X, _, score = problem(900)
    plain = SVR(kernel="exponential", C=10.0).fit(X[:600], score[:600])
    model = make_pipeline(GradientMetric(), SVR(kernel="exponential", C=10.0))
    learnt = model.fit(X[:600], score[:600])
    assert learnt.score(X[600:], score[600:]) > plain.score(X[600:], score[600:]) + 0.2


@pytest.mark.parametrize("structure", ["diagonal", "full"])
def test_a_target_that_does_not_change_leaves_the_inputs_as_they_are(structure):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.zeros(60)
    y[:2] = 1e-9  # within ε of the others
    metric = GradientMetric(structure=structure, task="regression", epsilon=10.0).fit(X, y)
    assert metric.transform(X).shape == (60, 3)
    assert np.all(np.isfinite(metric.scale_))


def test_a_class_with_one_row_is_trained_on():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for row in range(0, 60, 7):
        y = np.zeros(60, dtype=int)
        y[row] = 1
        assert GradientMetric(max_iter=1).fit(X, y).n_iter_ > 0
    with pytest.raises(ValueError, match="n_samples = 2"):
        GradientMetric().fit(X[:2], [0, 1])
