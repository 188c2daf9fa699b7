"""The examples in the docstrings of every module run and print what they claim."""

import doctest
import importlib
import pkgutil

import pytest

import widemargin
from widemargin.perceptrons import perceptron

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    """The names of all modules of the package; only packages are imported."""
    found = pkgutil.walk_packages(widemargin.__path__, prefix="widemargin.")
    return ["widemargin", *(m.name for m in found if not m.name.endswith(".__main__"))]


def cases():
    """One case per module; examples of `widemargin.dask` start clusters."""
    for name in modules():
        slow = name.startswith("widemargin.dask")
        yield pytest.param(name, marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize("name", cases())
def test_examples(name, tmp_path, monkeypatch):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "widemargin":
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    monkeypatch.chdir(tmp_path)  # examples may write files
    failed, _ = doctest.testmod(module, optionflags=OPTIONS, verbose=False)
    assert failed == 0, "the failed examples are printed above"


def test_examples_are_found_and_checked():
    """The search reaches the estimators and finds examples there."""
    assert "widemargin.perceptrons.perceptron" in modules()
    assert doctest.testmod(perceptron, optionflags=OPTIONS).attempted > 0
