"""Scorers as losses: any of scikit-learn's, for any rows."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, get_scorer_names, hinge_loss, make_scorer

from widemargin.tabular.targets import Classes, Values


def classes(n_classes=3, rows=90, seed=0):
    """Codes, and probabilities that know something about them."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=rows)
    p = random.dirichlet(np.ones(n_classes), size=rows) + 0.5 * np.eye(n_classes)[y]
    return p / p.sum(axis=1, keepdims=True), y.astype(float)


NAMES = np.array(["a", "b", "c"])


def test_a_fold_that_lacks_a_class_has_a_loss():
    p, y = classes()
    loss = Classes(NAMES).loss("neg_log_loss")
    some = y < 2
    present = p[some, :2] / p[some, :2].sum(axis=1, keepdims=True)
    own = present[np.arange(some.sum()), y[some].astype(int)]
    assert loss(p[some], y[some], None) == pytest.approx(-np.log(own).mean())
    assert loss(p, y, None) == pytest.approx(-np.log(p[np.arange(90), y.astype(int)]).mean())


@pytest.mark.filterwarnings("error")
def test_a_score_that_does_not_exist_is_the_worst():
    values = Values(0.0, 1.0).loss("neg_mean_squared_log_error")
    assert values(np.array([-2.0, 1.0]), np.array([1.0, 2.0]), None) == np.inf
    p, _ = classes(2)
    assert Classes(NAMES[:2]).loss("roc_auc")(p[:3], np.zeros(3), None) == np.inf


@pytest.mark.filterwarnings("error")
def test_a_constant_prediction_is_tried_without_a_warning():
    p = np.tile([0.9, 0.1], (20, 1))
    Classes(np.array([0, 1])).loss("precision").check(p, np.arange(20.0) % 2, None)


def test_what_no_prediction_satisfies_is_refused_at_once():
    p, y = classes()
    with pytest.raises(ValueError, match="multi_class"):
        Classes(NAMES).loss("roc_auc").check(p, y, None)


def test_scorers_of_outputs():
    p, y = classes(2)
    scorer = make_scorer(hinge_loss, response_method="decision_function", greater_is_better=False)
    assert Classes(np.array([-1, 1])).loss(scorer)(p, y, None) < 1.0


def test_weights_go_to_scorers_that_take_them():
    p, y = classes()
    weights = np.random.default_rng(1).random(90)
    right = p.argmax(axis=1) == y
    weighted = Classes(NAMES).loss("accuracy")
    weighted.check(p, y, weights)
    assert weighted(p, y, weights) == pytest.approx(-np.average(right, weights=weights))
    own = Classes(NAMES).loss(lambda model, X, y: np.mean(model.predict(X) == y))
    with pytest.warns(UserWarning, match="judged without"):
        own.check(p, y, weights)
    assert own(p, y, weights) == pytest.approx(-right.mean())
    values = Values(2.0, 3.0).loss("neg_max_error")
    z = np.array([0.0, 1.0, 2.0])
    assert values(z, np.array([0.0, 1.0, 2.5]), np.ones(3)) == pytest.approx(1.5)


@pytest.mark.parametrize("name", get_scorer_names())
def test_every_scorer_of_two_classes_or_of_values(name):
    scorer = get_scorer(name)
    function = scorer._score_func.__module__
    random = np.random.default_rng(0)
    if "cluster" in function or name in ("jaccard_samples", "f1_samples"):
        pytest.skip("scores groupings, or several labels per row")
    if "regression" in function or name.startswith(("d2_absolute", "r2")):
        y = random.random(50)
        found = Values(1.0, 1.0).loss(name)(y + 0.1 * random.random(50), y, None)
    elif "samples" in name:
        pytest.skip("scores several labels per row")
    else:
        p, y = classes(2)
        found = Classes(np.array([0, 1])).loss(name)(p, y, None)
    assert np.isfinite(found)
