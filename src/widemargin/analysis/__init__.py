"""What the theory says about fitted models.

- `certificate`: all theorems that say something about a model, checked on its rows.
- `geometry`: hyperplanes, margins, distances and slack of fitted classifiers (3.6).
- `feature_space`: positive definite kernels (Theorem 3.3) and the map of Figure 3.2.
- `hessian`: the Hessian of networks and mixtures in blocks (Chapter 7).
"""

from widemargin.analysis.certificate import certificate
from widemargin.analysis.feature_space import (
    Definiteness,
    kernel_is_positive_definite,
    quadratic_map,
)
from widemargin.analysis.geometry import hyperplanes
from widemargin.analysis.hessian import BlockHessian, expert_hessian, unit_hessian
from widemargin.analysis.hyperplane import Hyperplane
from widemargin.analysis.report import Certificate, Line

__all__ = [
    "BlockHessian",
    "Certificate",
    "Definiteness",
    "Hyperplane",
    "Line",
    "certificate",
    "expert_hessian",
    "hyperplanes",
    "kernel_is_positive_definite",
    "quadratic_map",
    "unit_hessian",
]
