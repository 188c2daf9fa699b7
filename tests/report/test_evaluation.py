"""Scores of held-out rows: equal to scikit-learn's, for every kind of model, rows and labels."""

import json

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import widemargin
from widemargin.report import evaluate
from widemargin.report.evaluation import METRICS

LABELS = {
    2: [np.array(["no", "yes"]), np.array([3, 7]), np.array([False, True])],
    5: [np.array(list("edcba")), np.arange(5) - 2],
}


class Answers:
    """A model that gives prepared answers."""

    def __init__(self, classes, labels, proba=None, scores=None, interval=None):
        self.classes_, self.labels = np.asarray(classes), np.asarray(labels)
        for name, values in (
            ("predict_proba", proba),
            ("decision_function", scores),
            ("predict_interval", interval),
        ):
            if values is not None:
                setattr(self, name, lambda X, values=values, **_: np.asarray(values))

    def predict(self, X):
        return self.labels


def random_answers(seed, classes, labels, rows=300, ties=False):
    random = np.random.default_rng(seed)
    codes = random.integers(classes, size=rows)
    p = random.random((rows, classes)) + 0.6 * np.eye(classes)[codes]
    p = np.round(p, 1) + 0.01 if ties else p
    p /= p.sum(axis=1, keepdims=True)
    return labels[codes], p, Answers(labels, labels[p.argmax(axis=1)], p, np.log(p))


def value(found, name):
    return found["metrics"][name]["value"]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_classes_are_those_of_scikit_learn(seed, classes, weighted, ties):
    labels = np.sort(LABELS[classes][seed % len(LABELS[classes])])
    y, p, model = random_answers(seed, classes, labels, ties=ties)
    if classes == 2:
        model.decision_function = lambda X: np.log(p[:, 1] / p[:, 0])
    w = np.random.default_rng(9).integers(0, 4, len(y)).astype(float) if weighted else None
    found = evaluate(model, None, y, task="classification", sample_weight=w)
    average = {"average": "macro"} if classes > 2 else {"pos_label": labels[1]}
    wanted = {
        "accuracy": metrics.accuracy_score(y, model.labels, sample_weight=w),
        "error": metrics.zero_one_loss(y, model.labels, sample_weight=w),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, model.labels, sample_weight=w),
        "f1": metrics.f1_score(y, model.labels, sample_weight=w, **average),
        "log_loss": metrics.log_loss(y, p, sample_weight=w, labels=labels),
    }
    if classes == 2:
        wanted |= {
            "auc": metrics.roc_auc_score(y, p[:, 1], sample_weight=w),
            "average_precision": metrics.average_precision_score(
                y, p[:, 1], sample_weight=w, pos_label=labels[1]
            ),
            "brier": metrics.brier_score_loss(y, p[:, 1], sample_weight=w, pos_label=labels[1]),
        }
    else:
        wanted |= {
            "auc": np.mean(
                [
                    metrics.roc_auc_score(y == c, p[:, k], sample_weight=w)
                    for k, c in enumerate(labels)
                ]
            ),
            "brier": metrics.brier_score_loss(y, p, sample_weight=w, labels=labels),
        }
    assert wanted.keys() == found["metrics"].keys()
    for name, one in wanted.items():
        assert value(found, name) == pytest.approx(one, abs=1e-10), name
        measure = found["metrics"][name]
        assert measure["low"] < measure["value"] < measure["high"], name


