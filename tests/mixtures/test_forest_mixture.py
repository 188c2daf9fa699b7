"""Hard mixtures on real data: near the exact machine, far better than an average of machines."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from widemargin import SVC, HardMixtureClassifier
from widemargin.datasets import fetch_forest
from widemargin.mixtures import MLPGater

ROWS = 20_000


@pytest.fixture(scope="module")
def forest():
    return fetch_forest(split="thesis")


def error(model, forest):
    X, y = forest.X_train[:ROWS], forest.y_train[:ROWS]
    return 1 - model.fit(X, y).score(forest.X_valid, forest.y_valid)


@pytest.mark.data
@pytest.mark.slow
def test_a_mixture_of_svms_is_near_the_exact_one(forest):
    svm = SVC(C=10, gamma=32)
    exact = error(make_pipeline(MinMaxScaler(), svm), forest)
    mixture = HardMixtureClassifier(svm, MLPGater((50,)), n_experts=10, max_iter=4, random_state=0)
    uniform = HardMixtureClassifier(svm, "uniform", n_experts=10, random_state=0)
    found = error(mixture, forest)
    assert found < exact + 0.015
    assert found < error(uniform, forest) - 0.015


@pytest.mark.data
@pytest.mark.slow
def test_the_default_experts_are_as_good_as_tuned_ones(forest):
    scale = HardMixtureClassifier(SVC(), random_state=0)  # γ = "scale" is a hundred times too small
    plain = HardMixtureClassifier(random_state=0)
    tuned = HardMixtureClassifier(tune="validation", random_state=0)
    found = error(plain, forest)
    assert found < error(scale, forest) - 0.02
    assert found < error(tuned, forest) + 0.015
    assert {trial["part"] for trial in tuned.tuning_} == {"expert", "gater"}
