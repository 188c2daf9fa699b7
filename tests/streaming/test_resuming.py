"""Training that was stopped, interrupted or killed resumes and ends with the same model."""

import os
import signal
import subprocess
import sys

import pytest

from helpers.streamed_training import CHUNK_ROWS, X, assert_same, stop_after, write
from widemargin import MarginPerceptron, Perceptron, load, save
from widemargin.persistence import ModelFileError
from widemargin.streaming import fit_stream, stream
from widemargin.training.control import interrupt_flag

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("statistics", ["running", "first pass"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm"])
def test_resumed_training_ends_with_the_same_model(suffix, statistics, tmp_path):
    files = [
        write(tmp_path / f"{i}.{suffix}", rows=rows)
        for i, rows in enumerate((slice(0, 130), slice(130, 300)))
    ]
    options = {"epochs": 2, "statistics": statistics, "checkpoint": tmp_path / "state"}

    def data():
        return stream(files, target=None if suffix == "svm" else "y", chunk_rows=CHUNK_ROWS)

    expected = fit_stream(MarginPerceptron(), data(), epochs=2, statistics=statistics)
    reasons = []
    while not reasons or reasons[-1] != "max_iter":
        model = MarginPerceptron()
        outcome = fit_stream(model, data(), resume=True, progress=stop_after(3), **options)
        reasons.append(outcome.reason)
    assert reasons == ["callback"] * 6 + ["max_iter"]  # 18 chunks, three at a time
    assert outcome.rows == 600
    assert_same(model, expected.model)
    again = fit_stream(MarginPerceptron(), data(), resume=True, **options)  # all epochs are done
    assert_same(again.model, expected.model)
    assert again.rows == 600


@pytest.mark.parametrize("suffix", ["csv", "svm"])
def test_an_interrupted_first_pass_resumes(suffix, tmp_path):
    def data():
        target = None if suffix == "svm" else "y"
        return stream(write(tmp_path / f"rows.{suffix}"), target=target, chunk_rows=CHUNK_ROWS)

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    seen = []
    options = {"statistics": "first pass", "checkpoint": tmp_path / "state"}
    with pytest.raises(KeyboardInterrupt):
        fit_stream(MarginPerceptron(), data(), progress=interrupt, **options)
    assert load(tmp_path / "state").facts["rows"] == 3 * CHUNK_ROWS
    seen.clear()
    resumed = fit_stream(MarginPerceptron(), data(), resume=True, progress=seen.append, **options)
    assert seen[0].rows == 4 * CHUNK_ROWS
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
    assert outcome.rows == CHUNK_ROWS


SCRIPT = """
import os, signal, sys
from widemargin import MarginPerceptron
from widemargin.streaming import fit_stream, stream
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


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(("act", "code"), [("SIGKILL", -9), ("SIGINT", 0)])
def test_a_process_that_is_killed_or_interrupted_loses_nothing(act, code, tmp_path, data):
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
    """Also if the chunk takes several calls of the core, or the flag was already set up outside."""
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
        assert outcome.rows == model.history_[-1]["rows"] == CHUNK_ROWS


# ---------------------------------------------------------------- wrong checkpoints


def test_checkpoints_of_another_model_or_stream(data, tmp_path):
    state = tmp_path / "state"
    options = {"checkpoint": state, "resume": True}
    fit_stream(MarginPerceptron(), data(), checkpoint=state, progress=stop_after(2))
    with pytest.raises(FileExistsError, match="continue from it with resume=True, or delete it"):
        fit_stream(MarginPerceptron(), data(), checkpoint=state)
    with pytest.raises(ValueError, match="of a MarginPerceptron, but the model is a Perceptron"):
        fit_stream(Perceptron(), data(), **options)
    with pytest.raises(ValueError, match=r"has margin=1.0, but the model has margin=2.0"):
        fit_stream(MarginPerceptron(margin=2.0), data(), **options)
    with pytest.raises(ValueError, match="had chunk_rows=40, but now it has chunk_rows=50"):
        fit_stream(MarginPerceptron(), data(chunk_rows=50), **options)
    other = stream(write(tmp_path / "other.csv"), target="y", chunk_rows=CHUNK_ROWS)
    with pytest.raises(ValueError, match=r"had 1 files, rows.csv, but now it has 1"):
        fit_stream(MarginPerceptron(), other, **options)
    save(MarginPerceptron(), state)
    with pytest.raises(ModelFileError, match="holds a MarginPerceptron, not a checkpoint"):
        fit_stream(MarginPerceptron(), data(), **options)
    state.write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="not a complete model file"):
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
def test_invalid_checkpoints(name, value, data, tmp_path):
    fit_stream(MarginPerceptron(), data(), checkpoint=tmp_path / "state")
    save(load(tmp_path / "state").set_params(**{name: value}), tmp_path / "state")
    with pytest.raises(ModelFileError, match="not a valid checkpoint; delete it"):
        fit_stream(MarginPerceptron(), data(), checkpoint=tmp_path / "state", resume=True)
