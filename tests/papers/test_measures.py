"""What items measure: trials, two models compared, products during training, parallel seconds."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import Bunch

from widemargin import HardMixtureClassifier, MixtureOfExpertsClassifier, Perceptron
from widemargin.mixtures import GaussianGater, MLPGater
from widemargin.papers.chapter7_figures import coefficient, norms_of, product_of_gates
from widemargin.papers.forest_mixtures import parallel_minutes
from widemargin.papers.trials import Results, compared, exponent, tuned


@pytest.fixture(scope="module")
def data():
    random = np.random.RandomState(0)
    X = random.normal(size=(600, 4))
    y = np.where(X[:, 0] + 0.3 * random.normal(size=600) > 0, 1, -1)
    parts = {"train": slice(0, 300), "valid": slice(300, 450), "test": slice(450, 600)}
    found = {f"X_{name}": X[rows] for name, rows in parts.items()}
    return Bunch(**found, **{f"y_{name}": y[rows] for name, rows in parts.items()})


class Neighbours(KNeighborsClassifier):
    """With a seed, which it ignores."""

    def __init__(self, n_neighbors=5, random_state=None):
        super().__init__(n_neighbors)
        self.random_state = random_state


def test_validation_rows_choose_and_test_rows_judge(data):
    bad, good = Neighbours(n_neighbors=299), Neighbours(n_neighbors=15)
    trial = tuned([bad, good], data, (0, 1, 2))
    assert trial.setting == "Neighbours(n_neighbors=15)"
    assert [fit.random_state for fit in trial.fits] == [0, 1, 2]
    wrong = trial.fits[0].predict(data.X_test) != data.y_test
    assert trial.errors == pytest.approx([100 * wrong.mean()] * 3)
    assert trial.spread == pytest.approx(0.0)
    with pytest.raises(ValueError, match="no candidate"):
        tuned([], data, (0,))


def test_a_row_has_its_setting_and_its_spread(data):
    results = Results()
    results.add("one", tuned([Perceptron(max_iter=3, tol=None)], data, (0,)))
    results.add("many", tuned([Perceptron(max_iter=3, tol=None)], data, (0, 1)))
    measured = results.measured("a note")
    assert set(measured.spread) == {"many"}
    assert measured.notes == ("a note",)


def test_two_models_are_compared_by_counts():
    y = np.zeros(1000, dtype=int)
    first, second = y.copy(), y.copy()
    first[:10], second[5:60] = 1, 1
    text = compared("Data", y, ("A", first), ("B", second))
    assert "5 are wrong with A only and 50 with B only" in text
    assert "1,000 test rows" in text
    assert float(text.rpartition("p = ")[2].rstrip(".")) < 1e-6


def test_the_product_of_gates_is_the_mean_over_pairs(data):
    model = MixtureOfExpertsClassifier(
        3, n_units=2, n_gater_units=2, max_iter=3, tol=None, random_state=0
    )
    gates = model.fit(data.X_train, data.y_train).gates(data.X_test)
    pairs = [gates[:, i] * gates[:, j] for i in range(3) for j in range(3) if i != j]
    assert product_of_gates(model, data.X_test) == pytest.approx(np.mean(pairs))


def test_the_coefficient_is_the_second_derivative_of_squared_error_after_a_tanh():
    f = np.linspace(-2, 2, 41)
    for y in (-1.0, 1.0):
        h = 1e-4
        cost = [0.5 * (y - np.tanh(f + step)) ** 2 for step in (-h, 0.0, h)]
        second = (cost[0] - 2 * cost[1] + cost[2]) / h**2
        np.testing.assert_allclose(coefficient(np.tanh(f), y), second, atol=1e-5)


def test_norms_outside_the_diagonal_relative_to_those_on_it():
    class Norms:
        def norms(self):
            return np.array([[4.0, 1.0], [1.0, 2.0]])

    assert norms_of(Norms())[1] == pytest.approx(1.0 / 3.0)


def test_exponents_of_powers():
    rows = np.array([100.0, 200.0, 400.0])
    assert exponent(rows, 3.0 * rows**1.8) == pytest.approx(1.8)
    assert exponent(rows, [0.0, 1.0, 4.0]) == pytest.approx(2.0)  # without the first
    assert np.isnan(exponent(rows, [0.0, 0.0, 4.0]))


@pytest.mark.parametrize(
    ("gater", "minutes"), [(GaussianGater(2), 2 * 8.0 / 60), (MLPGater((3,)), 2 * 33.0 / 60)]
)
def test_seconds_in_parallel_divide_what_runs_on_all_computers(data, gater, minutes):
    mixture = HardMixtureClassifier(Perceptron(), gater, n_experts=6, max_iter=2)
    mixture.fit(data.X_train, data.y_train)
    seconds = {"experts_seconds": 6.0, "outputs_seconds": 12.0, "gater_seconds": 30.0}
    mixture.history_ = [seconds, seconds]
    assert parallel_minutes(mixture, processors=1) == pytest.approx(minutes)
