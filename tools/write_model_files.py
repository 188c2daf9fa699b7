"""Write the model files of tests/persistence/models with the installed version of widemargin.

    python tools/write_model_files.py FOLDER

Later versions must read them and give the same answers. There are two files or more of every
estimator: the first has its defaults (but few units and experts), the second as many other
parameters as possible. ``expected.npz`` holds the problems, what each model says of other rows,
what it says after it has resumed its fit, and as JSON what else the tests need to know.
"""

import contextlib
import io
import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas
import scipy.sparse as sp
from dask import array as da
from distributed import Client
from model_files import ROWS, STREAMS, as_frame, models, problems, table
from safetensors import safe_open
from sklearn.base import clone

from widemargin import fit_stream, save, stream

METHODS = ("decision_function", "predict", "predict_proba", "gates", "transform")


class Writer:
    """Model files in a folder, and what their models say."""

    def __init__(self, folder):
        self.folder, self.arrays, self.facts = folder, {}, {}
        for name, (X, y) in problems().items():
            self.arrays |= {f"X/{name}": X, f"y/{name}": y}
        columns, y = table()
        self.arrays |= {f"X/table/{name}": column for name, column in columns.items()}
        self.arrays["y/table"] = y

    def inputs(self, problem):
        name, *kind = problem.split(":")
        X = as_frame(table()[0]) if name == "table" else self.arrays[f"X/{name}"]
        return sp.csr_array(X) if kind == ["csr"] else X, self.arrays[f"y/{name}"]

    def fit(self, name, model, problem):
        X, y = self.inputs(problem)
        self.write(name, fitted(model, X[:ROWS], y[:ROWS]), problem)

    def write(self, name, model, problem):
        path = self.folder / f"{name}.safetensors"
        save(model, path)
        with safe_open(path, framework="numpy") as file:
            single = any(file.get_slice(key).get_dtype() == "F32" for key in file.keys())  # noqa: SIM118
        model = getattr(model, "model", model)  # of a checkpoint
        X, y = self.inputs(problem)
        outputs = answers(model, X[ROWS:])
        last = model[-1] if hasattr(model, "steps") else model
        facts = {"class": type(last).__name__, "problem": problem, "outputs": list(outputs)}
        # Weights, or outputs of experts, in single precision: other processors round otherwise.
        facts["precision"] = 1e-5 if single or hasattr(model, "experts_") else 1e-12
        facts["params"] = {k: plain(v) for k, v in last.get_params(deep=False).items()}
        self.arrays |= {f"{name}/{method}": said for method, said in outputs.items()}
        if getattr(last, "warm_start", False) is True and not hasattr(last, "log_gates"):
            n_iter = int(np.sum(last.n_iter_))
            fitted(model, X[:ROWS], y[:ROWS])
            resumed = answers(model, X[ROWS:])
            self.arrays |= {f"{name}/resumed/{method}": said for method, said in resumed.items()}
            facts["resumed"] = True
            if hasattr(last, "duality_gap_"):  # a machine that is solved once and for all
                facts["n_iter"] = n_iter
        self.facts[name] = facts

    def stream(self, name, model, problem, options):
        """A checkpoint of a training that was stopped after a few chunks, and where it ends."""
        X, y = self.inputs(problem)
        with tempfile.TemporaryDirectory() as folder:
            rows, file = Path(folder) / "rows.csv", Path(folder) / "state"
            frame = pandas.DataFrame(X[:ROWS], columns=["a", "b", "c"]).assign(y=y[:ROWS])
            frame.to_csv(rows, index=False)
            self.arrays[f"{name}/csv"] = np.frombuffer(rows.read_bytes(), dtype=np.uint8)
            calls = []
            fit_stream(
                clone(model),
                stream(rows, target="y", chunk_rows=10),
                **options,
                checkpoint=file,
                progress=lambda at: at.phase == "training" and len(calls.append(at) or calls) == 5,
            )
            shutil.copy(file, self.folder / f"{name}.safetensors")
            fit_stream(
                model,
                stream(rows, target="y", chunk_rows=10),
                **options,
                checkpoint=file,
                resume=True,
            )
        outputs = answers(model, pandas.DataFrame(X[ROWS:], columns=["a", "b", "c"]))
        self.arrays |= {f"{name}/{method}": said for method, said in outputs.items()}
        self.facts[name] = {"class": type(model).__name__, "problem": problem, "stream": options}
        self.facts[name] |= {"outputs": list(outputs), "precision": 1e-5}
        self.facts[name]["params"] = {k: plain(v) for k, v in model.get_params(deep=False).items()}

    def finish(self):
        self.arrays["facts"] = np.array(json.dumps(self.facts))
        np.savez_compressed(self.folder / "expected.npz", **self.arrays)


def fitted(model, X, y):
    """A gater learns which of three experts is right; one of a cluster learns from blocks."""
    if hasattr(model, "log_gates"):
        sign = np.where(y == y[0], 1.0, -1.0)
        said = np.stack([X[:, k] * sign for k in range(3)], axis=1)[:, :, None]
        return model.fit(X, outputs=said, targets=sign[:, None], partition=X.argmax(1))
    if hasattr(model, "to_local"):
        with Client(processes=False, n_workers=1, threads_per_worker=1) as client:
            model.set_params(client=client)
            model.fit(*(da.from_array(part, chunks=(20, *part.shape[1:])) for part in (X, y)))
        return model.set_params(client=None)
    return model.fit(X, y)


def answers(model, X):
    found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    return {
        k: v.toarray() if sp.issparse(v) else np.asarray(v).astype(kind_of(v))
        for k, v in found.items()
    }


def kind_of(values):
    """Text has a fixed width, since `numpy.load` reads no objects."""
    return "U" if np.asarray(values).dtype.kind == "O" else np.asarray(values).dtype


def plain(value):
    """A parameter as JSON; another estimator by its name."""
    if hasattr(value, "get_params"):
        return {"estimator": type(value).__name__}
    return value.tolist() if isinstance(value, np.ndarray) else value


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer(folder)
    for name, model, problem in models():
        writer.fit(name, model, problem)
    for name, model, problem, options in STREAMS:
        writer.stream(name, model, problem, options)
    writer.finish()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):  # some models report their progress
        main(Path(sys.argv[1]))
