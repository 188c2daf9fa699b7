"""Plots of fitted models (needs matplotlib).

Displays follow scikit-learn: `from_estimator` computes what is drawn from a fitted model, `plot`
draws it again on other axes, and `ax_` and `figure_` are what it was drawn on.

- `LossDisplay`: criteria over y f(x), and where the examples are.
- `MarginDisplay`: boundary and margin on a plane, with support vectors and slack.
- `TubeDisplay`: a regression with its tube.
- `CostCurveDisplay`: the validation curve of C beside the chosen machine.
- `NovikoffDisplay`: why a perceptron makes finitely many mistakes.
- `GatesDisplay`: the gates of a mixture of experts.
"""

from widemargin.plots.cost_curve import CostCurveDisplay, draw_validation_curve
from widemargin.plots.gates import GatesDisplay
from widemargin.plots.importances import draw_importances
from widemargin.plots.losses import LossDisplay
from widemargin.plots.margins import MarginDisplay
from widemargin.plots.novikoff import NovikoffDisplay
from widemargin.plots.tube import TubeDisplay

__all__ = [
    "CostCurveDisplay",
    "GatesDisplay",
    "LossDisplay",
    "MarginDisplay",
    "NovikoffDisplay",
    "TubeDisplay",
    "draw_importances",
    "draw_validation_curve",
]