@pytest.mark.parametrize("classes", [2, 5])
def test_tables_and_curves_are_those_of_scikit_learn(classes):
    labels = LABELS[classes][0]
    y, p, model = random_answers(4, classes, np.sort(labels))
    found = evaluate(model, None, y, task="classification")
    names = np.sort(labels)
    assert found["confusion"]["classes"] == list(names)
    assert found["confusion"]["counts"] == metrics.confusion_matrix(y, model.labels).tolist()
    each = metrics.precision_recall_fscore_support(y, model.labels, labels=names)
    for name, k in (("precision", 0), ("recall", 1), ("f1", 2), ("support", 3)):
        assert [one[name] for one in found["per_class"]] == pytest.approx(list(each[k]))
    for one, other in zip(found["roc"], found["pr"], strict=True):
        k = list(names).index(one["class"])
        assert one["area"] == pytest.approx(metrics.roc_auc_score(y == names[k], p[:, k]))
        fpr, tpr, _ = metrics.roc_curve(y == names[k], p[:, k], drop_intermediate=False)
        points = {(round(a, 5), round(b, 5)) for a, b in zip(fpr, tpr, strict=True)}
        assert set(zip(one["fpr"], one["tpr"], strict=True)) <= points
        assert (one["fpr"][0], one["tpr"][0]) == (0, 0)
        assert (one["fpr"][-1], one["tpr"][-1]) == (1, 1)
        assert 20 < len(one["fpr"]) <= 100
        assert 20 < len(other["recall"]) <= 100
        assert np.trapezoid(one["tpr"], one["fpr"]) == pytest.approx(one["area"], abs=0.01)
        average = metrics.average_precision_score(y == names[k], p[:, k])
        assert other["average"] == pytest.approx(average)


def test_calibration_and_margins():
    random = np.random.default_rng(0)
    p = random.random(5000)
    y = np.where(random.random(5000) < p**2, 1, 0)  # too sure of 1 by p - p²
    proba, scores = np.c_[1 - p, p], p - 0.5
    model = Answers([0, 1], (p > 0.5).astype(int), proba, scores)
    found = evaluate(model, None, y, task="classification")
    bins = found["calibration"]["bins"]
    assert sum(one["rows"] for one in bins) == 5000
    assert {one["rows"] for one in bins} == {500}
    assert found["calibration"]["ece"] == pytest.approx(1 / 6, abs=0.02)
    for one in bins:
        assert one["low"] <= one["observed"] <= one["high"]
        assert one["observed"] == pytest.approx(one["predicted"] ** 2, abs=0.07)
    margins = found["margins"]
    assert sum(margins["counts"]) == 5000
    assert 0.0 in margins["edges"]
    left = [n for edge, n in zip(margins["edges"][1:], margins["counts"], strict=True) if edge <= 0]
    wrong = np.sum(y != model.labels)
    assert sum(left) == sum(margins["marked"]) == wrong


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_values_are_those_of_scikit_learn(seed, weighted):
    random = np.random.default_rng(seed)
    y = random.normal(size=200) * 10 + 1e4
    predicted = y + random.standard_t(3, size=200)
    w = random.integers(0, 3, 200).astype(float) if weighted else None
    model = Answers([], predicted, interval=np.c_[predicted - 2, predicted + 2])
    found = evaluate(model, None, y, task="regression", sample_weight=w)
    inside = np.abs(y - predicted) <= 2
    wanted = {
        "r2": metrics.r2_score(y, predicted, sample_weight=w),
        "rmse": metrics.root_mean_squared_error(y, predicted, sample_weight=w),
        "mae": metrics.mean_absolute_error(y, predicted, sample_weight=w),
        "bias": np.average(predicted - y, weights=w),
        "coverage": np.average(inside, weights=w),
    }
    for name, one in wanted.items():
        assert value(found, name) == pytest.approx(one, abs=1e-9), name
    if not weighted:
        median = metrics.median_absolute_error(y, predicted)
        assert value(found, "median_ae") == pytest.approx(median)
    for name, measure in found["metrics"].items():
        assert measure["low"] < measure["value"] < measure["high"], name
    assert found["intervals"]["mean_width"] == pytest.approx(4)
    assert sum(found["residuals"]["counts"]) == (200 if w is None else w.sum())
    assert sum(one["rows"] for one in found["residual_bins"]) == found["rows"]


def test_whole_weights_are_repeated_rows():
    y, p, model = random_answers(0, 5, np.arange(5), rows=80)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), w)
    again = Answers(np.arange(5), model.labels[repeated], p[repeated], np.log(p)[repeated])
    one = evaluate(model, None, y, task="classification", sample_weight=w)
    other = evaluate(again, None, y[repeated], task="classification")
    for name in one["metrics"]:
        assert value(one, name) == pytest.approx(value(other, name))
    assert one["confusion"] == other["confusion"]


