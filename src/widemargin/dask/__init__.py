"""Hard mixtures of experts on a cluster, with Dask: ``pip install 'widemargin[dask]'``."""

try:
    import dask
    import distributed
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"widemargin.dask needs {error.name}, which is not installed; install it with "
        "pip install 'widemargin[dask]'",
        name=error.name,
    ) from error

from widemargin.dask.classifier import HardMixtureClassifier
from widemargin.dask.regressor import HardMixtureRegressor

__all__ = ["HardMixtureClassifier", "HardMixtureRegressor"]

del dask, distributed
