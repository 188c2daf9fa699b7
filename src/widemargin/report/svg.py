"""Plots of a document as inline SVG: colours and text come from the page's style."""

from collections.abc import Sequence
from itertools import pairwise

from widemargin.report.axes import HEIGHT, WIDTH, Axes, axes_of
from widemargin.report.document import Plot, Series
from widemargin.report.formats import percent
from widemargin.report.page import escape, table, words

__all__ = ["STYLE", "draw"]

STYLE = """
.plot svg { max-width: 30rem; margin: 0; overflow: visible }
.plot text { font: 11px system-ui, sans-serif; fill: var(--soft) }
.plot h3 { margin: 1rem 0 .25rem; font-size: 1rem }
.plot .axis { stroke: var(--line); fill: none } .plot .guide { stroke: var(--soft); fill: none;
  stroke-dasharray: 3 4 }
.plot .curve { fill: none; stroke-width: 2; stroke-linejoin: round }
.plot .legend { list-style: none; padding: 0; margin: .25rem 0; display: flex; flex-wrap: wrap;
  gap: .1rem 1rem; font-size: .875rem }
.legend svg { display: inline-block; width: 1.5rem; height: .7rem; margin: 0 .35rem 0 0 }
.bar svg { width: 100%; min-width: 6rem; height: .8rem; max-width: none }
.bar rect { fill: var(--s0) }
""" + "".join(f".c{k} {{ stroke: var(--s{k}) }} .f{k} {{ fill: var(--s{k}) }}\n" for k in range(6))
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
WRONG_FIRST = ("f1", "f0")  # of stacked bars: mistakes in the colour that stands out


def draw(plot: Plot, place: int) -> str:
    """A plot as a figure.

    Parameters
    ----------
    plot : Plot
        What to draw.
    place : int
        A number that no other plot of the page has.
    """
    if plot.kind == "bars":
        return _bars(plot)
    axes = axes_of(plot)
    drawn = {"lines": _lines, "points": _points, "histogram": _histogram, "quantiles": _quantiles}
    inside = drawn[plot.kind](plot, axes)
    name = f"plot-{place}"
    text = "".join(part for part in words(plot.text))
    return (
        f"<figure class='plot'><h3>{escape(plot.title)}</h3>"
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-labelledby='{name}'>"
        f"<title id='{name}'>{escape(plot.title)}</title>"
        f"{axes.frame()}{inside}</svg>{_legend(plot)}"
        f"<figcaption class='small'>{text}</figcaption></figure>"
    )


def _bars(plot: Plot) -> str:
    """Horizontal bars are a table: names of any length stay readable."""
    series = plot.series[0]
    longest = max(series.y, default=0.0) or 1.0
    rows = []
    for name, value in zip(series.x, series.y, strict=True):
        width = f"{100 * max(value, 0.0) / longest:.1f}%"
        bar = f"<svg aria-hidden='true'><rect width='{width}' height='100%'/></svg>"
        rows.append([(escape(name), ""), (escape(percent(value)), "n"), (bar, "bar")])
    head = [("column", ""), (escape(plot.x), "n"), ("", "")]
    return (
        f"<figure class='plot'>{table(head, rows, plot.title, 'bars')}"
        f"<figcaption class='small'>{words(plot.text)}</figcaption></figure>"
    )


def _legend(plot: Plot) -> str:
    if plot.kind not in ("lines", "histogram") or len(plot.series) < 2:
        return ""
    found = []
    for k, series in enumerate(plot.series):
        if plot.kind == "lines":
            line = f"<line class='curve c{k % 6}' x1='0' y1='6' x2='24' y2='6'{_dash(k)}/>"
        else:
            line = f"<rect class='{WRONG_FIRST[k % 2]}' width='24' height='12'/>"
        key = f"<svg viewBox='0 0 24 12' aria-hidden='true'>{line}</svg>"
        found.append(f"<li>{key}<bdi>{escape(series.name)}</bdi></li>")
    return f"<ul class='legend'>{''.join(found)}</ul>"


