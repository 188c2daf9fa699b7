"""Training and prediction from the command line, from files to files."""

import json

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import dump_svmlight_file

from helpers.command_line import EXACT, MARGIN, fails, run, run_json
from widemargin import SVC, load, save
from widemargin.cli.models import MODELS, new_model

pd = pytest.importorskip("pandas")


def test_mixed_table_from_training_to_prediction(mixed, tmp_path):
    model, predictions = tmp_path / "m", tmp_path / "p.csv"
    options = ("--target", "pay", "--set", "random_state=0", "--test", mixed)
    summary = run_json("train", *MARGIN, mixed, "-o", model, *options)
    assert (summary["rows"], summary["columns"], summary["classes"]) == (300, 2, ["high", "low"])
    assert summary["features"] == 6  # age, no age, three towns, no town
    assert summary["training_error"] == summary["test_error"] < 10
    assert summary["file"] == str(model)

    result = run_json("predict", model, mixed, "-o", predictions, "--scores", "--target", "pay")
    assert result["error"] == summary["training_error"]
    written = pd.read_csv(predictions)
    assert written.columns.tolist() == ["prediction", "score"]
    assert ((written["score"] > 0) == (written["prediction"] == "low")).all()
    assert result["classes"] == written["prediction"].value_counts().to_dict()

    facts = run_json("info", model)
    assert facts["steps"] == ["TableEncoder", "MarginPerceptron"]
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
    train = run_json("train", *MARGIN, path, "-o", model, *target, *EXACT)
    predict = run_json("predict", model, path, "-o", tmp_path / output, *target)
    assert train["converged"]
    assert train["training_error"] == predict["error"] == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "npz": np.load}
    column = read[output.split(".")[1]](tmp_path / output)["prediction"]
    np.testing.assert_array_equal(column, y)
    assert hasattr(load(model), "feature_names_in_") is named


@pytest.mark.parametrize("index_base", [0, 1])
def test_svmlight_files_are_numbered_as_the_training_file(index_base, numbers, tmp_path):
    X, y = numbers
    files = {"train": (X, y), "few": (X * [0, 1, 0], y)}  # the second file uses only one column
    for name, examples in files.items():
        dump_svmlight_file(*examples, str(tmp_path / f"{name}.svm"), zero_based=index_base == 0)
    model, out = tmp_path / "m", tmp_path / "p.npz"
    run("train", *MARGIN, tmp_path / "train.svm", "-o", model, *EXACT)
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
    save(MODELS["perceptron"]().fit(X, y), model)  # without the command line: nothing is recorded
    assert run_json("info", model)["index_base"] is None
    file.write_text("1 1:2 2:3\n")
    (line,) = run("predict", model, file, *out).stderr.splitlines()
    assert line.startswith(f"warning: {file}: columns are taken to start at 1")
    assert line.endswith("choose with --index-base")
    assert run("predict", model, file, *out, "--index-base", "0").stderr == ""
    for clear in ("1 0:2 2:3\n", "1 1:2 3:3\n"):
        file.write_text(clear)
        assert run("predict", model, file, *out).stderr == ""
    file.write_text("1 0:2\n")
    line = fails("predict", model, file, *out, "--index-base", "1")
    assert "column 0, but --index-base 1 says that columns start at 1; use --index-base 0" in line
    run("predict", model, file, *out, "--index-base", "2", code=2)


def test_columns_are_found_by_name(csv, model, tmp_path):
    frame = pd.read_csv(csv)
    shuffled = tmp_path / "shuffled.csv"
    frame.assign(note="text")[["y", "note", "c", "a", "b"]].to_csv(shuffled, index=False)
    result = run_json("predict", model, shuffled, "-o", tmp_path / "p.csv")
    assert result["error"] is None
    expected = load(model).predict(frame[["a", "b", "c"]])
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "p.csv")["prediction"], expected)


def test_prediction_does_not_need_columns_that_were_constant(mixed, tmp_path):
    frame = pd.read_csv(mixed)
    frame.assign(year=2026).to_csv(tmp_path / "year.csv", index=False)
    model = tmp_path / "m"
    result = run("train", *MARGIN, tmp_path / "year.csv", "-o", model, "--target", "pay")
    (line,) = result.stderr.splitlines()
    assert line == "warning: columns left out: 'year' (constant)"
    run("predict", model, mixed, "-o", tmp_path / "p.csv", "--target", "pay")


def test_files_without_a_header(csv, tmp_path):
    bare, model = tmp_path / "bare.data", tmp_path / "m"
    bare.write_text(csv.read_text().split("\n", 1)[1])
    options = ("--no-header", "--format", "csv", "--target", "-1")
    summary = run_json("train", *MARGIN, bare, "-o", model, *EXACT, *options)
    result = run_json("predict", model, bare, "-o", tmp_path / "p.csv", *options)
    assert summary["training_error"] == result["error"] == 0
    assert run_json("info", model)["feature_names"] == ["c0", "c1", "c2"]


