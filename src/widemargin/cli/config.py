"""Options from a TOML file: its keys are the names of the options."""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

MOST_BYTES = 1_000_000


def _read(context: typer.Context, path: Path | None) -> Path | None:
    """Makes the file's values the defaults of the command's options."""
    if path is None or context.resilient_parsing:
        return path
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"--config {path}: has more than {MOST_BYTES:,} bytes")
        values = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f'--config {path}: {error}; write lines such as target = "y"') from None
    known = {
        option.lstrip("-"): parameter
        for parameter in context.command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    }
    found = {}
    for key, value in values.items():
        name = key.replace("_", "-")
        if name not in known or name in ("config", "help"):
            close = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or sorted(known)
            raise ValueError(
                f"--config {path}: there is no option {key!r}; closest: {', '.join(close)}"
            )
        found[str(known[name].name)] = _default(value, known[name], path, key)
    context.default_map = {**(context.default_map or {}), **found}
    return path


def _default(value: Any, parameter: Any, path: Path, key: str) -> Any:
    """A value as the parameter takes it; a table is KEY=VALUE pairs, as for --set."""
    if isinstance(value, Mapping):
        value = [f"{name}={_plain(each)}" for name, each in value.items()]
    if isinstance(value, list) and not parameter.multiple:
        raise ValueError(f"--config {path}: {key} is a list, but the option takes one value")
    if parameter.multiple:
        return [_plain(each) for each in (value if isinstance(value, list) else [value])]
    if parameter.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"--config {path}: {key} = {value!r}; use true or false")
        return value if f"--{key.replace('_', '-')}" in parameter.opts else not value
    return _plain(value)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file with options: keys are their names, as in time-limit = 60. Options on the "
        "command line come first.",
        is_eager=True,
        callback=_read,
    ),
]
