"""Pictures without a screen; a test file that imports this is skipped without matplotlib."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")

plt = pytest.importorskip("matplotlib.pyplot")

__all__ = ["close_figures", "labelled", "plt", "two_classes"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def two_classes():
    """Two classes that a line separates but for noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    return X, np.where(X @ [1.0, 0.6] + 0.4 * random.normal(size=80) > 0, "yes", "no")


def labelled(display, word):
    """What was drawn under a label with this word."""
    return next(c for c in display.ax_.collections if word in c.get_label())
