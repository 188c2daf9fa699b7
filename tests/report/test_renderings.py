"""Reports as HTML, Markdown and JSON: the same numbers, safe, small, offline, well formed."""

import dataclasses
import json
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from helpers.reports import EVIL, KINDS, evil_record, large_record, record_of
from widemargin.report import Column, Record, render_html, render_json, render_markdown
from widemargin.report.build import build
from widemargin.report.document import Cell, Facts, Plot, Table
from widemargin.report.formats import shown
from widemargin.report.page import STYLE
from widemargin.report.to_markdown import escaped

SPECIAL = {"evil": evil_record, "large": large_record}
EMPTY = Record("classification", "y", "t.csv", 10, 8, 2)
VOID = {"meta", "br", "img", "hr", "input", "link"}


def record(kind):
    return SPECIAL[kind]() if kind in SPECIAL else record_of(kind)


SLOW = pytest.mark.slow(seconds=8)
every = pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=SLOW if k == "many" else ()) for k in (*KINDS, *SPECIAL)]
)


class Page(HTMLParser):
    """The elements of a page; wrong nesting is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.ids, self.headings = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert len(values) == len(attrs), f"an attribute of {tag} twice"
        self.elements.append((tag, values, tuple(self.open)))
        if "id" in values:
            self.ids.append(values["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "p":
            assert "p" not in self.open
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes {self.open}"
        self.open.pop()


def text_of(html):
    """What a reader of the page sees, spaces put together."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


@every
def test_the_page_is_well_formed_and_accessible(kind):
    page = Page(render_html(record(kind)))
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(page.headings))
    links = {values["href"] for tag, values, _ in page.elements if tag == "a"}
    assert links == {f"#{name}" for name in page.ids if not name.startswith("plot-")}
    for tag, values, parents in page.elements:
        if tag == "th":
            assert values["scope"] in ("row", "col")
        if tag == "svg" and values.get("aria-hidden") != "true":
            assert values["role"] == "img"
            assert values["aria-labelledby"] in page.ids
        if tag == "table":
            assert "div" in parents  # which scrolls


@every
def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing(kind):
    page = Page(render_html(record(kind)))
    for tag, values, _ in page.elements:
        assert tag not in ("script", "link", "img", "iframe", "object", "base", "form", "image")
        assert not [name for name in values if name.startswith("on") or name in ("src", "style")]
        assert values.get("href", "#").startswith("#")
    style = re.search("<style>(.*?)</style>", render_html(record(kind)), re.DOTALL).group(1)
    assert not re.search(r"url|@import|expression|http", style)


def test_hostile_names_stay_text():
    html, markdown, plain = (f(evil_record()) for f in (render_html, render_markdown, render_json))
    page = Page(html)
    allowed = {"class", "id", "href", "viewbox", "role", "aria-labelledby", "aria-label", "width"}
    allowed |= {"aria-hidden", "tabindex", "scope", "lang", "charset", "name", "content", "height"}
    allowed |= {"d", "x", "y", "text-anchor", "points", "stroke-dasharray", "cx", "cy", "r"}
    allowed |= {"x1", "x2", "y1", "y2", "fill-opacity"}
    assert {name for _, values, _ in page.elements for name in values} <= allowed
    for text in (html, markdown, plain):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        assert "x" * 400 not in text
    assert "<script>alert" in text_of(html)  # as a reader sees it
    prose = re.sub("(?ms)^(`{3,}).*?^\\1$", "", markdown)
    prose = re.sub(r"`[^`\n]*`", "", re.sub(r"\\`", "", prose))
    assert not re.search(r"(?<!\\)<(script|img)", prose)
    assert not re.search(r"(?<!\\)\]\(", prose)
    assert "````" in markdown


@pytest.mark.parametrize("name", EVIL)
def test_markdown_tables_keep_their_cells(name):
    assert len(re.findall(r"(?<!\\)\|", f"| {escaped(shown(name, 'text'))} |")) == 2


