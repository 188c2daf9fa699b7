"""Adult (census income) as a raw frame: 14 columns of numbers and text, with missing values."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILES = ("adult.data.xz", "adult.test.xz")
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    "native-country",
)


def read_adult() -> tuple[Any, NDArray[Any]]:
    """The frame of all rows of both files, and whether an income is above 50,000 dollars."""
    import pandas

    folder = Path(os.environ["WIDEMARGIN_DATA"]) / "adult"
    form = {"na_values": "?", "skipinitialspace": True, "comment": "|"}
    parts = [pandas.read_csv(folder / file, names=[*COLUMNS, "income"], **form) for file in FILES]
    frame = pandas.concat(parts, ignore_index=True)
    return frame, frame.pop("income").str.startswith(">").to_numpy().astype(np.int64)


def ordinal_codes(frame: Any) -> NDArray[np.float32]:
    """Text as integers in alphabetical order, −1 where it is missing; numbers stay as they are."""
    import pandas

    columns = [
        column if pandas.api.types.is_numeric_dtype(column) else pandas.Categorical(column).codes
        for _, column in frame.items()
    ]
    return np.column_stack(columns).astype(np.float32)