def test_there_is_one_score_per_class(tmp_path, numbers):
    X, _ = numbers
    kinds = np.array(["x", "y", "z"])[np.argmax(X, axis=1)]
    path = tmp_path / "d.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=kinds).to_csv(path, index=False)
    run("train", *MARGIN, path, "--target", "kind", "-o", tmp_path / "m")
    run("predict", tmp_path / "m", path, "-o", tmp_path / "p.npz", "--scores")
    with np.load(tmp_path / "p.npz") as columns:
        scores = np.column_stack([columns[f"score_{kind}"] for kind in "xyz"])
        np.testing.assert_array_equal(columns["prediction"], np.array([*"xyz"])[scores.argmax(1)])


REGRESSORS = [name for name, cls in MODELS.items() if is_regressor(cls())]
QUICK = {
    "tabular-classifier": ("--set", "effort=0.05"),
    "tabular-regressor": ("--set", "effort=0.05"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains(name, csv, tmp_path):
    target = ("--target", "c" if name in REGRESSORS else "y")
    options = ("-o", tmp_path / "m", "--model", name, *QUICK.get(name, ()))
    summary = run_json("train", csv, *target, *options)
    measured = "training_r2" if name in REGRESSORS else "training_error"
    assert summary[measured] is not None
    assert run_json("info", name) == json.loads(json.dumps(new_model(name).get_params()))
    assert type(load(tmp_path / "m")) is MODELS[name]
    assert MODELS[name].__name__ in run("info", tmp_path / "m").stdout
    found = run_json("predict", tmp_path / "m", csv, "-o", tmp_path / "p.csv", *target)
    expected = "r2" if name in REGRESSORS else "error"
    assert found[expected] == pytest.approx(summary[measured])


def test_regressors_and_classifiers_refuse_the_other_target(mixed, tmp_path):
    options = ("--target", "pay", "-o", tmp_path / "m", "--model", "linear-svr")
    assert "holds text, such as 'high'" in fails("train", mixed, *options)
    line = fails("train", mixed, *options, "--model", "linear-svx")
    assert "no model 'linear-svx'; closest: linear-sv" in line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("512,256", (512, 256)),
        ("0.5,2", (0.5, 2.0)),
        ("(50, 50)", (50, 50)),
        ("(50,)", (50,)),
        ("[1, 2.5, 'a']", [1, 2.5, "a"]),
        ("{'no': 1, 'yes': 2.5}", {"no": 1, "yes": 2.5}),
        ("a,b", "a,b"),
        ("0.01", 0.01),
        ("1e-3", 1e-3),
        ("true", True),
        ("null", None),
        ("fourier", "fourier"),
    ],
)
def test_values_of_settings(text, value):
    from widemargin.cli.settings import parse_value

    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


@pytest.mark.parametrize("value", ["(50, 50", "(50, x)", "[__import__('os')]", "(" * 300])
def test_settings_that_are_no_values(value, csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--model", "mlp")
    line = fails("train", *MARGIN, csv, *options, "--set", f"hidden_layer_sizes={value}")
    assert "--set hidden_layer_sizes=" in line
    assert "write (50, 50)" in line


def test_layers_as_a_tuple(csv, tmp_path):
    options = ("--target", "y", "-o", tmp_path / "m", "--model", "mlp", "--set", "max_iter=2")
    run("train", *MARGIN, csv, *options, "--set", "hidden_layer_sizes=(5, 4)")
    assert [part.shape for part in load(tmp_path / "m").coefs_] == [(3, 5), (5, 4), (4, 1)]


def test_svc_learns_a_mixed_table(mixed, tmp_path):
    if "scaling" not in SVC().get_params():
        pytest.skip("SVC has no scaling of its own")
    frame = pd.read_csv(mixed)
    frame["income"] = np.random.default_rng(0).lognormal(10, 2, len(frame))  # far larger numbers
    frame.to_csv(mixed, index=False)
    options = ("--target", "pay", "-o", tmp_path / "m", "--model", "svc")
    assert run_json("train", *MARGIN, mixed, *options)["training_error"] < 15


@pytest.mark.parametrize("model", ["svc", "nu-svc", "kernel-perceptron"])
def test_kernels_with_an_exponent(model, mixed, tmp_path):
    options = ("--target", "pay", "-o", tmp_path / "m", "--model", model)
    kernel = ("--set", "kernel=exponential", "--set", "exponent=0.5")
    assert run_json("train", *MARGIN, mixed, *options, *kernel)["training_error"] < 15
    facts = run_json("info", tmp_path / "m")["parameters"]
    assert (facts["kernel"], facts["exponent"]) == ("exponential", 0.5)
    wrong = ("--set", "kernel=laplacian", "--set", "exponent=1.5")
    assert "exponent=1.5 makes no positive definite" in fails(
        "train", *MARGIN, mixed, *options, *wrong
    )


def test_settings_and_time_limit_reach_the_model(csv, tmp_path):
    settings = ("--set", "early_stopping=true", "--set", "learning_rate=0.01", "--set", "tol=null")
    options = ("--target", "y", "-o", tmp_path / "m", "--time-limit", "5", *settings)
    run("train", *MARGIN, csv, *options)
    model = load(tmp_path / "m")
    assert (model.early_stopping, model.learning_rate, model.tol) == (True, 0.01, None)
    assert model.time_limit == 5
