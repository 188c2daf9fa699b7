"""A loaded model predicts what the saved one did."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.random_projection import SparseRandomProjection

from widemargin import Perceptron, load, save
from widemargin._testing_dummy import Holder, MeanClassifier, assert_same, rewrite
from widemargin.persistence import describe
from widemargin.persistence.container import read_header
from widemargin.tables import TableEncoder

TRANSFORMERS = [
    preprocessing.Binarizer(),
    preprocessing.KBinsDiscretizer(3),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.PolynomialFeatures(),
    preprocessing.PowerTransformer(),
    preprocessing.QuantileTransformer(n_quantiles=10),
    preprocessing.RobustScaler(),
    preprocessing.SplineTransformer(n_knots=4),
    preprocessing.SplineTransformer(n_knots=5, extrapolation="periodic"),
    preprocessing.OrdinalEncoder(),
    preprocessing.FunctionTransformer(),
    SparseRandomProjection(3, random_state=0),
    Nystroem(n_components=5, random_state=0),
    FeatureUnion([("a", RBFSampler(random_state=0)), ("b", "passthrough")]),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
@pytest.mark.filterwarnings("ignore:.*quantile_method")
def test_scikit_learn_transformers(transformer, path):
    X = np.random.default_rng(0).random((30, 4))
    transformer.fit(X)
    save(transformer, path)
    loaded = load(path)
    assert repr(loaded) == repr(transformer)
    assert_same(as_dense(loaded.transform(X)), as_dense(transformer.transform(X)))


def as_dense(result):
    return result.toarray() if sparse.issparse(result) else result


def mixed_pipeline():
    numbers = make_pipeline(SimpleImputer(strategy="median"), preprocessing.StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        preprocessing.OneHotEncoder(handle_unknown="ignore", min_frequency=2, dtype=np.float32),
    )
    columns = ColumnTransformer(
        [("numbers", numbers, ["age", "size"]), ("words", words, ["town"])],
        remainder="passthrough",
    )
    return make_pipeline(columns, MeanClassifier())


def test_pipeline_predicts_the_same(path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.random(80), "town": rng.choice(["a", "b", "c"], 80)})
    X = X.assign(size=rng.normal(size=80), rest=rng.random(80))
    X.loc[::7, ["age", "town"]] = None
    y = np.where(rng.random(80) < 0.5, "no", "yes")
    model = mixed_pipeline().fit(X, y)
    save(model, path)
    loaded = load(path)
    assert_same(loaded.predict(X), model.predict(X))
    assert_same(loaded.decision_function(X), model.decision_function(X))
    assert_same(loaded.fit(X, y).predict(X), model.predict(X))
    assert_same(loaded.feature_names_in_, model.feature_names_in_)


def test_text_pipeline(path):
    texts = ["good wine", "bad wine", "good cheese", "bad bread"] * 3
    y = np.array([1, 0, 1, 0] * 3)
    model = make_pipeline(TfidfVectorizer(), MeanClassifier()).fit(texts, y)
    save(model, path)
    assert_same(load(path).decision_function(texts), model.decision_function(texts))


@pytest.mark.slow
def test_another_process_reads_the_file(path):
    save(preprocessing.StandardScaler().fit([[0.0], [2.0]]), path)
    code = "import sys, widemargin.persistence as p; print(p.load(sys.argv[1]).mean_)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[1.]"


def test_classes_are_stored_under_their_public_names(path):
    save(make_pipeline(TableEncoder(), Perceptron()), path)
    header = read_header(path)[0]
    stored = [step["items"][1]["class"] for step in header["model"]["params"]["steps"]]
    assert stored == ["widemargin.TableEncoder", "widemargin.Perceptron"]
    assert [type(step) for _, step in load(path).steps] == [TableEncoder, Perceptron]


def test_describe(path):
    model = make_pipeline(preprocessing.StandardScaler(), MeanClassifier(shrink=0.5))
    save(model.fit(np.eye(4), np.array([0, 0, 1, 1])), path)
    facts = describe(path)
    assert facts["class"] == "sklearn.pipeline.Pipeline"
    assert facts["format"] == 3
    assert facts["file_size"] == path.stat().st_size
    assert facts["parameters"]["steps"][1] == ("meanclassifier", "MeanClassifier")
    assert facts["tensors"]["steps[1][1].coef_"] == "F64 [4, 2]"
    save(Holder({"a": [float("inf"), np.float32(2)]}), path)
    assert describe(path)["parameters"] == {"value": {"a": [float("inf"), 2.0]}, "other": "default"}


def test_callbacks_are_not_saved(path):
    model = MeanClassifier().fit(np.eye(2), np.array([0, 1]))
    model._skl_callbacks = [print]
    save(model, path)
    assert not hasattr(load(path), "_skl_callbacks")


def test_a_parameter_newer_than_the_file_gets_its_default(path):
    save(Holder(1, other="mine"), path)
    rewrite(path, lambda header: header["model"]["params"].pop("other") and None)
    assert load(path).other == "default"
