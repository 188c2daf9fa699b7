"""Table 8.2: perceptrons and committees, with and without a margin."""

from typing import Any

from sklearn.base import clone

from widemargin.mlp import NilssonMLPClassifier
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import DATA, Scope
from widemargin.papers.table_8_1 import best_of_simple_mlps, simple_mlps
from widemargin.papers.trials import Results, compared, tuned
from widemargin.perceptrons import MarginPerceptron, Perceptron

__all__ = ["ITEMS"]

PUBLISHED = {
    "Forest, Perceptron": 31.6,
    "Forest, Margin Perceptron": 23.8,
    "Forest, Nilsson MLP": 10.5,
    "Forest, Simple MLP": 7.3,
    "Connect-4, Perceptron": 25.6,
    "Connect-4, Margin Perceptron": 20.3,
    "Connect-4, Nilsson MLP": 17.2,
    "Connect-4, Simple MLP": 10.1,
}
#: The printed errors of the Nilsson MLP need few units and many epochs: units, λ and epochs.
NILSSON = {"Forest": (501, 0.05, 3000), "Connect-4": (101, 0.05, 1440)}
PATIENCE = 700  # epochs without a lower validation error, which rises and falls on the way
#: The same committee with a margin of votes, the best of ours: units, λ, margin and epochs.
WITH_MARGIN = {"Forest": (501, 0.02, 20.0, 300), "Connect-4": (301, 0.02, 15.0, 60)}


def nilsson(name: str, scope: Scope) -> Any:
    """Of all epochs the one with the lowest validation error."""
    units, rate, epochs = NILSSON[name]
    model = NilssonMLPClassifier(n_units=units, learning_rate=rate, early_stopping=True, n_jobs=1)
    return model.set_params(max_iter=scope.epochs(epochs), n_iter_no_change=PATIENCE)


def best_nilsson(name: str, scope: Scope) -> Any:
    units, rate, margin, epochs = WITH_MARGIN[name]
    model = NilssonMLPClassifier(n_units=units, learning_rate=rate, margin=margin)
    return model.set_params(max_iter=scope.epochs(epochs), early_stopping=True)


def candidates(name: str, scope: Scope) -> dict[str, list[Any]]:
    """What validation rows choose from, of every row but the last, which Table 8.1 has, too."""
    perceptron = Perceptron(
        scaling="standard", early_stopping=True, tol=0.0, max_iter=scope.epochs(1000)
    )
    margin = MarginPerceptron(early_stopping=True, tol=0.0)
    rates = (1e-2, 1e-3, 1e-4, 1e-5)
    return {
        "Perceptron": [clone(perceptron).set_params(n_iter_no_change=n) for n in (5, 20, 100)],
        "Margin Perceptron": [clone(margin).set_params(learning_rate=rate) for rate in rates],
        "Nilsson MLP": [nilsson(name, scope)],
    }


def run(scope: Scope) -> Measured:
    results, notes = Results(), []
    for name in DATA:
        data = scope.thesis_split(name)
        trials = {
            title: tuned(models, data, scope.seeds, together=title == "Nilsson MLP")
            for title, models in candidates(name, scope).items()
        }
        trials["Simple MLP"] = simple_mlps(name, scope)
        for title, trial in trials.items():
            results.add(f"{name}, {title}", trial)
        best = tuned([best_nilsson(name, scope)], data, scope.seeds[:1])
        results.best[f"{name}, Nilsson MLP"] = best.error
        results.best[f"{name}, Simple MLP"] = best_of_simple_mlps(name, scope)
        own = {title: trial.fits[0].predict(data.X_test) for title, trial in trials.items()}
        for pair in (("Margin Perceptron", "Perceptron"), ("Simple MLP", "Nilsson MLP")):
            first, second = ((f"the {title}", own[title]) for title in pair)
            notes.append(compared(name, data.y_test, first, second))
    return results.measured(*notes)


def lower(first: str, second: str) -> Claim:
    """The first model has fewer errors on both data sets."""
    return Claim(
        f"{first} has fewer errors than {second}",
        lambda _, here: all(here[f"{d}, {first}"] < here[f"{d}, {second}"] for d in DATA),
    )


ITEMS = (
    Item(
        "table-8.2",
        "The margin in perceptrons and committees",
        in_thesis("Table 8.2", "8.7", 124),
        kind="error",
        protocol="Chapter 4's splits; parameters chosen on validation rows, early stopping there",
        minutes=20.0,
        run=run,
        published=PUBLISHED,
        unit="test error, %",
        decimals=1,
        misses={
            "Forest, Nilsson MLP": "units, step and epochs of the thesis are not printed",
            "Connect-4, Simple MLP": "with 500 units, as printed",
        },
        claims=(lower("Margin Perceptron", "Perceptron"), lower("Simple MLP", "Nilsson MLP")),
        deviations=(
            "The thesis does not print units, steps and epochs; ours are in the table. Best here: "
            "the Simple MLP with hat-encoded inputs, 2,000 units, dropout and three committees; "
            "the Nilsson MLP with a margin of 20 and 15 votes.",
        ),
        seeds=True,
        data=("covtype", "connect-4"),
    ),
)
