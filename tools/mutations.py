"""Small mistakes in the lines of the solvers: where they are possible, and what they are.

A mutation replaces a few characters of one line: a comparison becomes its opposite, a sign or an
operator changes, a constant is off by one, a term is dropped. Only code that computes is mutated:
not comments, docstrings, messages, signatures, imports, nor constants that tune speed.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

PYTHON = ("svm", "linear_svm", "perceptrons", "mlp", "mixtures", "training", "inputs")
CPP = ("linear", "kernel", "svm", "mlp", "mixture", "rows")

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*"}


class Mutation(NamedTuple):
    """Characters `start` to `stop` of a line (counted from 1), and what stands there instead."""

    path: Path
    line: int
    start: int
    stop: int
    new: str

    def apply(self, text: str) -> str:
        """The text of the file with the mistake."""
        lines = text.split("\n")
        lines[self.line - 1] = self.mutated(lines[self.line - 1])
        return "\n".join(lines)

    def mutated(self, line: str) -> str:
        """The line with the mistake."""
        return line[: self.start] + self.new + line[self.stop :]


def sources(root: Path) -> list[Path]:
    """The files of the solvers, in a fixed order."""
    found = [root / "src/widemargin" / room for room in PYTHON]
    found += [root / "cpp/widemargin" / room for room in CPP]
    missing = [str(folder) for folder in found if not folder.is_dir()]
    if missing:
        raise FileNotFoundError(f"no folder {', '.join(missing)}; PYTHON and CPP name the rooms")
    files = {path for folder in found for path in folder.rglob("*") if path.is_file()}
    return sorted(path for path in files if path.suffix in (".py", ".hpp", ".cpp"))


def draw(root: Path, seed: int) -> Iterator[Mutation]:
    """Mutations of lines in random order, one for each line; half of them in C++."""
    random = Random(seed)
    of_line: dict[str, dict[tuple[Path, int], list[Mutation]]] = {"python": {}, "cpp": {}}
    for path in sources(root):
        kind, find = ("python", in_python) if path.suffix == ".py" else ("cpp", in_cpp)
        for mutation in find(path, path.read_text("utf-8")):
            of_line[kind].setdefault((path, mutation.line), []).append(mutation)
    order = [sorted(lines) for lines in of_line.values()]
    for places in order:
        random.shuffle(places)
    for python, cpp in zip(*order, strict=False):
        valid = [mutation for mutation in of_line["python"][python] if parses(mutation)]
        if valid:
            yield random.choice(valid)
        yield random.choice(of_line["cpp"][cpp])


def parses(mutation: Mutation) -> bool:
    """Whether a mutated Python file is still one."""
    try:
        ast.parse(mutation.apply(mutation.path.read_text("utf-8")))
    except SyntaxError:  # a parenthesis was cut off
        return False
    return True


# ----------------------------------------------------------------------------------------- Python

_SILENT = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Delete)
_UNIMPORTANT = {"__repr__", "__sklearn_tags__", "__dir__"}  # functions that compute nothing
_SPEAKING = {"warn", "print", "format", "join", "warns"}
_NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
_NAMES |= {"argmax": "argmin", "argmin": "argmax", "any": "all", "all": "any"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_COMPUTED = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def in_python(path: Path, text: str) -> Iterator[Mutation]:
    """All mutations of a Python file; a few cut a parenthesis, and are left out later."""
    lines = text.split("\n")
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.name not in _UNIMPORTANT:
            for statement in function.body:
                if not is_docstring(statement):
                    for node in computing(statement):
                        yield from of_node(path, lines, node)


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is nothing but a text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def computing(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is inside, without messages, annotations and inner functions."""
    if isinstance(node, (*_SILENT, ast.FunctionDef, ast.ClassDef)):
        return
    if isinstance(node, ast.Call) and called(node) in _SPEAKING:
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from computing(child)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    return str(getattr(function, "attr", getattr(function, "id", "")))


