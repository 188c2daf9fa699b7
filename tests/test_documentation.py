"""The documentation: its examples run, and its links have targets."""

import doctest
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]

if not (ROOT / "README.md").is_file():
    pytest.skip("the documentation is in the source tree only", allow_module_level=True)

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def without_code(text):
    """The text outside fenced code, where `#` is a heading and `[a](b)` a link."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def python_examples(text):
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def on(pages):
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page):
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text("utf-8")), flags=re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {word.strip().replace(" ", "-") for word in words}


@pytest.mark.slow
@on([page for page in PAGES if python_examples(page.read_text("utf-8"))])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_examples(page, tmp_path, monkeypatch):
    examples = python_examples(page.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)  # examples write files
    name = str(page.relative_to(ROOT))
    example = doctest.DocTestParser().get_doctest("\n".join(examples), {}, name, name, 0)
    report = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(example, out=report.append)
    assert not report, "".join(report)


@on(PAGES)
def test_python_code_is_always_an_example_that_runs(page):
    for example in python_examples(page.read_text("utf-8")):
        assert example.startswith(">>> "), f"this code is never run:\n{example}"


@on(PAGES)
def test_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue  # links to the web are not tested
        path, _, anchor = unquote(target).partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(file), f"{file.name} has no heading #{anchor}"


def test_readme_names_the_two_commands():
    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("run", "test"):
        assert re.search(rf"^make {target}\b", readme, flags=re.MULTILINE)
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_readme_shows_the_examples_of_every_task():
    """The README trains, predicts, inspects, saves and loads."""
    code = "\n".join(python_examples((ROOT / "README.md").read_text("utf-8")))
    for word in (".fit(", ".predict(", "geometric_margin_", "history_", "save(", "load("):
        assert word in code


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "index.md" or f"({name})" in index, f"docs/index.md does not list {name}"


@on(PAGES)
def test_commands_exist(page):
    """Commands of the package and modules of the source tree that a page tells to run."""
    text = page.read_text("utf-8")
    for module in re.findall(r"python\s+-m\s+((?:benchmarks|tools)(?:\.\w+)?)\b", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    if page.name != "CHANGELOG.md":
        main = pytest.importorskip("typer.main")
        commands = main.get_command(pytest.importorskip("widemargin.cli").app).commands
        used = set(re.findall(r"`widemargin ([a-z]+)", text))
        assert used <= {*commands}, used - {*commands}