MODELS = {
    "SVC": lambda: widemargin.SVC(),
    "SVC ovo": lambda: widemargin.SVC(decision_function_shape="ovo"),
    "LinearSVC": lambda: widemargin.LinearSVC(),
    "Perceptron": lambda: widemargin.Perceptron(),
    "KernelPerceptron": lambda: widemargin.KernelPerceptron(),
    "SimpleMLPClassifier": lambda: widemargin.SimpleMLPClassifier(max_iter=3),
    "MLPClassifier": lambda: widemargin.MLPClassifier(max_iter=3),
    "HardMixtureClassifier": lambda: widemargin.HardMixtureClassifier(max_iter=1),
    "LogisticRegression": lambda: LogisticRegression(),
    "RidgeClassifier": lambda: RidgeClassifier(),
    "KNeighborsClassifier": lambda: KNeighborsClassifier(),
    "DummyClassifier": lambda: DummyClassifier(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_every_classifier_is_measured(name, classes):
    X, y = make_classification(
        200, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0
    )
    y = np.array(["a", "b", "c"])[y]
    model = MODELS[name]().fit(X[:120], y[:120])
    found = evaluate(model, X[120:], y[120:], task="classification")
    json.dumps(found, allow_nan=False)
    assert value(found, "accuracy") == pytest.approx(model.score(X[120:], y[120:]))
    probabilities = hasattr(model, "predict_proba")
    assert ("log_loss" in found["metrics"]) == probabilities
    assert ("calibration" in found) == probabilities
    assert ("probabilities" in found["absent"]) != probabilities
    if probabilities or hasattr(model, "decision_function"):
        given = model.predict_proba if probabilities else model.decision_function
        shape = np.shape(given(X[120:]))
        one_score = shape == (80, classes) or (classes == 2 and shape == (80,))
        assert ("auc" in found["metrics"]) == ("roc" in found) == one_score


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda: widemargin.SVR(),
        lambda: widemargin.LinearSVR(),
        lambda: widemargin.MLPRegressor(max_iter=3),
        lambda: LinearRegression(),
        lambda: widemargin.TabularRegressor(effort=0.02, n_jobs=1),
    ],
)
def test_every_regressor_is_measured(make):
    X, y = make_regression(150, 3, noise=1.0, random_state=0)
    model = make().fit(X[:100], y[:100])
    found = evaluate(model, X[100:], y[100:], task="regression")
    json.dumps(found, allow_nan=False)
    assert value(found, "r2") == pytest.approx(model.score(X[100:], y[100:]))
    assert ("coverage" in found["metrics"]) == hasattr(model, "predict_interval")
    assert ("coverage" in found["absent"]) != hasattr(model, "predict_interval")


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_few_rows(rows):
    labels = np.array(["a", "b", "c"])
    y, _, model = random_answers(2, 3, labels, rows=rows)
    found = evaluate(model, None, y, task="classification")
    json.dumps(found, allow_nan=False)
    error = found["metrics"]["error"]
    assert error["high"] - error["low"] > 0.5
    assert found["metrics"]["log_loss"]["low"] is None
    numbers = np.arange(rows) * 1.0
    found = evaluate(Answers([], numbers + 1.0), None, numbers, task="regression")
    json.dumps(found, allow_nan=False)
    assert value(found, "mae") == 1.0
    assert found["metrics"]["mae"]["low"] is None
    assert ("r2" in found["metrics"]) == (rows > 1)
    assert ("r2" in found["absent"]) == (rows == 1)


def test_rows_of_one_class_only():
    _, _, model = random_answers(2, 2, np.array([0, 1]), rows=50)
    found = evaluate(model, None, np.ones(50, dtype=int), task="classification")
    assert "auc" not in found["metrics"]
    assert "one class" in found["absent"]["roc"]
    assert value(found, "balanced_accuracy") == pytest.approx(value(found, "accuracy"))


def test_classes_that_the_model_does_not_know_are_wrong_and_noted():
    y, _, model = random_answers(3, 3, np.array(["a", "b", "c"]), rows=60)
    y = y.astype(object)
    y[:6] = "new"
    found = evaluate(model, None, y, task="classification")
    assert "6 rows are of classes that the model does not know: new" in found["notes"][0]
    assert found["confusion"]["classes"] == ["a", "b", "c", "new"]
    assert found["per_class"][3]["recall"] == 0.0
    assert value(found, "log_loss") > 3