def _dash(k: int) -> str:
    dashes = DASHES[k % len(DASHES)]
    return f" stroke-dasharray='{dashes}'" if dashes else ""


def _numbers(values: Sequence[float | str]) -> list[float]:
    return [float(value) for value in values]


def _lines(plot: Plot, axes: Axes) -> str:
    parts = [axes.diagonal()] if plot.diagonal else []
    for k, series in enumerate(plot.series):
        path = _path(axes, series)
        parts.append(f"<polyline class='curve c{k % 6}' points='{path}'{_dash(k)}/>")
        if len(series.y) <= 12:
            parts += [
                f"<circle class='f{k % 6}' cx='{axes.x(x):.1f}' cy='{axes.y(y):.1f}' r='3'/>"
                for x, y in zip(_numbers(series.x), series.y, strict=True)
            ]
    return "".join(parts)


def _path(axes: Axes, series: Series) -> str:
    return " ".join(
        f"{axes.x(x):.1f},{axes.y(y):.1f}"
        for x, y in zip(_numbers(series.x), series.y, strict=True)
    )


def _points(plot: Plot, axes: Axes) -> str:
    parts = [axes.diagonal()] if plot.diagonal else []
    for k, series in enumerate(plot.series):
        for x, low, high in zip(_numbers(series.x), series.low, series.high, strict=True):
            parts.append(_line(axes.x(x), axes.y(low), axes.x(x), axes.y(high), f"c{k}"))
        parts.append(f"<polyline class='curve c{k}' points='{_path(axes, series)}'/>")
        parts += [
            f"<circle class='f{k}' cx='{axes.x(x):.1f}' cy='{axes.y(y):.1f}' r='3.5'/>"
            for x, y in zip(_numbers(series.x), series.y, strict=True)
        ]
    return "".join(parts)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f"<line class='{kind}' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'/>"


def _histogram(plot: Plot, axes: Axes) -> str:
    edges = _numbers(plot.series[0].x)
    floor = [0.0] * (len(edges) - 1)
    parts = []
    for k, series in enumerate(plot.series):
        kind = WRONG_FIRST[k % 2] if len(plot.series) > 1 else "f0"
        for i, count in enumerate(series.y):
            if count <= 0:
                continue
            left, right = axes.x(edges[i]), axes.x(edges[i + 1])
            top, bottom = axes.y(floor[i] + count), axes.y(floor[i])
            floor[i] += count
            parts.append(
                f"<rect class='{kind}' x='{left + 0.4:.1f}' y='{top:.1f}' "
                f"width='{max(right - left - 0.8, 0.4):.1f}' height='{bottom - top:.1f}'/>"
            )
    if edges[0] < 0 < edges[-1]:
        parts.append(axes.vertical(0.0))
    return "".join(parts)


def _quantiles(plot: Plot, axes: Axes) -> str:
    """Thin lines hold 90 % of the rows, boxes half; the curve is the median."""
    outer_low, low, middle, high, outer_high = plot.series
    centres = [axes.x(x) for x in _numbers(middle.x)]
    gaps = [b - a for a, b in pairwise(centres)]
    half = max(2.0, min([9.0, *(gap / 3 for gap in gaps)]))
    parts = [axes.horizontal(0.0)]
    for k, x in enumerate(centres):
        parts.append(_line(x, axes.y(outer_low.y[k]), x, axes.y(outer_high.y[k]), "c0"))
        top, bottom = axes.y(high.y[k]), axes.y(low.y[k])
        parts.append(
            f"<rect class='f0' fill-opacity='.35' x='{x - half:.1f}' y='{top:.1f}' "
            f"width='{2 * half:.1f}' height='{max(bottom - top, 1):.1f}'/>"
        )
    path = " ".join(f"{x:.1f},{axes.y(y):.1f}" for x, y in zip(centres, middle.y, strict=True))
    return "".join(parts) + f"<polyline class='curve c1' points='{path}'/>"
