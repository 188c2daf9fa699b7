"""The theory of the documents as functions, to compute beside measurements.

- `margins`: mistakes, margins and norms of perceptrons and hidden units (Novikoff, Theorems 8.2
  and 8.3).
- `stochastic`: epochs of stochastic gradient with weight decay (Theorem 8.1).
- `convergence`: the conditions of Theorem 3.2, by model and schedule.
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
from widemargin.theory.convergence import (
    Condition,
    Conditions,
    convergence_conditions,
    schedule_condition,
)
from widemargin.theory.margins import (
    hidden_margin_bound,
    margin_bound,
    novikoff_bound,
    potential,
    radius,
    separable_margin_bound,
    separable_updates_bound,
    unit_norm_bound,
    unit_updates_bound,
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
from widemargin.theory.stochastic import (
    NetworkEpochs,
    bound_epochs,
    decay_epochs,
    halving_epochs,
    network_epochs,
)

__all__ = [
    "Ball",
    "CapacityOrder",
    "Condition",
    "Conditions",
    "Consistency",
    "Interval",
    "McNemar",
    "NetworkEpochs",
    "Proportions",
    "StructuralRisk",
    "bound_epochs",
    "convergence_conditions",
    "decay_epochs",
    "empirical_risk",
    "enclosing_ball",
    "excess_risk_bound",
    "growth",
    "halving_epochs",
    "hidden_margin_bound",
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
    "network_epochs",
    "novikoff_bound",
    "polynomial_capacity",
    "potential",
    "radius",
    "regularised_risk",
    "sauer_bound",
    "schedule_condition",
    "separable_margin_bound",
    "separable_updates_bound",
    "shattered",
    "simulate_memorisers",
    "simulate_thresholds",
    "structural_risk",
    "threshold_labellings",
    "two_proportions",
    "unit_norm_bound",
    "unit_updates_bound",
    "validation_examples",
    "validation_interval",
    "vc_confidence",
    "vc_dimension",
    "vc_probability",
]
