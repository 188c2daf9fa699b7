"""The command line as a user meets it: files in, files out, one line when something is wrong."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from widemargin.models import MODELS
from widemargin.persistence import load, save

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
testing = pytest.importorskip("typer.testing")
cli = pytest.importorskip("widemargin.cli")

needs_data = pytest.mark.skipif(
    "WIDEMARGIN_DATA" not in os.environ, reason="WIDEMARGIN_DATA is not set"
)


def run(*arguments, code=0):
    """Run a command in this process; only `SystemExit` may end it."""
    result = testing.CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=refuse)


def fails(*arguments):
    """The one line that an expected error prints."""
    result = run(*arguments, code=1)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


# Goes on until the examples, which a line separates, make no more mistakes.
EXACT = ("--model", "perceptron", "--set", "tol=null")


def run_process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "widemargin", *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(3)
    return X, np.where(X @ [1.0, -2.0, 0.5] > 0, 1, -1)


@pytest.fixture
def csv(tmp_path, numbers):
    X, y = numbers
    path = tmp_path / "numbers.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y).to_csv(path, index=False)
    return path


@pytest.fixture
def mixed(tmp_path):
    """Numbers, text and gaps in both; the class depends on all of them."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 300).astype(float)})
    frame["town"] = rng.choice(["Bern", "Sion", "Genève"], 300)
    frame["pay"] = np.where(frame["age"] + 20 * (frame["town"] == "Bern") > 50, "high", "low")
    frame.loc[::17, "age"] = np.nan
    frame.loc[::23, "town"] = None
    path = tmp_path / "mixed.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path, csv):
    path = tmp_path / "numbers.model"
    run("train", csv, "--target", "y", "-o", path, "--set", "random_state=0", "--quiet")
    return path


# ---------------------------------------------------------------- train, predict, info


def test_mixed_table_from_training_to_prediction(mixed, tmp_path):
    model, predictions = tmp_path / "m", tmp_path / "p.csv"
    options = ("--target", "pay", "--set", "random_state=0", "--test", mixed)
    summary = run_json("train", mixed, "-o", model, *options)
    assert (summary["rows"], summary["columns"], summary["classes"]) == (300, 2, ["high", "low"])
    assert summary["features"] == 5  # age, three towns, no town
    assert summary["training_error"] == summary["test_error"] < 10
    assert summary["file"] == str(model)

    result = run_json("predict", model, mixed, "-o", predictions, "--scores", "--target", "pay")
    assert result["error"] == summary["training_error"]
    written = pd.read_csv(predictions)
    assert written.columns.tolist() == ["prediction", "score"]
    assert ((written["score"] > 0) == (written["prediction"] == "low")).all()
    assert result["classes"] == written["prediction"].value_counts().to_dict()

    facts = run_json("info", model)
    assert facts["steps"] == ["ColumnTransformer", "MarginPerceptron"]
    assert facts["feature_names"] == ["age", "town"]
    assert facts["classes"] == ["high", "low"]
    assert facts["parameters"]["random_state"] == 0
    assert facts["training"]["history_length"] == facts["training"]["epochs"]
    assert facts["training"]["updates"] == summary["updates"]
    assert facts["file_size"] == model.stat().st_size


@pytest.mark.parametrize("suffix", ["csv", "parquet", "svm", "npz"])
@pytest.mark.parametrize("output", ["p.csv", "p.parquet", "p.npz"])
def test_every_format_gives_the_same_model(suffix, output, numbers, tmp_path):
    X, y = numbers
    path, model = tmp_path / f"d.{suffix}", tmp_path / "m"
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    if suffix == "csv":
        frame.to_csv(path, index=False)
    elif suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "svm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        np.savez(path, X=X, y=y)
    named = suffix in ("csv", "parquet")
    target = ("--target", "y" if named or suffix == "npz" else "label")
    train = run_json("train", path, "-o", model, *target, *EXACT)
    predict = run_json("predict", model, path, "-o", tmp_path / output, *target)
    assert train["converged"]
    assert train["training_error"] == predict["error"] == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "npz": np.load}
    column = read[output.split(".")[1]](tmp_path / output)["prediction"]
    np.testing.assert_array_equal(column, y)
    assert hasattr(load(model), "feature_names_in_") is named


