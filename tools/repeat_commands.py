"""Whether a command sometimes fails: runs each command many times as a process, counts exit codes.

    python -m tools.repeat_commands                       every command, 200 times
    python -m tools.repeat_commands --count 20 --only train-csv predict

An abort at exit, when threads of Arrow or of the core outlive the interpreter, is rare and depends
on the moment: tests that run a command once do not see it. The data are short, so that the exit
comes soon after the threads began. Fails if a process ended with another code than 0.
"""

import argparse
import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.datasets import dump_svmlight_file

SECONDS = 300  # more is a hang


def write_data(folder: Path) -> None:
    """The same small table in every format that commands read."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(3)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["town"] = rng.choice(["Bonn", "Köln", "Ulm"], len(X))
    label = np.where(X[:, 0] > X[:, 1], 1, -1)
    table.assign(y=label).to_csv(folder / "rows.csv", index=False)
    table.assign(y=label).to_parquet(folder / "rows.parquet")
    dump_svmlight_file(X, label, str(folder / "rows.svm"))
    np.savez(folder / "rows.npz", X=X, y=label)


#: Commands that also write the models that others read, and the names of these.
MODELS = {"train-csv": "known", "train-svc": "machine", "search": "searched"}


def commands(folder: Path) -> dict[str, list[str]]:
    """The arguments of each command, by name."""
    model, known = str(folder / "model"), str(folder / "known")
    machine, searched = str(folder / "machine"), str(folder / "searched")
    rows = {suffix: str(folder / f"rows.{suffix}") for suffix in ("csv", "parquet", "svm", "npz")}
    named = ["--model", "margin-perceptron", "--set", "max_iter=3"]
    train = ["train", "--output", model, *named]
    search = ["train", rows["csv"], "--target", "y", "--set", "effort=0.05"]
    stream = ["--stream", "--chunk-rows", "50"]
    predict = ["predict", known]
    return {
        "train-csv": [*train, rows["csv"], "--target", "y"],
        "train-parquet": [*train, rows["parquet"], "--target", "y"],
        "train-svmlight": [*train, rows["svm"]],
        "train-npz": [*train, rows["npz"]],
        "train-svc": [
            "train", "--output", model, "--model", "svc", "--set", "scaling=none", rows["npz"],
        ],
        "train-stream-csv": ["train", "--output", model, rows["csv"], "--target", "y", *stream],
        "train-stream-parquet": [
            "train", "--output", model, rows["parquet"], "--target", "y", *stream,
        ],
        "predict-csv": [*predict, rows["csv"], "--output", str(folder / "answers.csv")],
        "predict-parquet": [*predict, rows["parquet"], "--output", str(folder / "answers.parquet")],
        "info": ["info", known],
        "info-all": ["info"],
        "convert": ["convert", machine, str(folder / "machine.libsvm")],
        "search": [*search, "--output", str(folder / "found")],
        "report": ["report", searched, "--output", str(folder / "report.html")],
        "evaluate": ["evaluate", known, rows["csv"], "--target", "y"],
        "inspect": ["inspect", rows["csv"], "--target", "y"],
        "demo": ["demo", "--output", str(folder / "demo.png")],
        "papers-list": ["papers", "list"],
        "papers": ["papers", "run", "figure-2.2", "--output", str(folder / "papers")],
    }  # fmt: skip


def run(arguments: list[str]) -> tuple[int | str, str]:
    """The exit code of one process, or "hangs", and what it wrote to standard error."""
    command = [sys.executable, "-m", "widemargin", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return done.returncode, done.stderr


def main() -> int:
    """0 if every process ended well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="runs of each command")
    parser.add_argument("--only", nargs="*", default=[], help="commands whose names begin so")
    options = parser.parse_args()
    failed = 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        every = commands(folder)
        for command, model in MODELS.items():
            code, message = run([*every[command], "--output", str(folder / model)])
            if code != 0:
                sys.exit(f"error: no model to start with: exit code {code}\n{message}")
        for command, arguments in every.items():
            if options.only and not command.startswith(tuple(options.only)):
                continue
            codes: Counter[int | str] = Counter()
            for _ in itertools.repeat(None, options.count):
                code, message = run(arguments)
                codes[code] += 1
                if code != 0 and codes[code] == 1:  # each kind of end once
                    print(f"{command}: {code}\n{message}", file=sys.stderr)
            failed += codes.total() - codes[0]
            print(f"{command:22}{codes.total():5} runs, exit codes {dict(codes)}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
