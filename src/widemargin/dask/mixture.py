"""What mixtures on a cluster add to local ones: blocks of a collection, lazy predictions."""

import time
from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import dask
import numpy as np
from dask import delayed, is_dask_collection
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from widemargin._typing import FloatArray
from widemargin.dask import tasks
from widemargin.dask.cluster import Cluster, ClusterLost, connected
from widemargin.dask.data import Facts, applied, facts_of, make_block, merged, row_chunks
from widemargin.dask.learner import ClusterLearner
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.model import HardMixture
from widemargin.mixtures.hard.targets import Goal
from widemargin.training.model import all_or_nothing

__all__ = ["ClusterMixture"]


class ClusterMixture(HardMixture):
    """Base of hard mixtures on a cluster; comes before the local mixture among the bases."""

    _local: ClassVar[type]  # the estimator that `to_local` returns

    first_partition: ClassVar[str] = "random"
    tune: ClassVar[str | None] = None
    warm_start: ClassVar[bool] = False
    n_jobs: ClassVar[int | None] = 1  # a worker has its own threads

    # ----------------------------------------------------------- what a mixture must provide

    @abstractmethod
    def _take_facts(self, facts: Facts, *, flat: bool) -> FloatArray | None:
        """Learns what the targets are; returns the scale of a regression's errors."""

    # --------------------------------------------------------------------------- interface

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains the mixture on the workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            The examples. Sizes of chunks need not be known.
        y : dask.array.Array, dask.dataframe.Series or DataFrame
            Their classes, or the values to predict, in chunks like those of X.
        sample_weight : dask.array.Array or dask.dataframe.Series, optional
            Weights ≥ 0, in chunks like those of X.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        RuntimeError
            If the cluster is gone. The last complete iteration is kept: predictions and
            `to_local` work.
        """
        try:
            with connected(self.client) as client:
                learner = self._fit(client, X, y, sample_weight)
        except ClusterLost as error:
            raise RuntimeError(_gone(error, "nothing was learnt yet")) from error
        if learner.lost is not None:
            kept = f"the model of iteration {self.n_iter_} is kept, and to_local returns it"
            raise RuntimeError(_gone(learner.lost, kept)) from learner.lost
        return self

    def to_local(self) -> Any:
        """The same fitted mixture for data in memory, which can be saved.

        Returns
        -------
        widemargin.HardMixtureClassifier or widemargin.HardMixtureRegressor
            A fitted estimator that knows nothing of Dask.
        """
        check_is_fitted(self)
        return self._copy()

    def gates(self, X: Any) -> Any:
        """How much each expert counts.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples, n_experts)
            Weights; rows add up to one. Lazy for a collection of Dask.
        """
        check_is_fitted(self)
        return self._apply("gates", X, self.n_experts_)

    def __sklearn_clone__(self) -> Self:
        """The parameters are copied, the client is the same one."""
        given = self.get_params(deep=False)
        client = given.pop("client")
        return type(self)(**{k: clone(v, safe=False) for k, v in given.items()}, client=client)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}  # a connection cannot be stored

    # ----------------------------------------------------------------------------- helpers

    def _apply(self, method: str, X: Any, columns: int | None, dtype: Any = np.float64) -> Any:
        """What a method of the local mixture says: lazy for collections."""
        local = self.to_local()
        if not is_dask_collection(X):
            return getattr(local, method)(X)
        return applied(local.set_params(n_jobs=1), method, X, columns, np.dtype(dtype))

    def _score(self, metric: Any, X: Any, y: Any, sample_weight: Any) -> float:
        y, predicted, weights = dask.compute(y, self.predict(X), sample_weight)
        return float(metric(y, predicted, sample_weight=weights))

    def _copy(self) -> Any:
        """A local mixture with these parameters and attributes."""
        params = self.get_params(deep=False)
        shared = {k: clone(v, safe=False) for k, v in params.items() if k != "client"}
        local = self._local(**shared)
        for name, value in vars(self).items():
            if name not in params and not name.startswith(("_callback_", "_skl_")):
                setattr(local, name, value)
        local._next_partition = np.empty(0, dtype=np.int64)  # it stayed on the workers
        return local

    @all_or_nothing
    def _fit(self, client: Any, X: Any, y: Any, sample_weight: Any) -> ClusterLearner:
        started, cluster = time.perf_counter(), Cluster(client)
        chunks = row_chunks(X, y, sample_weight)
        self._forget()
        _check_feature_names(self, getattr(X, "_meta", X), reset=True)
        self.n_features_in_ = X.shape[1]
        facts = self._facts(cluster, chunks)
        error_scale = self._take_facts(facts, flat=y.ndim == 1)
        self._scaler = self._new_scaler(facts.extremes(self.scale))
        gater = self._fixed_gater()
        weighted = sample_weight is not None or getattr(self, "class_weight", None) is not None
        kind, setting = self._setting(gater, started, weighted=weighted)
        empty = np.empty((0, self.n_outputs_) if kind == "value" else 0)
        n_classes = 0 if kind == "value" else len(self.classes_)
        goal = Goal(kind, n_classes, empty, error_scale)
        blocks, sizes = self._blocks(cluster, chunks, facts, goal, setting.seed)
        learner = ClusterLearner(
            cluster,
            blocks,
            sizes,
            gater,
            self._number_of_experts(sum(sizes)),
            goal,
            setting,
            facts.scaled_moments(self._scaler),
            validated=self.early_stopping,
        )
        self._run(learner, X, y, sample_weight)
        return learner

    def _facts(self, cluster: Cluster, chunks: list[tuple[Any, ...]]) -> Facts:
        model, task = delayed(self._copy()), delayed(facts_of)
        found = cluster.compute([task(model, *chunk) for chunk in chunks])
        facts: Facts | None = cluster.reduce(merged, found)
        if facts is None:
            raise ValueError("X has no examples, or none of them has a weight above zero")
        return facts

    def _fixed_gater(self) -> Gater:
        """The gater; the generator of random numbers that it may have gives a seed."""
        gater = self._gater_template(self.gater)
        random = gater.get_params(deep=False).get("random_state", 0)
        if not isinstance(random, Integral):
            gater.set_params(random_state=check_random_state(random).randint(2**31 - 1))
        return gater

    def _blocks(
        self,
        cluster: Cluster,
        chunks: list[tuple[Any, ...]],
        facts: Facts,
        goal: Goal,
        seed: int,
    ) -> tuple[list[Any], list[int]]:
        """Futures of blocks, which stay on the workers, and their sizes."""
        local = self._copy()
        if getattr(self, "class_weight", None) == "balanced":
            weights = facts.count / (len(facts.classes) * facts.counts)
            names = facts.classes.tolist()
            local.class_weight = dict(zip(names, weights.tolist(), strict=True))
        model, task = delayed(local), delayed(make_block)
        held = self.validation_fraction if self.early_stopping else 0.0
        blocks = cluster.compute(
            [task(model, goal, held, seed, c, *chunk) for c, chunk in enumerate(chunks)]
        )
        sizes = cluster.gather(cluster.map("size", tasks.size, blocks))
        kept = [c for c, size in enumerate(sizes) if size]
        return [blocks[c] for c in kept], [sizes[c] for c in kept]


def _gone(error: ClusterLost, kept: str) -> str:
    return (
        f"the cluster is gone ({error}); {kept}. Start a cluster, give its Client as client, or "
        "leave client=None for one on this machine, and fit again"
    )
