"""What the theory says about fitted models.

- `hessian`: the Hessian of networks and mixtures in blocks (Chapter 7).
- `convergence`: the conditions of Theorem 3.2 for an estimator.
- `hidden_layer`: networks with a margin as support vector machines (Theorem 8.4).
"""

from widemargin.analysis.convergence import model_conditions
from widemargin.analysis.hessian import BlockHessian, expert_hessian, unit_hessian
from widemargin.analysis.hidden_layer import hidden_layer_svm
from widemargin.analysis.hidden_layer_results import HiddenLayerSVM, OutputSVM, UnitSVM

__all__ = [
    "BlockHessian",
    "HiddenLayerSVM",
    "OutputSVM",
    "UnitSVM",
    "expert_hessian",
    "hidden_layer_svm",
    "model_conditions",
    "unit_hessian",
]
