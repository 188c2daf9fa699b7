"""How long does an epoch of a multi-layer perceptron take, here, in scikit-learn and in PyTorch?

    python -m benchmarks.mlp_epoch [--threads 2] [--rounds 3] [--rows 100000]

Forest, 100,000 × 54, float32 (or the generated set of `perceptron_epoch`), ReLU, cross-entropy,
Adam. We standardise inside the fit; the others get standardised inputs. PyTorch takes part if it is
installed. All may use the same number of threads; times are wall times.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier as SklearnMLP
from threadpoolctl import threadpool_limits

from benchmarks._measure import epoch_seconds
from benchmarks._results import save
from benchmarks.adapters import pytorch
from benchmarks.perceptron_epoch import load
from widemargin import MLPClassifier

SIZES = (((500,), 256), ((512, 512), 512))


def contestants(hidden: tuple[int, ...], batch: int, threads: int) -> dict[str, Any]:
    """Name -> function that makes an unfitted model for a number of epochs."""
    common: dict[str, Any] = {"batch_size": batch, "random_state": 0, "n_iter_no_change": 10**6}
    found: dict[str, Any] = {
        "widemargin": lambda n: MLPClassifier(
            hidden, **common, max_iter=n, tol=None, n_jobs=threads
        ),
        "scikit-learn": lambda n: SklearnMLP(hidden, **common, max_iter=n, tol=0.0),
    }
    if pytorch.missing() is None:
        found["PyTorch"] = lambda n: pytorch.Network(hidden, batch, n, threads)
    return found


def run(threads: int, rounds: int, rows: int | None) -> list[dict[str, Any]]:
    name, X, y, *_ = load()
    X, y = np.ascontiguousarray(X[:rows], dtype=np.float32), y[:rows]
    scale = X.std(0)
    scaled = ((X - X.mean(0)) / np.where(scale > 0, scale, 1)).astype(np.float32)
    results = []
    for hidden, batch in SIZES:
        entries = {
            model: (make, X if model == "widemargin" else scaled)
            for model, make in contestants(hidden, batch, threads).items()
        }
        with threadpool_limits(threads):
            seconds = epoch_seconds(entries, y, short=1, long=3, rounds=rounds)
        for model, value in seconds.items():
            ratio = value / seconds["widemargin"]
            print(f"{name} {len(X)} 54-{'-'.join(map(str, hidden))}-1 batch {batch}: ", end="")
            print(f"{model:12} {value:7.3f} s per epoch, ratio {ratio:.2f}", flush=True)
            results.append(
                {
                    "data": name,
                    "rows": len(X),
                    "hidden": hidden,
                    "batch": batch,
                    "model": model,
                    "seconds": value,
                    "ratio": ratio,
                }
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    results = run(options.threads, options.rounds, options.rows)
    print("written:", save("mlp_epoch", results, threads=options.threads))


if __name__ == "__main__":
    main()
