"""What every estimator must do: scikit-learn's own checks, and a complete docstring.

Estimators are found in what the public modules export, so a new one is tested at once.
"""

import ast
import inspect
import re

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import estimator_checks_generator

import widemargin
from widemargin import (
    SGDSVC,
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    HardMixtureClassifier,
    HardMixtureRegressor,
    KernelPerceptron,
    KernelSGDSVC,
    LinearSVC,
    LinearSVCCV,
    LinearSVRCV,
    MarginPerceptron,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    MLPClassifier,
    MLPRegressor,
    NilssonMLPClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    SimpleMLPClassifier,
    TabularClassifier,
    TabularRegressor,
    linear_svm,
    mixtures,
    mlp,
    perceptrons,
    svm,
)
from widemargin.mixtures import Gater
from widemargin.schedules import ENDING_SCHEDULES

MODULES = (widemargin, linear_svm, mixtures, mlp, perceptrons, svm)
PUBLIC = list(dict.fromkeys(getattr(m, name) for m in MODULES for name in m.__all__))
CLASSES = [public for public in PUBLIC if inspect.isclass(public) and public is not Gater]
PARAMETRISED = [cls for cls in CLASSES if issubclass(cls, BaseEstimator)]
ESTIMATORS = [cls for cls in PARAMETRISED if not issubclass(cls, Gater)]  # parts of mixtures

