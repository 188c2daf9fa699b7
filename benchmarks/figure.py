"""Draws README's figure, error against time, from results of `benchmarks.tables`.

    python -m benchmarks.tables --tables forest-20000 --name tables-forest
    python -m benchmarks.figure

Each point is a model on a table: the seconds of its fit, and its test error. A search that is not
part of the fit is left out, as the numbers of `benchmarks.tables` state it. The colours can be read
on a light and on a dark page, because the figure has a background of its own.
"""

import argparse
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks._results import FOLDER, saved

TARGET = Path(__file__).resolve().parents[1] / "docs/figures/error-against-time.svg"
BACKGROUND, TEXT = "#f6f8fa", "#1f2328"
#: Prefixes of the names of models; the first that fits decides.
FAMILIES = {
    "lightgbm": ("LightGBM", "#d55e00", "s"),
    "scikit-learn": ("scikit-learn SVC", "#009e73", "^"),
    "intelex": ("scikit-learn-intelex SVC", "#cc79a7", "v"),
    "xgboost": ("other boosted trees", "#6b6b6b", "D"),
    "catboost": ("other boosted trees", "#6b6b6b", "D"),
    "histgb": ("other boosted trees", "#6b6b6b", "D"),
    "xrfm": ("xRFM", "#56b4e9", "P"),
    "": ("widemargin", "#0072b2", "o"),
}
#: Where a label may be, in points from its mark, and how it is aligned.
PLACES = (
    (8, 0, "left", "center"),
    (-8, 0, "right", "center"),
    (0, 8, "center", "bottom"),
    (0, -8, "center", "top"),
    (7, 7, "left", "bottom"),
    (7, -7, "left", "top"),
    (-7, 7, "right", "bottom"),
    (-7, -7, "right", "top"),
    (0, 20, "center", "bottom"),
    (0, -20, "center", "top"),
)


def family(model: str) -> tuple[str, str, str]:
    """Title, colour and marker of a model's family."""
    return next(look for prefix, look in FAMILIES.items() if model.startswith(prefix))


def svg(lines: Sequence[dict[str, Any]]) -> str:
    """The figure of these lines of `benchmarks.tables`, one panel per table."""
    tables = list(dict.fromkeys(line["table"] for line in lines))
    across = 4 if len(tables) > 1 else 2  # columns of the legend
    style = {
        "svg.hashsalt": "widemargin",
        "svg.fonttype": "path",
        "font.size": 10,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), TEXT),
        **dict.fromkeys(("xtick.color", "ytick.color"), TEXT),
    }
    with rc_context(style):
        figure = Figure(figsize=(4.6 * len(tables) + 0.4, 4.6), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        FigureCanvasAgg(figure)  # which knows the sizes of texts
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for ax, table in zip(panels, tables, strict=True):
            _panel(ax, [line for line in lines if line["table"] == table])
        _legend(figure, lines, across)
        figure.draw_without_rendering()  # now places are known
        for ax, table in zip(panels, tables, strict=True):
            _label(ax, [line for line in lines if line["table"] == table])
        text = io.StringIO()
        figure.savefig(text, format="svg", facecolor=BACKGROUND)
    found = re.sub(r"<metadata>.*?</metadata>", "", text.getvalue(), flags=re.DOTALL)  # has a date
    return found[found.index("<svg") :]


def _panel(ax: Any, lines: Sequence[dict[str, Any]]) -> None:
    ax.set_facecolor(BACKGROUND)
    for line in lines:
        _, colour, marker = family(line["model"])
        ax.plot(line["seconds"], line["error"], marker, color=colour, markersize=7, zorder=3)
    ax.set(xscale="log", xlabel="seconds of a fit", ylabel="test error, %")
    name, rows = lines[0]["table"].removesuffix(f"-{lines[0]['rows']}"), lines[0]["rows"]
    ax.set_title(f"{name.capitalize()}: {rows:,} training rows", fontsize=10)
    ax.grid(alpha=0.25)
    ax.margins(0.22, 0.12)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.spines[["top", "right"]].set_visible(False)


def _label(ax: Any, lines: Sequence[dict[str, Any]]) -> None:
    """Names beside the marks, each at the first place where it covers nothing."""
    points = ax.transData.transform([(line["seconds"], line["error"]) for line in lines])
    taken = [_box(x, y, 7, 7) for x, y in points]
    scale = ax.figure.dpi / 72
    renderer = ax.figure.canvas.get_renderer()
    for line, own, (x, y) in zip(lines, list(taken), points, strict=True):
        name = line["title"]
        if [other["title"] for other in lines].count(name) > 1:  # models that differ in settings
            name += f", {', '.join(line['settings'])}"
        text = ax.annotate(name, (line["seconds"], line["error"]), fontsize=8)
        size = text.get_window_extent(renderer)
        others = [box for box in taken if box is not own]
        best = min(PLACES, key=lambda place: _covered(_place(place, x, y, size, scale), others, ax))
        text.remove()
        dx, dy, horizontal, vertical = best
        ax.annotate(
            name,
            (line["seconds"], line["error"]),
            xytext=(dx, dy),
            textcoords="offset points",
            ha=horizontal,
            va=vertical,
            fontsize=8,
            color=family(line["model"])[1],
        )
        taken.append(_place(best, x, y, size, scale))


def _box(x: float, y: float, half_width: float, half_height: float) -> tuple[float, ...]:
    return x - half_width, y - half_height, x + half_width, y + half_height


def _place(place: Any, x: float, y: float, size: Any, scale: float) -> tuple[float, ...]:
    """The box of a label at this place, in pixels."""
    dx, dy, horizontal, vertical = place
    x, y = x + dx * scale, y + dy * scale
    left = x - size.width * {"left": 0.0, "center": 0.5, "right": 1.0}[horizontal]
    low = y - size.height * {"bottom": 0.0, "center": 0.5, "top": 1.0}[vertical]
    return left, low, left + size.width, low + size.height


def _covered(box: tuple[float, ...], others: Sequence[tuple[float, ...]], ax: Any) -> float:
    """The area of the other boxes, and of what is outside the axes, that this box covers."""
    frame = ax.get_window_extent()
    area = (box[2] - box[0]) * (box[3] - box[1])
    inside = _overlap(box, (frame.x0, frame.y0, frame.x1, frame.y1))
    return area - inside + sum(_overlap(box, other) for other in others)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)


def _legend(figure: Any, lines: Sequence[dict[str, Any]], across: int) -> None:
    from matplotlib.lines import Line2D

    present = {family(line["model"]) for line in lines}
    looks = [look for look in dict.fromkeys(reversed(FAMILIES.values())) if look in present]
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=title)
        for title, colour, marker in looks
    ]
    columns = min(across, len(looks))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False)


def main(arguments: list[str] | None = None) -> int:
    """Draws the figure; 1 if there are no results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--name", default="tables-forest", help="of the results (tables-forest)")
    add("--tables", nargs="+", help="tables to draw, one panel each (all)")
    add("--models", nargs="+", help="models to draw (all)")
    add("--output", type=Path, default=TARGET, help="the SVG file")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    found = saved(options.name)
    tables = options.tables or dict.fromkeys(line["table"] for line in found)
    lines = [
        line
        for table in tables
        for line in found
        if line["table"] == table and (options.models is None or line["model"] in options.models)
    ]
    if not lines:
        print(
            f"{FOLDER / options.name}.json has no such results; run python -m benchmarks.tables "
            f"--tables forest-20000 --name {options.name}",
            file=sys.stderr,
        )
        return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(svg(lines), encoding="utf-8")
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