def test_many_classes_are_cut_and_counted():
    labels = np.array([f"c{k:03}" for k in range(300)])
    y, _, model = random_answers(5, 300, labels, rows=3000)
    found = evaluate(model, None, y, task="classification")
    assert found["n_classes"] == 300
    assert len(found["per_class"]) == 200
    confusion = found["confusion"]
    assert (len(confusion["classes"]), confusion["others"]) == (20, 280)
    assert np.sum(confusion["counts"]) == 3000
    assert len(found["roc"]) + found["curves_left_out"] == len(set(y))
    assert found["cuts"] == [f"AUC is the mean of the 100 largest of {len(set(y))} classes"]
    assert len(json.dumps(found)) < 150_000


def test_one_score_per_class_is_required_for_ranks():
    y, p, model = random_answers(1, 3, np.array([0, 1, 2]))
    votes = Answers([0, 1, 2], model.labels, scores=np.zeros((len(y), 6)))
    found = evaluate(votes, None, y, task="classification")
    assert "roc" not in found
    assert "margins" not in found
    assert "(300, 6)" in found["absent"]["scores"]
    columns = Answers([0, 1], model.labels % 2, scores=p[:, :1])  # of shape (n, 1)
    assert "auc" in evaluate(columns, None, y % 2, task="classification")["metrics"]


def test_seeds_decide_the_bootstrap():
    y, _, model = random_answers(1, 3, np.array([0, 1, 2]))
    one, same, other = (
        evaluate(model, None, y, task="classification", seed=seed) for seed in (0, 0, 1)
    )
    assert one == same
    assert one["metrics"]["log_loss"]["low"] != other["metrics"]["log_loss"]["low"]


class Broken:
    classes_ = np.array([0, 1])

    def predict(self, X):
        return np.array([0, 1, 1])

    def predict_proba(self, X):
        return np.array([[0.5, 0.5], [np.nan, 0.5], [0.1, 0.9]])


@pytest.mark.parametrize(
    ("model", "y", "options", "message"),
    [
        (Broken(), [0, 1, 1], {}, "predict_proba returned nan for 1 of 3 rows, first for row 1"),
        (Broken(), [0, 1], {}, r"predict returned the shape \(3,\) for y of shape \(2,\)"),
        (Broken(), ["0", "1", "1"], {}, "y holds '0' .str. and the model knows 0 .int."),
        (Broken(), [0, np.nan, 1], {}, "y holds NaN"),
        (Broken(), [[0, 1]] * 3, {}, r"y has the shape \(3, 2\)"),
        (Broken(), [0, 1, 1], {"task": "ranking"}, "task='ranking' must be"),
        (Broken(), [0, 1, 1], {"sample_weight": [1, -1, 1]}, "sample_weight must hold finite"),
        (Broken(), [0, 1, 1], {"sample_weight": [0, 0, 0]}, "sample_weight must hold finite"),
        (Broken(), [0, 1, 1], {"sample_weight": [1, 1]}, r"sample_weight has the shape \(2,\)"),
        (Broken(), list("abc"), {"task": "regression"}, "y holds values that are not numbers"),
        (Broken(), [1, np.inf, 2], {"task": "regression"}, "y holds NaN or infinite"),
        (Answers([], [np.nan, 1.0]), [0, 1], {"task": "regression"}, "predict returned nan"),
        (Answers([0, 1], [0, 1], np.ones((2, 3))), [0, 1], {}, "give classes= in the order"),
        (
            Answers([], [1.0, 1.0], interval=np.ones(2)),
            [0, 1],
            {"task": "regression"},
            "predict_interval returned the shape",
        ),
    ],
)
def test_errors_say_what_to_do(model, y, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(model, None, y, **{"task": "classification", **options})


def test_every_metric_has_a_name_and_a_form():
    """Of two classes, the name says which one a metric is about: it may be the larger one."""
    names = {
        name: (one.named(["no", "yes"]), one.named(["a", "b", "c"]))
        for name, one in METRICS.items()
    }
    assert names["error"] == ("error rate", "error rate")
    assert names["f1"] == ("F1 of yes", "F1 (mean over classes)")
    assert names["average_precision"][0] == "average precision of yes"
    assert {one.form for one in METRICS.values()} == {"percent", "number"}