VARIANTS = [
    Perceptron(average=True, scaling="standard"),
    MarginPerceptron(average=True, schedule="invscaling"),
    MarginPerceptron(early_stopping=True, validation_fraction=0.3),
    MarginPerceptron(feature_map="polynomial", max_iter=20),
    MarginPerceptron(feature_map="fourier", max_iter=20),
    SGDSVC(schedule="decay", average=False, scaling=None),
    KernelSGDSVC(kernel="poly", coef0=1.0, max_iter=50),
    KernelSGDSVC(kernel="precomputed", schedule="decay", max_iter=50),
    KernelPerceptron(kernel="linear", tol=None),  # tol may stop it at a bad moment
    KernelPerceptron(kernel="poly", coef0=1.0, scaling=None),
    KernelPerceptron(kernel="precomputed", tol=None),
    KernelPerceptron(kernel="exponential", exponent=1.5),
    MLPClassifier(loss="margin", solver="sgd", learning_rate_init=0.1),
    MLPClassifier((20, 10), "tanh", loss="squared_error", dtype="float64", learning_rate="cosine"),
    MLPClassifier(solver="sgd", momentum=0.0, batch_size=1, learning_rate_init=0.01),
    MLPClassifier((10,), "tanh", solver="lbfgs", alpha=1.0),
    MLPRegressor(
        "squared_error",
        (20, 10),
        "tanh",
        solver="adamw",
        early_stopping=True,
        learning_rate_init=0.01,
    ),
    MLPRegressor("epsilon_insensitive", learning_rate_init=0.01),
    MLPRegressor(hidden_layer_sizes=(10,), solver="lbfgs", alpha=1.0),
    HardMixtureClassifier(n_experts=2, max_iter=2, gater="local"),
    HardMixtureClassifier(n_experts=2, early_stopping=True, validation_fraction=0.3, max_iter=2),
    HardMixtureRegressor(
        MLPRegressor(hidden_layer_sizes=(10,)), n_experts=2, max_iter=2, gater="local", scaling=None
    ),
    MixtureOfExpertsClassifier(3, solver="em", max_iter=10),
    MixtureOfExpertsClassifier(3, n_units=5, criterion="mse", learning_rate=0.03),
    MixtureOfExpertsClassifier(2, solver="em", expert=LogisticRegression(), max_iter=3),
    MixtureOfExpertsRegressor(3, n_units=0, schedule="one_cycle", learning_rate=0.03),
    MixtureOfExpertsRegressor(2, solver="em", n_units=3, n_gater_units=3, max_iter=10),
    MixtureOfExpertsRegressor(2, solver="em", expert=Ridge(), max_iter=3),
    NilssonMLPClassifier(n_units=51, encoding="hat"),
    SimpleMLPClassifier(n_units=50, encoding=None),
    SimpleMLPClassifier(n_units=70, n_committees=2, dropout=0.2, average=True, multi_class="ovr"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVC(multi_class="crammer_singer", intercept_scaling=1.0, scaling="standard"),
    SVC(gamma=0.1, tol=1e-11),
    SVC(kernel="linear", multi_class="ovr"),
    SVC(probability=True),
    SVC(kernel="precomputed"),
    SVC(kernel="exponential", gamma=0.1, tol=1e-11),
    SVC(kernel="laplacian", exponent=0.7),
    SVR(gamma=0.1, tol=1e-11),
    SVR(kernel="laplacian", gamma=0.1, tol=1e-11),
    OneClassSVM(kernel="exponential", exponent=0.5),
    SVR(kernel="precomputed"),
    NuSVR(gamma=0.1, tol=1e-11),
]
EXACT = (SVC, SVR, NuSVC, NuSVR, OneClassSVM)
SEARCHES = (SVCCV, SVRCV, LinearSVCCV, LinearSVRCV)
HARD_MIXTURES = (HardMixtureClassifier, HardMixtureRegressor)
SOFT_MIXTURES = (MixtureOfExpertsClassifier, MixtureOfExpertsRegressor)
TABULAR = (TabularClassifier, TabularRegressor)
OF_MANY_MODELS = (*SEARCHES, *HARD_MIXTURES, *SOFT_MIXTURES, *TABULAR)

# Fewer models than by default, for checks that ask nothing about their number.
SMALLER = {cls: {"effort": 0.05} for cls in TABULAR} | {cls: {"Cs": 3, "cv": 3} for cls in SEARCHES}
# The same as `check_estimator_sparse_array`, with other classes of SciPy.
TOLD_BEFORE = "check_estimator_sparse_matrix"

ORDER = (
    "stochastic updates depend on the order of visits; a weight multiplies an example's step, "
    "which is not the same as visiting it twice"
)
PARTS = "weights do not change how many examples an expert may have, copies of examples do"
FOLDS = "an example that is there twice may be in two folds, one of weight two is in one"
SCALE = "gamma='scale' has the variance of X without its weights, as in scikit-learn"
NU = "class weights that far apart leave too few support vectors for nu"
MISTAKES = "without a margin nothing is learnt once the heavy class has no mistakes"
ENDS = "partial_fit refuses a schedule that ends, because more examples may always follow"
EPOCHS = "partial_fit refuses early_stopping=True: one pass has no epoch to choose"


def expected_failed_checks(estimator):
    exact = isinstance(estimator, EXACT)
    if exact and not isinstance(estimator.gamma, str):
        expected = {}
    else:
        expected = {
            "check_sample_weight_equivalence_on_dense_data": SCALE if exact else ORDER,
            "check_sample_weight_equivalence_on_sparse_data": SCALE if exact else ORDER,
        }
    if isinstance(estimator, (*SEARCHES, *TABULAR)):
        expected = dict.fromkeys(expected, FOLDS)
    if isinstance(estimator, SOFT_MIXTURES) and estimator.expert is not None:
        expected = {}
    if isinstance(estimator, HARD_MIXTURES):
        return dict.fromkeys(expected, PARTS)
    if isinstance(estimator, NilssonMLPClassifier) and not estimator.margin:
        expected["check_class_weight_classifiers"] = MISTAKES
    if isinstance(estimator, NuSVC):
        expected["check_class_weight_classifiers"] = NU
    names = (getattr(estimator, name, None) for name in ("learning_rate", "schedule"))
    ends = any(name in ENDING_SCHEDULES for name in names if isinstance(name, str))
    if ends or getattr(estimator, "early_stopping", False):
        names = (
            "estimators_partial_fit_n_features",
            "fit_score_takes_y",
            "n_features_in_after_fitting",
        )
        expected |= {f"check_{name}": ENDS if ends else EPOCHS for name in names}
    return expected


# What an option can break: how a model is fitted, what it learns and what it keeps. Names, tags,
# parameters and the refusal of bad input belong to the class; its defaults are checked for those.
CHECKS_OF_VARIANTS = {
    "check_all_zero_sample_weights_error",
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_estimators_partial_fit_n_features",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_readonly_memmap_input",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_not_overwritten",
}


def described(check):
    """The name of a check, and what it is called with."""
    options = getattr(check, "keywords", {})
    return getattr(check, "func", check).__name__, ",".join(f"{k}={options[k]}" for k in options)


def cases():
    """All checks of the defaults; of variants those that an option can break."""
    defaults = [cls(**SMALLER.get(cls, {})) for cls in ESTIMATORS]
    for estimator in defaults + VARIANTS:
        found = estimator_checks_generator(
            estimator, expected_failed_checks=expected_failed_checks(estimator), mark="xfail"
        )
        for case in found:
            values, marks = getattr(case, "values", case), getattr(case, "marks", ())
            marks = tuple(pytest.mark.xfail(run=False, **mark.kwargs) for mark in marks)
            check, options = described(values[1])
            if check == TOLD_BEFORE and isinstance(estimator, OF_MANY_MODELS):
                continue
            if estimator not in VARIANTS or check in CHECKS_OF_VARIANTS:
                text = re.sub(r"\s+", "", str(estimator))
                marks = (*marks, pytest.mark.slow) if in_long(estimator) else marks
                yield pytest.param(*values, marks=marks, id=f"{text}-{check}({options})")


def in_long(estimator):
    """Whether checks of the estimator wait for the whole suite: variants, models of many models."""
    return estimator in VARIANTS or isinstance(estimator, OF_MANY_MODELS)


CASES = list(cases())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_each_check_of_variants_is_run():
    run = {described(case.values[1])[0] for case in CASES if case.values[0] in VARIANTS}
    assert run == CHECKS_OF_VARIANTS


# ------------------------------------------------------------------------------------- docstrings


def sections(cls):
    """The sections of a numpydoc docstring: title to text."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-+$", inspect.getdoc(cls) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented_names(section):
    """The names before the colons, at the left margin: `a, b : float` are two."""
    found = re.findall(r"^([\w*]+(?:, [\w*]+)*) :", section, flags=re.MULTILINE)
    return [name for names in found for name in names.split(", ")]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_docstring(cls):
    found = sections(cls)
    accepted = list(inspect.signature(cls).parameters)
    assert documented_names(found["Parameters"]) == accepted
    assert ">>> " in found["Examples"]


@pytest.mark.parametrize("cls", PARAMETRISED, ids=lambda cls: cls.__name__)
def test_stated_defaults_are_the_defaults(cls):
    stated = re.findall(
        r"^(\w+) :.*?default=(.+?)$", sections(cls)["Parameters"], flags=re.MULTILINE
    )
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    assert stated or all(d is inspect.Parameter.empty for d in defaults.values())
    for name, value in stated:
        assert ast.literal_eval(value) == defaults[name], (
            f"{name} is documented with default={value}"
        )


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_public_methods_are_described(cls):
    for name, member in inspect.getmembers(cls, inspect.isroutine):
        if not name.startswith("_"):
            assert inspect.getdoc(member), f"{cls.__name__}.{name} has no docstring"
