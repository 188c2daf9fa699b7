"""A table with columns of many types, and what the encoder makes of single columns."""

import datetime
import decimal

import numpy as np
import pytest

from widemargin.tables import TableEncoder

pd = pytest.importorskip("pandas")


def mixed_frame():
    day = datetime.date(2026, 1, 30)
    return pd.DataFrame(
        {
            "age": [20.0, None, 40.0, 25.0],
            "count": pd.array([1, 2, None, 4], dtype="Int64"),
            "town": ["Bern", "Sion", None, "Bern"],
            "object": np.array(["u", None, "v", "w"], dtype=object),
            "category": pd.Categorical([3, 4, 3, 3]),
            "flag": [True, False, True, True],
            "day": [day, day + datetime.timedelta(1), None, day],
            "price": [decimal.Decimal("1.5"), decimal.Decimal(2), None, decimal.Decimal(3)],
        }
    )


def encoded(values, **options):
    """What a table of one column becomes."""
    return TableEncoder(sparse=False, **options).fit_transform(pd.DataFrame({"c": values}))


def kind(values):
    encoder = TableEncoder().fit(pd.DataFrame({"c": values}))
    return encoder.columns_[0]["kind"]
