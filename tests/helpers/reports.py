"""Records of real runs, built by hand: a small model, its scores and what was decided."""

import dataclasses
import itertools
import json
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor

from widemargin import TabularClassifier, TabularRegressor
from widemargin.analysis import certificate
from widemargin.report import Column, Decision, Finding, Record, evaluate

__all__ = ["EVIL", "KINDS", "evil_record", "large_record", "record_of"]


def _two():
    found = load_breast_cancer()
    return found.data[:400], found.target_names[found.target[:400]], list(found.feature_names)


def _many():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], np.array([f"digit {k}" for k in y[:500]])
    return X, y, [f"pixel {k}" for k in range(X.shape[1])]


def _values():
    found = load_diabetes()
    return found.data, found.target, list(found.feature_names)


def _three():
    found = load_wine()
    return found.data, found.target, list(found.feature_names)


KINDS = {"two": _two, "many": _many, "values": _values, "three": _three}
NAMES = {
    "two": ("breast-cancer.csv", "diagnosis"),
    "many": ("digits.csv", "digit"),
    "values": ("diabetes.csv", "progression"),
    "three": ("wine.csv", "cultivar"),
}


@cache
def record_of(kind, effort=0.05):
    """A record of a fit on embedded data: "two", "many" or "three" classes, or "values"."""
    X, y, names = KINDS[kind]()
    file, column = NAMES[kind]
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
        target=column,
        file=file,
        rows=len(y),
        train_rows=len(train),
        test_rows=len(test),
        classes=() if task == "regression" else tuple(str(c) for c in model.classes_),
        decisions=_decisions(task, y),
        findings=_findings(y, names),
        columns=_columns(model, column, names),
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
        command=f"widemargin train {file} --target {column} --seed 0",
        code="from widemargin import TabularClassifier\n\nmodel = TabularClassifier().fit(X, y)",
        baseline_name="always the same answer",
    )


def _decisions(task, y):
    return (
        Decision("task", task, f"the target holds {len(set(y))} different values", "--task"),
        Decision("separator", "comma", "every line has the same number of commas", "--separator"),
        Decision("held-out rows", "25 %", "no file of test rows was given", "--test"),
    )


def _findings(y, names):
    largest = np.unique(y, return_counts=True)[1].max() / len(y)
    few = f"the largest class or value has {largest:.0%} of the rows"
    return (
        Finding("warning", "imbalance", few, "see the scores of each class"),
        Finding("note", "scale", "values differ in size", "nothing has to be done", (names[0],)),
    )


def _columns(model, target, names):
    shares = model.feature_importances_
    found = [Column(target, "target", 0, None, "target")]
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


EVIL = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "\u202egnp.exe\x1b[2J\x00",
    "שלום | `x` *y* [z](javascript:alert(1))",
    "x" * 5000,
    "]]></svg><!-- ${7*7} {{7*7}} &amp;",
    "a\nb\r\n# c",
    "",
)


def evil_record():
    """Every text of the record is hostile."""
    record = record_of("three")
    names = EVIL[:3]
    found = dict(record.evaluation)
    for key in ("confusion",):
        found[key] = {**found[key], "classes": list(names)}
    found["per_class"] = [
        {**one, "class": name} for one, name in zip(found["per_class"], names, strict=True)
    ]
    for key in ("roc", "pr"):
        found[key] = [{**one, "class": n} for one, n in zip(found[key], names, strict=True)]
    found["notes"], found["absent"] = list(EVIL), {"roc": EVIL[0]}
    texts = itertools.cycle(EVIL)
    return dataclasses.replace(
        record,
        target=EVIL[0],
        file=EVIL[1],
        classes=names,
        decisions=tuple(Decision(text, *itertools.islice(texts, 3)) for text in EVIL),
        findings=tuple(Finding(text, text, text, text, EVIL) for text in EVIL),
        columns=tuple(Column(t, t, 1, 2, "input", t, 0.1) for t in EVIL),
        leaderboard=tuple({"model": text, "loss": 0.5, "rows": 3} for text in EVIL),
        members=tuple({"description": text, "weight": 0.1} for text in EVIL),
        loss={"name": EVIL[0], "value": 1.0, "constant": 2.0},
        evaluation=found,
        certificate=tuple(
            {"name": t, "status": s, "text": t, "member": t}
            for t, s in zip(EVIL, itertools.cycle(("holds", "does not hold", EVIL[0])))
        ),
        parameters=dict.fromkeys(EVIL, EVIL[0]),
        versions=dict.fromkeys(EVIL, EVIL[1]),
        seconds=dict.fromkeys(EVIL, 1.0),
        command="\n".join(EVIL[:4]),
        code="\n".join((*EVIL[:4], "````")),
        baseline_name=EVIL[0],
    )


@cache
def large_record():
    """500 columns, 100 classes, 200 trials."""
    random = np.random.default_rng(0)
    names = [f"a column with quite a long name, number {k}" for k in range(500)]
    labels = np.array([f"class {k}" for k in range(100)])
    y = labels[np.r_[np.arange(100), random.integers(0, 100, 4900)]]
    record = record_of("three")
    model = RandomClassifier().fit(None, labels)
    return dataclasses.replace(
        record,
        classes=tuple(labels),
        columns=tuple(
            Column(name, "number", 3, 1000, "input", "bent at the tails", 0.002) for name in names
        ),
        leaderboard=tuple({**record.leaderboard[0], "loss": 0.1 + 0.001 * k} for k in range(200)),
        members=record.members[:1] * 50,
        certificate=record.certificate * 20,
        findings=record.findings * 50,
        decisions=record.decisions * 50,
        parameters={f"parameter {k}": k for k in range(200)},
        evaluation=evaluate(model, np.zeros((5000, 1)), y, task="classification"),
        baseline={},
    )


class RandomClassifier:
    """Probabilities that do not depend on the rows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.random.default_rng(1).random((len(X), len(self.classes_)))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
