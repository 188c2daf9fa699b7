"""Bad rows, models and options: nothing that was learnt is lost."""

import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from helpers.streamed_training import CHUNK_ROWS, MODELS, NOISY, Y, assert_same, write
from widemargin import SVC, KernelPerceptron, MarginPerceptron, Perceptron, load
from widemargin.streaming import fit_stream, stream
from widemargin.tables import DataFileError


def test_training_resumes_after_a_bad_row_is_fixed(tmp_path, data):
    path = write(tmp_path / "rows.csv")
    lines = path.read_text().splitlines()
    good = lines[151]
    lines[151] = "1,2,three,4,yes"
    path.write_text("\n".join(lines))
    options = {"checkpoint": tmp_path / "state", "checkpoint_seconds": 1000.0}
    model = MarginPerceptron()

    def bad():
        return stream(path, target="y", chunk_rows=CHUNK_ROWS, classes=["no", "yes"])

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


def test_a_label_that_is_not_a_class(tmp_path):
    y = Y.astype(object)
    y[190] = "maybe"
    data = stream(
        write(tmp_path / "rows.parquet", y),
        target="y",
        chunk_rows=CHUNK_ROWS,
        classes=["no", "yes"],
    )
    with pytest.raises(DataFileError, match="row group 2, row 50: the target is 'maybe'"):
        fit_stream(MarginPerceptron(), data, checkpoint=tmp_path / "state")
    assert load(tmp_path / "state").rows == 160


def test_an_error_of_the_model_names_the_place(data):
    with pytest.raises(ValueError, match=r"rows.csv: line 2: early_stopping=True"):
        fit_stream(MarginPerceptron(early_stopping=True), data())


def test_models_that_cannot_be_trained_on_streams(data, tmp_path):
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
        (Perceptron(), {"statistics": "first pass"}, "with scaling='standard', not Perceptron"),
        (MODELS["map"], {"statistics": "first pass"}, "feature_map='polynomial'"),
        (KernelPerceptron(), {"statistics": "first pass"}, "for linear models"),
    ],
)
def test_wrong_options(model, options, match, data):
    with pytest.raises(ValueError, match=match):
        fit_stream(clone(model), data(), **options)


def test_a_continuous_target_has_too_many_classes(tmp_path, monkeypatch):
    monkeypatch.setattr("widemargin.streaming.first_pass.MAX_CLASSES", 100)
    data = stream(write(tmp_path / "rows.csv", NOISY), target="y", chunk_rows=CHUNK_ROWS)
    with pytest.raises(ValueError, match="the target has 120 distinct values"):
        fit_stream(MarginPerceptron(), data, checkpoint=tmp_path / "state")
