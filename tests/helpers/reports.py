"""Records of real runs, built by hand: a small model, its scores and what was decided."""

import json
from functools import cache

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_wine, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor

from widemargin import TabularClassifier, TabularRegressor
from widemargin.analysis import certificate
from widemargin.report import Column, Decision, Finding, Record, evaluate

__all__ = ["KINDS", "record_of"]


def _two():
    X, y = make_classification(900, 8, n_informative=5, flip_y=0.1, weights=[0.7], random_state=3)
    return X, np.where(y == 1, ">50K", "<=50K"), [f"measurement {k}" for k in range(8)]


def _many():
    X, y = load_digits(return_X_y=True)
    X, y = X[:900], np.array([f"digit {k}" for k in y[:900]])
    return X, y, [f"pixel {k}" for k in range(X.shape[1])]


def _values():
    found = load_diabetes()
    return found.data, found.target, list(found.feature_names)


def _three():
    found = load_wine()
    return found.data, found.target, list(found.feature_names)


KINDS = {"two": _two, "many": _many, "values": _values, "three": _three}


@cache
def record_of(kind, effort=0.05):
    """A record of a fit on embedded data: "two", "many" or "three" classes, or "values"."""
    X, y, names = KINDS[kind]()
    task = "regression" if kind == "values" else "classification"
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    cls, dummy = (
        (TabularRegressor, DummyRegressor())
        if task == "regression"
        else (TabularClassifier, DummyClassifier())
    )
    model = cls(effort=effort, n_jobs=1).fit(X[train], y[train])
    baseline = dummy.fit(X[train], y[train])
    return Record(
        task=task,
        target="class" if task == "classification" else "progression",
        file=f"{kind}.csv",
        rows=len(y),
        train_rows=len(train),
        test_rows=len(test),
        classes=() if task == "regression" else tuple(str(c) for c in model.classes_),
        decisions=_decisions(task, y),
        findings=_findings(names),
        columns=_columns(model, names),
        leaderboard=tuple(json.loads(json.dumps(model.trials_))),
        members=tuple({k: m[k] for k in ("description", "weight")} for m in model.members_),
        loss={"name": "loss", "value": model.loss_, "constant": model.baseline_loss_},
        evaluation=evaluate(model, X[test], y[test], task=task),
        baseline=evaluate(baseline, X[test], y[test], task=task),
        learning_curve=({"rows": 100, "loss": 0.6}, {"rows": 330, "loss": 0.5}),
        certificate=_certificate(model, X[train], y[train]),
        parameters={"effort": effort, "random_state": 0, "time_limit": None},
        versions={"widemargin": "0.1.0", "scikit-learn": "1.9.0"},
        seconds={"read": 0.1, "fit": model.fit_time_, "evaluate": 0.2},
        command=f"widemargin train {kind}.csv --target class --seed 0",
        code="from widemargin import TabularClassifier\n\nmodel = TabularClassifier().fit(X, y)",
        baseline_name="always the same answer",
    )


def _decisions(task, y):
    return (
        Decision("task", task, f"the target holds {len(set(y))} different values", "--task"),
        Decision("separator", "comma", "every line has the same number of commas", "--separator"),
        Decision("held-out rows", "25 %", "no file of test rows was given", "--test"),
    )


def _findings(names):
    return (
        Finding("warning", "imbalance", "70 % of the rows are of one class", "Look at recall."),
        Finding("note", "constant", "one column has one value", "It was left out.", (names[0],)),
    )


def _columns(model, names):
    shares = model.feature_importances_
    found = [Column("class", "target", 0, 2, "target")]
    for name, share, one in zip(names, shares, model.encoder_.columns_, strict=True):
        column = Column(
            name, one["kind"], int(one["missing"]), one["levels"], "input", importance=float(share)
        )
        found.append(column)
    return tuple(found)


def _certificate(model, X, y):
    """The lines of the first member's machine."""
    member = model.members_[0]
    rows = model._as_trained(model.encoder_.transform(X))
    target = model._targets(y)
    lines = certificate(member["model"], rows, target).to_dict()["lines"]
    return tuple({**line, "member": member["description"]} for line in lines)
