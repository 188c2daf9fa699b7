"""Which conditions of Theorem 3.2 an estimator meets, by its parameters."""

from typing import Any

from widemargin import theory
from widemargin.mlp import MLPClassifier, SimpleMLPClassifier
from widemargin.mlp.classifier import LOSSES
from widemargin.perceptrons import (
    SGDSVC,
    KernelPerceptron,
    KernelSGDSVC,
    MarginPerceptron,
    Perceptron,
)

__all__ = ["model_conditions"]


def model_conditions(estimator: Any, *, finite: bool = True) -> theory.Conditions:
    """The conditions i to vi of Theorem 3.2 for an estimator, with reasons.

    Parameters
    ----------
    estimator : Perceptron, MarginPerceptron, SGDSVC, KernelPerceptron, MLPClassifier or \
            SimpleMLPClassifier
        Fitted or not. An `MLPClassifier` needs one hidden layer, ``solver="sgd"`` and no
        momentum, which is the update (3.17).
    finite : bool, default=True
        Whether the risk is the mean over a finite training set, or the expectation over inputs
        with a density; see `widemargin.theory.convergence_conditions`.

    Returns
    -------
    widemargin.theory.Conditions

    Examples
    --------
    >>> from widemargin import SGDSVC, MarginPerceptron
    >>> model_conditions(SGDSVC(), finite=False).holds
    True
    >>> print(model_conditions(MarginPerceptron(schedule="constant"))["iii"])
    iii does not hold: λ is constant, so the sum of λ² is infinite
    """
    return theory.convergence_conditions(**_description(estimator), finite=finite)


def _description(estimator: Any) -> dict[str, Any]:
    """The arguments of `theory.convergence_conditions`."""
    if isinstance(estimator, Perceptron):
        decays = estimator.penalty == "l2" and estimator.alpha > 0
        return {"model": "linear", "criterion": "perceptron", "weight_decay": decays}
    if isinstance(estimator, KernelPerceptron):
        return {"model": "linear", "criterion": "perceptron"}
    if isinstance(estimator, MarginPerceptron):
        return {"model": "linear", "criterion": "margin", **_steps(estimator)}
    if isinstance(estimator, SGDSVC | KernelSGDSVC):
        steps = {"schedule": estimator.schedule, "decay": estimator.decay}
        return {"model": "linear", "criterion": "margin", "weight_decay": True, **steps}
    if isinstance(estimator, SimpleMLPClassifier):
        return {"model": "simple_mlp", "criterion": "margin", **_steps(estimator)}
    if isinstance(estimator, MLPClassifier):
        return _network(estimator)
    raise TypeError(
        f"estimator is a {type(estimator).__name__}, which is not trained by the stochastic "
        "gradient of Theorem 3.2; give a perceptron, an MLPClassifier or a SimpleMLPClassifier"
    )


def _steps(estimator: Any) -> dict[str, Any]:
    schedule = "linear" if estimator.schedule == "auto" else estimator.schedule
    return {"schedule": schedule, "decay": estimator.decay, "power_t": estimator.power_t}


def _network(estimator: MLPClassifier) -> dict[str, Any]:
    if estimator.solver != "sgd" or estimator.momentum != 0:
        raise ValueError(
            f"solver={estimator.solver!r} with momentum={estimator.momentum!r} is not the update "
            "of Theorem 3.2; use solver='sgd' and momentum=0"
        )
    sizes = estimator.hidden_layer_sizes
    if len([sizes] if isinstance(sizes, int) else sizes) != 1:
        raise ValueError(
            f"hidden_layer_sizes={sizes!r}: the conditions are known for one hidden layer, such "
            "as hidden_layer_sizes=(50,)"
        )
    decays = any((estimator.alpha, estimator.output_alpha, estimator.weight_decay))
    transfer = "sigmoid" if estimator.activation == "logistic" else estimator.activation
    return {
        "model": "mlp",
        "criterion": LOSSES[estimator.loss](1.0).name,
        "transfer": transfer,
        "weight_decay": decays,
        "schedule": estimator.learning_rate,
        "power_t": estimator.power_t,
    }