@pytest.mark.parametrize("index_base", [0, 1])
def test_svmlight_files_are_read_as_the_training_file(index_base, numbers, tmp_path):
    X, y = numbers
    files = {"train": (X, y), "few": (X * [0, 1, 0], y)}  # the second file uses column 1 or 2 only
    for name, examples in files.items():
        dump_svmlight_file(*examples, str(tmp_path / f"{name}.svm"), zero_based=index_base == 0)
    model, out = tmp_path / "m", tmp_path / "p.npz"
    run("train", tmp_path / "train.svm", "-o", model, *EXACT)
    assert run_json("info", model)["index_base"] == index_base
    options = ("-o", out, "--scores")

    def scores(*more):
        result = run("predict", model, tmp_path / "few.svm", *options, *more)
        with np.load(out) as columns:
            return columns["score"], result.stderr

    expected = load(model).decision_function(X * [0, 1, 0])
    for more in ((), ("--index-base", str(index_base))):
        found, message = scores(*more)
        np.testing.assert_allclose(found, expected)
        assert message == ""
    other, _ = scores("--index-base", str(1 - index_base))
    assert not np.allclose(other, expected)


def test_svmlight_columns_that_may_start_at_0_or_1(numbers, tmp_path):
    X, y = numbers
    model, file, out = tmp_path / "m", tmp_path / "d.svm", ("-o", tmp_path / "p.csv")
    save(MODELS["perceptron"]().fit(X, y), model)  # not by the command line: no record
    assert run_json("info", model)["index_base"] is None
    file.write_text("1 1:2 2:3\n")
    (line,) = run("predict", model, file, *out).stderr.splitlines()
    assert line.startswith(f"warning: {file}: columns are taken to start at 1")
    assert line.endswith("say which with --index-base")
    assert run("predict", model, file, *out, "--index-base", "0").stderr == ""
    for clear in ("1 0:2 2:3\n", "1 1:2 3:3\n"):
        file.write_text(clear)
        assert run("predict", model, file, *out).stderr == ""
    file.write_text("1 0:2\n")
    line = fails("predict", model, file, *out, "--index-base", "1")
    assert "column 0 where --index-base 1 makes 1 the first; use --index-base 0 if" in line
    run("predict", model, file, *out, "--index-base", "2", code=2)


def test_columns_are_found_by_name(csv, model, tmp_path):
    frame = pd.read_csv(csv)
    shuffled = tmp_path / "shuffled.csv"
    frame.assign(note="text")[["y", "note", "c", "a", "b"]].to_csv(shuffled, index=False)
    result = run_json("predict", model, shuffled, "-o", tmp_path / "p.csv")
    assert result["error"] is None
    expected = load(model).predict(frame[["a", "b", "c"]])
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "p.csv")["prediction"], expected)


def test_constant_columns_may_be_missing_later(mixed, tmp_path):
    frame = pd.read_csv(mixed)
    frame.assign(year=2026).to_csv(tmp_path / "year.csv", index=False)
    model = tmp_path / "m"
    result = run("train", tmp_path / "year.csv", "-o", model, "--target", "pay")
    (line,) = result.stderr.splitlines()
    assert line == "warning: columns left out: 'year' (constant)"
    run("predict", model, mixed, "-o", tmp_path / "p.csv", "--target", "pay")


def test_files_without_a_header(csv, tmp_path):
    bare, model = tmp_path / "bare.data", tmp_path / "m"
    bare.write_text(csv.read_text().split("\n", 1)[1])
    options = ("--no-header", "--format", "csv", "--target", "-1")
    summary = run_json("train", bare, "-o", model, *EXACT, *options)
    result = run_json("predict", model, bare, "-o", tmp_path / "p.csv", *options)
    assert summary["training_error"] == result["error"] == 0
    assert run_json("info", model)["feature_names"] == ["c0", "c1", "c2"]


def test_many_classes_have_a_score_each(tmp_path, numbers):
    X, _ = numbers
    kinds = np.array(["x", "y", "z"])[np.argmax(X, axis=1)]
    path = tmp_path / "d.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=kinds).to_csv(path, index=False)
    run("train", path, "--target", "kind", "-o", tmp_path / "m")
    run("predict", tmp_path / "m", path, "-o", tmp_path / "p.npz", "--scores")
    with np.load(tmp_path / "p.npz") as columns:
        scores = np.column_stack([columns[f"score_{kind}"] for kind in "xyz"])
        np.testing.assert_array_equal(columns["prediction"], np.array([*"xyz"])[scores.argmax(1)])


@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains(name, csv, tmp_path):
    result = run("train", csv, "--target", "y", "-o", tmp_path / "m", "--model", name)
    assert "training error" in result.stdout
    assert name in run("models").stdout
    assert run_json("models", name) == MODELS[name]().get_params()
    assert type(load(tmp_path / "m")) is MODELS[name]
    assert MODELS[name].__name__ in run("info", tmp_path / "m").stdout


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("0.01", 0.01),
        ("1e-3", 1e-3),
        ("true", True),
        ("null", None),
        ("fourier", "fourier"),
    ],
)
def test_values_of_settings(text, value):
    from widemargin.cli._train import parse_value

    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_settings_and_time_limit_reach_the_model(csv, tmp_path):
    settings = ("--set", "early_stopping=true", "--set", "learning_rate=0.01", "--set", "tol=null")
    options = ("--target", "y", "-o", tmp_path / "m", "--time-limit", "5", *settings)
    run("train", csv, *options)
    model = load(tmp_path / "m")
    assert (model.early_stopping, model.learning_rate, model.tol) == (True, 0.01, None)
    assert model.time_limit == 5


