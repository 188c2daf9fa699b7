"""What mixtures on a cluster add to local ones: blocks of a collection, lazy predictions."""

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import dask
import numpy as np
from dask import delayed, is_dask_collection
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from widemargin._typing import FloatArray, IntArray
from widemargin.dask import tasks
from widemargin.dask.cluster import Cluster, ClusterLost, connected
from widemargin.dask.data import (
    Statistics,
    applied,
    chunk_statistics,
    make_block,
    merged,
    row_chunks,
)
from widemargin.dask.gaters import gater_trainer
from widemargin.dask.learner import ClusterData, ClusterLearner, ClusterState
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.learner import MixtureSettings
from widemargin.mixtures.hard.model import HardMixture
from widemargin.mixtures.hard.targets import Targets
from widemargin.mixtures.hard.tuning import GAMMA_SHARE
from widemargin.training.model import all_or_nothing
from widemargin.training.time_limit import current_limit, limited

__all__ = ["ClusterMixture"]

VALIDATION_NAMES = ("X_val", "y_val", "sample_weight_val")


class ClusterMixture(HardMixture):
    """Base of hard mixtures on a cluster; comes before the local mixture among the bases.

    It has the parameters of the local mixture except two. `tune` needs all validation examples,
    and regions of the training examples, in one place: tune a local mixture on a sample, and use
    its `best_params_`. `n_jobs` is decided by the cluster: each worker thread runs one task.
    """

    _local: ClassVar[type]  # the estimator that `to_local` returns

    n_features_in_: int
    tune: ClassVar[str | None] = None
    n_jobs: ClassVar[int | None] = 1

    # ----------------------------------------------------------- what a mixture must provide

    @abstractmethod
    def _take_statistics(
        self, statistics: Statistics, *, flat: bool, resume: bool
    ) -> FloatArray | None:
        """Learns what the targets are; returns the error scale of a regression."""

    # --------------------------------------------------------------------------- interface

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Trains the mixture on the workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            The examples. Sizes of chunks may be unknown.
        y : dask.array.Array, dask.dataframe.Series or DataFrame
            Their classes, or the values to predict, in chunks like those of X.
        sample_weight : dask.array.Array or dask.dataframe.Series, optional
            Weights ≥ 0, in chunks like those of X.
        X_val, y_val, sample_weight_val : optional
            Validation examples for early stopping, of the same types, instead of a fraction of
            the training set.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        RuntimeError
            If the cluster is lost. The last complete iteration is kept: predictions and
            `to_local` work.
        """
        self._check_validation(X_val, y_val, sample_weight_val)
        try:
            with connected(self.client) as client:
                training, validation = (X, y, sample_weight), (X_val, y_val, sample_weight_val)
                learner = self._fit(client, training, validation)
        except ClusterLost as error:
            raise RuntimeError(_lost(error, "nothing was learnt yet")) from error
        if learner.lost is not None:
            kept = f"the model of iteration {self.n_iter_} is kept, and to_local returns it"
            raise RuntimeError(_lost(learner.lost, kept)) from learner.lost
        return self

    def to_local(self) -> Any:
        """The same fitted mixture for data in memory, which can be saved.

        Returns
        -------
        widemargin.HardMixtureClassifier or widemargin.HardMixtureRegressor
            A fitted estimator that does not need Dask.
        """
        check_is_fitted(self)
        return self._copy()

    def gates(self, X: Any) -> Any:
        """The weight of each expert.

        Parameters
        ----------
        X : collection of Dask, or array-like, of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_samples, n_experts)
            Weights; each row adds up to one. Lazy for a collection of Dask.
        """
        check_is_fitted(self)
        return self._apply("gates", X, self.n_experts_)

    def __sklearn_clone__(self) -> Self:
        """Copies the parameters, but shares the client."""
        given = self.get_params(deep=False)
        client = given.pop("client")
        return type(self)(**{k: clone(v, safe=False) for k, v in given.items()}, client=client)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}  # a connection cannot be stored

    # ----------------------------------------------------------------------------- helpers

    def _apply(self, method: str, X: Any, columns: int | None, dtype: Any = np.float64) -> Any:
        """The result of a method of the local mixture; lazy for collections."""
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
            if name not in params and not name.startswith(("_callback_", "_skl_", "_error_var")):
                setattr(local, name, value)
        local._next_partition = np.empty(0, dtype=np.int64)  # it stayed on the workers
        return local

    def _check_validation(self, X_val: Any, y_val: Any, sample_weight_val: Any) -> None:
        if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
            raise ValueError("X_val and y_val go together; give both or neither")
        if X_val is not None and not self.early_stopping:
            raise ValueError(
                "X_val was given but early_stopping=False would ignore it; set early_stopping=True"
            )

    @all_or_nothing
    @limited
    def _fit(
        self, client: Any, training: tuple[Any, ...], validation: tuple[Any, ...]
    ) -> ClusterLearner:
        cluster = Cluster(client)
        X, y, sample_weight = training
        chunks = row_chunks(*training)
        resume = self.warm_start and self._begun
        if resume:
            self._check_unchanged()
        else:
            self._forget()
        _check_feature_names(self, getattr(X, "_meta", X), reset=not resume)
        if resume and X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but the mixture was fitted to "
                f"{self.n_features_in_}; fit without warm_start"
            )
        self.n_features_in_ = X.shape[1]
        statistics = self._statistics(cluster, chunks)
        error_scale = self._take_statistics(statistics, flat=y.ndim == 1, resume=resume)
        if not resume:
            self._keep_scaling(replace(statistics.inputs, kind=self.scaling))
        gater = self._seeded_gater()
        weighted = sample_weight is not None or getattr(self, "class_weight", None) is not None
        kind, settings = self._settings(gater, weighted=weighted)
        empty = np.empty((0, self.n_outputs_) if kind == "value" else 0)
        n_classes = 0 if kind == "value" else len(self.classes_)
        targets = Targets(kind, n_classes, empty, error_scale)
        data = self._place(cluster, chunks, validation, statistics, targets, settings.seed)
        if self.expert is None:
            settings = self._with_default_expert(cluster, data, targets, settings, resume=resume)
        learner = ClusterLearner(
            cluster,
            data,
            self._initial_state(gater, int(data.sizes.sum()), resume=resume),
            targets,
            settings,
            first_partition=self.first_partition,
        )
        self._run(learner, X, y, sample_weight)
        return learner

    def _with_default_expert(
        self,
        cluster: Cluster,
        data: ClusterData,
        targets: Targets,
        settings: MixtureSettings,
        *,
        resume: bool,
    ) -> MixtureSettings:
        """The expert that the local mixture would choose, had it the largest block alone."""
        expert = self._default_expert(targets.spread)
        if resume:
            return replace(settings, expert=expert.set_params(**self._kept_expert()))
        settings = replace(settings, expert=expert)
        largest = data.blocks[int(data.sizes.argmax())]
        seconds = GAMMA_SHARE * current_limit().left
        chosen = cluster.submit(tasks.choose_gamma, largest, settings, seconds)
        expert = cluster.gather([chosen])[0]
        self._keep_expert(expert)
        return replace(settings, expert=expert)

    def _to_compare(self, X: Any, y: Any, sample_weight: Any) -> Any:
        return ()  # the examples are on the workers

    def _initial_state(self, gater: Gater, count: int, *, resume: bool) -> ClusterState:
        if resume:
            return ClusterState(
                self.experts_,
                self.gater_,
                self.subset_sizes_,
                getattr(self, "_error_variances", None),
                self._epochs_done,
            )
        n_experts = self._number_of_experts(count)
        return ClusterState([None] * n_experts, gater, np.zeros(n_experts, dtype=np.int64))

    def _statistics(self, cluster: Cluster, chunks: list[tuple[Any, ...]]) -> Statistics:
        model, task = delayed(self._copy()), delayed(chunk_statistics)
        found = cluster.compute([task(model, *chunk) for chunk in chunks])
        statistics: Statistics | None = cluster.reduce(merged, found)
        if statistics is None:
            raise ValueError("X has no examples, or none of them has a weight above zero")
        return statistics

    def _seeded_gater(self) -> Gater:
        """The gater, with a fixed seed instead of a random number generator."""
        gater = self._gater_template(self.gater)
        gater_trainer(gater).check(gater)
        random = gater.get_params(deep=False).get("random_state", 0)
        if not isinstance(random, Integral):
            gater.set_params(random_state=check_random_state(random).randint(2**31 - 1))
        return gater

    def _place(
        self,
        cluster: Cluster,
        chunks: list[tuple[Any, ...]],
        validation: tuple[Any, ...],
        statistics: Statistics,
        targets: Targets,
        seed: int,
    ) -> ClusterData:
        """Makes the blocks, which stay on the workers."""
        local = self._copy()
        if getattr(self, "class_weight", None) == "balanced":
            weights = statistics.count / (len(statistics.classes) * statistics.class_counts)
            names = statistics.classes.tolist()
            local.class_weight = dict(zip(names, weights.tolist(), strict=True))
        given = validation[0] is not None
        split = self.validation_fraction if self.early_stopping and not given else 0.0
        blocks, sizes = _blocks(cluster, chunks, local, targets, split, seed)
        held_out, sizes_val = blocks if self.early_stopping else [], sizes
        if given:
            if is_classifier(self):
                local.class_weight = None  # weights of classes are for training
            rows = row_chunks(*validation, names=VALIDATION_NAMES)
            held_out, sizes_val = _blocks(cluster, rows, local, targets, 1.0, seed)
        if self.early_stopping and not sizes_val[:, 1].any():
            raise ValueError(
                "there are no validation examples with a weight above zero; raise "
                f"validation_fraction={self.validation_fraction}, or give other X_val and y_val"
            )
        scaled = statistics.scaled_inputs(self._fitted_scaling())
        return ClusterData(blocks, sizes[:, 0], held_out, scaled)


def _blocks(
    cluster: Cluster,
    chunks: list[tuple[Any, ...]],
    model: Any,
    targets: Targets,
    validation_fraction: float,
    seed: int,
) -> tuple[list[Any], IntArray]:
    """Futures of non-empty blocks, and their numbers of training and validation examples."""
    shared, task = delayed(model), delayed(make_block)
    made = cluster.compute(
        [
            task(shared, targets, validation_fraction, seed, index, *rows)
            for index, rows in enumerate(chunks)
        ]
    )
    sizes = np.array(cluster.gather(cluster.map("sizes", tasks.sizes, made)))
    kept = np.flatnonzero(sizes.any(axis=1))
    return [made[index] for index in kept], sizes[kept]


def _lost(error: ClusterLost, kept: str) -> str:
    return (
        f"the cluster is lost ({error}); {kept}. Start a cluster, give its Client as client, or "
        "leave client=None for one on this machine, and fit again"
    )
