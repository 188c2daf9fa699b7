"""The …CV classes: the C that a grid search chooses, on folds or on a validation set."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, StratifiedKFold

import widemargin
from helpers.stopping import Recorder
from widemargin import SVC, SVCCV, SVR, SVRCV, LinearSVC, LinearSVCCV, LinearSVR, LinearSVRCV

MACHINES = {SVCCV: SVC, SVRCV: SVR, LinearSVCCV: LinearSVC, LinearSVRCV: LinearSVR}
CLASSIFIERS = (SVCCV, LinearSVCCV)
KERNELS = (SVCCV, SVRCV)
every_class = pytest.mark.parametrize("cls", MACHINES, ids=lambda cls: cls.__name__)
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5)) * np.where(rng.random((300, 5)) < 0.6, 1.0, 0.0)
SCORE = X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * X[:, 3] ** 2 + 0.7 * rng.normal(size=300)
Y2 = np.where(SCORE > 0, "yes", "no")
Y3 = np.digitize(SCORE, [-0.5, 0.5])
WEIGHTS = rng.choice([0.0, 0.5, 2.0], size=300)
CS = np.logspace(-2, 1, 7)
SOME, OTHERS = slice(0, 200), slice(200, 300)
PAIR = [(np.arange(200), np.arange(200, 300))]


def targets(cls):
    return Y3 if cls in CLASSIFIERS else SCORE


def options(cls):
    """So precise that the way to the optimum does not matter."""
    return {"gamma": 0.3, "tol": 1e-8} if cls in KERNELS else {"tol": 1e-8, "dual": False}


def choice(cls, **more):
    return cls(**{"Cs": CS, "cv": 3, **options(cls), **more})


def machine(cls, C, **more):
    return MACHINES[cls](C=C, **options(cls), **more)


def outputs(fitted, X):
    return getattr(fitted, "decision_function", fitted.predict)(X)


def curve(fitted):
    """One row per C, whether or not there is a γ to choose too."""
    return fitted.scores_.reshape(len(fitted.Cs_), -1)


# ------------------------------------------------------------------------------------------ folds


@pytest.mark.slow
@every_class
def test_the_choice_of_a_grid_search(cls):
    kind = StratifiedKFold if cls in CLASSIFIERS else KFold
    folds = kind(3, shuffle=True, random_state=0)
    ours = choice(cls, Cs=CS[::-1], cv=folds).fit(X, targets(cls))
    search = GridSearchCV(machine(cls, 1.0), {"C": CS}, cv=folds).fit(X, targets(cls))
    theirs = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
    assert_array_equal(ours.Cs_, CS)
    assert_allclose(curve(ours), np.transpose(theirs), atol=1e-3)
    assert_allclose(ours.validation_curve_, ours.scores_.mean(axis=-1))
    assert ours.best_score_ == ours.validation_curve_.max()
    assert search.best_params_["C"] == ours.C_
    assert_allclose(outputs(ours, X), outputs(search.best_estimator_, X), atol=1e-4)
    assert ours.converged_
    assert not hasattr(ours, "validation_error_")


@pytest.mark.slow
@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_gamma_is_chosen_too(cls):
    ours = choice(cls, gamma=[0.01, 0.3, 5.0]).fit(X, targets(cls))
    assert ours.scores_.shape == (3, 7, 3)
    assert ours.validation_curve_.shape == (3, 7)
    best = np.unravel_index(np.argmax(ours.validation_curve_), (3, 7))
    assert (ours.gamma_, ours.C_) == (ours.gammas_[best[0]], CS[best[1]])


@pytest.mark.slow
@every_class
def test_folds_of_a_number_are_stratified_or_in_order(cls):
    kind = StratifiedKFold if cls in CLASSIFIERS else KFold
    number, splitter = (choice(cls, cv=cv).fit(X, targets(cls)) for cv in (4, kind(4)))
    assert_array_equal(number.scores_, splitter.scores_)


@pytest.mark.slow
@every_class
def test_weights_count_in_training_and_in_scores(cls):
    kept, y = WEIGHTS > 0, targets(cls)
    weighted = choice(cls).fit(X, y, WEIGHTS)
    without = choice(cls).fit(X[kept], y[kept], WEIGHTS[kept])
    assert_array_equal(weighted.scores_, without.scores_)
    assert np.any(weighted.scores_ != choice(cls).fit(X, y).scores_)


@every_class
def test_pairs_number_all_rows_of_any_weight(cls):
    y = targets(cls)
    ours = choice(cls, Cs=[1.0], cv=PAIR).fit(X, y, WEIGHTS)
    alone = machine(cls, 1.0).fit(X[SOME], y[SOME], WEIGHTS[SOME])
    assert_allclose(ours.best_score_, alone.score(X[OTHERS], y[OTHERS], WEIGHTS[OTHERS]))


@pytest.mark.slow
@every_class
def test_scoring(cls):
    name = "balanced_accuracy" if cls in CLASSIFIERS else "neg_mean_absolute_error"
    by_name = choice(cls, scoring=name).fit(X, targets(cls))
    assert by_name.best_score_ < (1 if cls in CLASSIFIERS else 0)
    by_call = choice(cls, scoring=lambda model, X, y: -model.C).fit(X, targets(cls))
    assert by_call.Cs_[0] == by_call.C_


def test_probabilities_are_there_for_the_score_that_needs_them():
    loss = SVCCV(Cs=[0.1, 1.0], cv=2, scoring="neg_log_loss", probability=True, random_state=0)
    assert loss.fit(X, Y2).best_score_ < 0
    assert loss.predict_proba(X).shape == (300, 2)


# --------------------------------------------------------------------------------- validation sets


@pytest.mark.slow
@every_class
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_validation_set_takes_the_place_of_folds(cls, layout):
    y = targets(cls)
    split = PredefinedSplit(np.where(np.arange(300) < 200, -1, 0))
    ours = choice(cls, cv=split).fit(layout(X), y)
    pair = choice(cls, cv=PAIR).fit(layout(X), y)
    given = choice(cls).fit(layout(X[SOME]), y[SOME], None, X[OTHERS], y[OTHERS])
    for same in (pair, given):
        assert_allclose(same.scores_, ours.scores_, atol=1e-6)
        assert same.C_ == ours.C_
        assert_allclose(outputs(same, X), outputs(ours, X), atol=1e-4)
    assert curve(given).shape == (7, 1)
    alone = machine(cls, CS[3]).fit(X[SOME], y[SOME])
    assert_allclose(curve(given)[3, 0], alone.score(X[OTHERS], y[OTHERS]), atol=1e-6)


@pytest.mark.slow
@every_class
def test_the_validation_set_is_kept_out(cls):
    y = targets(cls)
    ours = choice(cls, refit=False)
    ours.fit(X[SOME], y[SOME], WEIGHTS[SOME], X[OTHERS], y[OTHERS], WEIGHTS[OTHERS])
    alone = machine(cls, ours.C_).fit(X[SOME], y[SOME], WEIGHTS[SOME])
    assert_allclose(outputs(ours, X), outputs(alone, X), atol=1e-6)
    score = alone.score(X[OTHERS], y[OTHERS], WEIGHTS[OTHERS])
    assert_allclose(ours.best_score_, score, atol=1e-6)
    assert_allclose(ours.validation_error_, 1 - score, atol=1e-6)
    pair = choice(cls, refit=False, cv=PAIR).fit(X, y, WEIGHTS)
    assert_allclose(outputs(pair, X), outputs(alone, X), atol=1e-4)
    refitted = ours.set_params(refit=True).fit(X, y)
    assert not hasattr(refitted, "validation_error_")


@every_class
def test_the_chosen_machine_is_trained_on_the_validation_set_with_its_weights(cls):
    y = targets(cls)
    ours = choice(cls).fit(X[SOME], y[SOME], None, X[OTHERS], y[OTHERS], WEIGHTS[OTHERS])
    all_weights = np.concatenate([np.ones(200), WEIGHTS[OTHERS]])
    alone = machine(cls, ours.C_).fit(X, y, all_weights)
    assert_allclose(outputs(ours, X), outputs(alone, X), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_kernels_without_gamma(cls):
    y, K = targets(cls), rbf_kernel(X, gamma=0.3)
    named = choice(cls).fit(X, y)
    for kernel, inputs in (("precomputed", K), (lambda a, b: rbf_kernel(a, b, gamma=0.3), X)):
        other = choice(cls, kernel=kernel).fit(inputs, y)
        assert_allclose(other.scores_, named.scores_, atol=1e-3)
        assert_array_equal(other.gammas_, [0.0])
    assert choice(cls, kernel="linear").fit(X, y).coef_.shape[1] == 5


@pytest.mark.slow
@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_a_validation_set_of_kernel_values(cls):
    """Its machine cannot be trained on it as well: values between its examples are not known."""
    y, K = targets(cls), rbf_kernel(X, gamma=0.3)
    given = (K[SOME, SOME], y[SOME], None, K[OTHERS, SOME], y[OTHERS])
    with pytest.raises(ValueError, match=r"refit=True cannot train on X_val .*use refit=False"):
        choice(cls, kernel="precomputed").fit(*given)
    ours = choice(cls, kernel="precomputed", refit=False).fit(*given)
    named = choice(cls, refit=False).fit(X[SOME], y[SOME], None, X[OTHERS], y[OTHERS])
    assert_allclose(ours.scores_, named.scores_, atol=1e-4)
    assert_allclose(outputs(ours, K[:, SOME]), outputs(named, X), atol=1e-3)
    pair = choice(cls, kernel="precomputed", cv=PAIR).fit(K, y)
    assert_allclose(pair.scores_, ours.scores_, atol=1e-4)


def test_a_validation_set_of_words():
    def common_letters(a, b):
        return np.array([[len(set(s) & set(t)) for t in b] for s in a], dtype=float)

    words, labels = ["abba", "abab", "baab", "xyxx", "yyxy", "xyz"], [0, 0, 0, 1, 1, 1]
    ours = SVCCV(Cs=[0.1, 1.0], kernel=common_letters).fit(
        words, labels, None, ["ba", "zx"], [0, 1]
    )
    assert ours.best_score_ == 1.0
    assert_array_equal(ours.predict(["ab", "zy"]), [0, 1])


@every_class
def test_bad_validation_sets(cls):
    y, model = targets(cls), choice(cls, Cs=[1.0], cv=5)
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="4 features"):
        model.fit(X, y, X_val=X[:, :4], y_val=y)
    with pytest.raises(ValueError, match=r"refit=False, but cv=5 has 5 folds and no single model"):
        model.set_params(refit=False).fit(X, y)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")
    if cls in CLASSIFIERS:
        with pytest.raises(ValueError, match="y_val has the class 7, which y does not have"):
            model.fit(X, y, X_val=X[:2], y_val=[0, 7])


# ------------------------------------------------------------------------------------ other tools


@every_class
def test_bad_values_of_C(cls):
    for Cs in ([], [0.0], [-1.0, 1.0], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
            cls(Cs=Cs).fit(X, targets(cls))


@pytest.mark.parametrize("gamma", [[0.1, 0.0], [0.1, -1.0], ["scale", "auto", "best"], [], [[1.0]]])
def test_bad_gamma(gamma):
    with pytest.raises(ValueError, match="gamma="):
        SVCCV(gamma=gamma).fit(X, Y2)


@pytest.mark.slow
@every_class
def test_callbacks_watch_the_last_fit(cls):
    recorder = Recorder()
    fitted = choice(cls, cv=2).set_callbacks(recorder).fit(X, targets(cls))
    assert recorder.torn_down == 1
    assert outputs(recorder.fitted[-1], X).shape == outputs(fitted, X).shape


@pytest.mark.slow
@every_class
def test_plot(cls):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    import matplotlib.pyplot as plt

    gammas = {"gamma": [5.0, 0.3]} if cls in KERNELS else {}
    fitted = choice(cls, **gammas).fit(X, targets(cls))
    ax = fitted.plot_curve()
    assert ax.get_xscale() == "log"
    chosen = fitted.validation_curve_
    if cls in KERNELS:
        chosen = chosen[list(fitted.gammas_).index(fitted.gamma_)]
    percent = cls in CLASSIFIERS
    assert_allclose(ax.lines[0].get_ydata(), 100 * (1 - chosen) if percent else chosen)
    label = "validation error (%)" if percent else "validation score (r2)"
    assert ax.get_ylabel() == label
    assert_array_equal(ax.lines[1].get_xdata(), [fitted.C_, fitted.C_])
    _, mine = plt.subplots()
    assert fitted.plot_curve(mine) is mine
    plt.close("all")


@every_class
def test_saved(cls, tmp_path):
    fitted = choice(cls, Cs=[0.1, 1.0], cv=2).fit(sp.csr_array(X), targets(cls))
    widemargin.save(fitted, tmp_path / "model")
    loaded = widemargin.load(tmp_path / "model")
    assert_array_equal(outputs(loaded, X), outputs(fitted, X))
    assert_array_equal(loaded.scores_, fitted.scores_)
    assert loaded.C_ == fitted.C_
