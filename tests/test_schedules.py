"""Learning-rate schedules: first value, formulas, end."""

from itertools import pairwise

import pytest

from widemargin.schedules import ENDING_SCHEDULES, SCHEDULES, make_schedule

FALLING = [name for name in SCHEDULES if name != "one_cycle"]


@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("learning_rate", [1e-4, 0.3, 2.0])
def test_every_schedule_starts_at_the_rate_and_never_rises(name, learning_rate):
    rate = make_schedule(name, learning_rate, decay=0.3, power_t=0.25, epochs=50)
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
        ("linear", {"epochs": 8}, 6.5, 0.1 * 1.5 / 8),
        ("linear", {"epochs": 8}, 8, 0.0),
        ("cosine", {"epochs": 6}, 2, 0.075),  # (1 + cos 60°) / 2 = 3/4
        ("cosine", {"epochs": 6}, 6, 0.0),
        ("one_cycle", {"epochs": 10}, 0, 0.004),
        ("one_cycle", {"epochs": 10}, 1.5, 0.052),  # half way between 0.004 and 0.1
        ("one_cycle", {"epochs": 10}, 3, 0.1),
        ("one_cycle", {"epochs": 10}, 6.5, 0.0500002),
        ("one_cycle", {"epochs": 10}, 10, 4e-7),
    ],
)
def test_rates_agree_with_the_formulas(name, options, epoch, expected):
    assert make_schedule(name, 0.1, **options)(epoch) == pytest.approx(expected)


def test_an_unknown_schedule_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"schedule='step'.*constant, decay, invscaling"):
        make_schedule("step", 0.1)


@pytest.mark.parametrize("name", ENDING_SCHEDULES)
def test_a_schedule_that_ends_needs_the_number_of_epochs(name):
    with pytest.raises(ValueError, match="number of epochs"):
        make_schedule(name, 0.1)
    assert make_schedule(name, 0.1, epochs=5).epochs == 5
