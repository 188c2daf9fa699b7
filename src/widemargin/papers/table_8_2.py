"""Table 8.2: perceptrons and committees, with and without a margin."""

from typing import Any

from sklearn.base import clone

from widemargin.mlp import NilssonMLPClassifier
from widemargin.papers.item import Claim, Item, Measured
from widemargin.papers.scope import DATA, Scope
from widemargin.papers.table_8_1 import best_simple_mlp, simple_mlp
from widemargin.papers.trials import Results, tuned
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
#: The printed errors of the Nilsson MLP need few units and many epochs on Connect-4.
NILSSON_UNITS = {"Forest": 501, "Connect-4": 101}
NILSSON_EPOCHS = {"Forest": 1000, "Connect-4": 1440}


def candidates(name: str, scope: Scope) -> dict[str, list[Any]]:
    """Of each row of the table, the models that validation rows choose from."""
    perceptron = Perceptron(
        scaling="standard", early_stopping=True, tol=0.0, max_iter=scope.epochs(1000)
    )
    margin = MarginPerceptron(early_stopping=True, tol=0.0)
    nilsson = NilssonMLPClassifier(
        early_stopping=True,
        n_units=NILSSON_UNITS[name],
        max_iter=scope.epochs(NILSSON_EPOCHS[name]),
    )
    rates, steps = (1e-2, 1e-3, 1e-4, 1e-5), (0.02, 0.05)
    return {
        "Perceptron": [clone(perceptron).set_params(n_iter_no_change=n) for n in (5, 20, 100)],
        "Margin Perceptron": [clone(margin).set_params(learning_rate=rate) for rate in rates],
        "Nilsson MLP": [clone(nilsson).set_params(learning_rate=rate) for rate in steps],
        "Simple MLP": simple_mlp(scope),
    }


def run(scope: Scope) -> Measured:
    results = Results()
    for name in DATA:
        data = scope.thesis_split(name)
        for title, models in candidates(name, scope).items():
            results.add(f"{name}, {title}", tuned(models, data, scope.seeds))
        ours = tuned([best_simple_mlp(scope)], data, scope.seeds[:1])
        results.best[f"{name}, Simple MLP"] = ours.error
    return results.measured()


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
        "thesis, Section 8.7",
        kind="error",
        protocol="Chapter 4's splits; parameters chosen on validation rows, early stopping there",
        minutes=20.0,
        run=run,
        published=PUBLISHED,
        unit="test error, %",
        claims=(lower("Margin Perceptron", "Perceptron"), lower("Simple MLP", "Nilsson MLP")),
        deviations=(
            "The thesis does not print units, steps and epochs; ours are in the table. Best here: "
            "the Simple MLP with hat-encoded inputs, 2,000 units, dropout and three committees.",
        ),
        seeds=True,
        data=("covtype", "connect-4"),
    ),
)
