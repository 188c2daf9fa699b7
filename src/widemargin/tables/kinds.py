"""The kinds of columns: which one a column is, and how it is stored."""

from collections.abc import Callable
from typing import Any

from widemargin.tables.categories import CategoryColumn
from widemargin.tables.columns import (
    BooleanColumn,
    Column,
    DateColumn,
    DroppedColumn,
    NumberColumn,
    Settings,
)
from widemargin.tables.values import Values, kind_of

FIT: dict[str, Callable[[str, Values, Settings], Column]] = {
    cls.kind: cls.fit for cls in (NumberColumn, BooleanColumn, DateColumn, CategoryColumn)
}
CLASSES: dict[str, type[Column]] = {
    cls.kind: cls
    for cls in (NumberColumn, BooleanColumn, DateColumn, CategoryColumn, DroppedColumn)
}


def fit_column(name: str, values: Values, settings: Settings) -> Column:
    """The fitted column, of the kind that its values suggest."""
    return FIT[kind_of(values)](name, values, settings)


def column_state(column: Column) -> dict[str, Any]:
    """A fitted column as a dictionary of plain values, which a model file can hold."""
    return {"kind": column.kind, **vars(column)}


def restore_column(state: dict[str, Any]) -> Column:
    """The inverse of `column_state`."""
    return CLASSES[state["kind"]](**{key: value for key, value in state.items() if key != "kind"})
