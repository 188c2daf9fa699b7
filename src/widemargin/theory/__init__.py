"""The theory of the documents as functions, to compute beside measurements.

- `margins`: mistakes, margins and norms of perceptrons and hidden units (Novikoff, Theorems 8.2
  and 8.3).
- `stochastic`: epochs of stochastic gradient with weight decay (Theorem 8.1).
- `risk`: empirical and expected risk (Theorems 2.3 and 2.4), structural risk minimisation.
- `validation`: Hoeffding's inequality and validation examples (2.3.2).
- `convergence`: the conditions of Theorem 3.2, by model and schedule.
- `capacity`: labellings and VC dimensions (Definition 2.3, Theorems 3.1 and 3.4).
- `consistency`: empirical risk minimisation, simulated (Theorems 2.1 and 2.2).
- `curves`: risks against the number of examples and the capacity (Figures 2.1 and 2.2).
- `comparison`: is one model better than another (McNemar, paired losses, two proportions)?
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
    PairedLosses,
    Proportions,
    PublishedRates,
    mcnemar,
    paired_losses,
    published_rates,
    two_proportions,
)
from widemargin.theory.consistency import (
    Consistency,
    distribution_deviation,
    simulate_exceptions,
    simulate_memorisers,
    simulate_thresholds,
)
from widemargin.theory.convergence import (
    Condition,
    Conditions,
    convergence_conditions,
    schedule_condition,
)
from widemargin.theory.curves import (
    CapacityCurve,
    LearningCurve,
    capacity_curve,
    learning_curve,
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
    StructuralRisk,
    empirical_risk,
    excess_risk_bound,
    lecture_risk_bound,
    regularised_risk,
    sensitivity,
    structural_risk,
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
from widemargin.theory.validation import (
    Interval,
    hoeffding_deviation,
    hoeffding_probability,
    validation_examples,
    validation_interval,
)

__all__ = [
    "Ball",
    "CapacityCurve",
    "CapacityOrder",
    "Condition",
    "Conditions",
    "Consistency",
    "Interval",
    "LearningCurve",
    "McNemar",
    "NetworkEpochs",
    "PairedLosses",
    "Proportions",
    "PublishedRates",
    "StructuralRisk",
    "bound_epochs",
    "capacity_curve",
    "convergence_conditions",
    "decay_epochs",
    "distribution_deviation",
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
    "learning_curve",
    "lecture_risk_bound",
    "margin_bound",
    "margin_capacity",
    "mcnemar",
    "mlp_capacity",
    "network_epochs",
    "novikoff_bound",
    "paired_losses",
    "polynomial_capacity",
    "potential",
    "published_rates",
    "radius",
    "regularised_risk",
    "sauer_bound",
    "schedule_condition",
    "sensitivity",
    "separable_margin_bound",
    "separable_updates_bound",
    "shattered",
    "simulate_exceptions",
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
