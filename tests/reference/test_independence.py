"""The oracle is independent: otherwise a test would compare code with itself."""

import ast
from pathlib import Path

import pytest

import widemargin

PACKAGE = Path(widemargin.__file__).parent
ALLOWED = ("widemargin._typing", "widemargin.criteria", "widemargin.reference")
REFERENCES = sorted((PACKAGE / "reference").glob("*.py"))
PRODUCTION = sorted(set(PACKAGE.rglob("*.py")) - set(REFERENCES))


def imported(file):
    """The modules of the package that a file imports."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "widemargin")


@pytest.mark.parametrize("file", REFERENCES, ids=lambda file: file.stem)
def test_a_reference_imports_nothing_of_production_but_criteria(file):
    others = [name for name in imported(file) if not name.startswith(ALLOWED)]
    assert not others


def test_production_imports_no_reference():
    """But for `papers`, which runs algorithms as they were published."""
    files = [file for file in PRODUCTION if file.parent.name != "papers"]
    found = {str(file.relative_to(PACKAGE)): list(imported(file)) for file in files}
    assert len(found) > 50
    for name, modules in found.items():
        assert not any(module.startswith("widemargin.reference") for module in modules), name
