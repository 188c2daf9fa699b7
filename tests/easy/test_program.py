"""The program in a report reads the file as the run did, and runs."""

import numpy as np
import pytest

from widemargin import load
from widemargin.easy.run import run

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def run_program(outcome):
    """What the program of a report leaves behind."""
    names = {}
    exec(compile(outcome.record.code, "report", "exec"), names)  # as a reader would
    return names


def test_the_program_trains_on_the_same_columns(options, customers):
    outcome = run(options(metric="auc", time_limit=60.0))
    names = run_program(outcome)
    assert list(names["X"].columns) == ["age", "town", "since"]
    assert names["model"].scoring == "roc_auc"
    kinds = {column["name"]: column["kind"] for column in names["model"].encoder_.columns_}
    assert kinds == {"age": "number", "town": "category", "since": "date"}
    assert load(options().output).classes_.tolist() == ["no", "yes"]


def test_the_program_reads_what_needed_options(options, customers, tmp_path):
    frame = pd.read_csv(customers)
    frame["age"] = frame["age"].round()
    frame.loc[::9, "churned"] = None
    text = frame.to_csv(sep="~", index=False)
    (tmp_path / "odd.txt").write_bytes(text.encode("utf-16-le"))
    reading = options().reading.__class__(
        separator="~", encoding="utf-16-le", dates=True, mostly=True
    )
    outcome = run(options(data=tmp_path / "odd.txt", reading=reading, text=("age",)))
    names = run_program(outcome)
    assert len(names["y"]) == outcome.record.rows < 240
    kinds = {column["name"]: column["kind"] for column in names["model"].encoder_.columns_}
    assert kinds["age"] == "category"


def test_the_program_of_a_matrix(options, tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 4))
    np.savez(tmp_path / "d.npz", X=X, y=(X[:, 0] > 0).astype(int))
    outcome = run(options(data=tmp_path / "d.npz", target=None, drop=()))
    assert run_program(outcome)["X"].shape == (120, 4)