@every
def test_the_three_have_the_same_numbers(kind):
    given = record(kind)
    document = build(given)
    html, markdown = text_of(render_html(given)), render_markdown(given)
    found = json.loads(render_json(given))
    assert found["title"] == document.title
    counted = 0
    for section, plain in zip(document.sections, found["sections"], strict=True):
        assert escaped(section.title) in markdown
        for part, same in zip(section.parts, plain["parts"], strict=True):
            values = []
            if isinstance(part, Table):
                assert [len(row) for row in same["rows"]] == [len(row) for row in part.rows]
                values = [
                    (value, column.form)
                    for row in part.rows
                    for value, column in zip(row, part.columns, strict=True)
                ]
            elif isinstance(part, Facts):
                values = [(fact.value, fact.form) for fact in part.facts]
            for value, form in values:
                text = " ".join(shown(value, form).split())
                assert text in html, (part, value)
                assert text in markdown or escaped(text) in markdown, (part, value)
                raw = value.value if isinstance(value, Cell) else value
                assert json.dumps(raw, ensure_ascii=False)[1:-1] in json.dumps(
                    same, ensure_ascii=False
                )
                counted += 1
            if isinstance(part, Plot):
                assert [s["y"] for s in same["series"]] == [list(s.y) for s in part.series]
                assert part.title in html
                assert escaped(part.title) in markdown
    assert counted > 50


@every
def test_a_record_after_json_gives_the_same_reports(kind):
    given = record(kind)
    again = Record.from_dict(json.loads(json.dumps(given.to_dict())))
    for render in (render_html, render_markdown, render_json):
        assert render(again) == render(given)


def test_large_records_are_cut_and_say_so():
    given = large_record()
    texts = [render(given) for render in (render_html, render_markdown, render_json)]
    for text in texts:
        assert len(text.encode()) < 600_000
        for said in (
            "The 100 most important of 500 columns are shown.",
            "The 20 largest of 100 classes are shown.",
            "The 50 largest of 100 classes are shown.",
            "The 6 least well separated of 100 classes are shown.",
            "The 20 best, on most rows, of 200 trials are shown.",
            "The 25 heaviest of 50 members are shown.",
            "The 40 most severe of 100 findings are shown.",
            "The 60 first of 150 decisions are shown.",
            "The 80 first of 200 parameters are shown.",
        ):
            assert said in re.sub(r"\\", "", text), said
    for part in (part for section in build(given).sections for part in section.parts):
        if isinstance(part, Table):
            assert len(part.rows) <= 101
        if isinstance(part, Plot):
            assert all(len(series.y) <= 100 for series in part.series)


def test_a_record_with_little_is_a_report_too():
    for render in (render_html, render_markdown, render_json):
        assert "not measured" in render(EMPTY)
    Page(render_html(EMPTY))
    regression = dataclasses.replace(EMPTY, task="regression")
    assert "regression" not in render_html(regression)  # nothing is invented


def test_numbers_that_are_not_finite_are_left_out():
    nan, huge = float("nan"), float("inf")
    given = dataclasses.replace(
        record_of("two"),
        leaderboard=({"model": "a", "loss": nan, "kkt_violation": huge, "rows": 5},),
        learning_curve=({"rows": 1, "loss": nan}, {"rows": 2, "loss": 1.0}),
        columns=tuple(
            dataclasses.replace(column, importance=nan) for column in record_of("two").columns
        ),
        parameters={"a": nan, "b": huge},
        members=({"description": "a", "weight": nan},),
        loss={"name": "loss", "value": nan, "constant": huge},
    )
    for render in (render_html, render_markdown, render_json):
        assert not re.search(r"\b(nan|inf|NaN|Infinity)\b(?!,)", render(given))


def test_the_summary_says_whether_the_model_is_better():
    two = record_of("two")
    assert "better than the baseline beyond chance" in render_html(two)
    same = dataclasses.replace(two, baseline=two.evaluation)
    assert "do not show that the model is better" in render_html(same)
    worse = dataclasses.replace(two, baseline=two.evaluation, evaluation=two.baseline)
    assert "worse than the baseline" in render_html(worse)
    stopped = dataclasses.replace(two, stop_reason="time_limit")
    assert "stopped at its time limit" in render_html(stopped)


def test_certificates_in_words():
    html = text_of(render_html(record_of("two")))
    assert "is the exact optimum of its problem to within its tolerance" in html
    assert "the largest violation is" in html
    assert "The duality gap is at most" in html
    broken = [{**one, "status": "does not hold"} for one in record_of("two").certificate]
    html = render_html(dataclasses.replace(record_of("two"), certificate=tuple(broken)))
    assert "do not hold" in html
    assert "exact optimum of its problem to within" not in html


