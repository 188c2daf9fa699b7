"""`TabularRegressor`: values from a raw table."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from widemargin._typing import ArrayLike, FloatArray
from widemargin.tabular.combination import Combination
from widemargin.tabular.model import TabularModel
from widemargin.tabular.targets import Values

__all__ = ["TabularRegressor"]


class TabularRegressor(RegressorMixin, TabularModel):  # type: ignore[misc]
    """Values from a raw table, by the margin machines that suit it best.

    As `TabularClassifier`, but for values: machines are trained on the standardised target, and the
    errors of rows that they did not see give intervals.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        What is best, as in scikit-learn. None is the squared error of rows that machines did not
        see.
    cv : int, splitter, iterable or None, default=None
        How rows are divided into rows to train on and rows to judge by. None takes eight or five
        folds of small tables and holds a fifth of large ones out.
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
    residuals_ : ndarray
        The sorted absolute errors of the rows that the machines did not see.
    target_mean_, target_scale_ : float
        The mean and the standard deviation of the training targets.
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
    TabularClassifier : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import TabularRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1]
    >>> model = TabularRegressor(effort=0.2).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.8
    True
    >>> model.predict_interval(X[:2], coverage=0.8).shape
    (2, 2)
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
        if np.asarray(y).dtype.kind in "mM":
            raise ValueError(
                "y holds dates or durations; make them numbers, such as days since the first one"
            )
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"y holds values that are no numbers ({error}); leave these rows out, or use "
                "TabularClassifier for classes"
            ) from error
        if not np.all(np.isfinite(values)):
            raise ValueError("y contains NaN or infinity; leave these rows out")
        with np.errstate(over="ignore"):
            self.target_mean_, self.target_scale_ = float(values.mean()), float(values.std()) or 1.0
        if not np.isfinite(self.target_scale_):
            raise ValueError("y holds values too large: their squares overflow; scale the targets")
        return (values - self.target_mean_) / self.target_scale_

    @property
    def _target(self) -> Values:
        return Values(self.target_mean_, self.target_scale_)

    def _conclude(self, combination: Combination) -> None:
        residuals = np.abs(combination.predictions - combination.test.y)
        self.residuals_ = np.sort(residuals) * self.target_scale_

    def predict(self, X: ArrayLike) -> FloatArray:
        """The value of each row.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted values.
        """
        standardised = self._predictions(X)
        return np.asarray(standardised * self.target_scale_ + self.target_mean_)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> FloatArray:
        """Intervals that hold the value of a row with a given probability (split conformal).

        The half-width is a quantile of the absolute errors of rows that the models did not see.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of the training table.
        coverage : float, default=0.9
            The fraction of new rows, drawn as the training rows were, whose value is inside.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper end, infinite if there were too few rows for `coverage`.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage} is not between 0 and 1")
        centre, count = self.predict(X), len(self.residuals_)
        place = int(np.ceil((count + 1) * coverage)) - 1
        half = self.residuals_[place] if place < count else np.inf
        return np.column_stack([centre - half, centre + half])
