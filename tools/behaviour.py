"""Whether the estimators still learn what they did: record their results, compare two records.

    python tools/behaviour.py record before.npz
    python tools/behaviour.py compare before.npz after.npz

`record` fits every estimator on fixed problems, on one thread, and stores its predictions and its
fitted attributes. `compare` counts the arrays that are bit-identical and those within 1e-10, and
lists the others. It fails if one of them is not in tools/behaviour-changes.txt.
"""

import inspect
import os
import sys
import tempfile
import warnings
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from behaviour_models import DASK, GATERS, MODELS, PATHS, RENAMED, STREAMED, new
from sklearn.base import BaseEstimator, clone, is_outlier_detector, is_regressor
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

import widemargin
from widemargin.streaming import fit_stream, stream

CHANGES = Path(__file__).with_name("behaviour-changes.txt")
TOLERANCE = 1e-10
ROWS, HELD_OUT = 300, 100
METHODS = ("decision_function", "predict", "predict_proba", "score_samples", "gates", "transform")


# ------------------------------------------------------------------------------------- problems


def problems():
    """Of classification and of regression: name -> inputs and targets, training rows first."""
    rng = np.random.default_rng(14)
    n = ROWS + HELD_OUT
    dense = rng.normal(size=(n, 6))
    noise = rng.normal(size=n)
    binary = (np.hypot(dense[:, 0], dense[:, 1]) + 0.3 * dense[:, 2] + 0.2 * noise > 1.2) * 1
    scales = np.array([1e-2, 0.1, 1.0, 1.0, 5.0, 30.0, 200.0, 1e3, 1.0, 1.0, 1.0, 1.0])
    units = rng.normal(size=(n, 12)) * (rng.random((n, 12)) < 0.4)
    mixed = units * scales
    scores = np.tanh(units @ rng.normal(size=(12, 4))) + 0.2 * rng.normal(size=(n, 4))
    several = scores.argmax(1) + 3  # class labels need not start at zero
    smooth = np.sin(dense[:, 0]) + dense[:, 1] * dense[:, 2] + 0.1 * noise
    rough = 100 + 20 * scores[:, 0] + units[:, 1]
    two = np.stack([smooth, 50 * dense[:, 3] + noise], axis=1)
    sparse = sp.csr_array(mixed)
    return (
        {"binary": (dense, binary), "classes": (mixed, several), "sparse": (sparse, several)},
        {"smooth": (dense, smooth), "rough": (mixed, rough), "sparse": (sparse, rough)}
        | {"two": (dense, two)},
    )


def fits(model, named, default):
    """Fits the model on each of its problems, and its defaults in other ways too."""
    accepts = get_tags(model)
    for name, (X, y) in named.items():
        if sp.issparse(X) and not accepts.input_tags.sparse:
            continue
        if y.ndim == 2 and not accepts.target_tags.multi_output:
            continue
        yield name, clone(model).fit(X[:ROWS], y[:ROWS]), X[ROWS:]
    if not default:
        return
    (X, y), (Z, t) = list(named.values())[:2]
    X, y, held, y_held = X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, ROWS) * 0.5
    arguments = inspect.signature(model.fit).parameters
    if "sample_weight" in arguments:
        yield "weighted", clone(model).fit(X, y, sample_weight=weights), held
    if "X_val" in arguments and not is_outlier_detector(model):
        stopped = {"early_stopping": True} if "early_stopping" in model.get_params() else {}
        watched = clone(model).set_params(**stopped)
        yield "validated", watched.fit(X, y, X_val=held, y_val=y_held), held
    if "warm_start" in model.get_params():
        given = model.get_params(deep=False)
        loop = "max_iter" if "max_iter" in given else "n_iter"
        resumed = clone(model).set_params(**{"warm_start": True, loop: 3}).fit(X, y)
        yield "resumed", resumed.set_params(**{loop: given[loop]}).fit(X, y), held
    if hasattr(model, "partial_fit"):
        parts = clone(model)
        known = {} if is_regressor(model) else {"classes": np.unique(t)}
        for first in range(0, ROWS, 120):
            rows = slice(first, min(first + 120, ROWS))
            parts.partial_fit(Z[rows], t[rows], **known)
        yield "parts", parts, Z[ROWS:]


