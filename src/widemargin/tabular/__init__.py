"""Raw tables in, the best margin machines out.

`TabularClassifier` and `TabularRegressor` encode a table (`widemargin.tables`), search among
candidates (`candidates`, `plan`, `search`) in several input forms (`forms`, `thresholds`) and
metrics, judge them by rows that they did not see (`folds`, `views`, `evaluation`, `targets`,
`calibration`), and combine the best (`ensemble`, `combination`).
"""

from widemargin.tabular.classifier import TabularClassifier
from widemargin.tabular.forms import FORMS, InputForm
from widemargin.tabular.regressor import TabularRegressor

__all__ = ["FORMS", "InputForm", "TabularClassifier", "TabularRegressor"]
