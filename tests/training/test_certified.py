"""What kernel and linear machines share: signatures, validation examples, warnings."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel

import widemargin
from widemargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

CLASSIFIERS = [SVC(), NuSVC(nu=0.3), LinearSVC(), LinearSVC(multi_class="crammer_singer")]
REGRESSIONS = [SVR(), NuSVR(), LinearSVR()]
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=200)
CLASSES = np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.5, 0.5])]
TRAIN, TEST = slice(0, 120), slice(120, 200)
WEIGHTS = rng.choice([0.0, 1.0, 2.0], size=80)


def named(estimators):
    return pytest.mark.parametrize("estimator", estimators, ids=lambda e: repr(e))


# ------------------------------------------------------------------------------------ signatures


@pytest.mark.parametrize(
    "name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]
)
def test_parameters_begin_as_those_of_scikit_learn(name):
    """The same names, order, defaults and kinds; `probability` has no deprecated default."""
    theirs = list(inspect.signature(getattr(sklearn.svm, name)).parameters.values())
    ours = list(inspect.signature(getattr(widemargin, name)).parameters.values())[: len(theirs)]
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.name, mine.kind) == (other.name, other.kind)
        assert mine.default == (False if mine.name == "probability" else other.default)


@named([*CLASSIFIERS, *REGRESSIONS, OneClassSVM()])
def test_fit_takes_validation_examples_last(estimator):
    names = list(inspect.signature(estimator.fit).parameters)
    assert names == ["X", "y", "sample_weight", "X_val", "y_val", "sample_weight_val"]


# ---------------------------------------------------------------------------- validation examples


@pytest.mark.parametrize("layout", [np.asarray, csr_array], ids=["dense", "csr"])
@named(CLASSIFIERS)
def test_the_error_of_a_classifier_on_validation_examples(estimator, layout):
    alone = estimator.fit(X[TRAIN], CLASSES[TRAIN])
    wrong = alone.predict(X[TEST]) != CLASSES[TEST]
    assert not hasattr(alone, "validation_error_")
    fitted = estimator.fit(X[TRAIN], CLASSES[TRAIN], None, layout(X[TEST]), CLASSES[TEST])
    assert fitted.validation_error_ == np.mean(wrong)
    assert fitted.history_[-1]["validation_error"] == fitted.validation_error_
    assert all("validation_error" not in record for record in fitted.history_[:-1])
    fitted.fit(X[TRAIN], CLASSES[TRAIN], None, X[TEST], CLASSES[TEST], WEIGHTS)
    assert fitted.validation_error_ == pytest.approx(np.average(wrong, weights=WEIGHTS))
    assert not hasattr(estimator.fit(X, CLASSES), "validation_error_")


@named(REGRESSIONS)
def test_the_error_of_a_regression_on_validation_examples(estimator):
    """1 − R²."""
    told = {"X_val": X[TEST], "y_val": SCORE[TEST], "sample_weight_val": WEIGHTS}
    fitted = estimator.fit(X[TRAIN], SCORE[TRAIN], **told)
    r2 = r2_score(SCORE[TEST], fitted.predict(X[TEST]), sample_weight=WEIGHTS)
    assert fitted.validation_error_ == pytest.approx(1 - r2)
    assert fitted.history_[-1]["validation_error"] == fitted.validation_error_


def test_the_error_of_a_one_class_machine_on_validation_examples():
    far = X[TEST] + 5.0
    sides = np.repeat([1, -1], 80)
    both = np.vstack([X[TEST], far])
    fitted = OneClassSVM(nu=0.2).fit(X[TRAIN], X_val=both, y_val=sides)
    assert fitted.validation_error_ == np.mean(fitted.predict(both) != sides)
    assert 0 < fitted.validation_error_ < 0.3
    with pytest.raises(ValueError, match=r"y_val has the values \[0, 1\]; use 1 for"):
        OneClassSVM().fit(X[TRAIN], X_val=both, y_val=(sides + 1) // 2)


def test_validation_examples_of_a_precomputed_kernel():
    K, K_val = rbf_kernel(X[TRAIN], gamma=0.3), rbf_kernel(X[TEST], X[TRAIN], gamma=0.3)
    named_kernel = SVC(gamma=0.3).fit(X[TRAIN], CLASSES[TRAIN], None, X[TEST], CLASSES[TEST])
    given = SVC(kernel="precomputed").fit(K, CLASSES[TRAIN], None, K_val, CLASSES[TEST])
    assert given.validation_error_ == pytest.approx(named_kernel.validation_error_, abs=0.03)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"X_val": X}, "X_val and y_val go together"),
        ({"y_val": CLASSES}, "X_val and y_val go together"),
        ({"sample_weight_val": np.ones(200)}, "sample_weight_val was given without X_val"),
        ({"X_val": X, "y_val": np.full(200, "z")}, "y_val has the class 'z', which y does not"),
        ({"X_val": X[:, :3], "y_val": CLASSES}, "3 features"),
        ({"X_val": X[:5], "y_val": CLASSES}, "inconsistent numbers of samples"),
        ({"X_val": X, "y_val": CLASSES, "sample_weight_val": np.zeros(200)}, "non-zero"),
    ],
)
@named([SVC(), LinearSVC()])
def test_bad_validation_examples(estimator, told, message):
    """They are refused before the fit, which leaves the last model as it was."""
    fitted = estimator.fit(X, CLASSES)
    before = fitted.intercept_
    with pytest.raises(ValueError, match=message):
        fitted.fit(X, CLASSES, **told)
    assert_array_equal(fitted.intercept_, before)


def test_bad_targets_of_validation_examples():
    with pytest.raises(ValueError, match="NaN"):
        SVR().fit(X, SCORE, X_val=X, y_val=np.full(200, np.nan))
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, CLASSES, X_val=X, y_val=CLASSES)


# --------------------------------------------------------------------------------------- warnings


def test_a_warning_names_the_line_that_called_fit_however_deep_the_call():
    def deep(depth):
        if depth:
            return deep(depth - 1)
        return SVC(max_iter=1).fit(X, CLASSES)

    with pytest.warns(ConvergenceWarning, match="max_iter=1") as caught:
        deep(5)
    assert caught[0].filename == __file__
    lines, first = inspect.getsourcelines(deep)
    assert "SVC(max_iter=1)" in lines[caught[0].lineno - first]
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as caught:
        widemargin.svm.svm_path(X, CLASSES, [1.0], max_iter=1)
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_a_warning_of_a_program_that_is_the_package_itself():
    """Without a line outside the package it is still said."""
    program = (
        "import numpy as np\n"
        "from widemargin._runtime.warning import warn_caller\n"
        "__name__ = 'widemargin.program'\n"
        "warn_caller('what to do', UserWarning)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "UserWarning: what to do" in done.stderr
