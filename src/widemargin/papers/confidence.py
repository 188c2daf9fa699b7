"""The claims of 99 % confidence: what the printed error rates show."""

from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.theory import published_rates

__all__ = ["ITEMS"]

TEST_ROWS = {"Forest": 50_000, "Connect-4": 10_000}
#: Printed errors of the Simple MLP and of the better of its rivals.
RATES = {
    "thesis, Forest": (7.3, 8.9),
    "thesis, Connect-4": (10.1, 11.4),
    "report, Forest": (8.5, 10.5),
    "report, Connect-4": (10.3, 11.4),
}
LEVEL = 0.01


def tested(scope: Scope) -> Measured:
    here = {}
    for name, (ours, rival) in RATES.items():
        found = published_rates(ours, rival, TEST_ROWS[name.partition(", ")[2]])
        here[name] = found.p_value
        here[f"{name}, at worst rounding"] = found.highest
    return Measured(here)


def significant(name: str) -> Claim:
    return Claim(
        f"{name}: p < {LEVEL} whatever the rounding",
        lambda _, here: here[f"{name}, at worst rounding"] < LEVEL,
        "the printed rates alone do not show it",
    )


ITEMS = (
    Item(
        "confidence",
        "The Simple MLP is better with 99 % confidence",
        f"{in_thesis('Table 8.1', '8.6.2', 123)}; report, Table 1",
        kind="shape",
        protocol="test of two proportions from the printed rates and the number of test rows",
        minutes=0.01,
        run=tested,
        claims=tuple(map(significant, RATES)),
        deviations=(
            "Errors that both models make are not printed. With enough of them McNemar's test "
            "would show a difference that two proportions do not.",
        ),
    ),
)
