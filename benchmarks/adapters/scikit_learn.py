"""scikit-learn: stochastic gradient on the hinge, its Perceptron, and its kernel machines."""

from typing import Any

from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.svm import SVC, SVR

from benchmarks.adapters._kernel import KernelLibrary, Machine


def hinge_sgd(epochs: int, rate: float, seed: int, mu: float | None = None) -> SGDClassifier:
    """The Margin Perceptron's updates: hinge, constant step, no penalty; or with weight decay."""
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
    formats = ("dense float64", "CSR float64")  # it computes in float64, whatever it is given
    threaded = False
    slow = True

    def machine(self, machine: Machine, threads: int) -> Any:
        return (SVC if machine.epsilon is None else SVR)(**machine.parameters)
