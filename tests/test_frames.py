"""Frames of pandas, polars and Arrow as inputs of every estimator and outputs of transformers."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from test_common import OF_MANY_MODELS, PARAMETRISED, SMALLER, TABULAR
from widemargin import (
    SVC,
    GradientMetric,
    HardMixtureClassifier,
    HatEncoder,
    MarginPerceptron,
    SimpleMLPClassifier,
    TabularClassifier,
    load,
    save,
)
from widemargin.mixtures import CellGater, Gater
from widemargin.tables import TableEncoder
from widemargin.tabular import InputForm

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

NAMES = ["age", "height", "<b>weight</b>"]
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3)).round(1)
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5) * 1


def polars_frame(values, names):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: values[:, j] for j, name in enumerate(names)})


FRAMES = {
    "pandas": lambda values, names: pandas.DataFrame(values, columns=names),
    "polars": polars_frame,
    "pyarrow": lambda values, names: pyarrow.table(
        {name: values[:, j] for j, name in enumerate(names)}
    ),
}
TRANSFORMERS = [
    GradientMetric(),
    GradientMetric(structure="full"),
    HatEncoder(n_knots=4),
    TableEncoder(),
    *(InputForm(form) for form in ("robust", "standard", "ranks", "levels", "steps", "stairs")),
]
VARIANTS = [
    MarginPerceptron(feature_map="nystroem", random_state=0),
    MarginPerceptron(feature_map=StandardScaler(), random_state=0),
    SimpleMLPClassifier(n_units=20, encoding=HatEncoder(), random_state=0),
    HardMixtureClassifier(SVC(), CellGater(), n_experts=2, max_iter=1, random_state=0),
    HardMixtureClassifier(SVC(), n_experts=2, first_partition="kmeans", random_state=0),
]


def predictors():
    """Every estimator that predicts, with its defaults or fewer models."""
    for cls in PARAMETRISED:
        if not issubclass(cls, Gater) and hasattr(cls, "predict"):
            made = cls(**SMALLER.get(cls, {}))
            if "random_state" in made.get_params():
                made.set_params(random_state=0)
            marks = pytest.mark.slow if issubclass(cls, OF_MANY_MODELS) else ()
            yield pytest.param(made, id=cls.__name__, marks=marks)


def fitted(model, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(inputs, Y * 1.0 if is_regressor(model) else Y)


def columns(frame):
    return list(getattr(frame, "column_names", None) or frame.columns)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("model", [*predictors()])
def test_a_frame_is_its_numbers_with_names(model, kind):
    frame = FRAMES[kind](X, NAMES)
    found = fitted(model, frame)
    assert found.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(found.predict(frame), fitted(model, X).predict(X))


@pytest.mark.parametrize("model", [*predictors(), *VARIANTS], ids=str)
def test_a_configured_output_of_transformers_changes_no_model(model):
    """`set_config(transform_output=...)` is about the transformers of the user."""
    frame = FRAMES["pandas"](X, NAMES)
    expected = fitted(model, frame).predict(frame)
    with config_context(transform_output="pandas"):
        np.testing.assert_allclose(fitted(model, frame).predict(frame), expected)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_transformers_give_the_frame_that_was_asked_for(model, kind):
    frame = FRAMES[kind](X, NAMES)
    plain = clone(model).fit(frame, Y).transform(frame)
    plain = plain.toarray() if hasattr(plain, "toarray") else plain
    found = clone(model).set_output(transform=kind).fit(frame, Y)
    shown = found.transform(frame)
    assert type(shown).__module__.startswith(kind)
    assert columns(shown) == found.get_feature_names_out().tolist()
    assert len(set(columns(shown))) == plain.shape[1]
    values = shown.to_pandas() if kind == "pyarrow" else shown
    np.testing.assert_array_equal(np.asarray(values.to_numpy(), dtype=plain.dtype), plain)


def test_names_say_what_an_output_was_made_of():
    names = InputForm("steps").fit(FRAMES["pandas"](X, NAMES), Y).get_feature_names_out()
    assert names[:3].tolist() == NAMES
    assert {name.rpartition("~")[0] for name in names[3:]} <= set(NAMES)
    assert InputForm().fit(X).get_feature_names_out(list("abc")).tolist() == ["a", "b", "c"]


def test_tables_that_would_be_sparse_are_dense_in_frames():
    towns = pandas.DataFrame({"town": [f"t{j % 90}" for j in range(900)]})
    encoder = TableEncoder(min_frequency=1, max_categories=100)
    assert hasattr(encoder.fit(towns).transform(towns), "toarray")
    assert encoder.set_output(transform="pandas").transform(towns).shape == (900, 90)


@pytest.mark.parametrize("kind", FRAMES)
def test_unions_of_transformers(kind):
    frame = FRAMES[kind](X, NAMES)
    union = make_union(GradientMetric(), InputForm()).set_output(transform=kind)
    shown = union.fit(frame, Y).transform(frame)
    assert type(shown).__module__.startswith(kind)
    assert len(columns(shown)) == 6


def test_arrow_tables_of_other_transformers():
    table = FRAMES["pyarrow"](X, NAMES)
    scaler = StandardScaler().set_output(transform="pyarrow").fit(table)
    assert scaler.transform(table).column_names == NAMES
    assert make_pipeline(scaler, SVC()).fit(table, Y)[-1].feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("model", [*predictors()])
def test_other_columns_are_refused_or_found_by_their_names(model):
    frame = FRAMES["pandas"](X, NAMES)
    found = fitted(model, frame)
    reordered = frame[NAMES[::-1]]
    if isinstance(model, TABULAR):
        np.testing.assert_allclose(found.predict(reordered), found.predict(frame))
    else:
        with pytest.raises(ValueError, match="names"):
            found.predict(reordered)
    with pytest.raises(ValueError, match="height"):
        found.predict(frame[[NAMES[0], NAMES[2]]])


def test_a_saved_model_gives_the_same_under_any_configuration(tmp_path):
    model = fitted(TabularClassifier(effort=0.05), X)
    save(model, tmp_path / "m")
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
