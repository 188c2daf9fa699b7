"""The data sets of the experiments, with the tasks and splits of the thesis.

Real data are read from the folder that the environment variable ``WIDEMARGIN_DATA`` names
(``<name>/<name>.npz`` in it), or are downloaded once, verified and cached.  Inputs are returned
raw; estimators standardise them.
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
