"""What the theory says about fitted models.

- `hessian`: the Hessian of networks and mixtures in blocks (Chapter 7).
"""

from widemargin.analysis.hessian import BlockHessian, expert_hessian, unit_hessian

__all__ = ["BlockHessian", "expert_hessian", "unit_hessian"]
