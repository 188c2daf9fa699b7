"""Experts that are not given: kernel machines whose γ is chosen on regions of the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from widemargin import SVC, SVR, HardMixtureClassifier, HardMixtureRegressor
from widemargin.mixtures.hard.targets import Targets
from widemargin.mixtures.hard.tuning import FINE_FACTORS, ParameterSearch, find_regions
from widemargin.training.model import Examples
from widemargin.training.time_limit import share_of_time

rng = np.random.default_rng(0)


def board(rows):
    """Points on a board of 4 x 4 fields, with two indicators; and the number of the diagonal."""
    X = np.hstack([rng.uniform(size=(rows, 2)), rng.integers(0, 2, size=(rows, 2))])
    return X, np.floor(4 * X[:, :2]).sum(axis=1).astype(int)


(CHESS, FIELDS), (NEW, NEW_FIELDS) = board(1600), board(500)


@pytest.mark.slow
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
def test_gamma_fits_the_data_where_scale_does_not(make, classes):
    """Indicators make γ = "scale" too small for the fields of a chess board."""
    y, new = FIELDS % classes, NEW_FIELDS % classes
    several = "ovr" if classes > 2 else "ovo"
    options = {"n_experts": 2, "max_iter": 1, "random_state": 0}
    scale = HardMixtureClassifier(SVC(multi_class=several), **options).fit(make(CHESS), y)
    chosen = HardMixtureClassifier(**options).fit(make(CHESS), y)
    assert chosen.score(make(NEW), new) > scale.score(make(NEW), new) + 0.03
    assert chosen.expert_params_["C"] == 10.0
    assert {expert.gamma for expert in chosen.experts_} == {chosen.expert_params_["gamma"]}


@pytest.mark.slow
def test_the_unit_of_the_targets_does_not_matter():
    y = np.sin(7 * CHESS[:, 0]) + CHESS[:, 1]
    options = {"n_experts": 2, "max_iter": 1, "random_state": 0}
    one = HardMixtureRegressor(**options).fit(CHESS, y)
    thousands = HardMixtureRegressor(**options).fit(CHESS, 1000 * y)
    assert one.expert_params_["gamma"] == thousands.expert_params_["gamma"]
    assert thousands.expert_params_["C"] == pytest.approx(1000 * one.expert_params_["C"])
    truth = np.sin(7 * NEW[:, 0]) + NEW[:, 1]
    found = thousands.score(NEW, 1000 * truth)
    assert found == pytest.approx(one.score(NEW, truth), abs=0.02)
    plain = HardMixtureRegressor(SVR(), **options).fit(CHESS, 1000 * y)
    assert found > plain.score(NEW, 1000 * truth)


@pytest.mark.parametrize("Model", [HardMixtureClassifier, HardMixtureRegressor])
def test_a_warm_start_keeps_the_experts_parameters(Model):
    y = FIELDS % 2 if Model is HardMixtureClassifier else CHESS[:, 0] ** 2
    options = {"n_experts": 2, "warm_start": True, "random_state": 0}
    parts = Model(max_iter=1, **options).fit(CHESS[:400], y[:400])
    chosen = parts.expert_params_
    parts.fit(CHESS[:400], y[:400])
    whole = Model(max_iter=2, **options).fit(CHESS[:400], y[:400])
    assert parts.expert_params_ == whole.expert_params_ == chosen
    assert_allclose(parts._scores(NEW), whole._scores(NEW), rtol=1e-6, atol=1e-9)


def test_an_expert_that_is_given_is_used_as_it_is():
    model = HardMixtureClassifier(SVC(), n_experts=2, random_state=0).fit(
        CHESS[:200], FIELDS[:200] % 2
    )
    assert not hasattr(model, "expert_params_")
    assert {(expert.C, expert.gamma) for expert in model.experts_} == {(1.0, "scale")}


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_a_handful_of_examples(rows):
    """Too few for regions: γ is "scale", or what a single region says."""
    X, y = CHESS[: 2 * rows], np.arange(2 * rows) % 2
    model = HardMixtureClassifier(n_experts=1, random_state=0).fit(X, y)
    assert model.predict(X).shape == (2 * rows,)
    HardMixtureRegressor(n_experts=1, random_state=0).fit(X, y.astype(float))


def test_constant_targets():
    model = HardMixtureRegressor(n_experts=2, random_state=0).fit(CHESS[:100], np.full(100, 3.0))
    assert_allclose(model.predict(NEW), 3.0, atol=0.2)


def regions_of(X, y, rows):
    order = np.arange(len(y))
    held = order % 4 == 3
    examples = Examples(X, y, None, order[~held], X_val=X[held], y_val=y[held])
    return find_regions(examples, Targets("margin", 2, y), rows, platt=False)


def test_regions_are_balls_of_neighbours():
    y = np.where(FIELDS % 2, 1.0, -1.0)
    for region in regions_of(CHESS, y, 100):
        assert region.X.shape == (100, 4)
        spread = region.X.var(axis=0).sum()
        assert spread < CHESS.var(axis=0).sum()
        assert len(region.targets.y) == region.X_val.shape[0] > 0


def test_the_search_ends_at_a_gamma_with_fewer_errors_than_its_neighbours():
    y = np.where(FIELDS % 2, 1.0, -1.0)
    search = ParameterSearch(1)
    found = search.best_gamma(SVC(C=10.0), regions_of(CHESS, y, 300), 0.1, np.arange(2))
    errors = {trial.parameters["gamma"]: trial.validation_error for trial in search.trials}
    near = [found.gamma / 2, found.gamma * 2]
    assert all(errors[gamma] >= errors[found.gamma] for gamma in near)
    assert len(errors) < len(FINE_FACTORS)


def test_the_search_ends_at_its_deadline():
    y = np.where(FIELDS % 2, 1.0, -1.0)
    search = ParameterSearch(1)
    with share_of_time(0.0):
        search.best_gamma(SVC(C=10.0), regions_of(CHESS, y, 300), 0.1, np.arange(2))
    assert len(search.trials) == 1
