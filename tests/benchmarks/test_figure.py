"""README's figure is drawn from results of the benchmark of tables."""

import pytest

pytest.importorskip("matplotlib")
figure = pytest.importorskip("benchmarks.figure")


def line(table, model, seconds, error):
    return {"table": table, "rows": 100, "model": model, "title": model.upper()} | {
        "seconds": seconds,
        "error": error,
    }


LINES = [
    line("a-100", "tabular", 10.0, 1.0),
    line("a-100", "lightgbm", 0.1, 2.0),
    line("b", "scikit-learn", 3.0, 1.5),
]


def test_the_figure_is_the_same_each_time_and_has_a_background():
    drawn = figure.svg(LINES)
    assert drawn.startswith("<svg")
    assert figure.BACKGROUND in drawn
    assert figure.svg(LINES) == drawn


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ("tabular", "widemargin"),
        ("rbf", "widemargin"),
        ("lightgbm-tuned", "LightGBM"),
        ("intelex", "scikit-learn-intelex SVC"),
        ("scikit-learn", "scikit-learn SVC"),
        ("catboost", "other boosted trees"),
    ],
)
def test_families(model, title):
    assert figure.family(model)[0] == title


def test_a_label_that_covers_another_one_moves():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    free = figure._covered((100, 100, 150, 110), [], ax)
    covered = figure._covered((100, 100, 150, 110), [(140, 100, 200, 110)], ax)
    assert free == 0
    assert covered == 100
    assert figure._covered((-50, 100, 0, 110), [], ax) == 500  # all of it outside the axes


def test_the_command_draws_what_was_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(figure, "saved", lambda name: LINES)
    target = tmp_path / "new" / "figure.svg"
    assert (
        figure.main(["--tables", "b", "a-100", "--models", "tabular", "--output", str(target)]) == 0
    )
    assert target.read_text().startswith("<svg")
    assert figure.main(["--tables", "c", "--output", str(target)]) == 1
    assert "benchmarks.tables" in capsys.readouterr().err