def test_command_and_code_are_as_given():
    two = record_of("two")
    markdown = render_markdown(two)
    assert f"```sh\n{two.command}\n```" in markdown
    assert f"```python\n{two.code}\n```" in markdown


@pytest.mark.parametrize(
    ("rows", "wrong", "said"),
    [(400, 0.5, ""), (400, 0.01, "Few answers are wrong"), (40, 0.5, "The rows are few")],
)
def test_intervals_that_may_be_too_short_are_named(rows, wrong, said):
    found = record_of("two").evaluation
    error = {**found["metrics"]["error"], "value": wrong}
    found = {**found, "rows": rows, "metrics": {**found["metrics"], "error": error}}
    html = render_html(dataclasses.replace(record_of("two"), evaluation=found))
    caution = "the intervals of log loss and Brier score may be too short"
    assert (f"{said}: {caution}" in html) if said else (caution not in html)


@pytest.mark.parametrize(
    "changes",
    [
        {"evaluation": {"task": "classification"}},
        {"evaluation": {"metrics": {"error": "low"}, "task": "classification"}},
        {"leaderboard": (3,)},
        {"columns": (Column("a", "number", "many", 3, "input"),)},
        {"members": ({"weight": "heavy"},)},
        {"learning_curve": ({"rows": "a", "loss": 2}, {"rows": 3, "loss": 2})},
        {"seconds": {"fit": "long"}},
        {"task": "ranking"},
    ],
)
def test_a_damaged_record_is_a_clear_error(changes):
    damaged = dataclasses.replace(record_of("three"), **changes)
    for render in (render_html, render_markdown, render_json):
        with pytest.raises(ValueError, match=r"the record holds something else .* train the model"):
            render(damaged)


def test_certificates_say_how_much_of_the_model_they_are_about():
    two = record_of("two")
    certified = two.certificate[0]["member"]
    members = ({"description": certified, "weight": 0.25}, {"description": "mlp", "weight": 0.75})
    html = text_of(render_html(dataclasses.replace(two, members=members)))
    assert "Certificates are about 25.0 % of the final model. The rest ( mlp )" in html
    assert "Certificates are about" not in render_html(two)


def contrast(one, other):
    """Of two colours, by the formula of the Web Content Accessibility Guidelines."""

    def light(colour):
        full = colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])
        parts = np.array([int(full[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        parts = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(parts @ [0.2126, 0.7152, 0.0722])

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_have_enough_contrast(mode):
    before, _, after = STYLE.partition("@media (prefers-color-scheme: dark)")
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", before if mode == "light" else after))
    for name in ("text", "soft", "blue", "yes", "no", "warn", "other"):
        for behind in ("back", "card"):
            assert contrast(colours[name], colours[behind]) >= 4.5, (name, behind)
    for name in (f"s{k}" for k in range(6)):
        assert contrast(colours[name], colours["back"]) >= 3, name


def test_a_trial_that_was_repeated_is_told_once():
    trial = {"model": "SVC", "rows": 100, "folds": 1, "loss": 0.25, "seconds": 1.0}
    trials = (trial, {**trial, "seconds": 2.0}, {**trial, "rows": 50})
    record = Record("classification", "y", "f", 200, 100, 100, leaderboard=trials)
    section = next(one for one in build(record).sections if one.id == "leaderboard")
    assert section.parts[0].text.startswith("3 trials")
    assert [row[1] for row in section.parts[1].rows] == [100, 50]


def test_what_is_cut_is_no_warning():
    record = large_record()
    cut = "AUC is the mean of the 100 largest of 200 classes"
    record = dataclasses.replace(record, evaluation={**record.evaluation, "cuts": [cut]})
    section = next(one for one in build(record).sections if one.id == "scores")
    levels = [part.level for part in section.parts if getattr(part, "text", "") == f"{cut}."]
    assert levels == ["note"]


def test_importances_are_shares_of_columns_in_markdown_too():
    text = render_markdown(record_of("two"))
    lines = text.partition("## Which columns matter")[2].partition("\n## ")[0].splitlines()
    head = lines.index("| column | share of all columns |")
    assert all(" % |" in line for line in lines[head + 2 : head + 7])
    prose = [line for line in text.splitlines() if not line.startswith(("|", " "))]
    assert not any("  " in line.strip() or line != line.rstrip() for line in prose)
