"""Every published experiment runs from data to results, here on a few generated rows."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from widemargin.experiments import papers, papers_mixtures

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small_split(rows=240, **options):
    """Data in the form of `fetch_forest(split="thesis")`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    parts = {"train": slice(0, 160), "valid": slice(160, 200), "test": slice(200, rows)}
    return Bunch(
        **{
            f"{key}_{part}": a[s]
            for part, s in parts.items()
            for key, a in zip("Xy", (X, y), strict=True)
        }
    )


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    """A few rows in place of Forest; experts of mixtures in proportion."""
    monkeypatch.setattr(papers, "FETCHERS", {"Forest": small_split})
    monkeypatch.setattr(papers_mixtures, "fetch_forest", small_split)


def check(results, models):
    assert [result.model for result in results] == models
    for result in results:
        assert 0 <= result.test_error <= 100
        assert 0 <= result.validation_error <= 100
        assert result.seconds > 0


def test_table_7_1():
    results = papers.table_7_1()
    check(results, ["MLPClassifier"] * 3)
    assert all(0 <= result.training_error <= 100 for result in results)


def test_table_8_1():
    check(
        papers.table_8_1(seeds=(0,)),
        [*papers.PUBLISHED_TABLE_8_1, "Simple MLP, hats, several committees"],
    )


def test_table_8_2():
    names = [result.model for result in papers.table_8_2(seeds=(0, 1))]
    assert set(papers.PUBLISHED_TABLE_8_2) < set(names)
    check(papers.table_8_2(seeds=(0,), models=("Perceptron",)), ["Perceptron"])


@pytest.mark.parametrize("name", papers_mixtures.PUBLISHED_MIXTURES)
def test_table_6(name, monkeypatch):
    make = papers_mixtures._models

    def few_experts():
        found = make()
        for models in found.values():
            for model in models:
                model.set_params(n_experts=3)
        return found

    monkeypatch.setattr(papers_mixtures, "_models", few_experts)
    check(papers_mixtures.table_6(models=(name,)), [name])
