"""What the theory says about fitted models.

- `certificate`: all theorems that say something about a model, checked on its rows.
- `geometry`: hyperplanes, margins, distances and slack of fitted classifiers (3.6).
- `feature_space`: positive definite kernels (Theorem 3.3) and the map of Figure 3.2.
- `hessian`: the Hessian of networks and mixtures in blocks (Chapter 7).
- `convergence`: the conditions of Theorem 3.2 for an estimator.
- `hidden_layer`: networks with a margin as support vector machines (Theorem 8.4).
"""

from widemargin.analysis.certificate import certificate
from widemargin.analysis.convergence import model_conditions
from widemargin.analysis.feature_space import (
    Definiteness,
    kernel_is_positive_definite,
    quadratic_map,
)
from widemargin.analysis.geometry import hyperplanes
from widemargin.analysis.hessian import BlockHessian, expert_hessian, unit_hessian
from widemargin.analysis.hidden_layer import hidden_layer_svm
from widemargin.analysis.hidden_layer_results import HiddenLayerSVM, OutputSVM, UnitSVM
from widemargin.analysis.hyperplane import Hyperplane
from widemargin.analysis.report import Certificate, Line

__all__ = [
    "BlockHessian",
    "Certificate",
    "Definiteness",
    "HiddenLayerSVM",
    "Hyperplane",
    "Line",
    "OutputSVM",
    "UnitSVM",
    "certificate",
    "expert_hessian",
    "hidden_layer_svm",
    "hyperplanes",
    "kernel_is_positive_definite",
    "model_conditions",
    "quadratic_map",
    "unit_hessian",
]