def of_node(path: Path, lines: list[str], node: ast.AST) -> Iterator[Mutation]:
    """The mutations of one node that stands in one line."""

    def at(start: ast.AST | tuple[int, int], stop: tuple[int, int], new: str) -> Iterator[Mutation]:
        line, first = start if isinstance(start, tuple) else (start.lineno, start.col_offset)
        if line == stop[0]:
            raw = lines[line - 1].encode()  # columns of ast are bytes
            columns = [len(raw[:n].decode()) for n in (first, stop[1])]
            yield Mutation(path, line, *columns, new)

    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if type(op) in _COMPARED:
                yield from at(ends(left), begins(right), f" {OPPOSITE[_COMPARED[type(op)]]} ")
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _COMPUTED and not (is_text(left) or is_text(right)):
                between = gap(lines, left, right)
                if between in _COMPUTED.values():  # no parenthesis stands in between
                    yield from at(ends(left), begins(right), f" {OPERATORS[between]} ")
                    yield from at(ends(left), ends(right), "")
        case ast.BoolOp(op=op, values=[first, second, *_]):
            if gap(lines, first, second) in ("and", "or"):
                other = " or " if isinstance(op, ast.And) else " and "
                if len(node.values) == 2:
                    yield from at(ends(first), begins(second), other)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield from at(node, begins(operand), "")
        case ast.AugAssign(target=target, op=op, value=value):
            if type(op) in _COMPUTED:
                new = OPERATORS[_COMPUTED[type(op)]]
                yield from at(ends(target), begins(value), f" {new}= ")
        case ast.Constant(value=bool() as value):
            yield from at(node, ends(node), str(not value))
        case ast.Constant(value=int() | float() as value):
            yield from at(node, ends(node), other_number(value))
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _NAMES:
            line, stop = ends(node)
            yield from at((line, stop - len(name)), (line, stop), _NAMES[name])


def begins(node: ast.expr) -> tuple[int, int]:
    """Where a node begins: its line, and the byte in it."""
    return node.lineno, node.col_offset


def ends(node: ast.AST) -> tuple[int, int]:
    """Where a node ends."""
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def gap(lines: list[str], left: ast.expr, right: ast.expr) -> str:
    """What stands between two nodes of one line, without spaces."""
    if ends(left)[0] != right.lineno:
        return ""
    return lines[right.lineno - 1].encode()[ends(left)[1] : right.col_offset].decode().strip()


def is_text(node: ast.expr) -> bool:
    """Whether a node is a text, whose sum is another text."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def other_number(value: float) -> str:
    """An integer plus one; twice another number, or 1 for 0."""
    return repr(value + 1 if isinstance(value, int) else 2.0 * value or 1.0)


# -------------------------------------------------------------------------------------------- C++

_NO_CODE = re.compile(
    r"^\s*(#|using |template|namespace |static_assert|require\(|throw |case |friend |typedef "
    r"|struct |class |enum |public:|private:|constexpr |static constexpr |inline constexpr "
    r"|extern |CHECK|return \"|\"|\*|//)"
)
_SIGNATURE = re.compile(
    r"^\s*(?!return\b|else\b|if\b|for\b|while\b)[\w:<>&*, ]+ [\w:]+\([^()]*\)[^;]*[{,]$"
)
_RULES = [
    (re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?= )"), lambda m: OPPOSITE[m[1]]),
    (re.compile(r"(?<=[\w\])] )([-+*/])(?= [\w(*&-])"), lambda m: OPERATORS[m[1]]),
    (re.compile(r"(?<= )([-+*/])=(?= )"), lambda m: OPERATORS[m[1]] + "="),
    (re.compile(r"(?<= )(&&|\|\|)(?= )"), lambda m: "||" if m[1] == "&&" else "&&"),
    (
        re.compile(r"(?<=[(=?:,] )-(?=[\w(])|(?<=[(\[])-(?=[\w(])|(?<=return )-(?=[\w(])"),
        lambda m: "",
    ),
    (re.compile(r"(?<=[( ])!(?=[\w(])"), lambda m: ""),
    (re.compile(r"(?<=std::)(max|min)(?=[(<])"), lambda m: "min" if m[1] == "max" else "max"),
    (re.compile(r"\b(true|false)\b"), lambda m: "false" if m[1] == "true" else "true"),
    (re.compile(r"(?<=[\w\])])( [-+] [\w.\[\]]+)(?=[;,)\]])"), lambda m: ""),
    (re.compile(r"(?<![\w.])(\d+\.\d*)(?![\w.])"), lambda m: other_number(float(m[1]))),
    (re.compile(r"(?<![\w.])(\d+)(?![\w.])"), lambda m: other_number(int(m[1]))),
]


def in_cpp(path: Path, text: str) -> Iterator[Mutation]:
    """All mutations of a C++ file; some do not compile, and are left out later."""
    for number, line in enumerate(text.split("\n"), start=1):
        code = re.sub(r"//.*|/\*.*?\*/|\"[^\"]*\"", lambda m: " " * len(m[0]), line)
        if _NO_CODE.match(line) or _SIGNATURE.match(code.rstrip()):
            continue
        for pattern, other in _RULES:
            for found in pattern.finditer(code):
                yield Mutation(path, number, found.start(), found.end(), other(found))
