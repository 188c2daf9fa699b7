"""How good probabilities are: log loss and, for two classes, the area under the ROC curve."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

LEAST_PROBABILITY = 1e-15


def log_loss(y: NDArray[Any], probabilities: NDArray[Any], classes: NDArray[Any]) -> float:
    """The mean of −log p(y), with p at least 1e-15.

    The columns of `probabilities` belong to `classes`; other classes have probability 0.
    """
    classes = np.asarray(classes)
    places = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    own = np.asarray(probabilities, dtype=np.float64)[np.arange(len(y)), places]
    own = np.where(np.equal(classes[places], y), own, 0.0)
    return -float(np.mean(np.log(own.clip(LEAST_PROBABILITY, 1.0))))


def auc(y: NDArray[Any], probabilities: NDArray[Any]) -> float | None:
    """The area under the ROC curve of two classes, 0 and 1; None if there are more or only one."""
    if probabilities.shape[1] != 2 or set(np.unique(y)) != {0, 1}:
        return None
    return float(roc_auc_score(y, probabilities[:, 1]))
