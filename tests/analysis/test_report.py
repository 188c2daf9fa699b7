"""What a certificate looks like: text, HTML and JSON."""

import json
import re

import numpy as np
import pytest

from widemargin import SVC, Perceptron
from widemargin.analysis import Certificate, Line, certificate
from widemargin.analysis.report import MARKS, WIDTH

X = np.random.default_rng(0).normal(size=(40, 2))
LINES = (
    Line("one", "(1.1)", "holds", "2 < 3 & 4", {"a": np.float64(1.5), "b": np.inf}),
    Line("two", "Theorem 2", "does not hold", "<script>alert(1)</script>", {"c": np.arange(2)}),
    Line("three", "", "does not apply", "there is none", {"d": None}),
)
GIVEN = Certificate("Model(name='<b>')", 10, 5, LINES, ("rows & more",))


def test_text():
    text = str(GIVEN)
    assert "5 of 10 rows" in text
    assert "✗ two" in text
    assert "DOES NOT HOLD: <script>" in text
    assert "3 lines: 1 hold, 1 do not hold, 1 do not apply." in text
    assert repr(GIVEN) == text


def test_text_fits_its_width_and_shows_every_line():
    y = np.where(X[:, 0] > 0, "<left>", "right & up")
    for model in (SVC(C=5.0), Perceptron()):
        found = certificate(model.fit(X, y), X, y)
        text = str(found)
        assert max(map(len, text.splitlines()[1:])) <= WIDTH
        assert sum(text.count(f"  {mark} ") for mark in MARKS.values()) == len(found.lines)


def test_html_is_escaped_and_complete():
    html = GIVEN._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;" in html
    assert "2 &lt; 3 &amp; 4" in html
    assert "rows &amp; more" in html
    assert len(re.findall("<tr>", html)) == len(LINES) + 1
    for tag in ("table", "tr", "td", "th", "div", "p", "b", "span"):
        assert len(re.findall(f"<{tag}[ >]", html)) == html.count(f"</{tag}>")


def test_json_has_everything():
    data = json.loads(GIVEN.to_json())
    assert data["broken"] == ["two"]
    assert data["holds"] is False
    assert data["lines"][0]["values"] == {"a": 1.5, "b": "inf"}
    assert data["lines"][1]["values"] == {"c": [0, 1]}
    assert data == GIVEN.to_dict()
    assert "\n" not in GIVEN.to_json(indent=None)


def test_lines_by_name():
    assert GIVEN["two"] is LINES[1]
    assert GIVEN.broken == ("two",)
    with pytest.raises(KeyError, match="'one', 'two', 'three'"):
        GIVEN["four"]
