"""`widemargin train` without `--model`: from a data file to a model in use."""

import json

import numpy as np
import pytest

from helpers.command_line import MARGIN, fails, run, run_json
from widemargin import load
from widemargin.easy.saved import record_of

pd = pytest.importorskip("pandas")
CONTROLS = {*map(chr, [*range(10), *range(11, 32), *range(0x7F, 0xA0)]), "\u202e"}
QUICK = ("--set", "effort=0.05", "--time-limit", "60")


@pytest.fixture
def found(mixed, tmp_path, monkeypatch):
    """A model that was searched for, with its report, in the current folder."""
    monkeypatch.chdir(tmp_path)
    run("train", mixed, "--target", "pay", *QUICK, "--quiet")
    return tmp_path / "mixed.safetensors"


def test_the_summary_is_short_and_says_how_to_predict(mixed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = run("train", mixed, "--target", "pay", *QUICK).stdout.splitlines()
    assert len(lines) < 30
    assert "error rate" in "\n".join(lines)
    assert lines[-1] == (
        "To predict: widemargin predict mixed.safetensors new.csv -o predictions.csv"
    )
    assert (tmp_path / "mixed.html").read_text("utf-8").startswith("<!")
    command = lines[-1].removeprefix("To predict: widemargin ").replace("new.csv", "mixed.csv")
    run(*command.split())
    assert len(pd.read_csv("predictions.csv")) == 300


def test_quiet_and_json(mixed, tmp_path):
    options = ("--target", "pay", "-o", tmp_path / "m", *QUICK)
    assert run("train", mixed, *options, "--quiet").output == ""
    found = run_json("train", mixed, *options)
    assert found["task"] == "classification"
    assert found["evaluation"]["metrics"]["error"]["value"] < 0.3
    assert (found["data"], found["file"]) == (f"{mixed}", f"{tmp_path / 'm'}")
    assert found["report_file"] == f"{tmp_path / 'm.html'}"
    assert found["command"].startswith(f"widemargin train {mixed} --target pay")


def test_easy_is_train(mixed, tmp_path):
    run("easy", mixed, "--target", "age", "-o", tmp_path / "m", *QUICK, "--task", "regression")
    assert hasattr(load(tmp_path / "m"), "predict_interval")


def test_a_dry_run_trains_nothing(mixed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = run("train", mixed, "--target", "pay", "--dry-run").stdout
    assert "classification, 2 classes" in text
    assert "Nothing was trained" in text
    plan = run_json("train", mixed, "--target", "pay", "--dry-run")
    assert {column["name"] for column in plan["columns"]} == {"age", "town"}
    assert [path.name for path in tmp_path.iterdir()] == ["mixed.csv"]


def test_options_that_do_not_go_together(mixed, tmp_path):
    options = ("--target", "pay", "-o", tmp_path / "m")
    assert "--metric belongs to the search" in fails(
        "train", *MARGIN, mixed, *options, "--metric", "f1"
    )
    assert "use --task classification" in fails("train", mixed, *options, "--many-classes")
    assert "--epochs is an option of streams" in fails("train", mixed, *options, "--epochs", "2")
    line = fails("train", mixed, *options, "--groups", "town", "--time-column", "age")
    assert "cannot be combined" in line
    assert "two roles" in fails("train", mixed, *options, "--groups", "pay")
    assert "no column 'agee'; closest: 'age'" in fails("train", mixed, *options, "--drop", "agee")


BAD = [
    ("", "the file is empty"),
    ("a,y\n1,u\n", "the table has 1 row with a target"),
    ("a,y\n" + "1,u\n" * 30, "a single value, u, so there is nothing to learn"),
    ("a,y\n" + "1,u\n1,v\n" * 30, "no column tells anything about the target"),
    ("a,Yy\n" + "1,u\n2,v\n" * 30, "no column 'y'; closest: 'Yy'"),
    ("a,y\n" + "1,\n2,\n" * 30, "the target 'y' is missing in all rows"),
    ("a,y\n" + "1,u,v\n2,v\n" * 30, "line 2 has 3 values where the first has 2"),
    ("a,a,y\n" + "1,2,u\n3,4,v\n" * 30, "more than one column is called 'a'"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_files(text, message, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    line = fails("train", tmp_path / "d.csv", "--target", "y", "-o", tmp_path / "m")
    assert message in line
    assert not (tmp_path / "m").exists()


def test_a_table_as_offices_write_it(tmp_path):
    """Semicolons, decimal commas, Windows characters, German dates, a word among numbers."""
    rng = np.random.default_rng(0)
    lines = ["Kunde;Größe;Ort;Seit;Käufer"]
    for i in range(120):
        size = rng.uniform(1, 9)
        shown = "unbekannt" if i == 7 else f"{size:.2f}".replace(".", ",")
        date = f"{1 + i % 28:02d}.{1 + i % 12:02d}.2021"
        lines.append(f"K{i};{shown};{'Köln' if i % 3 else 'Zürich'};{date};{int(size > 5)}")
    path, model = tmp_path / "kunden.csv", tmp_path / "m"
    path.write_bytes("\n".join(lines).encode("cp1252"))
    result = run("train", path, "--target", "Käufer", "-o", model, *QUICK, "--json")
    assert "not UTF-8; read as cp1252" in result.stderr
    found = json.loads(result.stdout)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {
        "Kunde": "id", "Größe": "number", "Ort": "category", "Seit": "date", "Käufer": "target",
    }  # fmt: skip
    result = run_json("predict", model, path, "-o", tmp_path / "p.csv", "--target", "Käufer")
    assert result["error"] < 10


def test_a_table_without_a_header(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).round(3)
    y = np.where(X.sum(axis=1) > 0, "a", "b")
    rows = [f"{label},{first},{second}" for label, (first, second) in zip(y, X, strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(rows))
    run("train", tmp_path / "d.csv", "--target", "0", "-o", tmp_path / "m", *QUICK)
    expected = run_json(
        "predict", tmp_path / "m", tmp_path / "d.csv", "-o", tmp_path / "p.csv", "--target", "0"
    )
    assert expected["error"] < 15
    # The same rows without the target: the columns keep their order.
    (tmp_path / "new.csv").write_text("\n".join(row.partition(",")[2] for row in rows))
    run("predict", tmp_path / "m", tmp_path / "new.csv", "-o", tmp_path / "q.csv")
    both = [pd.read_csv(tmp_path / name)["prediction"] for name in ("p.csv", "q.csv")]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("name", ["[/nope]", "\x1b[2J\x1b]0;title\x07", "a\u202eb", "<b>&"])
def test_names_command_neither_terminal_nor_page(name, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=[f"x{name}", "b"])
    frame["y"] = np.where(frame["b"] > 0, f"u{name}", "v")
    frame[f"c{name}"] = 1
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m"
    outputs = [
        run("train", tmp_path / "d.csv", "--target", "y", "-o", model, *QUICK),
        run("train", tmp_path / "d.csv", "--target", "y", "-o", model, "--dry-run"),
        run("inspect", tmp_path / "d.csv", "--target", "y"),
        run("evaluate", model, tmp_path / "d.csv"),
        run("predict", model, tmp_path / "d.csv", "-o", tmp_path / "p.csv", "--probabilities"),
        run("info", model),
    ]
    for result in outputs:
        assert not CONTROLS & set(result.output)
    page = (tmp_path / "m.html").read_text("utf-8")
    assert not CONTROLS & set(page)
    assert "<b>&" not in page


def test_a_test_file_with_other_classes(mixed, tmp_path):
    frame = pd.read_csv(mixed)
    frame.assign(pay=frame["pay"] + ".").to_csv(tmp_path / "test.csv", index=False)
    options = ("--target", "pay", "-o", tmp_path / "m", "--test", tmp_path / "test.csv")
    line = fails("train", mixed, *options, *QUICK)
    assert "test.csv: the target holds high., low., and none of the classes of mixed.csv" in line


# ------------------------------------------------------------------------- what follows training


def test_predictions_with_probabilities_and_columns(found, mixed, tmp_path):
    out = tmp_path / "p.csv"
    run("predict", found, mixed, "-o", out, "--probabilities", "--keep-columns")
    table, original = pd.read_csv(out), pd.read_csv(mixed)
    names = ["prediction", "probability_high", "probability_low"]
    assert table.columns.tolist() == [*original.columns, *names]
    pd.testing.assert_frame_equal(table[original.columns], original)
    np.testing.assert_allclose(table[names[1:]].sum(axis=1), 1.0)
    assert (table["prediction"] == "low").equals(table["probability_low"] > 0.5)
    assert "the model has no intervals; use --probabilities" in fails(
        "predict", found, mixed, "-o", out, "--intervals"
    )
    assert "--coverage 0.8 needs --intervals" in fails(
        "predict", found, mixed, "-o", out, "--coverage", "0.8"
    )
    table.to_csv(mixed, index=False)
    line = fails("predict", found, mixed, "-o", tmp_path / "q.csv", "--keep-columns")
    assert "has a column 'prediction' of its own" in line


def test_intervals(mixed, tmp_path):
    model, out = tmp_path / "m", tmp_path / "p.parquet"
    run("train", mixed, "--target", "age", "-o", model, "--task", "regression", *QUICK)
    options = ("--intervals", "--coverage", "0.5", "--target", "age")
    frame = pd.read_csv(mixed).dropna(subset="age")
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run_json("predict", model, tmp_path / "d.csv", "-o", out, *options)
    table = pd.read_parquet(out)
    assert (table["lower"] < table["prediction"]).all()
    inside = (table["lower"] <= frame["age"].array) & (frame["age"].array <= table["upper"])
    assert 0.3 < inside.mean() < 0.75
    assert result["rmse"] > 0
    assert "the model has no probabilities, because it predicts values" in fails(
        "predict", model, mixed, "-o", out, "--probabilities"
    )


def test_evaluation_and_comparison(found, mixed, csv, model, tmp_path):
    result = run_json("evaluate", found, mixed)
    assert result["rows"] == 300
    error = result["metrics"]["error"]
    assert error["low"] <= error["value"] <= error["high"]
    assert np.sum(result["confusion"]["counts"]) == 300
    text = run("evaluate", found, mixed).stdout
    assert "error rate" in text
    assert "F1 of low" in text
    assert "warning: the model was trained on a file called mixed.csv" in text
    mixed.rename(tmp_path / "new.csv")
    assert run_json("evaluate", found, tmp_path / "new.csv")["notes"] == []
    (tmp_path / "new.csv").rename(mixed)
    assert "predicted class" in text
    constant = tmp_path / "worse"
    run("train", *MARGIN, mixed, "--target", "pay", "-o", constant, "--set", "max_iter=1")
    result = run_json("evaluate", found, mixed, "--compare", constant)
    test = result["test"]
    wrong = round(result["metrics"]["error"]["value"] * 300)
    other = round(result["compared"]["metrics"]["error"]["value"] * 300)
    assert test["only_first_wrong"] - test["only_second_wrong"] == wrong - other
    assert "McNemar" in run("evaluate", found, mixed, "--compare", constant).stdout
    assert "name it with --target" in fails("evaluate", model, csv)
    line = fails("evaluate", found, mixed, "--target", "town")
    assert "column 'town' is an input of the model; name another column with --target" in line
    assert "lacks columns 'a', 'b', 'c'" in fails("evaluate", model, mixed, "--target", "pay")


def test_comparison_of_classes_that_are_numbers(numbers, tmp_path):
    """A gap makes the target of a CSV file fractions, and the classes of a search stay integers."""
    X, y = numbers
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame.loc[0, "y"] = None
    path, one, two = (tmp_path / name for name in ("d.csv", "one", "two"))
    frame.to_csv(path, index=False)
    run("train", path, "--target", "y", "-o", one, *QUICK, "--quiet")
    frame.iloc[1:].to_csv(path, index=False)
    run("train", *MARGIN, path, "--target", "y", "-o", two, "--quiet")
    result = run_json("evaluate", one, path, "--compare", two)
    both = (result, result["compared"])
    wrong = [round(found["metrics"]["error"]["value"] * 119) for found in both]
    test = result["test"]
    assert test["only_first_wrong"] - test["only_second_wrong"] == wrong[0] - wrong[1]
    assert max(test["only_first_wrong"], test["only_second_wrong"]) < 60


def test_comparison_of_values(mixed, tmp_path):
    frame = pd.read_csv(mixed).dropna()
    frame.to_csv(mixed, index=False)
    for name, model in (("one", "linear-svr"), ("two", "mlp-regressor")):
        run("train", mixed, "--target", "age", "--model", model, "-o", tmp_path / name)
    options = ("--target", "age", "--compare", tmp_path / "two")
    test = run_json("evaluate", tmp_path / "one", mixed, *options)["test"]
    assert test["low"] <= test["difference"] <= test["high"]
    assert "mean squared error" in run("evaluate", tmp_path / "one", mixed, *options).stdout


def test_the_report_is_made_again(found, csv, model, tmp_path):
    before = (tmp_path / "mixed.html").read_text("utf-8")
    (tmp_path / "mixed.html").unlink()
    run("report", found)
    assert (tmp_path / "mixed.html").read_text("utf-8") == before
    run("report", found, "-o", tmp_path / "r.md")
    assert (tmp_path / "r.md").read_text("utf-8").startswith("#")
    assert json.loads(run("report", found, "--json").stdout)
    assert "holds no record of its training" in fails("report", model)
    assert "use one of .html, .htm, .md, .json" in fails("report", found, "-o", tmp_path / "r.pdf")
    assert run_json("info", found)["run"]["target"] == "pay"
    assert "widemargin train" in run("info", found).stdout


def test_inspection(mixed, tmp_path):
    result = run_json("inspect", mixed, "--target", "pay")
    assert [column["kind"] for column in result["columns"]] == ["number", "category"]
    assert result["task"]["value"] == "classification, 2 classes"
    assert "age" in run("inspect", mixed).stdout
    run("inspect", mixed, "--target", "pay", "--strict")
    frame = pd.read_csv(mixed)
    frame.assign(copy=frame["pay"]).to_csv(mixed, index=False)
    text = run("inspect", mixed, "--target", "pay", "--strict", code=1).stdout
    assert "copy alone predicts the target" in text
    run("inspect", mixed, "--target", "pay")
    assert "--task regression needs --target" in fails("inspect", mixed, "--task", "regression")


def test_models_of_libsvm(csv, tmp_path):
    model, theirs, back = (
        tmp_path / name for name in ("m.safetensors", "m.model", "b.safetensors")
    )
    options = ("--target", "y", "--model", "svc", "--set", "scaling=none", "-o", model)
    run("train", csv, *options)
    run("convert", model, theirs)
    assert theirs.read_text().startswith("svm_type c_svc")
    assert run_json("convert", theirs, back)["to"] == "widemargin"
    X = pd.read_csv(csv)[["a", "b", "c"]].to_numpy()
    np.testing.assert_array_equal(
        load(back).predict(X), load(model).predict(pd.DataFrame(X, columns=["a", "b", "c"]))
    )
    run("convert", theirs, back, "--classes", "no,yes")
    assert load(back).classes_.tolist() == ["no", "yes"]
    assert "unknown suffix" in fails("convert", model, tmp_path / "m.onnx")
    assert "leave out --classes" in fails("convert", model, theirs, "--classes", "a,b")


# ------------------------------------------------------------------------------ options from a file


def test_options_from_a_file(mixed, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(
        'target = "pay"\ntime-limit = 60\ndrop = ["town"]\nquiet = true\n[set]\neffort = 0.05\n'
    )
    assert run("train", mixed, "--config", config, "-o", tmp_path / "m").output == ""
    assert record_of(load(tmp_path / "m")).target == "pay"
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["age"]
    options = ("--config", config, "-o", tmp_path / "m", "--target", "town", "--dry-run", "--json")
    assert json.loads(run("train", mixed, *options, "--drop", "age").stdout)["target"] == "town"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targt = 'y'", "there is no option 'targt'; closest: target"),
        ("target = ", "write lines such as target"),
        ("quiet = 3", "use true or false"),
        ("target = ['a']", "the option takes one value"),
    ],
)
def test_wrong_files_of_options(text, message, mixed, tmp_path):
    (tmp_path / "c.toml").write_text(text)
    line = fails("train", mixed, "--config", tmp_path / "c.toml", "-o", tmp_path / "m")
    assert message in line
    assert "c.toml" in line