# ---------------------------------------------------------------- output


def test_quiet_prints_nothing(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--quiet", *EXACT)
    assert run("train", csv, *options).output == ""


def test_json_stays_pure_whatever_the_model_prints(csv, tmp_path):
    result = run(
        "train", csv, "--target", "y", "-o", tmp_path / "m", "--set", "verbose=1", "--json"
    )
    assert json.loads(result.stdout)["rows"] == 120
    assert "epoch" in result.stderr


def test_warnings_are_one_line(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--set", "max_iter=1", "--json")
    result = run("train", csv, *options)
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: MarginPerceptron reached max_iter=1")
    assert json.loads(result.stdout)["stop_reason"] == "max_iter"


def test_versions():
    result = run_json("versions")
    assert result["dependencies"]["numpy"] == np.__version__
    assert result["instruction_set"]
    assert result["threads"] >= 1
    assert result["blas"]
    assert "scikit-learn" in run("versions").stdout


def test_tables_fit_80_columns(csv, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    model = tmp_path / "m"
    outputs = [
        run("train", csv, "--target", "y", "-o", model).stdout.replace(str(model), "m"),
        run("versions").stdout,
        run("models").stdout,
        run("demo", "-o", tmp_path / "d.png").stdout.replace(str(tmp_path), ""),
    ]
    for line in "".join(outputs).splitlines():
        assert len(line.rstrip()) <= 80
        assert "…" not in line


# ---------------------------------------------------------------- errors


TRAIN_ERRORS = [
    (("--target", "y", "--model", "svm"), "no model 'svm'; use one of perceptron, "),
    (("--target", "y", "--set", "max_itr=3"), "no parameter 'max_itr'; closest: max_iter"),
    (("--target", "y", "--set", "max_iter"), "--set max_iter: give a parameter and its value"),
    (("--target", "y", "--set", "max_iter=0"), "'max_iter' parameter of MarginPerceptron must be"),
    (("--target", "y", "--set", "max_iter=many"), "'max_iter' parameter"),
    (("--target", "y", "--time-limit", "-1"), "'time_limit' parameter"),
    (("--target", "z"), "no column 'z'"),
    (("--target", "a"), "Unknown label type: continuous"),
    ((), "name it with --target"),
    (("--target", "y", "--format", "xls"), "format='xls'"),
    (("--target", "y", "--test", "none.csv"), "none.csv"),
    (("--target", "y", "--no-header"), "no column 'y'"),
]


@pytest.mark.parametrize(("options", "message"), TRAIN_ERRORS)
def test_training_errors(options, message, csv, tmp_path):
    assert message in fails("train", csv, "-o", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


def test_errors_of_files(csv, model, tmp_path):
    out = ("-o", tmp_path / "p.csv")
    assert "none.csv: cannot be read" in fails("train", tmp_path / "none.csv", *out)
    assert "no folder" in fails("train", csv, "--target", "y", "-o", tmp_path / "no" / "m")
    assert "is a folder" in fails("train", csv, "--target", "y", "-o", tmp_path)
    assert "use --format" in fails("predict", model, tmp_path / "data.xls", *out)
    assert "No such file" in fails("info", tmp_path / "none")
    assert "no complete model file" in fails("info", csv)
    assert "no complete model file" in fails("predict", csv, csv, *out)
    assert "predictions go to .csv" in fails("predict", model, csv, "-o", tmp_path / "p.doc")
    assert "no model 'none'" in fails("models", "none")
    save(StandardScaler().fit([[0.0], [1.0]]), tmp_path / "scaler")
    assert "no fitted classifier" in fails("predict", tmp_path / "scaler", csv, *out)
    assert run_json("info", tmp_path / "scaler")["training"]["epochs"] is None
    run("info", tmp_path / "scaler")


def test_output_does_not_overwrite_what_is_read(csv, model, tmp_path):
    before = csv.read_bytes(), model.read_bytes()
    for command in (
        ("train", csv, "--target", "y", "-o", csv),
        ("predict", model, csv, "-o", csv),
        ("predict", model, csv, "-o", model),
    ):
        assert "would overwrite" in fails(*command)
    assert (csv.read_bytes(), model.read_bytes()) == before


def test_text_for_a_model_without_column_names(mixed, numbers, tmp_path):
    np.savez(tmp_path / "d.npz", X=numbers[0], y=numbers[1])
    run("train", tmp_path / "d.npz", "-o", tmp_path / "m", "--quiet")
    line = fails("predict", tmp_path / "m", mixed, "-o", tmp_path / "p.csv")
    assert "mixed.csv: has text or missing values" in line


PREDICTION_ERRORS = [
    ("a,b,y\n1,2,1\n", "lacks column 'c' of the model; the file has columns 'a', 'b'"),
    ("a,b,c,y\n1,2,x,1\n", "column 'c' hold text"),
    ("a,b,c,y\n1,2,,1\n1,2,3,1\n", "column 'c' have missing values"),
    ("a,b,c,y\n1,2,3,yes\n", "none of the model's classes, -1, 1"),
    ("a,b,c\n1,2,3\n", "no column 'y'"),
]


@pytest.mark.parametrize(("text", "message"), PREDICTION_ERRORS)
def test_prediction_errors(text, message, model, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    out = tmp_path / "p.csv"
    line = fails("predict", model, tmp_path / "d.csv", "-o", out, "--target", "y")
    assert message in line
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("trian",),
        ("train",),
        ("predict", "m"),
        ("info", "--no"),
        ("papers", "table-8.2", "--seeds", "0"),
    ],
)
def test_wrong_usage_is_2(arguments):
    result = run(*arguments, code=2)
    assert "Usage:" in result.output


def test_exit_codes_of_the_process(csv, tmp_path):
    done = run_process("info", tmp_path / "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {tmp_path / 'none'}: No such file or directory\n"
    done = run_process("info", tmp_path / "none", WIDEMARGIN_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "FileNotFoundError" in done.stderr
    done = run_process("train")
    assert done.returncode == 2
    done = run_process("--help")
    assert done.returncode == 0
    assert "Usage: widemargin " in done.stdout


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_missing_packages(package):
    code = f"import sys; sys.modules[{package!r}] = None; import widemargin.__main__ as m; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "pip install 'widemargin[cli]'" in line


def test_help_imports_nothing_that_takes_time():
    code = (
        "import sys, widemargin; before = set(sys.modules)\n"
        "import widemargin.cli; print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {module.split(".")[0] for module in done.stdout.split()}
    assert not packages & {"matplotlib", "pandas", "pyarrow", "sklearn", "scipy"}


# ---------------------------------------------------------------- Ctrl-C


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_interrupted_training_saves_the_model(csv, tmp_path):
    model = tmp_path / "m"
    options = ["--target", "y", "-o", model, "--json"]
    options += ["--set", "max_iter=100000000", "--set", "tol=null", "--set", "verbose=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "widemargin", "train", *map(str, [csv, *options])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background jobs with SIGINT ignored, and that would be inherited.
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


def test_interrupt_outside_training(csv, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("widemargin.tables.read_table", interrupted)
    result = run("train", csv, "--target", "y", "-o", tmp_path / "m", code=130)
    assert result.stderr == "interrupted\n"
    assert not (tmp_path / "m").exists()


# ---------------------------------------------------------------- demo and papers


def test_demo_without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    picture = tmp_path / "demo.png"
    result = run_json("demo", "--output", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert result["picture"] == str(picture)
    assert "digits" in result["data"]
    assert all(row["error"] < 10 for row in result["models"])
    text = run("demo", "--output", picture).stdout
    assert "Kernel Perceptron" in text
    assert "demo.png" in text
    assert "no folder" in fails("demo", "--output", tmp_path / "no" / "demo.png")


@needs_data
def test_papers_fleuret():
    rows = run_json("papers", "fleuret")
    assert rows[-1]["changes"] == 0
    assert rows[0]["published"] == 64
    assert "published" in run("papers", "fleuret").stdout


@needs_data
def test_papers_table_8_2():
    rows = run_json("papers", "table-8.2", "--seeds", "1")
    assert {row["data"] for row in rows} == {"Forest", "Connect-4"}
    for row in rows:
        assert row["test_error"] < row["published"] + 2


def test_papers_tables_fit_80_columns(monkeypatch):
    from widemargin import papers

    monkeypatch.setenv("COLUMNS", "80")
    row = papers.Result(
        "Connect-4", "MarginPerceptron", {"learning_rate": 1e-4}, 20.41, 19.85, 0.25, 12.5, 20.3
    )
    monkeypatch.setattr(papers, "table_8_2", lambda seeds: [row] * len(seeds))
    text = run("papers", "table-8.2", "--seeds", "2").stdout
    assert "19.85 ± 0.25" in text
    assert "mean of 2 seeds" in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "…" not in text
