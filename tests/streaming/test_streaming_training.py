"""Training on streams: the same model as in memory, also when it was interrupted on the way."""

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier, SGDRegressor

from widemargin import (
    SVC,
    KernelPerceptron,
    MarginPerceptron,
    MLPClassifier,
    Perceptron,
    load,
    save,
)
from widemargin.persistence import ModelFileError
from widemargin.streaming import fit_stream, stream
from widemargin.tables import DataFileError
from widemargin.training.control import interrupt_flag

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
X = (rng.normal(size=(300, 4)) * [1, 10, 0.1, 3] + [0, 5, 0, 1]).round(4).astype(np.float32)
NOISY = (X - X.mean(0)) / X.std(0) @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=300)
Y = np.where(NOISY > 0, "yes", "no")
THREE = np.digitize(NOISY, [-0.5, 0.5])
MODELS = {
    "perceptron": Perceptron(),
    "averaged": Perceptron(average=True, standardize=True),
    "margin": MarginPerceptron(),
    "raw": MarginPerceptron(standardize=False, learning_rate=1e-3),
    "weighted": MarginPerceptron(class_weight={"yes": 2.0}),
    "map": MarginPerceptron(feature_map="polynomial"),
    "kernel": KernelPerceptron(),
    "network": MLPClassifier((5,), random_state=0),
}
CHUNK = 40


def write(path, y=Y, rows=slice(None)):
    frame = pd.DataFrame(X[rows], columns=list("abcd")).assign(y=y[rows])
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=70)
    elif path.suffix == ".svm":
        dump_svmlight_file(X[rows], y[rows] == "yes", str(path), zero_based=False)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.fixture
def data(tmp_path):
    return lambda **options: stream(
        write(tmp_path / "rows.csv"), **{"target": "y", "chunk_rows": CHUNK, **options}
    )


def by_hand(model, y=Y, classes=("no", "yes"), columns=X):
    """The same chunks given to partial_fit, all as the first epoch of the schedule."""
    for first in range(0, columns.shape[0], CHUNK):
        model._epochs_done = 0
        rows = slice(first, first + CHUNK)
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
    """Bit by bit."""
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


# ---------------------------------------------------------------- the same model as in memory


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_trains_as_partial_fit_does(name, data):
    outcome = fit_stream(clone(MODELS[name]), data())
    model, expected = outcome.model, by_hand(clone(MODELS[name]))
    assert_array_equal(
        model.decision_function(pd.DataFrame(X, columns=list("abcd"))),
        expected.decision_function(X),
    )
    assert outcome.rows == 300
    assert outcome.epochs == model.n_iter_ == 1
    assert outcome.reason == model.stop_reason_ == "max_iter"
    assert model.feature_names_in_.tolist() == list("abcd")
    assert len(model.history_) == 1
    assert model.history_[0]["rows"] == 300
    errors = [r["error"] * r["rows"] for r in expected.history_]
    assert_allclose(model.history_[0]["error"], sum(errors) / 300)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm"])
def test_every_format_trains_the_same_model(suffix, tmp_path):
    path = write(tmp_path / f"rows.{suffix}")
    data = stream(path, target=None if suffix == "svm" else "y", chunk_rows=CHUNK)
    model = fit_stream(MarginPerceptron(), data).model
    # Rows of svmlight files are sparse, and then sums are taken in another order.
    inputs = sp.csr_array(X) if suffix == "svm" else X
    assert_array_equal(model.coef_, by_hand(MarginPerceptron(), columns=inputs).coef_)


