"""One vocabulary: every parameter of every estimator is in the tables of CONTRIBUTING.md.

Drop-ins are compared with the classes of the installed scikit-learn.
"""

import inspect
import re
from pathlib import Path

import pytest
import sklearn.linear_model
import sklearn.neural_network
import sklearn.svm
from sklearn.base import BaseEstimator

import widemargin
from widemargin import mixtures, tables

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
if not PAGE.is_file():
    pytest.skip("CONTRIBUTING.md is in the source tree only", allow_module_level=True)
dask = pytest.importorskip("widemargin.dask", reason="dask is not installed")


def estimators():
    """Public name -> class; those of widemargin.dask with `dask.` before it."""
    found = {}
    for prefix, module in (("", widemargin), ("", mixtures), ("", tables), ("dask.", dask)):
        for name in module.__all__:
            cls = getattr(module, name)
            if (
                inspect.isclass(cls)
                and issubclass(cls, BaseEstimator)
                and cls is not mixtures.Gater
            ):
                found[prefix + name] = cls
    return found


ESTIMATORS = estimators()
every = pytest.mark.parametrize("name", ESTIMATORS)


def parameters(name):
    return inspect.signature(ESTIMATORS[name]).parameters


# ------------------------------------------------------------------------------------ the tables


def table(first):
    """The rows of the table whose first column has this title, as lists of cells."""
    lines = PAGE.read_text("utf-8").split("\n")
    (start,) = [n for n, line in enumerate(lines) if line.startswith(f"| {first} |")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    raise AssertionError(f"the table {first!r} has no end")


def code(cell):
    """The names between backticks."""
    return re.findall(r"`([^`]+)`", cell)


GROUPS = {group: code(cell) for group, cell in table("group")}


def members(cell):
    """Each group or class of a cell -> the estimators it stands for; Dask's go with their group."""
    found = {}
    for part in filter(None, (part.strip() for part in re.sub(r"`[^`]+`", "", cell).split(","))):
        assert part in GROUPS, f"{part!r} is no group of CONTRIBUTING.md"
        found[part] = GROUPS[part] + [f"dask.{name}" for name in GROUPS[part]]
    for name in code(cell):
        found[name] = [name, f"dask.{name}"]
    return {part: [name for name in names if name in ESTIMATORS] for part, names in found.items()}


ROWS = [(code(names), meaning, members(where)) for names, meaning, where in table("parameter")]
MISSING_WITH_DASK = {name for names, reason in table("missing with Dask") for name in code(names)}


def entries(parameter):
    """For each row of a parameter, the estimators it is for."""
    rows = [where for names, _, where in ROWS if parameter in names]
    return [{name for names in where.values() for name in names} for where in rows]


# --------------------------------------------------------------------------------- the estimators


def test_every_estimator_is_in_one_group():
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(name for name in ESTIMATORS if "." not in name)


@every
def test_every_parameter_has_one_meaning(name):
    unknown = [p for p in parameters(name) if not entries(p)]
    assert unknown == [], "not in the vocabulary of CONTRIBUTING.md"
    elsewhere = {p: sum(name in row for row in entries(p)) for p in parameters(name)}
    assert [p for p, rows in elsewhere.items() if rows != 1] == [], "not listed for this class"


@pytest.mark.parametrize(("names", "meaning", "where"), ROWS, ids=["-".join(r[0]) for r in ROWS])
def test_no_row_is_out_of_date(names, meaning, where):
    assert meaning
    for parameter in names:
        for part, members in where.items():
            users = [name for name in members if parameter in parameters(name)]
            assert users, f"no estimator of {part!r} has {parameter}"


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name.startswith("dask.")])
def test_dask_has_the_parameters_of_the_local_class(name):
    own, local = set(parameters(name)), set(parameters(name.removeprefix("dask.")))
    assert local - own == MISSING_WITH_DASK
    assert own - local == {"client"}


# ------------------------------------------------------------------------------------- drop-ins

DROP_INS = {
    **{name: sklearn.svm for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")},
    **{name: sklearn.svm for name in ("LinearSVC", "LinearSVR")},
    "Perceptron": sklearn.linear_model,
    "MLPClassifier": sklearn.neural_network,
    "MLPRegressor": sklearn.neural_network,
}
EXCEPTIONS = {  # defaults that differ on purpose
    ("SVC", "probability"): False,  # a sentinel in scikit-learn, for "deprecated"
    ("NuSVC", "probability"): False,
}


@pytest.mark.parametrize("name", DROP_INS)
def test_drop_ins_have_scikit_learns_signature_first(name):
    theirs = inspect.signature(getattr(DROP_INS[name], name)).parameters
    ours = parameters(name)
    assert list(ours)[: len(theirs)] == list(theirs)
    for parameter, of in theirs.items():
        assert ours[parameter].kind == of.kind, parameter
        default = EXCEPTIONS.get((name, parameter), of.default)
        assert ours[parameter].default == default, parameter
    for parameter in list(ours)[len(theirs) :]:
        assert ours[parameter].kind is inspect.Parameter.KEYWORD_ONLY, parameter


@pytest.mark.parametrize(("name", "parameter"), EXCEPTIONS)
def test_exceptions_are_needed(name, parameter):
    theirs = inspect.signature(getattr(DROP_INS[name], name)).parameters[parameter]
    assert theirs.default != EXCEPTIONS[name, parameter]


def test_own_models_do_not_use_the_names_of_drop_ins():
    words = {"alpha", "eta0", "learning_rate_init", "loss", "standardize", "n_iter", "lock_free"}
    own = set(ESTIMATORS) - set(DROP_INS) - {"LinearSVCCV", "LinearSVRCV"}
    assert {(name, word) for name in own for word in words & set(parameters(name))} == set()


# ------------------------------------------------------------------------------------------ fit

ARGUMENTS = ["X", "y", "sample_weight", "X_val", "y_val", "sample_weight_val"]
OTHER_FITS = {
    *GROUPS["gaters"],
    *GROUPS["encoders"],
    *GROUPS["tabular models"],  # their folds are validation rows
    "OneClassSVM",
}


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in OTHER_FITS])
def test_fit_has_the_same_arguments(name):
    found = inspect.signature(ESTIMATORS[name].fit).parameters
    assert list(found)[1:] == ARGUMENTS
    assert [found[argument].default for argument in ARGUMENTS[2:]] == [None] * 4
