"""The machines that Chapter 6 trains on Forest, each trained once for all tables and figures."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from joblib import cpu_count
from sklearn.utils import Bunch

from widemargin.metrics import GradientMetric
from widemargin.mixtures import (
    CellGater,
    GaussianGater,
    HardMixtureClassifier,
    MixtureOfExpertsClassifier,
    MLPGater,
)
from widemargin.mlp import MLPClassifier, SimpleMLPClassifier
from widemargin.papers.scope import PARTS, Scope
from widemargin.papers.table_8_1 import scaled, svms
from widemargin.papers.trials import Trial, tuned
from widemargin.svm import SVC

__all__ = [
    "GLOBAL_MLPS",
    "LONG_EPOCHS",
    "best_of_cells",
    "best_of_committees",
    "forest",
    "parallel_minutes",
    "predictions",
    "svm_mixture",
    "trial",
]

#: Epochs that stand for the many of the thesis, by one cycle of the step.
LONG_EPOCHS = 150
GLOBAL_MLPS = "20 MLPs, gater of 150 units"

Candidates = Callable[[Scope], list[Any]]


def network(loss: str, epochs: int) -> Candidates:
    """500 hidden units, batches of 64."""

    def candidates(scope: Scope) -> list[Any]:
        model = MLPClassifier((500,), activation="tanh", loss=loss, batch_size=64, tol=None)
        model.set_params(learning_rate="one_cycle", learning_rate_init=0.01)
        model.set_params(max_iter=scope.epochs(epochs), weight_decay=0.0, scaling="standard")
        return [model.set_params(early_stopping=True)]

    return candidates


def experts(scope: Scope) -> list[SVC]:
    return [SVC(C=10, gamma=32), SVC(C=100, gamma=16)]


def uniform(scope: Scope) -> list[Any]:
    count = scope.experts(50)
    return [
        HardMixtureClassifier(one, "uniform", n_experts=count, max_iter=1, n_jobs=-1)
        for one in experts(scope)
    ]


def svm_mixture(scope: Scope, units: int, **options: Any) -> HardMixtureClassifier:
    """Algorithm 6.1 with 50 SVM experts, five iterations."""
    options = {"n_experts": scope.experts(50), "max_iter": 5, "n_jobs": -1, **options}
    return HardMixtureClassifier(experts(scope)[0], MLPGater((units,)), **options)


def with_gater(units: int) -> Candidates:
    return lambda scope: [svm_mixture(scope, units, early_stopping=True)]


def small_mlp(scope: Scope) -> MLPClassifier:
    """The expert of Table 6.2: 25 units, log-likelihood, at most 100 epochs per iteration."""
    expert = MLPClassifier((25,), activation="tanh", learning_rate="linear", tol=None)
    expert.set_params(learning_rate_init=0.005, max_iter=scope.epochs(100), batch_size=200)
    expert.set_params(weight_decay=0.0, scaling="standard")
    return expert


def local_mlps(scope: Scope) -> list[Any]:
    """Algorithm 6.2: 20 experts of 25 units, 20 Gaussians each, 15 iterations."""
    mixture = HardMixtureClassifier(
        small_mlp(scope), GaussianGater(20), n_experts=scope.experts(20)
    )
    return [mixture.set_params(max_iter=scope.epochs(15), early_stopping=True, n_jobs=-1)]


def global_mlps(scope: Scope) -> list[Any]:
    """The same experts with a global gater of 150 units."""
    mixture = HardMixtureClassifier(small_mlp(scope), MLPGater((150,)), n_experts=scope.experts(20))
    return [mixture.set_params(max_iter=scope.epochs(15), early_stopping=True, n_jobs=-1)]


def local_svms(scope: Scope) -> list[Any]:
    """Algorithm 6.2: 20 experts, 10 Gaussians each, 16 iterations."""
    mixture = HardMixtureClassifier(
        experts(scope)[0], GaussianGater(10), n_experts=scope.experts(20)
    )
    return [mixture.set_params(max_iter=scope.epochs(16), early_stopping=True, n_jobs=-1)]


def standard_mixture(epochs: int) -> Candidates:
    """Ten experts of 50 units, a gater of 150."""

    def candidates(scope: Scope) -> list[Any]:
        model = MixtureOfExpertsClassifier(10, n_units=50, n_gater_units=150, batch_size=128)
        model.set_params(schedule="one_cycle", learning_rate=0.01, tol=None)
        return [model.set_params(max_iter=scope.epochs(epochs), early_stopping=True)]

    return candidates


ROWS: dict[str, Candidates] = {
    "MLP, MSE, 100 epochs": network("squared_error", 100),
    "MLP, MSE, 2,000 epochs": network("squared_error", LONG_EPOCHS),
    "MLP, CE, 100 epochs": network("log_loss", 100),
    "MLP, CE, 1,000 epochs": network("log_loss", LONG_EPOCHS),
    "SVM": lambda scope: svms(),
    "uniform mixture of 50 SVMs": uniform,
    "50 SVMs, gater of 150 units": with_gater(150),
    "50 SVMs, gater of 500 units": with_gater(500),
    "standard mixture, 65 epochs": standard_mixture(65),
    "standard mixture, 150 epochs": standard_mixture(150),
    "20 MLPs, local gaters": local_mlps,
    "20 SVMs, local gaters": local_svms,
    GLOBAL_MLPS: global_mlps,
}
SCALED = ("SVM",)  # the mixtures scale their inputs themselves


@lru_cache(maxsize=1)
def forest(scope: Scope) -> tuple[Bunch, Bunch]:
    """The data as given, and as a kernel of distances needs them."""
    data = scope.thesis_split("Forest")
    return data, scaled(data)


@lru_cache(maxsize=32)
def trial(name: str, scope: Scope) -> Trial:
    """A row, which several tables and figures may share."""
    data, near = forest(scope)
    return tuned(ROWS[name](scope), near if name in SCALED else data, scope.seeds[:1])


def predictions(name: str, scope: Scope) -> Any:
    """The classes that a row predicts for the test rows."""
    data, near = forest(scope)
    return trial(name, scope).fits[0].predict((near if name in SCALED else data).X_test)


def parallel_minutes(
    mixture: Any, iterations: int | None = None, processors: int | None = None
) -> float:
    """What a hard mixture would take with one computer per expert, from its record.

    Experts and their outputs, and local gaters, which `processors` computed here, are divided among
    the computers; a global gater is trained by one of them. Only so many iterations count.
    """
    share = min(1.0, (processors or cpu_count()) / mixture.n_experts_)
    local, total = isinstance(mixture.gater_, GaussianGater), 0.0
    for record in mixture.history_[:iterations]:
        gater = record["gater_seconds"]
        total += share * (record["experts_seconds"] + record["outputs_seconds"])
        total += share * gater if local else gater
    return total / 60


@lru_cache(maxsize=2)
def best_of_cells(scope: Scope) -> float:
    """Ours at its best: exact machines on cells of k-means, in a learnt metric."""
    _, near = forest(scope)
    metric = GradientMetric(max_rows=10_000).fit(near.X_train, near.y_train)
    mapped = {f"X_{part}": metric.transform(near[f"X_{part}"]) for part in PARTS}
    cells = [
        HardMixtureClassifier(
            SVC(kernel="exponential", C=C, gamma=2.0, tol=1e-2),
            CellGater(),
            n_experts=scope.experts(20),
            max_iter=1,
            scaling=None,
            n_jobs=-1,
        )
        for C in (10.0, 50.0)
    ]
    return tuned(cells, Bunch(**near | mapped), scope.seeds[:1]).error


def best_of_committees(scope: Scope) -> float:
    """The best of ours with MLP experts and local gaters: Simple MLPs."""
    expert = SimpleMLPClassifier(n_units=200, max_iter=scope.epochs(20))
    mixture = HardMixtureClassifier(expert, GaussianGater(20), n_experts=scope.experts(20))
    mixture.set_params(max_iter=scope.epochs(8), early_stopping=True, n_jobs=-1)
    return tuned([mixture], forest(scope)[0], scope.seeds[:1]).error
