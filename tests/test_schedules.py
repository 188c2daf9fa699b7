"""Learning rates: where they start, how they fall."""

from itertools import pairwise

import pytest

from widemargin.schedules import SCHEDULES, make_schedule


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("learning_rate", [1e-4, 0.3, 2.0])
def test_every_schedule_starts_at_the_rate_and_never_rises(name, learning_rate):
    rate = make_schedule(name, learning_rate, decay=0.3, power_t=0.25)
    rates = [rate(epoch) for epoch in range(50)]
    assert rates[0] == learning_rate
    assert all(0 < later <= earlier for earlier, later in pairwise(rates))


@pytest.mark.parametrize(
    ("name", "options", "epoch", "expected"),
    [
        ("constant", {"decay": 0.5, "power_t": 0.5}, 100, 0.1),
        ("decay", {"decay": 0.25}, 4, 0.05),  # halved after 1/decay epochs
        ("decay", {"decay": 1.0}, 9, 0.01),
        ("decay", {}, 9, 0.1),
        ("invscaling", {}, 3, 0.05),  # 0.1 / sqrt(4)
        ("invscaling", {"power_t": 2.0}, 1, 0.025),
        ("invscaling", {"power_t": 0.0}, 7, 0.1),
    ],
)
def test_rates_of_the_formulas(name, options, epoch, expected):
    assert make_schedule(name, 0.1, **options)(epoch) == pytest.approx(expected)


def test_an_unknown_schedule_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"schedule='cosine'.*constant, decay, invscaling"):
        make_schedule("cosine", 0.1)
