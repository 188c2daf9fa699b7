"""The cluster as a fit uses it: submits tasks, gathers results, and reports when it is lost."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import dask
import distributed
from distributed import Client, KilledWorker, LocalCluster
from distributed.comm import CommClosedError
from distributed.scheduler import NoValidWorkerError

from widemargin.training.loop import Halted

__all__ = ["Cluster", "ClusterLost", "connected"]

POLL_SECONDS = 5.0  # between checks that there are workers
NO_WORKER_SECONDS = 300.0  # without any worker before giving up; a new one may be starting
MERGED_PER_TASK = 16  # results that one task of a tree reduction merges
LARGE_GRAPH = "256 MB"  # size of a model that is sent before Dask warns

CLUSTER_ERRORS = (CancelledError, asyncio.CancelledError, CommClosedError, NoValidWorkerError)


class ClusterLost(Halted):
    """The fit cannot continue because the cluster is gone."""

    reason = "cluster_lost"


@contextmanager
def connected(client: Client | None) -> Iterator[Client]:
    """The client given, else the default one, else one of a new `LocalCluster`."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            with LocalCluster(dashboard_address=":0") as cluster, Client(cluster) as own:
                yield own
            return
    yield client


class Cluster:
    """Runs the tasks of a fit. Tasks are pure functions: Dask repeats those with lost results.

    Every task gets a new key, so no result of another fit is mistaken for its own.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        if client.status != "running":
            raise ClusterLost(f"the client is {client.status}")

    @property
    def threads(self) -> int:
        """How many tasks run at once."""
        with self._watched():
            return max(1, int(sum(self.client.nthreads().values())))

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Raises `ClusterLost` for errors of the cluster, but not for errors of tasks."""
        try:
            yield
        except ClusterLost:
            raise
        except KilledWorker as error:
            raise ClusterLost(
                f"{error}; if memory was short, give workers more memory, or make chunks smaller"
            ) from error
        except (Exception, asyncio.CancelledError) as error:
            if self.client.status == "running" and not isinstance(error, CLUSTER_ERRORS):
                raise
            raise ClusterLost(f"{type(error).__name__}: {error}") from error

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Futures of delayed calls."""
        with self._watched():
            return list(self.client.compute(list(tasks)))

    def map(
        self, name: str, task: Callable[..., Any], *arguments: Sequence[Any], **shared: Any
    ) -> list[Any]:
        """One future per row of arguments; `shared` arguments are the same for all."""
        with self._watched():
            return list(self.client.map(task, *arguments, key=name, pure=False, **shared))

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        with (
            self._watched(),
            dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}),
        ):
            return self.client.submit(task, *arguments, pure=False)

    def send(self, value: Any) -> Any:
        """A value of this process as the result of a task; unlike scattered data, never lost."""
        return self.submit(_identity, value)

    def reduce(self, task: Callable[[list[Any]], Any], futures: list[Any]) -> Any:
        """Merges many results by a tree; its shape depends only on their number."""
        while len(futures) > 1:
            starts = range(0, len(futures), MERGED_PER_TASK)
            groups = [futures[i : i + MERGED_PER_TASK] for i in starts]
            futures = self.map("merge", task, groups)
        return self.gather(futures)[0]

    def wait(self, futures: Sequence[Any]) -> None:
        """Waits for all results; raises `ClusterLost` if no worker is left to compute them."""
        alone_since = None
        with self._watched():
            while True:
                try:
                    distributed.wait(list(futures), timeout=POLL_SECONDS)
                    return
                except TimeoutError:
                    if self.client.status in ("closed", "closing"):
                        raise ClusterLost("the client was closed") from None
                    alone = not self.client.nthreads()
                    now = time.monotonic()
                    alone_since = (alone_since or now) if alone else None
                    if alone_since is not None and now - alone_since > NO_WORKER_SECONDS:
                        raise ClusterLost(
                            f"it has had no worker for {NO_WORKER_SECONDS:.0f} s"
                        ) from None

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        self.wait(futures)
        with self._watched():
            return list(self.client.gather(list(futures)))


def _identity(value: Any) -> Any:
    return value
