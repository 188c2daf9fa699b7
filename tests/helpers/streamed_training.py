"""Rows and models to train on streams, and when two trained models are the same."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from widemargin import KernelPerceptron, MarginPerceptron, MLPClassifier, Perceptron

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
X = (rng.normal(size=(300, 4)) * [1, 10, 0.1, 3] + [0, 5, 0, 1]).round(4).astype(np.float32)
NOISY = (X - X.mean(0)) / X.std(0) @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=300)
Y = np.where(NOISY > 0, "yes", "no")
THREE = np.digitize(NOISY, [-0.5, 0.5])
MODELS = {
    "perceptron": Perceptron(),
    "averaged": Perceptron(average=True, scaling="standard"),
    "margin": MarginPerceptron(),
    "raw": MarginPerceptron(scaling=None, learning_rate=1e-3),
    "weighted": MarginPerceptron(class_weight={"yes": 2.0}),
    "map": MarginPerceptron(feature_map="polynomial"),
    "kernel": KernelPerceptron(),
    "network": MLPClassifier((5,), random_state=0),
}
CHUNK_ROWS = 40


def write(path, y=Y, rows=slice(None)):
    frame = pd.DataFrame(X[rows], columns=list("abcd")).assign(y=y[rows])
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=70)
    elif path.suffix == ".svm":
        dump_svmlight_file(X[rows], y[rows] == "yes", str(path), zero_based=False)
    else:
        frame.to_csv(path, index=False)
    return path


def by_hand(model, y=Y, classes=("no", "yes"), columns=X):
    """The same chunks given to partial_fit, all as the first epoch of the schedule."""
    for first in range(0, columns.shape[0], CHUNK_ROWS):
        model._epochs_done = 0
        rows = slice(first, first + CHUNK_ROWS)
        model.partial_fit(columns[rows], y[rows], classes=list(classes))
    return model


def learnt(model):
    """Everything that further training would start from, times left out."""
    state = {k: v for k, v in vars(model).items() if k.endswith("_") or k == "_state"}
    state["history_"] = [{k: r[k] for k in r if k != "seconds"} for r in model.history_]
    for name in ("fit_time_", "feature_names_in_", "feature_map_", "stop_reason_", "n_iter_"):
        state.pop(name, None)
    return state


def assert_same(a, b):
    """The two models are equal bit for bit."""
    a, b = learnt(a), learnt(b)
    assert a.keys() == b.keys()
    for name in a:
        if isinstance(a[name], dict):
            for key in a[name]:
                assert_array_equal(a[name][key], b[name][key], err_msg=f"{name}[{key}]")
        elif sp.issparse(a[name]):
            assert_array_equal(a[name].toarray(), b[name].toarray(), err_msg=name)
        else:
            assert_array_equal(a[name], b[name], err_msg=name)


def stop_after(count):
    """A progress function that ends training after some chunks."""
    calls = []
    return lambda progress: (
        progress.phase == "training" and not calls.append(0) and len(calls) == count
    )