# --------------------------------------------------------------------------------------- results


def results(label, model, X):
    """What a fitted model says of X, and what it has learnt: label -> array."""
    for method in METHODS:
        if hasattr(model, method):
            said = getattr(model, method)(X)
            yield f"{label}/{method}", said.toarray() if sp.issparse(said) else np.asarray(said)
    yield from attributes(label, model)


def attributes(label, model):
    names = {*vars(model), *(n for n, v in inspect.getmembers(type(model)) if is_property(v))}
    for name in sorted(n for n in names if n.endswith("_") and not n.startswith("_")):
        try:
            value = getattr(model, name)
        except AttributeError:  # a property that this model does not have
            continue
        yield from values(f"{label}/{RENAMED.get(name, name)}", value)


def is_property(member):
    return isinstance(member, property)


def is_array(items):
    """Whether a list is one array: of numbers or of text, of one kind."""
    return bool(items) and all(
        isinstance(item, (bool, int, float, str, np.generic)) for item in items
    )


def values(label, value):
    """Numbers and text, wherever they are; no times."""
    if "time" in label.split("/")[-1] or "seconds" in label.split("/")[-1]:
        return
    if isinstance(value, BaseEstimator):
        yield from attributes(label, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from values(f"{label}/{key}", item)
    elif isinstance(value, (list, tuple)) and not is_array(value):
        if all(isinstance(item, dict) and item.keys() == value[0].keys() for item in value):
            columns = {key: [item[key] for item in value] for key in (value[0] if value else ())}
            yield from values(label, columns)
        else:
            for number, item in enumerate(value):
                yield from values(f"{label}/{number}", item)
    elif sp.issparse(value):
        yield label, value.toarray()
    elif value is not None and np.asarray(value).dtype.kind in "biufUS":
        yield label, np.asarray(value)


def gater_results(X, y):
    """Gaters alone, for three experts that are right where their input is positive."""
    outputs = np.stack([X[:, k] * y for k in range(3)], axis=1)[:, :, None]
    partition = np.argmax(X[:, :3], axis=1)
    for label, name, params in GATERS:
        model = new(name, **params)
        fitted = model.fit(
            X[:ROWS], outputs=outputs[:ROWS], targets=y[:ROWS, None], partition=partition[:ROWS]
        )
        yield from results(label, fitted, X[ROWS:])
        joint = fitted.log_posterior(X[ROWS:], np.log(np.abs(outputs[ROWS:, :, 0]) + 1e-3))
        yield f"{label}/log_posterior", joint


def path_results(X, y):
    for label, module, function, params in PATHS:
        path = getattr(import_module(f"widemargin{module}"), function)(
            X[:ROWS], y[:ROWS], [0.1, 10.0, 1.0], **params
        )
        for number, model in enumerate(path.models):
            yield from results(f"{label}/{number}", model, X[ROWS:])
        for name in ("Cs", "primal_objective", "dual_objective", "duality_gap", "n_iter"):
            yield f"{label}/{name}", np.asarray(getattr(path, name))


def stream_results(X, y):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        table = np.column_stack([X[:ROWS], y[:ROWS]])
        names = [*(f"x{j}" for j in range(X.shape[1])), "y"]
        np.savetxt(file, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        for label, name, params, options in STREAMED:
            model = new(name, **params)
            fit_stream(model, stream(file, target="y", chunk_rows=70), **options)
            yield from results(label, model, X[ROWS:])


def dask_results(named):
    """Mixtures on one thread of a cluster within this process; nothing where there is no Dask."""
    try:
        import dask.array as da
        from distributed import Client
    except ImportError:
        return
    quiet = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with Client(**quiet, dashboard_address=None) as client:
        for label, name, params, problem in DASK:
            X, y = named[problem]
            blocks = [da.from_array(part[:ROWS], chunks=(100, *part.shape[1:])) for part in (X, y)]
            model = new(name, **params, client=client).fit(*blocks)
            yield from results(label, model, X[ROWS:])


def record(file):
    warnings.simplefilter("ignore")
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # what n_jobs=None means to a model within another
    threadpool_limits(1)
    classification, regression = problems()
    estimators = {n for n in widemargin.__all__ if hasattr(getattr(widemargin, n), "get_params")}
    covered = {name for _, name, *_ in MODELS} | {name.split(".")[-1] for _, name, _ in GATERS}
    if estimators - covered:
        sys.exit(f"not in the tables of behaviour_models.py: {sorted(estimators - covered)}")
    found = {}
    for label, name, params in MODELS:
        model = new(name, **params)
        named = regression if is_regressor(model) else classification
        for problem, fitted, X in fits(model, named, label.endswith("/default")):
            found |= dict(results(f"{label}/{problem}", fitted, X))
    dense, binary = classification["binary"]
    found |= dict(gater_results(dense, 2.0 * binary - 1.0))
    found |= dict(path_results(dense, binary))
    found |= dict(stream_results(dense, binary))
    found |= dict(dask_results(classification | regression))
    np.savez_compressed(file, **found)
    print(f"{len(found)} arrays of {len(MODELS)} models -> {file}")


# --------------------------------------------------------------------------------------- compare


def difference(a, b):
    """The largest difference, relative to the largest number; infinite for other shapes."""
    if a.shape != b.shape or "U" in (a.dtype.kind, b.dtype.kind):
        return 0.0 if a.shape == b.shape and np.array_equal(a, b) else np.inf
    a, b = a.astype(float), b.astype(float)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    most = np.max(np.abs(a[np.isfinite(a)]), initial=np.finfo(float).tiny)
    gap = np.max(np.abs(a - b)[~same])
    return np.inf if np.isnan(gap) else gap / most


def expected_changes():
    """Pattern of labels -> reason, from lines ``pattern : reason``."""
    lines = CHANGES.read_text(encoding="utf-8").splitlines() if CHANGES.exists() else []
    pairs = [line.partition(" : ") for line in lines if line.strip() and line[0] != "#"]
    for pattern, _, reason in pairs:
        if not reason.strip():
            sys.exit(f"{CHANGES.name}: {pattern!r} has no reason; write 'pattern : reason'")
    return {pattern.strip(): reason.strip() for pattern, _, reason in pairs}


def compare(before, after):
    before, after, changes = np.load(before), np.load(after), expected_changes()
    identical, close, other = 0, 0, {}
    for label in before.files:
        if label not in after.files:
            other[label] = "missing"
            continue
        a, b = before[label], after[label]
        if a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes():
            identical += 1
        elif (gap := difference(a, b)) <= TOLERANCE:
            close += 1
        else:
            other[label] = f"{gap:.1e}"
    reasons = {
        label: next((why for p, why in changes.items() if fnmatchcase(label, p)), None)
        for label in other
    }
    added = len(set(after.files) - set(before.files))
    print(
        f"{identical} bit-identical, {close} within {TOLERANCE:g}, {len(other)} other, {added} new"
    )
    for label, gap in other.items():
        print(f"  {gap:>8}  {label}" + (f"  ({reasons[label]})" if reasons[label] else ""))
    unexpected = sum(reason is None for reason in reasons.values())
    if unexpected:
        sys.exit(f"{unexpected} changes have no reason in {CHANGES.name}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", file]:
            record(file)
        case ["compare", before, after]:
            compare(before, after)
        case _:
            sys.exit(__doc__)
