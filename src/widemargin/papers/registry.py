"""All items, in the order of the documents."""

from collections.abc import Iterable

from widemargin.papers import (
    chapter2,
    chapter3,
    chapter4,
    chapter5_growth,
    chapter5_shrinking,
    chapter5_working_sets,
    chapter6_figures,
    chapter7_figures,
    chapter8_figures,
    confidence,
    fleuret,
    lectures,
    table_6,
    table_7_1,
    table_8_1,
    table_8_2,
    toy_mixture,
)
from widemargin.papers.item import Item

__all__ = ["ITEMS", "find_items"]

MODULES = (
    chapter2,
    chapter3,
    chapter4,
    chapter5_working_sets,
    chapter5_shrinking,
    chapter5_growth,
    toy_mixture,
    table_6,
    chapter6_figures,
    table_7_1,
    chapter7_figures,
    table_8_1,
    table_8_2,
    chapter8_figures,
    confidence,
    fleuret,
    lectures,
)

#: By their ids.
ITEMS: dict[str, Item] = {item.id: item for module in MODULES for item in module.ITEMS}


def find_items(ids: Iterable[str]) -> list[Item]:
    """The items with these ids; "all" are all, and "table" all whose ids begin so.

    Examples
    --------
    >>> [item.id for item in find_items(["table-4"])]
    ['table-4.1', 'table-4.2']
    """
    found: dict[str, Item] = {}
    for name in ids:
        own = {key: item for key, item in ITEMS.items() if name == "all" or key == name}
        own = own or {key: item for key, item in ITEMS.items() if key.startswith(name)}
        if not own:
            raise ValueError(
                f"no experiment is called {name!r}; `widemargin papers list` shows all"
            )
        found |= own
    return list(found.values())
