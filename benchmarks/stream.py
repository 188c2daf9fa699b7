"""How fast is an epoch over a stream, compared with one in memory and with reading alone?

Writes generated rows as Parquet (50 columns, float32, row groups of 100,000). Then it measures,
each in a separate process: one epoch over chunks in memory; reading the chunks of the stream and
dropping them; one epoch over the stream, with its peak memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

COLUMNS, GROUP_ROWS, MILLION = 50, 100_000, 1_000_000
FAST_FRACTION = 0.8  # of the speed in memory or of the reader
CHECKPOINT_NAME = "checkpoint"


def generate(group: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one row group: two classes that a hyperplane separates, except for noise."""
    normal = np.random.default_rng(0).normal(size=COLUMNS).astype(np.float32)
    random = np.random.default_rng([1, group])
    X = random.standard_normal((GROUP_ROWS, COLUMNS), dtype=np.float32)
    noise = random.standard_normal(GROUP_ROWS, dtype=np.float32)
    return X, (X @ normal + noise > 0).astype(np.int8)


def write(path: Path, rows: int, compression: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    # Random numbers do not repeat, so a dictionary would only make the file larger.
    options = {"compression": compression, "use_dictionary": False}
    with pq.ParquetWriter(path, schema, **options) as writer:
        for group in range(rows // GROUP_ROWS):
            X, y = generate(group)
            columns = [np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)]
            writer.write_table(pa.table([*columns, y], schema=schema), row_group_size=GROUP_ROWS)


@contextmanager
def clock(result: dict[str, float]) -> Iterator[None]:
    start = time.perf_counter()
    yield
    result["seconds"] = time.perf_counter() - start


def model() -> Any:
    from widemargin import MarginPerceptron

    return MarginPerceptron()


def measure(task: str, path: Path, rows: int) -> dict[str, float]:
    """One of the three measurements, in this process."""
    from benchmarks._peak import peak_so_far
    from widemargin.streaming import fit_stream, stream

    data = stream(path, target="y", classes=[0, 1])
    data.feature_names  # noqa: B018  reads the first chunk
    result = {"rows": float(rows), "start": peak_so_far()}
    if task == "memory":
        chunks = [generate(group) for group in range(rows // GROUP_ROWS)]
        estimator = model()
        with clock(result):
            for X, y in chunks:
                estimator.partial_fit(X, y, classes=[0, 1])
    elif task == "reader":
        with clock(result):
            result["rows"] = float(sum(len(chunk.y) for chunk in data))
    else:
        checkpoint = path.with_name(CHECKPOINT_NAME) if task == "checkpoint" else None
        with clock(result):
            outcome = fit_stream(model(), data, checkpoint=checkpoint)
        result["rows"] = float(outcome.rows)
        result["error"] = outcome.model.history_[-1]["error"]
    return result | {"peak": peak_so_far()}


def in_process(task: str, path: Path, rows: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.stream", "--task", task]
    command += ["--file", str(path), "--rows", str(rows / MILLION)]
    path.with_name(CHECKPOINT_NAME).unlink(missing_ok=True)
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


TITLES = {
    "memory": "epoch in memory",
    "reader": "reading alone",
    "stream": "epoch streamed",
    "checkpoint": "  with checkpoints",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=20.0, help="million rows (20)")
    parser.add_argument("--memory-rows", type=float, default=2.0, help="million, in memory (2)")
    parser.add_argument("--compression", default="none", help="none, snappy, zstd, ...")
    parser.add_argument(
        "--repeat", type=int, default=3, help="measurements, of which the best counts (3)"
    )
    parser.add_argument("--folder", type=Path, help="folder for the temporary file")
    parser.add_argument("--task", choices=TITLES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = max(GROUP_ROWS, int(options.rows * MILLION) // GROUP_ROWS * GROUP_ROWS)
    if options.task:
        print(json.dumps(measure(options.task, options.file, rows)))
        return
    console = Console(width=100)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.parquet"
        console.print(
            f"writing {rows:,} rows × {COLUMNS} columns, compression {options.compression}"
        )
        write(path, rows, options.compression)
        size = path.stat().st_size
        console.print(f"{size / 1e9:.2f} GB; the system caches the file if it fits in memory")
        best: dict[str, dict[str, float]] = {}
        for _ in range(options.repeat):
            for task in TITLES:
                count = min(rows, int(options.memory_rows * MILLION)) if task == "memory" else rows
                found = in_process(task, path, count)
                if task not in best or found["seconds"] < best[task]["seconds"]:
                    best[task] = found
    report(console, best, rows, size, options)


def report(
    console: Console, best: dict[str, dict[str, float]], rows: int, size: int, options: Any
) -> None:
    from benchmarks._results import save

    speed = {task: r["rows"] / r["seconds"] / MILLION for task, r in best.items()}
    table = Table(title="One epoch of MarginPerceptron")
    for column in ("", "rows (M)", "seconds", "M rows/s", "of memory", "of reader", "MB"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for task, title in TITLES.items():
        r = best[task]
        table.add_row(
            title,
            f"{r['rows'] / MILLION:.1f}",
            f"{r['seconds']:.2f}",
            f"{speed[task]:.2f}",
            f"{speed[task] / speed['memory']:.0%}",
            f"{speed[task] / speed['reader']:.0%}" if task != "memory" else "",
            f"{r['peak']:.0f} (+{r['peak'] - r['start']:.0f})",
        )
    console.print(table)
    streamed = speed["stream"]
    if streamed >= FAST_FRACTION * speed["memory"]:
        console.print(f"streamed at {streamed / speed['memory']:.0%} of the speed in memory")
    elif streamed >= FAST_FRACTION * speed["reader"]:
        console.print(f"limited by the reader alone: {streamed / speed['reader']:.0%} of its speed")
    else:
        console.print("slower than the epoch in memory and than the reader", style="red")
    console.print(f"peak memory of the streamed epoch: {best['stream']['peak']:.0f} MB")
    settings = {"rows": rows, "bytes": size, "compression": options.compression}
    results = [
        {"task": task, "million_rows_per_second": speed[task], **best[task]} for task in best
    ]
    console.print(f"written: {save('stream', results, **settings)}")


if __name__ == "__main__":
    main()