@pytest.mark.parametrize("suffix", ["csv", "svm"])
def test_with_statistics_of_a_first_pass_a_stream_trains_as_fit_does(suffix, tmp_path):
    path = write(tmp_path / f"rows.{suffix}")
    data = stream(path, target=None if suffix == "svm" else "y", chunk_rows=CHUNK)
    model = fit_stream(MarginPerceptron(), data, epochs=3, statistics="first pass").model
    whole = MarginPerceptron(shuffle=False, max_iter=3, tol=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole.fit(X, Y)
    assert_allclose(model.feature_mean_, whole.feature_mean_)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    assert_allclose(
        [r["error"] for r in model.history_], [r["error"] for r in whole.history_], rtol=1e-9
    )
    assert [r["learning_rate"] for r in model.history_] == pytest.approx(
        [r["learning_rate"] for r in whole.history_]
    )


def test_classes_that_a_first_pass_finds(tmp_path):
    path = write(tmp_path / "rows.csv", np.sort(THREE))  # the third only comes late
    data = stream(path, target="y", chunk_rows=CHUNK)
    model = fit_stream(MarginPerceptron(), data).model
    assert model.classes_.tolist() == [0, 1, 2]
    expected = by_hand(MarginPerceptron(), np.sort(THREE), [0, 1, 2])
    assert_array_equal(model.coef_, expected.coef_)


def test_a_fitted_model_goes_on(data):
    model = MarginPerceptron()
    fit_stream(model, data())
    fit_stream(model, data(), epochs=2)
    assert [r["epoch"] for r in model.history_] == [0, 1, 2]
    assert_same(model, fit_stream(MarginPerceptron(), data(), epochs=3).model)


def test_models_of_scikit_learn(tmp_path, data):
    model = fit_stream(SGDClassifier(random_state=0), data()).model
    expected = SGDClassifier(random_state=0)
    for first in range(0, 300, CHUNK):
        rows = slice(first, first + CHUNK)
        expected.partial_fit(X[rows], Y[rows], classes=["no", "yes"])
    assert_array_equal(model.coef_, expected.coef_)
    numbers = stream(write(tmp_path / "n.csv", NOISY.round(3)), target="y", chunk_rows=CHUNK)
    assert fit_stream(SGDRegressor(random_state=0), numbers).model.coef_.shape == (4,)


def test_mixed_tables(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"), dtype=object).assign(y=Y)
    frame["town"] = np.where(X[:, 1] > 0, "Bern", "Sion")
    frame.loc[5, "a"] = None
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    data = stream(tmp_path / "mixed.csv", target="y", chunk_rows=CHUNK)
    model = data.pipeline(fit_stream(MarginPerceptron(), data, epochs=5).model)
    save(model, tmp_path / "model")
    table = pd.read_csv(tmp_path / "mixed.csv")
    assert load(tmp_path / "model").score(table[["a", "b", "c", "d", "town"]], Y) > 0.8


# ---------------------------------------------------------------- stopped, and resumed


def stop_after(count):
    """A progress function that ends training after some chunks."""
    calls = []
    return lambda progress: (
        progress.phase == "training" and not calls.append(0) and len(calls) == count
    )


@pytest.mark.parametrize("statistics", ["running", "first pass"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm"])
def test_resumed_training_ends_with_the_same_model(suffix, statistics, tmp_path):
    files = [
        write(tmp_path / f"{i}.{suffix}", rows=rows)
        for i, rows in enumerate((slice(0, 130), slice(130, 300)))
    ]
    options = {"epochs": 2, "statistics": statistics, "checkpoint": tmp_path / "state"}

    def data():
        return stream(files, target=None if suffix == "svm" else "y", chunk_rows=CHUNK)

    expected = fit_stream(MarginPerceptron(), data(), epochs=2, statistics=statistics)
    reasons = []
    while not reasons or reasons[-1] != "max_iter":
        model = MarginPerceptron()
        outcome = fit_stream(model, data(), resume=True, progress=stop_after(3), **options)
        reasons.append(outcome.reason)
    assert reasons == ["callback"] * 6 + ["max_iter"]  # 18 chunks, three at a time
    assert outcome.rows == 600
    assert_same(model, expected.model)
    again = fit_stream(MarginPerceptron(), data(), resume=True, **options)  # nothing is left to do
    assert_same(again.model, expected.model)
    assert again.rows == 600


@pytest.mark.parametrize("suffix", ["csv", "svm"])
def test_a_first_pass_that_was_interrupted_goes_on(suffix, tmp_path):
    def data():
        target = None if suffix == "svm" else "y"
        return stream(write(tmp_path / f"rows.{suffix}"), target=target, chunk_rows=CHUNK)

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    seen = []
    options = {"statistics": "first pass", "checkpoint": tmp_path / "state"}
    with pytest.raises(KeyboardInterrupt):
        fit_stream(MarginPerceptron(), data(), progress=interrupt, **options)
    assert load(tmp_path / "state").facts["rows"] == 3 * CHUNK
    seen.clear()
    resumed = fit_stream(MarginPerceptron(), data(), resume=True, progress=seen.append, **options)
    assert seen[0].rows == 4 * CHUNK
    expected = fit_stream(MarginPerceptron(), data(), statistics="first pass")
    assert_same(resumed.model, expected.model)


def test_progress_counts_the_bytes(data):
    seen = []
    fit_stream(MarginPerceptron(), data(), epochs=2, progress=seen.append)
    first = [p for p in seen if p.phase == "first pass"]
    rest = [p for p in seen if p.phase == "training"]
    assert first[-1].bytes_read == first[-1].total_bytes == data().total_bytes
    assert rest[-1].bytes_read == rest[-1].total_bytes == 2 * data().total_bytes
    assert [p.bytes_read for p in rest] == sorted(p.bytes_read for p in rest)
    assert rest[-1].rows == 600


def test_a_time_limit_ends_after_a_chunk(data):
    outcome = fit_stream(MarginPerceptron(), data(), time_limit=1e-9)
    assert outcome.reason == outcome.model.stop_reason_ == "time_limit"
    assert outcome.rows == CHUNK


SCRIPT = """
import os, signal, sys
from widemargin import MarginPerceptron, fit_stream, stream
rows, state, act, at = sys.argv[1:]
count = 0

def progress(p):
    global count
    count += p.phase == "training"
    if count == int(at):
        os.kill(os.getpid(), getattr(signal, act))

data = stream(rows, target="y", chunk_rows=40)
outcome = fit_stream(MarginPerceptron(), data, epochs=2, checkpoint=state, progress=progress)
print(outcome.reason, outcome.rows)
"""


def run_script(tmp_path, act, at):
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        write(tmp_path / "rows.csv"),
        tmp_path / "state",
        act,
        at,
    ]
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(("act", "code"), [("SIGKILL", -9), ("SIGINT", 0)])
def test_a_process_that_is_stopped_loses_nothing(act, code, tmp_path, data):
    done = run_script(tmp_path, act, 5)
    assert done.returncode == code, done.stderr
    if act == "SIGINT":
        assert done.stdout.split() == ["interrupted", "200"]
    state = load(tmp_path / "state")
    assert state.rows == 200
    assert state.model.predict(pd.DataFrame(X, columns=list("abcd"))).shape == (300,)
    options = {"epochs": 2, "checkpoint": tmp_path / "state", "resume": True}
    resumed = fit_stream(MarginPerceptron(), data(), **options)
    assert_same(resumed.model, fit_stream(MarginPerceptron(), data(), epochs=2).model)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_ctrl_c_lets_the_chunk_finish(data, monkeypatch):
    """Also where the chunk takes several calls of the core, and inside another block."""
    monkeypatch.setattr("widemargin.perceptrons.linear_learner.OPERATIONS_PER_CALL", 1)
    for outer in (False, True):
        model = MarginPerceptron()
        partial_fit = model.partial_fit

        def interrupted(*arguments, partial_fit=partial_fit, **options):
            signal.raise_signal(signal.SIGINT)
            return partial_fit(*arguments, **options)

        model.partial_fit = interrupted
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            if outer:
                with interrupt_flag() as flag:
                    outcome = fit_stream(model, data())
                assert flag.is_set()
            else:
                outcome = fit_stream(model, data())
        finally:
            signal.signal(signal.SIGINT, before)
        assert outcome.reason == "interrupted"
        assert outcome.rows == model.history_[-1]["rows"] == CHUNK


# ---------------------------------------------------------------- errors


def test_bad_rows_lose_nothing_and_can_be_mended(tmp_path, data):
    path = write(tmp_path / "rows.csv")
    lines = path.read_text().splitlines()
    good = lines[151]
    lines[151] = "1,2,three,4,yes"
    path.write_text("\n".join(lines))
    options = {"checkpoint": tmp_path / "state", "checkpoint_seconds": 1000.0}
    model = MarginPerceptron()

    def bad():
        return stream(path, target="y", chunk_rows=CHUNK, classes=["no", "yes"])

    with pytest.raises(DataFileError, match=r"rows.csv: line 152: column 'c' holds 'three'"):
        fit_stream(model, bad(), **options)
    assert model.history_[-1]["rows"] == 120
    assert load(tmp_path / "state").rows == 120
    with pytest.raises(DataFileError, match="line 152"):
        fit_stream(MarginPerceptron(), bad(), resume=True, **options)
    assert load(tmp_path / "state").rows == 120
    path.write_text("\n".join([*lines[:151], good, *lines[152:]]))
    model = fit_stream(MarginPerceptron(), bad(), resume=True, **options).model
    assert_same(model, fit_stream(MarginPerceptron(), data()).model)


def test_a_label_that_is_no_class(tmp_path):
    y = Y.astype(object)
    y[190] = "maybe"
    data = stream(
        write(tmp_path / "rows.parquet", y), target="y", chunk_rows=CHUNK, classes=["no", "yes"]
    )
    with pytest.raises(DataFileError, match="row group 2, row 50: the target is 'maybe'"):
        fit_stream(MarginPerceptron(), data, checkpoint=tmp_path / "state")
    assert load(tmp_path / "state").rows == 160


def test_what_the_model_refuses_names_the_place(data):
    with pytest.raises(ValueError, match=r"rows.csv: line 2: early_stopping=True"):
        fit_stream(MarginPerceptron(early_stopping=True), data())


def test_models_that_cannot_learn_from_chunks(data, tmp_path):
    with pytest.raises(TypeError, match="SVC has no partial_fit"):
        fit_stream(SVC(), data())
    with pytest.raises(TypeError, match=r"cannot hold this SGDClassifier.*or train without"):
        fit_stream(SGDClassifier(), data(), checkpoint=tmp_path / "state")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("model", "options", "match"),
    [
        (MarginPerceptron(), {"epochs": 0}, "epochs=0"),
        (MarginPerceptron(), {"statistics": "none"}, "statistics='none'"),
        (MarginPerceptron(), {"resume": True}, "resume=True needs a file"),
        (Perceptron(), {"statistics": "first pass"}, "with standardize=True, not Perceptron"),
        (MODELS["map"], {"statistics": "first pass"}, "feature_map='polynomial'"),
        (KernelPerceptron(), {"statistics": "first pass"}, "for linear models"),
    ],
)
def test_wrong_options(model, options, match, data):
    with pytest.raises(ValueError, match=match):
        fit_stream(clone(model), data(), **options)


def test_a_continuous_target_has_too_many_classes(tmp_path, monkeypatch):
    monkeypatch.setattr("widemargin.streaming.facts.MOST_CLASSES", 100)
    data = stream(write(tmp_path / "rows.csv", NOISY), target="y", chunk_rows=CHUNK)
    with pytest.raises(ValueError, match="the target has 120 different values"):
        fit_stream(MarginPerceptron(), data, checkpoint=tmp_path / "state")


def test_checkpoints_of_something_else(data, tmp_path):
    state = tmp_path / "state"
    options = {"checkpoint": state, "resume": True}
    fit_stream(MarginPerceptron(), data(), checkpoint=state, progress=stop_after(2))
    with pytest.raises(FileExistsError, match="go on from it with resume=True, or delete it"):
        fit_stream(MarginPerceptron(), data(), checkpoint=state)
    with pytest.raises(ValueError, match="of a MarginPerceptron, the model is a Perceptron"):
        fit_stream(Perceptron(), data(), **options)
    with pytest.raises(ValueError, match=r"has margin=1.0, the model margin=2.0"):
        fit_stream(MarginPerceptron(margin=2.0), data(), **options)
    with pytest.raises(ValueError, match="had chunk_rows=40, now it has chunk_rows=50"):
        fit_stream(MarginPerceptron(), data(chunk_rows=50), **options)
    other = stream(write(tmp_path / "other.csv"), target="y", chunk_rows=CHUNK)
    with pytest.raises(ValueError, match=r"had 1 files, rows.csv; now it has 1"):
        fit_stream(MarginPerceptron(), other, **options)
    save(MarginPerceptron(), state)
    with pytest.raises(ModelFileError, match="holds a MarginPerceptron and no checkpoint"):
        fit_stream(MarginPerceptron(), data(), **options)
    state.write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="no complete model file"):
        fit_stream(MarginPerceptron(), data(), **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("position", [0, 0, -1, 0, 0, 0]),
        ("position", [0, 0]),
        ("position", [0, 7, 0, 0, 0, 0]),
        ("position", ["0"] * 6),
        ("rows", 1.5),
        ("facts", {"rows": 1}),
        ("settings", None),
        ("files", [1]),
    ],
)
def test_improper_checkpoints(name, value, data, tmp_path):
    fit_stream(MarginPerceptron(), data(), checkpoint=tmp_path / "state")
    save(load(tmp_path / "state").set_params(**{name: value}), tmp_path / "state")
    with pytest.raises(ModelFileError, match="no proper checkpoint; delete it"):
        fit_stream(MarginPerceptron(), data(), checkpoint=tmp_path / "state", resume=True)


# ---------------------------------------------------------------- memory

MEMORY = """
import sys
from pathlib import Path
from widemargin import MarginPerceptron, fit_stream, stream

def peak():
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l)
    return int(line.split()[1]) / 1024

def train(rows):
    return fit_stream(MarginPerceptron(), stream(rows, target="y", chunk_rows=10_000))

train(sys.argv[1])
before = peak()
print(train(sys.argv[2]).rows, peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_files(suffix, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(20_000, 20)).astype(np.float32).round(3))
    frame = frame.rename(columns=str).assign(y=frame[0] > 0)
    small, folder = tmp_path / f"small.{suffix}", tmp_path / "large"
    folder.mkdir()
    write = (
        frame.to_parquet if suffix == "parquet" else lambda path: frame.to_csv(path, index=False)
    )
    write(small)
    parts = 100 if suffix == "parquet" else 50
    for i in range(parts):
        os.link(small, folder / f"{i:03}.{suffix}")
    command = [sys.executable, "-c", MEMORY, str(small), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    rows, growth = done.stdout.split()
    assert int(rows) == parts * 20_000
    assert float(growth) < 50  # the inputs would take 160 MB, the text 130 MB
