"""The type stub of the native module has the names and arguments of the module."""

import ast
import re
from pathlib import Path

import widemargin
from widemargin import _core


def signatures(functions):
    """Names of the positional and keyword arguments of every overload of every function."""
    found = {}
    for function in functions:
        positional = [a.arg for a in function.args.args]
        keyword = [a.arg for a in function.args.kwonlyargs]
        found.setdefault(function.name, []).append((positional, keyword))
    return found


def of_stub(body):
    return signatures(node for node in body if isinstance(node, ast.FunctionDef))


def without_brackets(text):
    """The text without square brackets and what they enclose."""
    shorter = re.sub(r"\[[^][]*\]", "", text)
    return text if shorter == text else without_brackets(shorter)


def of_module(namespace):
    """Signatures that nanobind keeps as text: Python, except for the details of array types."""
    texts = [
        without_brackets(text)
        for value in vars(namespace).values()
        for text, *_ in getattr(value, "__nb_signature__", ())
    ]
    return signatures(ast.parse(f"{text}: ...").body[0] for text in texts)


def test_stub_has_the_signatures_of_the_module():
    stub = ast.parse((Path(widemargin.__file__).parent / "_core.pyi").read_text())
    assert of_stub(stub.body) == of_module(_core)


def is_property(node):
    return any(getattr(name, "id", "") == "property" for name in node.decorator_list)


def test_stub_has_the_methods_of_every_class():
    stub = ast.parse((Path(widemargin.__file__).parent / "_core.pyi").read_text())
    classes = {node.name: node.body for node in stub.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == {name for name, value in vars(_core).items() if isinstance(value, type)}
    for name, body in classes.items():
        found = vars(getattr(_core, name))
        functions = [node for node in body if isinstance(node, ast.FunctionDef)]
        properties = {node.name for node in functions if is_property(node)}
        assert properties == {key for key, value in found.items() if isinstance(value, property)}
        methods = [node for node in functions if node.name not in properties]
        assert of_stub(methods) == of_module(getattr(_core, name)), name
