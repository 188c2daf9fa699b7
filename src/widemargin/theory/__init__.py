"""The theory of the documents as functions, to compute beside measurements.

- `margins`: mistakes and margins of perceptrons (Novikoff, Theorems 8.2 and 8.3).
- `stochastic`: epochs of stochastic gradient with weight decay (Theorem 8.1).
- `risk`: empirical and expected risk (Hoeffding, Theorems 2.3 and 2.4, validation).
- `capacity`: labellings and VC dimensions (Definition 2.3, Theorems 3.1 and 3.4).
- `consistency`: empirical risk minimisation, simulated.
- `comparison`: is one model better than another (McNemar, two proportions)?
- `ball`: the smallest ball around examples.
"""

from widemargin.theory.ball import (
    Ball,
    enclosing_ball,
)
from widemargin.theory.capacity import (
    CapacityOrder,
    growth,
    hyperplane_capacity,
    hyperplane_labellings,
    interval_labellings,
    labellings_in_general_position,
    margin_capacity,
    mlp_capacity,
    polynomial_capacity,
    sauer_bound,
    shattered,
    threshold_labellings,
    vc_dimension,
)
from widemargin.theory.comparison import (
    McNemar,
    Proportions,
    mcnemar,
    two_proportions,
)
from widemargin.theory.consistency import (
    Consistency,
    simulate_memorisers,
    simulate_thresholds,
)
from widemargin.theory.margins import (
    margin_bound,
    novikoff_bound,
    potential,
    radius,
    separable_margin_bound,
    separable_updates_bound,
)
from widemargin.theory.risk import (
    Interval,
    StructuralRisk,
    empirical_risk,
    excess_risk_bound,
    hoeffding_deviation,
    hoeffding_probability,
    regularised_risk,
    structural_risk,
    validation_examples,
    validation_interval,
    vc_confidence,
    vc_probability,
)
from widemargin.theory.stochastic import bound_epochs, decay_epochs, halving_epochs

__all__ = [
    "Ball",
    "CapacityOrder",
    "Consistency",
    "Interval",
    "McNemar",
    "Proportions",
    "StructuralRisk",
    "bound_epochs",
    "decay_epochs",
    "empirical_risk",
    "enclosing_ball",
    "excess_risk_bound",
    "growth",
    "halving_epochs",
    "hoeffding_deviation",
    "hoeffding_probability",
    "hyperplane_capacity",
    "hyperplane_labellings",
    "interval_labellings",
    "labellings_in_general_position",
    "margin_bound",
    "margin_capacity",
    "mcnemar",
    "mlp_capacity",
    "novikoff_bound",
    "polynomial_capacity",
    "potential",
    "radius",
    "regularised_risk",
    "sauer_bound",
    "separable_margin_bound",
    "separable_updates_bound",
    "shattered",
    "simulate_memorisers",
    "simulate_thresholds",
    "structural_risk",
    "threshold_labellings",
    "two_proportions",
    "validation_examples",
    "validation_interval",
    "vc_confidence",
    "vc_dimension",
    "vc_probability",
]
