"""The report: every number and verdict, figures inline, nothing from elsewhere, text escaped."""

import re
from dataclasses import replace

import pytest

from helpers.command_line import run, run_json
from widemargin.papers import ITEMS, Measured, run_items, write_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("papers")
    run("papers", "run", "figure-2.2", "lecture", "confidence", "-o", path)
    return path


def test_the_page_has_every_line_of_every_result(folder):
    text = (folder / "report.html").read_text("utf-8")
    for name in ("figure-2.2", "lecture-boolean", "confidence"):
        assert f"id='{name}'" in text
        for claim in ITEMS[name].claims:
            assert claim.text.replace("<", "&lt;").replace("'", "&#x27;") in text
    assert "not reached" in text
    assert text.count("<svg") >= 5


def test_the_page_needs_no_network_and_runs_nothing(folder):
    text = (folder / "report.html").read_text("utf-8")
    assert not re.search(r"<script|<link|<iframe|src=|@import|javascript:", text)
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert all("www.w3.org" in address for address in addresses)  # names of XML


def test_text_is_escaped(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    item = replace(
        ITEMS["confidence"],
        title=evil,
        protocol=evil,
        deviations=(evil,),
        run=lambda scope: Measured({evil: 1.0}, notes=(evil,), settings={evil: evil}),
        claims=(),
    )
    records = run_items([item], tmp_path)
    write_report({item.id: item}, records, tmp_path / "report.html")
    assert "<img" not in (tmp_path / "report.html").read_text("utf-8")


def test_the_command_as_json(tmp_path):
    found = run_json("papers", "run", "confidence", "-o", tmp_path)
    assert [item["verdict"] for item in found["items"]] == ["not reached"]
    assert found["report"].endswith("report.html")


def test_list_and_show():
    listed = run_json("papers", "list")
    assert [item["id"] for item in listed] == list(ITEMS)
    assert "table-4.1" in run("papers", "list").stdout
    assert "283,301" in run("papers", "show", "table-4.1").stdout
    assert run_json("papers", "show", "table-4.2")["published"]["win"] == 44473


def test_ctrl_c_leaves_a_report_of_what_was_measured(tmp_path, monkeypatch):
    def interrupt(scope):
        raise KeyboardInterrupt

    monkeypatch.setitem(ITEMS, "figure-8.4", replace(ITEMS["figure-8.4"], run=interrupt))
    run("papers", "run", "confidence", "figure-8.4", "-o", tmp_path, code=130)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "id='confidence'" in text
    assert "id='figure-8.4'" not in text


def test_an_item_that_fails_is_named_and_the_others_are_in_the_report(tmp_path, monkeypatch):
    def fail(scope):
        raise ValueError("no rows")

    monkeypatch.setitem(ITEMS, "figure-8.4", replace(ITEMS["figure-8.4"], run=fail))
    found = run("papers", "run", "figure-8.4", "confidence", "-o", tmp_path, code=1)
    assert found.stderr.splitlines() == ["figure-8.4 failed", "error: no rows"]
    assert "id='confidence'" in (tmp_path / "report.html").read_text("utf-8")


def test_published_numbers_are_shown_as_printed(tmp_path):
    assert "-3,489,571.13" in run("papers", "show", "table-5.3").stdout
    item = ITEMS["table-5.3"]
    records = run_items([replace(item, run=lambda scope: Measured(dict(item.published)))], tmp_path)
    write_report({item.id: item}, records, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert ">10.12<" in text
