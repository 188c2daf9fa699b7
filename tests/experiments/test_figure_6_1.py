"""Figure 6.1."""

import pytest

pytest.importorskip("matplotlib").use("Agg")


@pytest.mark.slow
def test_the_mixture_of_lines_is_nearly_as_good_as_a_gaussian_svm(tmp_path):
    from helpers.command_line import run_json

    picture = tmp_path / "figure.png"
    result = run_json("papers", "figure-6.1", "-o", picture)
    line, gaussian, mixture = (row["test_error"] for row in result["models"])
    assert line > 22
    assert mixture <= gaussian + 2
    assert mixture < 6
    assert picture.read_bytes()[:4] == b"\x89PNG"
