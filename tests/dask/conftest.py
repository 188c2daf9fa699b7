"""Clusters and a problem for mixtures; without Dask, these tests are skipped."""

import pytest

pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

from widemargin.datasets import make_toy_mixture  # noqa: E402


@pytest.fixture(scope="module")
def client():
    """Threads of this process, which start quickly."""
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as client:
        yield client


@pytest.fixture(scope="module")
def toy():
    return make_toy_mixture(900, random_state=0)
