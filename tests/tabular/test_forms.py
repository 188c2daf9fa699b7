"""Input forms: what each does to columns of every kind, and which column an output came from."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import widemargin
from widemargin import LinearSVC
from widemargin.tabular import FORMS, InputForm
from widemargin.tabular.thresholds import input_thresholds, target_thresholds

DENSE_FORMS = [form for form in FORMS if form != "standard"]


def columns(rows=200, seed=0):
    """A heavy tail, two values, a constant, few integers, mostly zeros."""
    random = np.random.default_rng(seed)
    return np.column_stack(
        [
            random.standard_cauchy(rows),
            random.integers(2, size=rows) * 7.0,
            np.full(rows, 3.0),
            random.integers(5, size=rows),
            random.exponential(size=rows) * (random.random(rows) < 0.1),
        ]
    )


def target(X):
    return (X[:, 0] > 0.3).astype(int)


@pytest.mark.parametrize("form", FORMS)
def test_every_output_is_finite_and_comes_from_a_column_that_varies(form):
    X = columns()
    fitted = InputForm(form).fit(X, target(X))
    Z = fitted.transform(X)
    assert np.all(np.isfinite(Z))
    assert Z.shape == (len(X), len(fitted.origin_))
    assert set(fitted.origin_) == {0, 1, 3, 4}
    far = X.copy()
    far[0] = 1e300  # beyond what training rows had
    assert np.all(np.isfinite(fitted.transform(far)))


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_transformed_one_by_one(form):
    X = columns()
    fitted = InputForm(form).fit(X, target(X))
    alone = np.vstack([fitted.transform(X[[l]]) for l in range(5)])
    np.testing.assert_array_equal(alone, fitted.transform(X)[:5])


def test_robust_bends_tails_and_keeps_two_values():
    X = columns()
    Z = InputForm("robust").fit_transform(X)
    assert np.abs(Z).max() <= 3.0
    assert set(np.unique(Z[:, 1])) == {0.0, 1.0}
    order = np.argsort(X[:, 0])
    assert np.all(np.diff(Z[order, 0]) >= 0)


def test_robust_does_not_depend_on_the_unit():
    X = columns()
    scaled = InputForm("robust").fit_transform(X * [1e-6, 1e3, 1.0, 1e9, 1e-3] + 5.0)
    np.testing.assert_allclose(scaled, InputForm("robust").fit_transform(X), atol=1e-8)


def test_ranks_of_equal_values_are_equal_and_others_in_order():
    X = columns()
    fitted = InputForm("ranks").fit(X)
    Z = fitted.transform(X)
    rank = Z[:, len(fitted.origin_) - 3 + 1]  # of the column of few integers
    assert len(np.unique(rank)) == 5
    assert np.all((np.diff(rank[np.argsort(X[:, 3])])) >= 0)


def test_levels_are_indicators_of_few_integers_only():
    X = columns()
    fitted = InputForm("levels").fit(X)
    added = fitted.origin_[len(np.unique(fitted.origin_)) :]
    assert set(added) == {3}
    np.testing.assert_array_equal(fitted.transform(X)[:, -len(added) :].sum(axis=1), 1.0)


def test_steps_find_the_limit_in_a_tail():
    random = np.random.default_rng(1)
    X = random.exponential(size=(2000, 3))
    y = X[:, 1] > 5.0  # in about 13 of 2000 rows
    found = target_thresholds(X, y, classes=True, most=8)
    below, above = X[~y, 1].max(), X[y, 1].min()
    assert np.any((found[1] >= below) & (found[1] <= above))
    Z = InputForm("steps").fit(X, y).transform(X)
    assert any(np.array_equal(column, y) for column in Z.T)


def test_steps_of_values():
    random = np.random.default_rng(2)
    X = random.normal(size=(500, 2))
    found = target_thresholds(X, np.where(X[:, 0] > 0.7, 3.0, 1.0), classes=False, most=4)
    assert np.min(np.abs(found[0] - 0.7)) < 0.05


def test_steps_need_a_target():
    with pytest.raises(ValueError, match="give fit y"):
        InputForm("steps").fit(columns())


def test_a_linear_machine_of_stairs_is_a_sum_of_step_functions():
    random = np.random.default_rng(0)
    X = random.uniform(size=(3000, 2))
    bumps = np.isin((8 * X).astype(int), [1, 2, 5]).sum(axis=1)  # no line, and no single step
    y = bumps > 0.5
    scores = {}
    for form in ("robust", "steps", "stairs"):
        Z = InputForm(form).fit(X[:2000], y[:2000])
        machine = LinearSVC().fit(Z.transform(X[:2000]), y[:2000])
        scores[form] = machine.score(Z.transform(X[2000:]), y[2000:])
    assert scores["robust"] < 0.75 < 0.97 < scores["stairs"]
    assert len(InputForm("stairs", max_steps=3).fit(X, y).origin_) <= 2 + 2 * 3


def test_thresholds_of_a_sorted_table_come_from_all_of_it(monkeypatch):
    monkeypatch.setattr("widemargin.tabular.thresholds.MAX_TREE_ROWS", 200)
    X = np.arange(2000.0)[:, None]
    found = input_thresholds(X, X[:, 0] > 1500, None, classes=True, most=4)[0]
    assert np.min(np.abs(found - 1500)) < 50


@pytest.mark.parametrize("count", [1, 3])
def test_shapes_are_the_terms_of_the_sum(count):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(2000, 3))
    y = X[:, 0] ** 2 + 0.3 * np.sign(X[:, 1])  # the third input says nothing
    if count > 1:
        y = np.digitize(y, [0.1, 0.5])
    fitted = InputForm("shapes").fit(X, y)
    Z = fitted.transform(X)
    assert fitted.origin_.tolist() == [0, 1, 2] * (1 + count)
    terms = Z[:, 3:].reshape(len(X), count, 3)
    spread = terms.var(axis=0).sum(axis=0)
    assert spread[2] < 0.2 * spread[:2].min()
    if count == 1:
        assert np.corrcoef(terms[:, 0, 0], X[:, 0] ** 2)[0, 1] > 0.99
        assert np.corrcoef(terms[:, 0, 1], np.sign(X[:, 1]))[0, 1] > 0.99


def test_sparse_inputs_are_scaled_and_stay_sparse():
    X = sp.random_array((50, 10), density=0.2, random_state=0, format="csr")
    Z = InputForm("standard").fit(X).transform(X)
    assert sp.issparse(Z)
    np.testing.assert_allclose(np.sqrt(Z.multiply(Z).mean(axis=0)), 1.0)
    with pytest.raises(ValueError, match="sparse inputs"):
        InputForm("robust").fit(X)


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_saved_and_cloned(form, tmp_path):
    X = columns()
    fitted = InputForm(form).fit(X, target(X))
    widemargin.save(fitted, tmp_path / "form")
    loaded = widemargin.load(tmp_path / "form")
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    assert clone(fitted).get_params() == fitted.get_params()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["robust", "standard", "ranks", "levels"])
def test_estimator_checks(form):
    reason = "weights choose thresholds; forms are measured on the rows"
    names = ("dense", "sparse")
    expected = {f"check_sample_weight_equivalence_on_{name}_data": reason for name in names}
    check_estimator(InputForm(form), expected_failed_checks=expected, on_skip=None)


@pytest.mark.parametrize("unit", [1e300, 1e-300])
@pytest.mark.parametrize("form", ["steps", "stairs"])
def test_thresholds_of_numbers_beyond_single_precision(form, unit):
    X = np.random.default_rng(0).normal(size=(300, 2)) * unit
    y = X[:, 0] > 0.5 * unit
    Z = InputForm(form).fit(X, y).transform(X)
    assert any(np.array_equal(column, y) for column in Z.T)


@pytest.mark.parametrize("form", ["steps", "stairs"])
def test_thresholds_of_numbers_that_differ_little(form):
    moment = 1e9 + np.random.default_rng(0).uniform(size=(300, 1)) * 60.0  # a minute of seconds
    y = moment[:, 0] > 1e9 + 17.0
    Z = InputForm(form).fit(moment, y).transform(moment)
    assert any(np.array_equal(column, y) for column in Z.T)
    plain = InputForm("stairs").fit(moment - 1e9, y)
    offset = InputForm("stairs").fit(moment, y)
    np.testing.assert_allclose(offset._thresholds - 1e9, plain._thresholds, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_which_nothing_varies(form):
    X = np.array([[1.0, 5.0]] * 6)
    Z = InputForm(form).fit(X, np.arange(6) % 2).transform([[1.0, 5.0], [2.0, 7.0]])
    assert Z.shape[1] >= 1
    assert np.all(np.isfinite(Z))


@pytest.mark.parametrize("form", FORMS)
def test_later_values_may_be_as_large_as_numbers_are(form):
    X = columns() * 1e-12
    far = X[:2].copy()
    far[0], far[1] = 1.7e308, -1.7e308
    assert np.all(np.isfinite(InputForm(form).fit(X, target(columns())).transform(far)))
