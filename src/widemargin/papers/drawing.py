"""Figures as SVG, for pages that open without a network."""

import io
import re
from collections.abc import Callable
from typing import Any

__all__ = ["drawn"]


def drawn(draw: Callable[[Any], None], *, width: float = 6.0, height: float = 4.0) -> str:
    """The SVG of a figure that `draw` fills; "" without matplotlib.

    The figure belongs to no window and to no global state, so items can draw in any process.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    with rc_context({"svg.hashsalt": "widemargin", "svg.fonttype": "none"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg")
    svg = re.sub(r"<metadata>.*?</metadata>", "", text.getvalue(), flags=re.DOTALL)  # has a date
    return svg[svg.index("<svg") :]
