"""The command line as a process: exit codes, imports, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import MARGIN, run
from widemargin import load


def run_process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "widemargin", *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_exit_codes(csv, tmp_path):
    done = run_process("info", tmp_path / "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {tmp_path / 'none'}: there is no such file, and")
    assert len(done.stderr.splitlines()) == 1
    done = run_process("info", tmp_path / "none", WIDEMARGIN_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "FileNotFoundError" in done.stderr
    done = run_process("train")
    assert done.returncode == 2
    done = run_process("--help")
    assert done.returncode == 0
    assert "Usage: widemargin " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("package", ["typer", "rich"])
def test_missing_packages(package):
    code = f"import sys; sys.modules[{package!r}] = None; import widemargin.__main__ as m; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "pip install 'widemargin[cli]'" in line


@pytest.mark.slow
def test_help_imports_no_slow_package():
    code = (
        "import sys, widemargin; before = set(sys.modules)\n"
        "import widemargin.cli; print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {module.split(".")[0] for module in done.stdout.split()}
    assert not packages & {"matplotlib", "pandas", "pyarrow", "sklearn", "scipy"}


# ------------------------------------------------------------------------------------------ Ctrl-C


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_interrupted_training_saves_the_model(csv, tmp_path):
    model = tmp_path / "m"
    options = ["--target", "y", "-o", model, "--json"]
    options += ["--set", "max_iter=100000000", "--set", "tol=null", "--set", "verbose=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "widemargin", "train", *MARGIN, *map(str, [csv, *options])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background jobs with SIGINT ignored, and children inherit this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while "epoch    5" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert f"interrupted: the model as it stands was saved to {model}" in stderr
    summary = json.loads(stdout)
    assert summary["stop_reason"] == "interrupted"
    assert load(model).n_iter_ == summary["epochs"] >= 5


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_interrupted_search_saves_the_best_model_so_far(tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.safetensors"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    frame = pd.DataFrame(X, columns=[*"abcdef"]).assign(y=(X[:, 0] * X[:, 1] > X[:, 2]) + 0)
    frame.to_csv(data, index=False)
    train = ["train", data, "--target", "y", "-o", model]
    process = subprocess.Popen(
        [sys.executable, "-m", "widemargin", *map(str, train), "--time-limit", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while not model.exists():  # the baseline
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert f"interrupted: the model as it stands was saved to {model}; --resume" in stderr
    assert json.loads(stdout)["stop_reason"] == "interrupted"
    assert set(load(model).predict(frame.drop(columns="y"))) == {0, 1}
    assert (tmp_path / "m.html").is_file()
    assert (tmp_path / "m.safetensors.run").is_dir()
    done = run_process(*train, "--resume", "--set", "effort=0.05")
    assert done.returncode == 1
    assert "with other options" in done.stderr
    done = run_process(*train, "--resume", "--time-limit", "9")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "m.safetensors.run").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_interrupt_during_the_preparation_saves_the_model(csv, tmp_path, monkeypatch):
    from widemargin.perceptrons import kernel_perceptron

    complete = kernel_perceptron.enclosing_ball

    def interrupted(column, diagonal, **options):
        os.kill(os.getpid(), signal.SIGINT)
        ball = complete(column, diagonal, **options)
        assert ball.radius > 1.1 * complete(column, diagonal, tol=1e-3).radius  # ended at once
        return ball

    monkeypatch.setattr(kernel_perceptron, "enclosing_ball", interrupted)
    options = ("--target", "y", "-o", tmp_path / "m", "--model", "kernel-perceptron")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = run("train", *MARGIN, csv, *options, code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "the model as it stands was saved" in result.stderr
    assert load(tmp_path / "m").stop_reason_ == "interrupted"


def test_interrupt_outside_training(csv, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("widemargin.tables.read_table", interrupted)
    result = run("train", *MARGIN, csv, "--target", "y", "-o", tmp_path / "m", code=130)
    assert result.stderr == "interrupted\n"
    assert not (tmp_path / "m").exists()
