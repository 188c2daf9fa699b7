"""`TabularClassifier`: classes from a raw table."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import check_labels
from widemargin.tabular.calibration import sharpened, temperature
from widemargin.tabular.combination import Combination
from widemargin.tabular.model import TabularModel
from widemargin.tabular.targets import Classes

__all__ = ["TabularClassifier"]


class TabularClassifier(ClassifierMixin, TabularModel):  # type: ignore[misc]
    """Classes from a raw table, by the margin machines that suit it best.

    A table goes in as it is: numbers, text, dates, missing values. Kernel machines in several forms
    of the inputs and in learnt metrics, linear machines and networks are tried on some rows; γ and
    C climb as long as the loss of unseen rows falls; the best are trained on all rows, calibrated
    by the rows that they did not see, and combined.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        What is best, as in scikit-learn. None is the log loss of rows that machines did not see.
    cv : int, splitter, iterable or None, default=None
        How rows are divided into rows to train on and rows to judge by. None takes eight or five
        folds of small tables, fewer if there are many classes, and holds a fifth of large ones out.
    ensemble : bool, default=True
        Whether to combine several machines. False gives one.
    effort : float, default=1.0
        How much is tried, relative to the default. With less than 1, only the first candidates of
        the portfolio are.
    max_predict_ms : float or None, default=None
        The most milliseconds that predicting one row may take, as measured on the unseen rows.
        Slower machines are left out, of one and of their sum.
    time_limit : float or None, default=None
        Seconds that `fit` may take. The model is then the best so far, and depends on the clock.
    n_jobs : int or None, default=None
        The largest number of threads. The model does not depend on it.
    verbose : int, default=0
        Whether to print one line per trial.
    random_state : int, RandomState instance or None, default=0
        Seeds the folds and the machines.

    Attributes
    ----------
    leaderboard_ : DataFrame
        All trials: the model, on how many rows it was trained, its loss on unseen rows with the
        standard error over the folds, seconds, milliseconds to predict a row, support vectors, and
        how far the machine is from the conditions of optimality. Then its settings, which are empty
        where it has none: a network has no kernel.
    best_ : dict
        The first line of `leaderboard_`: the best single machine.
    members_ : list of dict
        The machines that predictions come from: "model" (a pipeline that begins with an
        `InputForm`), "weight", "calibration" and "description".
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much the machines depend on each column, as a fraction of the sum: by the learnt metric
        or, without one, by how much the outputs change if the column is shuffled.
    loss_ : float
        The loss of the combined machines on rows that they did not see. A negative score if
        `scoring` is given.
    baseline_loss_ : float
        The loss of the best constant prediction.
    encoder_ : TableEncoder
        What turns the table into numbers.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    temperature_ : float
        The power of the mean of the machines' probabilities that makes unseen rows most likely.
    least_probability_ : float
        The share of each probability that is the same for all classes.
    sparse_inputs_ : bool
        Whether the machines were trained on sparse rows.
    trials_ : list of dict
        The lines of `leaderboard_` in the order in which they were tried.
    history_ : list of dict
        A record per trial, as `verbose` prints it.
    stop_reason_ : str
        "tol" if the search ended by itself, otherwise "time_limit" or "interrupted".
    converged_ : bool
        Whether `stop_reason_` is "tol".
    fit_time_ : float
        How many seconds `fit` took.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    TabularRegressor : The same for values.
    GradientMetric : The metric that most of the machines are trained in.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import TabularClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    >>> model = TabularClassifier(effort=0.2).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    >>> bool(model.leaderboard_["loss"].min() >= model.loss_)
    True
    """

    def __init__(
        self,
        *,
        scoring: Any = None,
        cv: Any = None,
        ensemble: bool = True,
        effort: float = 1.0,
        max_predict_ms: float | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = 0,
    ) -> None:
        self.scoring = scoring
        self.cv = cv
        self.ensemble = ensemble
        self.effort = effort
        self.max_predict_ms = max_predict_ms
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _targets(self, y: ArrayLike) -> FloatArray:
        y = _of_one_type(y)
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError("y contains NaN; leave out rows without a label")
        try:
            self.classes_ = check_labels(y)
        except TypeError as error:
            raise ValueError(
                f"y holds labels that cannot be sorted ({error}); leave out rows without a label, "
                "and make all labels text, or all of them numbers"
            ) from error
        return np.asarray(np.searchsorted(self.classes_, y), dtype=np.float64)

    @property
    def _target(self) -> Classes:
        return Classes(self.classes_)

    def _conclude(self, combination: Combination) -> None:
        test = combination.test
        self.temperature_ = temperature(
            combination.predictions, test.y.astype(np.int64), test.weights
        )
        self.least_probability_ = 1.0 / (len(test.y) + 2.0)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        p = self._predictions(X)
        return sharpened(p, self.temperature_, self.least_probability_)

    def predict(self, X: ArrayLike) -> ArrayLike:
        """The most likely class of each row.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            Members of `classes_`.
        """
        codes = self._predictions(X).argmax(axis=1)
        return self.classes_[codes]

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the probabilities; of two classes, that of their ratio.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        logarithms = np.log(self.predict_proba(X))
        two = logarithms.shape[1] == 2
        return np.asarray(logarithms[:, 1] - logarithms[:, 0] if two else logarithms)


def _of_one_type(y: ArrayLike) -> ArrayLike:
    """Labels in an array of objects as truth values or numbers, if all of them are."""
    if y.dtype != object:
        return y
    if all(isinstance(label, (bool, np.bool_)) for label in y):
        return y.astype(bool)
    numbers = all(isinstance(label, Real) and not isinstance(label, bool) for label in y)
    return np.array(y.tolist()) if numbers else y
