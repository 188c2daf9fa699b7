"""Every entry of `docs/errata.md` is computed by a test, and every such test has its entry."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "errata.md"

if not PAGE.is_file():
    pytest.skip("the documentation is in the source tree only", allow_module_level=True)


def computed():
    """The names of all tests of errata, without "test_"."""
    bodies = [ast.parse(path.read_text("utf-8")).body for path in HERE.glob("test_errata_*.py")]
    functions = [f.name for body in bodies for f in body if isinstance(f, ast.FunctionDef)]
    return sorted(n.removeprefix("test_") for n in functions if n.startswith("test_"))


def entries():
    """The first cell of each row of the tables."""
    return re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), flags=re.MULTILINE)


def test_every_entry_is_computed():
    assert sorted(entries()) == computed()
