"""`widemargin demo`: every family of models beside scikit-learn's own, on data that it brings."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier as SklearnMLP
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC
from sklearn.svm import SVR as SklearnSVR
from sklearn.svm import LinearSVC as SklearnLinearSVC
from threadpoolctl import threadpool_limits

from widemargin.analysis import certificate
from widemargin.analysis.report import FAILS, HOLDS
from widemargin.datasets import make_toy_mixture
from widemargin.linear_svm import LinearSVC
from widemargin.mixtures import HardMixtureClassifier
from widemargin.mlp import MLPClassifier, SimpleMLPClassifier
from widemargin.perceptrons import KernelPerceptron, MarginPerceptron, Perceptron
from widemargin.svm import SVC, SVR
from widemargin.tabular import TabularClassifier

__all__ = ["DATA", "DemoRow", "run_models"]

CERTIFIED_ROWS = 2_000  # a certificate of a kernel machine computes the kernel of them all

Parts = tuple[Any, Any, Any, Any]  # training and test inputs, training and test targets


@dataclass(frozen=True)
class Contestant:
    """A model of the demo, and scikit-learn's model for the same task."""

    label: str
    data: str
    ours: Callable[[], Any]
    rival: str
    theirs: Callable[[], Any]


@dataclass(frozen=True)
class DemoRow:
    """One row of the table; errors are in per cent of test rows, or 100 (1 − R²)."""

    model: str
    rival: str
    data: str
    error: float
    rival_error: float
    seconds: float
    rival_seconds: float
    checks: int  # of the certificate
    checks_held: int
    classes: tuple[str, str]


def contestants() -> tuple[Contestant, ...]:
    """The models of the demo, in the order of the table."""
    new = Contestant
    digits = (
        new("Perceptron", "digits", Perceptron, "Perceptron", SklearnPerceptron),
        new(
            "Margin Perceptron", "digits", _seeded(MarginPerceptron), "SGD", _seeded(SGDClassifier)
        ),
        new(
            *("Kernel Perceptron", "digits", _seeded(KernelPerceptron, max_iter=5)),
            *("Perceptron", SklearnPerceptron),
        ),
        new("Linear SVM", "digits", LinearSVC, "LinearSVC", _seeded(SklearnLinearSVC)),
        new("Kernel SVM", "digits", lambda: SVC(C=10), "SVC", lambda: SklearnSVC(C=10)),
        new("Simple MLP", "digits", _seeded(SimpleMLPClassifier), "MLP", _seeded(SklearnMLP)),
        new("MLP", "digits", _seeded(MLPClassifier), "MLP", _seeded(SklearnMLP)),
        new(
            *("Tabular", "digits", _seeded(TabularClassifier, effort=0.1)),
            *("trees", _seeded(HistGradientBoostingClassifier)),
        ),
    )
    mixture = _seeded(HardMixtureClassifier, expert=SVC(C=10), n_experts=5, max_iter=3)
    return (
        *digits,
        new("Kernel SVM", "wedge", lambda: SVC(C=10), "SVC", lambda: SklearnSVC(C=10)),
        new("Mixture of SVMs", "wedge", mixture, "SVC", lambda: SklearnSVC(C=10)),
        new("SVM regression", "diabetes", lambda: SVR(C=30), "SVR", lambda: SklearnSVR(C=30)),
    )


def _seeded(cls: type[Any], **parameters: Any) -> Callable[[], Any]:
    return lambda: cls(random_state=0, **parameters)


#: The tasks of the demo, in words.
DATA = {
    "digits": "1,797 images of 64 pixels, ten classes",
    "wedge": "20,000 points of two classes, 2.6 % of them on the wrong side",
    "diabetes": "442 patients, a regression; its error is 100 (1 − R²)",
}


@cache
def parts_of(name: str) -> Parts:
    """Standardised inputs of a task, seven tenths of the rows for training."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name == "wedge":
        X, y = make_toy_mixture(20_000, random_state=0)
    else:
        X, y = load_diabetes(return_X_y=True)
    classes = None if name == "diabetes" else y
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=classes, random_state=0)
    varying = X.std(axis=0) > 0  # some pixels are always white
    scaler = StandardScaler().fit(X[:, varying])
    return scaler.transform(X[:, varying]), scaler.transform(X_test[:, varying]), y, y_test


def run_models() -> Iterator[DemoRow]:
    """Train, test and certify the models, one after the other."""
    for contestant in contestants():
        parts = parts_of(contestant.data)
        model, seconds, error = _trained(contestant.ours, parts)
        rival, rival_seconds, rival_error = _trained(contestant.theirs, parts)
        X, X_test, y, y_test = parts
        found = certificate(model, X, y, X_test, y_test, max_rows=CERTIFIED_ROWS)
        held = sum(line.status == HOLDS for line in found.lines)
        failed = sum(line.status == FAILS for line in found.lines)
        yield DemoRow(
            model=contestant.label,
            rival=contestant.rival,
            data=contestant.data,
            error=error,
            rival_error=rival_error,
            seconds=seconds,
            rival_seconds=rival_seconds,
            checks=held + failed,
            checks_held=held,
            classes=(type(model).__name__, type(rival).__name__),
        )


def _trained(make: Callable[[], Any], parts: Parts) -> tuple[Any, float, float]:
    """A fitted model, the seconds of its fit, and its error on the test rows.

    Each has one thread: the data are small, and threads that wait for a busy processor take long.
    """
    X, X_test, y, y_test = parts
    model = make()
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=1)
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # epochs are limited on purpose
        model.fit(X, y)
    return model, time.perf_counter() - start, 100 * (1 - float(model.score(X_test, y_test)))
