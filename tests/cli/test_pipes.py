"""Standard input, standard output and pipes in place of files."""

import os
import stat
import subprocess
import sys
import threading

import pandas as pd
import pytest

from helpers.command_line import MARGIN, fails, run
from widemargin import load
from widemargin.tables import read_table

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")


def piped(data, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "widemargin", *map(str, arguments)],
        input=data,
        capture_output=True,
        timeout=120,
    )


@pytest.mark.slow
def test_data_from_standard_input_and_predictions_to_standard_output(csv, model, tmp_path):
    done = piped(csv.read_bytes(), "predict", model, "-", "-o", "-", "--target", "y")
    assert done.returncode == 0, done.stderr
    (tmp_path / "p.csv").write_bytes(done.stdout)
    run("predict", model, csv, "-o", tmp_path / "q.csv")
    pd.testing.assert_frame_equal(*(pd.read_csv(tmp_path / f"{name}.csv") for name in "pq"))
    assert b"error" in done.stderr  # the results go to standard error


@pytest.mark.slow
def test_a_model_to_standard_output(csv, tmp_path):
    done = piped(csv.read_bytes(), "train", *MARGIN, "-", "--target", "y", "-o", "-")
    assert done.returncode == 0, done.stderr
    (tmp_path / "m").write_bytes(done.stdout)
    assert load(tmp_path / "m").classes_.tolist() == [-1, 1]


@pytest.mark.slow
def test_an_error_names_standard_input(model, tmp_path):
    done = piped(b"a,b\n1,2\n3\n", "predict", model, "-", "-o", tmp_path / "p.csv")
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: /dev/stdin: line 3 has 1 values")


def test_pipes(csv, model, tmp_path):
    source, sink = tmp_path / "in.csv", tmp_path / "out.csv"
    os.mkfifo(source)
    os.mkfifo(sink)
    received = []
    writer = threading.Thread(target=lambda: source.write_bytes(csv.read_bytes()))
    reader = threading.Thread(target=lambda: received.append(sink.read_text()))
    writer.start()
    reader.start()
    run("predict", model, source, "-o", sink)
    writer.join(timeout=30)
    reader.join(timeout=30)
    assert len(received[0].splitlines()) == 121
    assert all(stat.S_ISFIFO(path.stat().st_mode) for path in (source, sink))


def test_a_pipe_without_suffix_holds_csv(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("a,b\n1,2\n3,4\n"))
    writer.start()
    assert read_table(path).X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    writer.join(timeout=30)


def test_what_cannot_be_combined(csv, model, tmp_path):
    assert "--json and --output -" in fails("predict", model, csv, "-o", "-", "--json")
    os.mkfifo(tmp_path / "pipe")
    line = fails(
        "train", *MARGIN, tmp_path / "pipe", "--target", "y", "--stream", "-o", tmp_path / "m"
    )
    assert "can be read only once" in line
    line = fails("train", *MARGIN, csv, "--target", "y", "--stream", "-o", tmp_path / "pipe")
    assert "with --checkpoint" in line
