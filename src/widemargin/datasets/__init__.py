"""The data sets of the experiments, with the thesis's tasks and splits.

Real data are read from the folder named by the environment variable ``WIDEMARGIN_DATA``
(``<name>/<name>.npz`` in it) or else downloaded once, verified and cached.  Inputs come back raw:
standardising is the estimators' work.
"""

from widemargin.datasets.classification import fetch_connect4, fetch_forest, fetch_mnist
from widemargin.datasets.regression import fetch_kin, fetch_sunspots, make_artificial
from widemargin.datasets.toy import make_toy_mixture

__all__ = [
    "fetch_connect4",
    "fetch_forest",
    "fetch_kin",
    "fetch_mnist",
    "fetch_sunspots",
    "make_artificial",
    "make_toy_mixture",
]
