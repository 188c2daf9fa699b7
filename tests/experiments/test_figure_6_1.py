"""Figure 6.1, and plots of gates."""

import numpy as np
import pytest

from helpers.mixtures import X, Y, quick

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


def test_gates_are_drawn_as_mixed_colours():
    from matplotlib.colors import to_rgb

    from widemargin.plots import EXPERT_COLOURS, draw_gates

    fitted = quick(n_experts=2).fit(X, Y)
    (image,) = draw_gates(fitted, X, grid_resolution=20).get_images()
    gates = fitted.gates([X.min(0)])  # of the lower left corner
    expected = gates[0] @ [to_rgb(name) for name in EXPERT_COLOURS[:2]]
    np.testing.assert_allclose(image.get_array()[0, 0], expected, atol=1e-6)
    with pytest.raises(ValueError, match="a plane has two inputs"):
        draw_gates(fitted, X[:, :1])
