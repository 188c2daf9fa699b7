"""Numbers of the pages are those of the committed results; marked places are made by functions."""

import json

import pytest

from tools.number_tables import MissingResults, markdown, results
from tools.numbers import ROOT, TABLES, pages, rewritten
from tools.paper_results import main as merge
from widemargin.papers import ITEMS, run_items
from widemargin.papers.scope import Scope

PAGE = "Before.\n<!-- numbers: count 3 -->\nold\n<!-- end numbers -->\nAfter.\n"
COUNT = {"count": lambda last: " ".join(map(str, range(int(last))))}


@pytest.mark.parametrize("path", pages() or [None], ids=lambda path: path.name if path else "none")
def test_pages_have_the_numbers_of_the_results(path):
    if path is None:
        pytest.skip("no page has marked places yet")
    text = path.read_text("utf-8")
    missing = []
    new = rewritten(text, missing=missing)
    assert new == text, f"run `python -m tools.numbers`: {path.relative_to(ROOT)} differs"
    if missing:
        pytest.skip("; ".join(missing))


def test_what_is_between_the_marks_is_made_again():
    new = rewritten(PAGE, COUNT)
    assert new == PAGE.replace("old", "0 1 2")
    assert rewritten(new, COUNT) == new
    assert rewritten(PAGE + PAGE, COUNT) == new + new
    assert rewritten("No marks.\n", COUNT) == "No marks.\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PAGE.replace("count", "total"), "'total' is none of count"),
        (PAGE.replace("<!-- end numbers -->", ""), "no <!-- end numbers -->"),
        (PAGE.replace("old", "<!-- numbers: count 1 -->"), "inside another"),
    ],
)
def test_marks_that_cannot_be_filled_are_named(text, says):
    with pytest.raises(ValueError, match=says):
        rewritten(text, COUNT)


def test_places_whose_results_are_missing_stay_as_they_are():
    def absent(name):
        raise MissingResults(f"{name} is missing")

    missing = []
    assert rewritten(PAGE, {"count": absent}, missing) == PAGE
    assert missing == ["3 is missing"]
    with pytest.raises(MissingResults):
        rewritten(PAGE, {"count": absent})


def test_cells_cannot_break_a_table():
    assert markdown(["a", "b"], [["|x|", "1"]]).splitlines()[2] == r"| \|x\| | 1 |"


def test_absent_results_are_named():
    with pytest.raises(MissingResults, match=r"nothing\.json is missing"):
        results("nothing.json")


def test_a_run_is_merged_without_its_figures_and_read_back(tmp_path, monkeypatch):
    run_items([ITEMS["lecture-boolean"], ITEMS["confidence"]], tmp_path / "run")
    target = tmp_path / "papers.json"
    assert merge([str(tmp_path / "run"), "--output", str(target)]) == 0
    found = json.loads(target.read_text())["results"]
    assert [record["id"] for record in found] == ["confidence", "lecture-boolean"]
    assert all(not record["measured"]["figures"] for record in found)
    monkeypatch.setattr("tools.number_tables.FOLDER", tmp_path)
    assert "`lecture-boolean`" in TABLES["paper-verdicts"]()
    with pytest.raises(MissingResults, match=r"table-8\.2"):
        TABLES["paper"]("table-8.2")


def test_a_run_of_a_reduced_scale_is_not_merged(tmp_path, capsys):
    run_items([ITEMS["confidence"]], tmp_path, Scope(0.5))
    target = tmp_path / "merged" / "papers.json"
    assert merge([str(tmp_path), "--output", str(target)]) == 1
    assert "without --scale" in capsys.readouterr().err
    assert not target.exists()
