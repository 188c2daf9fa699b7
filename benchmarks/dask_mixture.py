"""Mixtures on a cluster: memory of workers, loss of a worker, errors beside the local mixture.

``python -m benchmarks.dask_mixture memory`` fits data four times larger than the memory limit of
each worker. ``forest`` compares errors on Forest with those of the local mixture.
"""

import argparse
import os
import resource
import time

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import widemargin
import widemargin.dask
from widemargin import SGDSVC, SVC
from widemargin.dask import gaters as _gaters
from widemargin.datasets import fetch_forest
from widemargin.mixtures import MLPGater

MB = 1_000_000

# Dask writes results to disk when they take a fraction `target` of the limit, by default 0.6. This
# does not count the 0.3 GB of interpreter and libraries, which matter for such a small limit.
SMALL_WORKERS = {
    "distributed.worker.memory.target": 0.25,
    "distributed.worker.memory.spill": 0.55,
}


def peak() -> int:
    """Peak memory of a worker, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rows(block_info=None):
    """A chunk of rows with 1,000 inputs."""
    (first, end), _ = block_info[None]["array-location"]
    random = np.random.default_rng(first)
    return random.random((end - first, 1000), dtype=np.float32)


def wide(size: int, chunk: int) -> tuple[da.Array, da.Array]:
    """Examples of `size` bytes in chunks of `chunk` bytes; classes are the XOR of two inputs."""
    count, at_once = size // 4000, chunk // 4000
    chunks = da.core.normalize_chunks((at_once, 1000), (count, 1000))
    X = da.map_blocks(rows, chunks=chunks, dtype=np.float32)
    return X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(np.int64)


def memory(limit: int, ratio: float) -> None:
    X, y = wide(int(ratio * limit * MB), 20 * MB)
    print(f"{X.nbytes / MB:.0f} MB in {X.numblocks[0]} chunks; workers may have {limit} MB each")
    expert, gater = SGDSVC(max_iter=2, tol=None), MLPGater((20,), max_iter=2)
    dask.config.set(SMALL_WORKERS)
    with _cluster(memory_limit=f"{limit}MB") as cluster, Client(cluster) as client:
        before, base = client.run(os.getpid), client.run(peak)
        start = time.perf_counter()
        mixture = widemargin.dask.HardMixtureClassifier(
            expert, gater, n_experts=70, max_iter=2, gater_rows=10_000, random_state=0, verbose=1
        ).fit(X, y)
        seconds = time.perf_counter() - start
        died = len(set(before.values()) - set(client.run(os.getpid).values()))
        peaks = [f"{value / MB:.0f}" for value in client.run(peak).values()]
        print(f"{seconds:.0f} s, {died} workers died, error {mixture.history_[-1]['error']:.2%}")
        print(f"peaks {' '.join(peaks)} MB; before {max(base.values()) / MB:.0f} MB")


def forest(count: int, experts: int, chunks: int, copy_rows: int) -> None:
    _gaters.ROWS_PER_COPY = copy_rows
    data = fetch_forest(split="thesis")
    X, y = data.X_train[:count], data.y_train[:count]
    options = {
        "expert": SVC(C=10.0, gamma=10.0),
        "gater": MLPGater((150,)),
        "n_experts": experts,
        "max_iter": 3,
        "random_state": 0,
        "verbose": 1,
    }
    local = widemargin.HardMixtureClassifier(**options).fit(X, y)
    print(f"local {1 - local.score(data.X_test, data.y_test):.2%} in {local.fit_time_:.0f} s")
    with _cluster() as cluster, Client(cluster):
        dX, dy = (da.from_array(part, chunks=-(-len(y) // chunks)) for part in (X, y))
        mixture = widemargin.dask.HardMixtureClassifier(**options).fit(dX, dy)
    error = 1 - mixture.to_local().score(data.X_test, data.y_test)
    print(f"cluster {error:.2%} in {mixture.fit_time_:.0f} s, {chunks} chunks")


def _cluster(**options: object) -> LocalCluster:
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("memory")
    one.add_argument("--limit", type=int, default=700, help="MB of each worker")
    one.add_argument("--ratio", type=float, default=4.0, help="data, in limits")
    one.set_defaults(run=memory)
    two = commands.add_parser("forest")
    two.add_argument("--count", type=int, default=100_000, help="training examples")
    two.add_argument("--experts", type=int, default=50)
    two.add_argument("--chunks", type=int, default=8)
    two.add_argument("--copy-rows", type=int, default=_gaters.ROWS_PER_COPY)
    two.set_defaults(run=forest)
    options = vars(parser.parse_args())
    options.pop("run")(**options)


if __name__ == "__main__":
    main()
