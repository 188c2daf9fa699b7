"""Mutations: what is changed, what is left alone, and the same ones again for a seed."""

from pathlib import Path

import pytest

from tools.mutations import in_cpp, in_python

PYTHON = '''"""A docstring with 1 + 1."""

LIMIT = 100


def f(a, b=2):
    """Adds 1 + 1."""
    if a < b:
        raise ValueError(f"a={a + 1} is not 2")
    total = a - b
    return total
'''
CPP = """// 1 + 1
#include <vector>
constexpr double kLimit = 0.5;
inline double f(const double* a, double b) {
    require(b > 0, "b must be > 0");
    if (a[0] < b) return -b;  // 2 < 3
    return a[1] + b;
}
"""


def lines(find, text):
    return [(m.line, m.apply(text).split("\n")[m.line - 1].strip()) for m in find(Path("f"), text)]


def test_python():
    assert sorted(lines(in_python, PYTHON)) == [
        (8, "if a >= b:"),
        (10, "total = a"),
        (10, "total = a + b"),
    ]


def test_cpp():
    assert sorted(lines(in_cpp, CPP)) == [
        (6, "if (a[0] < b) return b;  // 2 < 3"),
        (6, "if (a[0] >= b) return -b;  // 2 < 3"),
        (6, "if (a[1] < b) return -b;  // 2 < 3"),
        (7, "return a[1] - b;"),
        (7, "return a[1];"),
        (7, "return a[2] + b;"),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x = a"}),
        ("x = -a", {"x = a"}),
        ("x += a", {"x -= a"}),
        ("x = a[0]", {"x = a[1]"}),
        ("x = 0.5 * a", {"x = 1.0 * a", "x = 0.5 / a", "x = 0.5"}),
        ("x = np.maximum(a, b)", {"x = np.minimum(a, b)"}),
        ("x = f(a, keep=True)", {"x = f(a, keep=False)"}),
        ("β = α + γ", {"β = α - γ", "β = α"}),
        ("x = 'a' + 'b'", set()),
        ("warnings.warn(str(a + b))", set()),
    ],
)
def test_what_may_go_wrong_in_a_line(line, expected):
    found = lines(in_python, f"def f(a, b, α, γ):\n    {line}\n")
    assert {text for _, text in found} == expected
