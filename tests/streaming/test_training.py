"""Training on streams gives the same model as training in memory."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier, SGDRegressor

from helpers.streamed_training import (
    CHUNK_ROWS,
    MODELS,
    NOISY,
    THREE,
    X,
    Y,
    assert_same,
    by_hand,
    write,
)
from widemargin import MarginPerceptron, load, save
from widemargin.streaming import fit_stream, stream

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_trains_as_partial_fit_does(name, data):
    outcome = fit_stream(clone(MODELS[name]), data())
    model, expected = outcome.model, by_hand(clone(MODELS[name]))
    assert_array_equal(
        model.decision_function(pd.DataFrame(X, columns=list("abcd"))),
        expected.decision_function(X),
    )
    assert outcome.rows == 300
    assert outcome.epochs == model.n_iter_ == 1
    assert outcome.reason == model.stop_reason_ == "max_iter"
    assert model.feature_names_in_.tolist() == list("abcd")
    assert len(model.history_) == 1
    assert model.history_[0]["rows"] == 300
    errors = [r["error"] * r["rows"] for r in expected.history_]
    assert_allclose(model.history_[0]["error"], sum(errors) / 300)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm"])
def test_every_format_trains_the_same_model(suffix, tmp_path):
    path = write(tmp_path / f"rows.{suffix}")
    data = stream(path, target=None if suffix == "svm" else "y", chunk_rows=CHUNK_ROWS)
    model = fit_stream(MarginPerceptron(), data).model
    # Rows of svmlight files are sparse, for which sums are taken in another order.
    inputs = sp.csr_array(X) if suffix == "svm" else X
    assert_array_equal(model.coef_, by_hand(MarginPerceptron(), columns=inputs).coef_)


@pytest.mark.parametrize("suffix", ["csv", "svm"])
def test_with_statistics_of_a_first_pass_a_stream_trains_as_fit_does(suffix, tmp_path):
    path = write(tmp_path / f"rows.{suffix}")
    data = stream(path, target=None if suffix == "svm" else "y", chunk_rows=CHUNK_ROWS)
    model = fit_stream(MarginPerceptron(), data, epochs=3, statistics="first pass").model
    whole = MarginPerceptron(shuffle=False, max_iter=3, tol=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole.fit(X, Y)
    assert_allclose(model.feature_offset_, whole.feature_offset_)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    assert_allclose(
        [r["error"] for r in model.history_], [r["error"] for r in whole.history_], rtol=1e-9
    )
    assert [r["learning_rate"] for r in model.history_] == pytest.approx(
        [r["learning_rate"] for r in whole.history_]
    )


def test_a_first_pass_finds_the_classes(tmp_path):
    path = write(tmp_path / "rows.csv", np.sort(THREE))  # the third class comes late
    data = stream(path, target="y", chunk_rows=CHUNK_ROWS)
    model = fit_stream(MarginPerceptron(), data).model
    assert model.classes_.tolist() == [0, 1, 2]
    expected = by_hand(MarginPerceptron(), np.sort(THREE), [0, 1, 2])
    assert_array_equal(model.coef_, expected.coef_)


def test_a_fitted_model_continues(data):
    model = MarginPerceptron()
    fit_stream(model, data())
    fit_stream(model, data(), epochs=2)
    assert [r["epoch"] for r in model.history_] == [0, 1, 2]
    assert_same(model, fit_stream(MarginPerceptron(), data(), epochs=3).model)


def test_models_of_scikit_learn(tmp_path, data):
    model = fit_stream(SGDClassifier(random_state=0), data()).model
    expected = SGDClassifier(random_state=0)
    for first in range(0, 300, CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        expected.partial_fit(X[rows], Y[rows], classes=["no", "yes"])
    assert_array_equal(model.coef_, expected.coef_)
    numbers = stream(write(tmp_path / "n.csv", NOISY.round(3)), target="y", chunk_rows=CHUNK_ROWS)
    assert fit_stream(SGDRegressor(random_state=0), numbers).model.coef_.shape == (4,)


def test_mixed_tables(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"), dtype=object).assign(y=Y)
    frame["town"] = np.where(X[:, 1] > 0, "Bern", "Sion")
    frame.loc[5, "a"] = None
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    data = stream(tmp_path / "mixed.csv", target="y", chunk_rows=CHUNK_ROWS)
    model = data.pipeline(fit_stream(MarginPerceptron(), data, epochs=5).model)
    save(model, tmp_path / "model")
    table = pd.read_csv(tmp_path / "mixed.csv")
    assert load(tmp_path / "model").score(table[["a", "b", "c", "d", "town"]], Y) > 0.8
