"""Text that may be numbers: which columns a user is told of."""

import pytest

from widemargin.easy.amounts import amount_among


@pytest.mark.parametrize(
    ("words", "is_amount"),
    [
        ([f"$1,{i:03d}.50" for i in range(50)], True),
        ([f"{i}.{i:03d},00" for i in range(1, 50)], True),
        ([f"{i} %" for i in range(50)], True),
        ([f"{i}.5kg" for i in range(50)], True),
        ([f"CHF 1'{i:03d}" for i in range(50)], True),
        ([f"K{i}" for i in range(50)], False),
        ([f"{i} Main Street" for i in range(50)], False),
        ([f"2020-01-{1 + i % 28:02d}" for i in range(50)], False),
        ([f"{i % 24:02d}:30" for i in range(50)], False),
        ([f"0{i} 12 34" for i in range(50)], False),
        (["small", "large"] * 25, False),
        (["1st", "2nd", "3rd"] * 20, False),
        (["5 stars", "4 stars"] * 20, False),  # few different values: categories
    ],
)
def test_amounts(words, is_amount):
    assert (amount_among(words) is not None) == is_amount
