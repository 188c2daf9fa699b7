"""The type stub of the native module says what the module has: names and arguments."""

import ast
import re
from pathlib import Path

import widemargin
from widemargin import _core


def signatures(functions):
    """Names of positional and of keyword arguments, for every overload of every function."""
    found = {}
    for function in functions:
        positional = [a.arg for a in function.args.args]
        keyword = [a.arg for a in function.args.kwonlyargs]
        found.setdefault(function.name, []).append((positional, keyword))
    return found


def of_stub(body):
    return signatures(node for node in body if isinstance(node, ast.FunctionDef))


def of_module(namespace):
    """nanobind keeps signatures as text: Python, but for the details of array types."""
    texts = [
        re.sub(r"\[[^]]*\]", "", text)
        for value in vars(namespace).values()
        for text, *_ in getattr(value, "__nb_signature__", ())
    ]
    return signatures(ast.parse(f"{text}: ...").body[0] for text in texts)


def test_stub_has_the_signatures_of_the_module():
    stub = ast.parse((Path(widemargin.__file__).parent / "_core.pyi").read_text())
    (rows,) = (node for node in stub.body if isinstance(node, ast.ClassDef))
    methods = of_stub(rows.body)
    assert methods.pop("shape") == [(["self"], [])]  # a property
    assert methods == of_module(_core.Rows)
    assert of_stub(stub.body) == of_module(_core)
