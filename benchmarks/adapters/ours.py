"""widemargin itself: perceptrons for a number of epochs, kernel machines, linear SVMs, mixtures."""

from typing import Any

import widemargin
from benchmarks.adapters._kernel import KernelLibrary, Machine
from benchmarks.adapters._linear import ByTolerance, LinearMachine
from widemargin import SGDSVC, HardMixtureClassifier, MarginPerceptron, Perceptron
from widemargin.mixtures import MLPGater


def margin_perceptron(epochs: int, rate: float, seed: int) -> MarginPerceptron:
    return MarginPerceptron(
        learning_rate=rate, schedule="constant", max_iter=epochs, tol=None, random_state=seed
    )


def perceptron(epochs: int, seed: int) -> Perceptron:
    return Perceptron(scaling="standard", max_iter=epochs, tol=None, random_state=seed)


def sgd_svm(epochs: int, rate: float, mu: float, seed: int) -> SGDSVC:
    return SGDSVC(
        mu=mu,
        learning_rate=rate,
        schedule="constant",
        average=False,
        max_iter=epochs,
        tol=None,
        random_state=seed,
    )


class Ours(KernelLibrary):
    name = "widemargin"
    module = "widemargin"

    def machine(self, machine: Machine, threads: int) -> Any:
        estimator = widemargin.SVC if machine.epsilon is None else widemargin.SVR
        return estimator(**machine.parameters, n_jobs=threads)


def hard_mixture(
    machine: Machine, experts: int, units: int, threads: int, **parameters: Any
) -> HardMixtureClassifier:
    """Algorithm 6.1: machines with Gaussian kernel, and a network as gater."""
    expert = widemargin.SVC(**machine.parameters)
    gater = MLPGater((units,))
    return HardMixtureClassifier(
        expert, gater, n_experts=experts, n_jobs=threads, random_state=0, **parameters
    )


class OursLinear(ByTolerance):
    name = "widemargin"
    module = "widemargin"

    def linear(self, machine: LinearMachine, effort: int, threads: int) -> Any:
        return linear_svc(machine, self.tolerance(effort), threads)


def linear_svc(
    machine: LinearMachine, tol: float, threads: int, **parameters: Any
) -> widemargin.LinearSVC:
    return widemargin.LinearSVC(
        loss=machine.loss,
        C=machine.C,
        intercept_scaling=1,
        tol=tol,
        n_jobs=threads,
        random_state=0,
        **parameters,
    )
