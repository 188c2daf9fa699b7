"""docs/command-line.md lists the commands, options and models that exist, and no others."""

import re
from pathlib import Path

import pytest

from helpers.command_line import cli
from widemargin.cli.models import MODELS
from widemargin.cli.stream import streams

typer = pytest.importorskip("typer")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"

if not PAGE.is_file():
    pytest.skip("the documentation is in the source tree only", allow_module_level=True)


def commands(group, prefix=""):
    """Name -> command, for all commands that do something."""
    found = {}
    for name, command in group.commands.items():
        nested = hasattr(command, "commands")
        found |= commands(command, f"{prefix}{name} ") if nested else {f"{prefix}{name}": command}
    return found


COMMANDS = commands(typer.main.get_command(cli.app))
TEXT = PAGE.read_text("utf-8")


def options(command):
    names = [
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    return {name for name in names if name.startswith("-")}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name):
    word = name.removeprefix("papers ")
    assert re.search(rf"`(widemargin )?{re.escape(word)}\b", TEXT), name
    for option in options(COMMANDS[name]):
        assert f"`{option}" in TEXT, f"{option} of {name}"


def test_every_documented_option_exists():
    general = {"--help", "--version", "--install-completion", "--show-completion"}
    known = general.union(*map(options, COMMANDS.values()))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", TEXT)) <= known


def test_the_models_are_documented_with_their_classes():
    rows = re.findall(r"^\| (`[a-z-]+`.*?) \| \[(.+?)\]\(\S+\) \| (yes|no) \|$", TEXT, re.MULTILINE)
    documented = {}
    for names, classes, able in rows:
        pairs = zip(re.findall("`(.+?)`", names), re.findall("`(.+?)`", classes), strict=True)
        documented |= {name: (cls, able == "yes") for name, cls in pairs}
    assert documented == {name: (cls.__name__, streams(cls)) for name, cls in MODELS.items()}
