"""scikit-learn: stochastic gradient, its Perceptron, its kernel machines and linear SVMs."""

from typing import Any

from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC

from benchmarks.adapters._kernel import KernelLibrary, Machine
from benchmarks.adapters._linear import LinearLibrary, LinearMachine, WithOnes


def hinge_sgd(epochs: int, rate: float, seed: int, mu: float | None = None) -> SGDClassifier:
    """The updates of the Margin Perceptron (hinge, constant step), with weight decay if `mu`."""
    return SGDClassifier(
        loss="hinge",
        penalty=None if mu is None else "l2",
        alpha=mu or 0.0,
        learning_rate="constant",
        eta0=rate,
        max_iter=epochs,
        tol=None,
        random_state=seed,
    )


def perceptron(epochs: int, seed: int) -> Perceptron:
    return Perceptron(max_iter=epochs, tol=None, random_state=seed)


class ScikitLearn(KernelLibrary):
    name = "scikit-learn"
    module = "sklearn"
    formats = ("dense float64", "CSR float64")  # it always computes in float64
    threaded = False
    slow = True

    def machine(self, machine: Machine, threads: int) -> Any:
        return (SVC if machine.epsilon is None else SVR)(**machine.parameters)


class LinearScikitLearn(LinearLibrary):
    """The LIBLINEAR that is part of scikit-learn; the effort is the number of iterations.

    The hinge is solved in the dual; its square in the primal, unless there are more columns than
    rows.
    """

    name = "scikit-learn"
    module = "sklearn"
    formats = ("dense float64", "CSR float64")
    threaded = False

    def linear(self, machine: LinearMachine, effort: int, threads: int) -> Any:
        dual = True if machine.loss == "hinge" else "auto"
        options = {"tol": 1e-12, "max_iter": effort, "random_state": 0}
        return LinearSVC(loss=machine.loss, C=machine.C, dual=dual, **options)


class SGD(LinearLibrary):
    """SGDClassifier with alpha = 1/(C L) and its default steps; the effort is the number of epochs.

    These steps diverge for the squared hinge.
    """

    module = "sklearn"
    losses = ("hinge",)
    formats = ("dense float64", "CSR float64")
    threaded = False

    def __init__(self, *, average: bool) -> None:
        self.average = average
        self.name = "SGD-average" if average else "SGD"

    def linear(self, machine: LinearMachine, effort: int, threads: int) -> Any:
        options = {"tol": None, "max_iter": effort, "average": self.average, "random_state": 0}

        def make(rows: int) -> SGDClassifier:
            alpha = 1 / (machine.C * rows)
            return SGDClassifier(loss=machine.loss, alpha=alpha, fit_intercept=False, **options)

        return WithOnes(make)
