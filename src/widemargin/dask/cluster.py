"""A cluster as a fit uses it: tasks in, results out, and what to say when it is gone."""

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

LOOK_EVERY = 5.0  # seconds between looks at the workers
PATIENCE = 300.0  # seconds without any worker; a new one may be on its way
FAN_IN = 16  # of tree reductions
LARGE = "256 MB"  # of a model that is sent, before Dask warns

LOST = (CancelledError, asyncio.CancelledError, CommClosedError, NoValidWorkerError)


class ClusterLost(Halted):
    """The cluster cannot go on with the fit."""

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
    """Tasks of a fit. They are pure functions: Dask repeats those whose results were lost.

    Keys are new ones for each task, so that no result of another fit is taken for it.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        if client.status != "running":
            raise ClusterLost(f"the client is {client.status}")

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Tells errors of the cluster from those of tasks."""
        try:
            yield
        except ClusterLost:
            raise
        except KilledWorker as error:
            raise ClusterLost(
                f"{error}; if memory was short, give workers more of it, or make chunks smaller"
            ) from error
        except (Exception, asyncio.CancelledError) as error:
            if self.client.status == "running" and not isinstance(error, LOST):
                raise
            raise ClusterLost(f"{type(error).__name__}: {error}") from error

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Futures of delayed calls."""
        with self._watched():
            return list(self.client.compute(list(tasks)))

    def map(
        self, name: str, task: Callable[..., Any], *arguments: Sequence[Any], **shared: Any
    ) -> list[Any]:
        """A future for each row of arguments; `shared` are the same for all."""
        with self._watched():
            return list(self.client.map(task, *arguments, key=name, pure=False, **shared))

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        with (
            self._watched(),
            dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}),
        ):
            return self.client.submit(task, *arguments, pure=False)

    def send(self, value: Any) -> Any:
        """A value of this process, as a task: unlike scattered data it is never lost."""
        return self.submit(_same, value)

    def reduce(self, task: Callable[[list[Any]], Any], futures: list[Any]) -> Any:
        """One result of many, by a tree whose shape depends on their number alone."""
        while len(futures) > 1:
            groups = [futures[i : i + FAN_IN] for i in range(0, len(futures), FAN_IN)]
            futures = self.map("merge", task, groups)
        return self.gather(futures)[0]

    def wait(self, futures: Sequence[Any]) -> None:
        """Until all are done, or nobody is there to do them."""
        alone_since = None
        with self._watched():
            while True:
                try:
                    distributed.wait(list(futures), timeout=LOOK_EVERY)
                    return
                except TimeoutError:
                    if self.client.status in ("closed", "closing"):
                        raise ClusterLost("the client was closed") from None
                    alone = not self.client.nthreads()
                    now = time.monotonic()
                    alone_since = (alone_since or now) if alone else None
                    if alone_since is not None and now - alone_since > PATIENCE:
                        raise ClusterLost(f"it has had no worker for {PATIENCE:.0f} s") from None

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        self.wait(futures)
        with self._watched():
            return list(self.client.gather(list(futures)))


def _same(value: Any) -> Any:
    return value
