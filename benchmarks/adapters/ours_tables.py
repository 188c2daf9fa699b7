"""widemargin on tables: its models of raw tables, kernel machines in a learnt metric and without,
and a mixture of them.

A metric is scaled so that γ = 1 is the γ of the machines that learnt it; without a metric, the
inputs are divided by their median distance. So γ has the same few values for every table.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.pipeline import make_pipeline

from benchmarks._splits import Split
from benchmarks.adapters._tables import Standardised, TableLibrary
from widemargin import (
    SVC,
    SVR,
    GradientMetric,
    HardMixtureClassifier,
    TabularClassifier,
    TabularRegressor,
)

CACHE = 2000  # MB
CS = (2.0, 10.0, 50.0)
GAMMAS_IN_METRIC = (0.5, 1.0, 2.0, 4.0)
GAMMAS = {"exponential": (1.0, 2.0, 4.0), "rbf": (0.5, 2.0, 8.0)}
EPSILON = 0.05  # of standardised targets, while C and γ are chosen
EPSILONS = (0.01, 0.2)  # tried after that
EXPERTS = 20
MIXTURE_METRIC_ROWS = 10_000


def machine(split: Split, kernel: str, threads: int, tol: float) -> Any:
    options: dict[str, Any] = {"kernel": kernel, "cache_size": CACHE, "n_jobs": threads}
    if split.classes:
        return SVC(tol=tol, **options)
    return SVR(epsilon=EPSILON, **options)


def grids(split: Split, gammas: Sequence[float]) -> Sequence[Mapping[str, Sequence[Any]]]:
    """C and γ together; then ε of a regression."""
    first = {"C": CS, "gamma": gammas}
    return (first,) if split.classes else (first, {"epsilon": EPSILONS})


class OursTabular(TableLibrary):
    """The models of raw tables, with their defaults."""

    name = "tabular"
    title = "Tabular"
    setting = "defaults"
    module = "widemargin"
    raw = True
    predicts_most_likely = True

    def model(self, split: Split, threads: int) -> Any:
        return (TabularClassifier if split.classes else TabularRegressor)(n_jobs=threads)


class OursMetric(TableLibrary):
    """An exact machine with exponential kernel in the metric that its gradients teach."""

    module = "widemargin"

    def __init__(self, structure: str) -> None:
        self.structure = structure
        self.name = "metric" if structure == "diagonal" else f"{structure}-metric"
        self.title = f"{structure} metric, SVM"

    def model(self, split: Split, threads: int) -> Any:
        metric = GradientMetric(structure=self.structure, task=split.task, n_jobs=threads)
        return make_pipeline(metric, machine(split, "exponential", threads, tol=1e-2))

    def stages(self, split: Split) -> Sequence[Mapping[str, Sequence[Any]]]:
        return grids(split, GAMMAS_IN_METRIC)


class OursMixture(TableLibrary):
    """A hard mixture in a metric from few rows: experts of clusters, one iteration."""

    module = "widemargin"
    tasks = ("classification",)
    least_rows = 20_000

    def __init__(self, gater: str) -> None:
        self.gater, self.name = gater, f"mixture-{gater}"
        self.title = f"diagonal metric, mixture, {gater}"

    def model(self, split: Split, threads: int) -> Any:
        metric = GradientMetric(max_rows=MIXTURE_METRIC_ROWS, task=split.task, n_jobs=threads)
        mixture = HardMixtureClassifier(
            machine(split, "exponential", threads, tol=1e-2),
            self.gater,
            n_experts=EXPERTS,
            first_partition="kmeans",
            max_iter=1,
            scaling=None,  # the metric is the scale
            n_jobs=threads,
            random_state=0,
        )
        return make_pipeline(metric, mixture)

    def stages(self, split: Split) -> Sequence[Mapping[str, Sequence[Any]]]:
        return ({"expert__C": CS, "expert__gamma": GAMMAS_IN_METRIC},)


class OursMachine(TableLibrary):
    """An exact machine of standardised inputs."""

    module = "widemargin"

    def __init__(self, kernel: str) -> None:
        self.kernel = self.name = kernel
        self.title = f"SVM, {kernel} kernel"

    def model(self, split: Split, threads: int) -> Any:
        inputs = Standardised(unit_distance=True)
        return make_pipeline(inputs, machine(split, self.kernel, threads, tol=1e-3))

    def stages(self, split: Split) -> Sequence[Mapping[str, Sequence[Any]]]:
        return grids(split, GAMMAS[self.kernel])


class RivalMachine(OursMachine):
    """The same machine of another library, with the settings that are chosen for ours."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__("rbf")
        self.name, self.title = name, title

    @abstractmethod
    def machines(self) -> tuple[Any, Any]:
        """The classes of the classifier and the regressor."""

    def model(self, split: Split, threads: int) -> Any:
        classifier, regressor = self.machines()
        options: dict[str, Any] = {"cache_size": CACHE}
        options |= {"n_jobs": threads} if self.threaded else {}
        made = classifier(**options) if split.classes else regressor(**options, epsilon=EPSILON)
        return make_pipeline(Standardised(unit_distance=True), made)

    def model_of_choice(self, split: Split, threads: int) -> Any:
        return super().model(split, threads)


class ScikitLearnMachine(RivalMachine):
    """scikit-learn's machine."""

    module = "sklearn"
    threaded = False
    most_rows = 20_000

    def __init__(self) -> None:
        super().__init__("scikit-learn", "scikit-learn, rbf kernel")

    def machines(self) -> tuple[Any, Any]:
        from sklearn.svm import SVC, SVR

        return SVC, SVR


class IntelexMachine(RivalMachine):
    """The machine of scikit-learn-intelex."""

    module = "sklearnex"

    def __init__(self) -> None:
        super().__init__("intelex", "intelex, rbf kernel")

    def machines(self) -> tuple[Any, Any]:
        from sklearnex.svm import SVC, SVR

        return SVC, SVR
