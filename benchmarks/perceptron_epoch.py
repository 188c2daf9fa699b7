"""How long does an epoch of a perceptron or of the online SVM take, here and in scikit-learn?

Forest, 100,000 × 54 (generated data of the same shape and sparsity if WIDEMARGIN_DATA is not set),
one thread. We standardise implicitly inside the fit; scikit-learn gets inputs that were
standardised before (dense) or scaled (CSR, which it cannot centre), which is not timed.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._measure import epoch_seconds, fit_seconds
from benchmarks.adapters import ours, scikit_learn
from widemargin.datasets import fetch_forest

RATE, MU, SEED = 1e-3, 1e-3, 0
PAIRS = (
    ("SGDSVC", "SGDClassifier(alpha)"),
    ("MarginPerceptron", "SGDClassifier(hinge)"),
    ("MarginPerceptron", "sklearn Perceptron"),
    ("Perceptron", "sklearn Perceptron"),
)


@dataclass(frozen=True)
class Result:
    """Times per epoch and test errors of two models, in percent."""

    data: str
    inputs: str
    model: str
    rival: str
    our_milliseconds: float
    rival_milliseconds: float
    our_test_error: float
    rival_test_error: float

    @property
    def ratio(self) -> float:
        return self.rival_milliseconds / self.our_milliseconds


def load() -> tuple[str, Any, Any, Any, Any]:
    """Name of the data, training rows and test rows."""
    if os.environ.get("WIDEMARGIN_DATA"):
        data = fetch_forest(split="thesis")
        return "Forest", data.X_train, data.y_train, data.X_test, data.y_test
    random = np.random.default_rng(0)
    X = np.zeros((120_000, 54), dtype=np.float32)
    X[:, :10] = random.normal(2.0, 1.0, (len(X), 10))
    for first, last in ((10, 14), (14, 54)):
        X[np.arange(len(X)), random.integers(first, last, len(X))] = 1.0
    y = np.where(X @ random.normal(size=54) + random.normal(size=len(X)) > 0, 1, -1)
    return "generated", X[:100_000], y[:100_000], X[100_000:], y[100_000:]


def run(
    rounds: int = 7, pairs: Sequence[tuple[str, str]] = PAIRS, rows: int | None = None
) -> list[Result]:
    """Compare pairs of models, on all rows or the first `rows`."""
    name, X_train, y, X_test, y_test = load()
    X_train, y = X_train[:rows], y[:rows]
    mean, scale = X_train.mean(0, dtype=np.float64), X_train.std(0, dtype=np.float64)
    scale[scale == 0] = 1.0
    results = []
    for dtype in (np.float32, np.float64):
        X, T = X_train.astype(dtype), X_test.astype(dtype)
        dense = [((a - mean) / scale).astype(dtype) for a in (X, T)]
        sparse = [sp.csr_matrix((a / scale).astype(dtype)) for a in (X, T)]
        for layout, (mine, mine_test), (theirs, theirs_test) in (
            ("dense", (X, T), dense),
            ("CSR", (sp.csr_matrix(X), sp.csr_matrix(T)), sparse),
        ):
            contestants = {
                "MarginPerceptron": (lambda n: ours.margin_perceptron(n, RATE, SEED), mine),
                "SGDSVC": (lambda n: ours.sgd_svm(n, RATE, MU, SEED), mine),
                "Perceptron": (lambda n: ours.perceptron(n, SEED), mine),
                "SGDClassifier(hinge)": (lambda n: scikit_learn.hinge_sgd(n, RATE, SEED), theirs),
                "SGDClassifier(alpha)": (
                    lambda n: scikit_learn.hinge_sgd(n, RATE, SEED, MU),
                    theirs,
                ),
                "sklearn Perceptron": (lambda n: scikit_learn.perceptron(n, SEED), theirs),
            }
            wanted = {model for pair in pairs for model in pair}
            contestants = {key: contestants[key] for key in contestants if key in wanted}
            seconds = epoch_seconds(contestants, y, short=2, long=22, rounds=rounds)
            error = {}
            for model, (make, inputs) in contestants.items():
                test = mine_test if inputs is mine else theirs_test
                fitted = make(22)
                fit_seconds(fitted, inputs, y)
                error[model] = 100 * (1 - fitted.score(test, y_test))
            for model, rival in pairs:
                results.append(
                    Result(
                        name,
                        f"{layout} {np.dtype(dtype).name}",
                        model,
                        rival,
                        1e3 * seconds[model],
                        1e3 * seconds[rival],
                        error[model],
                        error[rival],
                    )
                )
    return results
