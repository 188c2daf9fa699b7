"""The tables of README.md that are made from results of benchmarks."""

import json

import pytest

from tools import benchmark_tables, number_tables
from tools.number_tables import MissingResults


def write(folder, name, **facts):
    (folder / name).write_text(json.dumps(facts))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(number_tables, "FOLDER", tmp_path)
    return tmp_path


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def test_the_least_error_of_each_table_is_bold(folder):
    errors = {"tabular": 3.004, "lightgbm": 2.996, "lightgbm-tuned": 4.0}
    lines = [
        {"table": table, "model": model, "rows": 20_000, "error": error, "seconds": 10 * error}
        for table in benchmark_tables.TEN
        for model, error in errors.items()
    ]
    write(folder, "tables.json", results=lines)
    _, _, *rows = cells(benchmark_tables.ten_tables())
    assert [row[0] for row in rows][:3] == ["adult", "california housing", "connect-4"]
    assert rows[0][1:] == ["20,000", "**3.00**", "**3.00**", "4.00", "30", "30", "40"]


def test_wins_and_losses_of_all_tables_are_one_sentence(folder):
    error = {"wins": 3, "ties": 1, "losses": 2, "geometric_mean": 0.8}
    summary = [
        {"model": "lightgbm", "error": error},
        {"model": "lightgbm-tuned", "error": error | {"geometric_mean": 1.1}},
    ]
    write(folder, "tables.json", results=[{"table": "a"}, {"table": "b"}], summary=summary)
    text = benchmark_tables.all_tables()
    assert "On all 2 tables" in text
    assert "3 wins, 1 ties, 2 losses, 20 % fewer errors" in text
    assert "10 % more errors" in text


def problem(title, ours, **rivals):
    entries = [{"library": "widemargin", "seconds": ours}]
    for name, (seconds, timed) in rivals.items():
        entry = {"library": name.replace("_", "-"), "seconds": seconds}
        entries.append(entry | ({"timed": {"1": 1.0}} if timed else {}))
    return {"problem": title, "machine": "", "entries": entries}


def test_ratios_of_rivals_are_ranges_from_few_rows_to_many(folder):
    found = [
        problem("Forest 100,000", 20.0, scikit_learn=(21_000.0, True), intelex=(210.0, False)),
        problem("Forest 1,000", 0.01, scikit_learn=(0.05, False), intelex=(0.03, False)),
        problem("Forest SVR 25,000", 3.5, scikit_learn=(48.3, False)),
        {"problem": "predict", "seconds": {}},
    ]
    write(folder, "kernel_svm.json", results=found)
    _, _, forest, regression = cells(benchmark_tables.exact_svm())
    assert forest[0] == "Forest, two classes"
    assert forest[1:3] == ["1,000 … 100,000", "10 ms … 20 s"]
    assert forest[3:] == ["3 × … 10 ×", "5 × … ~1,000 ×"]
    assert regression == ["Forest, regression", "25,000", "3.5 s", "—", "14 ×"]


def test_rivals_that_did_not_run_have_no_column_and_quick_runs_no_table(folder):
    found = [problem("a9a 1,000", 0.01, scikit_learn=(0.05, False))]
    write(folder, "kernel_svm.json", results=found)
    assert "intelex" not in benchmark_tables.exact_svm()
    assert "| 5 × |" in benchmark_tables.exact_svm()
    write(folder, "kernel_svm.json", results=found, quick=True)
    with pytest.raises(MissingResults, match="--quick"):
        benchmark_tables.exact_svm()


def test_the_source_of_the_figure_is_the_file_that_exists(folder):
    assert "covtype-20000" in benchmark_tables.figure_source()
    write(folder, "tables-forest.json", results=[])
    assert "--name tables-forest" in benchmark_tables.figure_source()
    assert "covtype" not in benchmark_tables.figure_source()


@pytest.mark.parametrize("name", sorted({*benchmark_tables.TABLES} - {"figure-source"}))
def test_absent_results_are_named(folder, name):
    with pytest.raises(MissingResults, match=r"\.json"):
        benchmark_tables.TABLES[name]()


def test_published_numbers_need_every_item(folder):
    write(folder, "papers.json", results=[])
    with pytest.raises(MissingResults, match=r"no table-8\.2"):
        benchmark_tables.published_numbers()


def test_published_numbers_are_lines_of_the_items():
    from widemargin.papers import ITEMS

    for key, name, _ in benchmark_tables.PUBLISHED:
        assert name in ITEMS[key].published
