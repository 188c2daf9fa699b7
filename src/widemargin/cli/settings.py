"""Models by name with their parameters, as options give them."""

import ast
import contextlib
import difflib
from collections.abc import Sequence
from typing import Any

CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
MAX_SETTING = 10_000  # characters of a tuple, list or dictionary


def make_model(name: str, settings: Sequence[str], time_limit: float | None) -> Any:
    """The model called `name` with these settings, which are checked."""
    from widemargin.cli.models import MODELS, new_model

    if name not in MODELS:
        close = difflib.get_close_matches(name, MODELS, n=3, cutoff=0.7)
        hint = f" closest: {', '.join(close)};" if close else ""
        raise ValueError(f"there is no model {name!r};{hint} use one of {', '.join(MODELS)}")
    estimator = new_model(name)
    known = estimator.get_params()
    for key, value in parsed(settings).items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=3, cutoff=0.5) or sorted(known)
            raise ValueError(f"{name} has no parameter {key!r}; closest: {', '.join(close)}")
        estimator.set_params(**{key: value})
    if time_limit is not None:
        estimator.set_params(time_limit=time_limit)
    estimator._validate_params()  # before the data are read
    return estimator


def parsed(settings: Sequence[str]) -> dict[str, Any]:
    """The parameters and values of ``--set KEY=VALUE``."""
    found = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set {setting}: give a parameter and its value: max_iter=50")
        try:
            found[key] = parse_value(text)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"--set {setting}: {error}; write (50, 50), [1, 2] or text") from None
    return found


def parse_value(text: str) -> Any:
    """The value that a setting stands for.

    An integer, a float, true, false or null; numbers such as 512,512 as a tuple; tuples, lists and
    dictionaries as Python writes them; any other text as it is.

    Examples
    --------
    >>> parse_value("(50, 50)"), parse_value("50,50"), parse_value("[0.5]"), parse_value("auto")
    ((50, 50), (50, 50), [0.5], 'auto')
    """
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    if text.strip().startswith(("(", "[", "{")):
        if len(text) > MAX_SETTING:
            raise ValueError(f"the value has more than {MAX_SETTING} characters")
        return ast.literal_eval(text.strip())
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return tuple(kind(part) for part in text.rstrip(",").split(","))
    return text
