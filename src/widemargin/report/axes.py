"""Axes of a plot: from values to places in the picture, with ticks at round numbers."""

import math
from dataclasses import dataclass

from widemargin.report.document import Plot
from widemargin.report.page import escape

__all__ = ["HEIGHT", "WIDTH", "Axes", "axes_of", "short", "ticks"]

WIDTH, HEIGHT = 360, 262
LEFT, RIGHT, TOP, BOTTOM = 46, 352, 26, 220  # of the field in which is drawn
TICKS = 5


@dataclass(frozen=True)
class Axes:
    """Two axes."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float
    log_x: bool
    label_x: str
    label_y: str

    def x(self, value: float) -> float:
        """Where a value of the horizontal axis is."""
        if self.log_x:
            part = math.log(value / self.low_x) / math.log(self.high_x / self.low_x)
        else:
            part = (value - self.low_x) / (self.high_x - self.low_x)
        return LEFT + part * (RIGHT - LEFT)

    def y(self, value: float) -> float:
        """Where a value of the vertical axis is."""
        return BOTTOM - (value - self.low_y) / (self.high_y - self.low_y) * (BOTTOM - TOP)

    def frame(self) -> str:
        """Lines, ticks and labels."""
        parts = [f"<path class='axis' d='M{LEFT},{TOP}V{BOTTOM}H{RIGHT}'/>"]
        for value in ticks(self.low_x, self.high_x, self.log_x):
            place = self.x(value)
            parts.append(f"<path class='axis' d='M{place:.1f},{BOTTOM}v4'/>")
            parts.append(_text(place, BOTTOM + 17, short(value), "middle"))
        for value in ticks(self.low_y, self.high_y):
            place = self.y(value)
            parts.append(f"<path class='axis' d='M{LEFT},{place:.1f}h-4'/>")
            parts.append(_text(LEFT - 7, place + 4, short(value), "end"))
        parts.append(_text((LEFT + RIGHT) / 2, HEIGHT - 8, self.label_x, "middle"))
        parts.append(_text(4, 14, self.label_y, "start"))
        return "".join(parts)

    def diagonal(self) -> str:
        """From the lower left to the upper right."""
        return f"<path class='guide' d='M{LEFT},{BOTTOM}L{RIGHT},{TOP}'/>"

    def vertical(self, value: float) -> str:
        """A line at a value of the horizontal axis."""
        return f"<path class='guide' d='M{self.x(value):.1f},{TOP}V{BOTTOM}'/>"

    def horizontal(self, value: float) -> str:
        """A line at a value of the vertical axis."""
        return f"<path class='guide' d='M{LEFT},{self.y(value):.1f}H{RIGHT}'/>"


def axes_of(plot: Plot) -> Axes:
    """Axes that hold all points of a plot."""
    x = [float(value) for series in plot.series for value in series.x]
    if plot.kind == "histogram":
        heights = [sum(column) for column in zip(*(s.y for s in plot.series), strict=True)]
        y = [0.0, *heights]
    else:
        y = [v for s in plot.series for v in (*s.y, *s.low, *s.high)]
    if plot.kind == "quantiles":
        y.append(0.0)
    wide = 0.04 if plot.kind == "quantiles" else 0.0
    low_x, high_x = plot.x_range or _range(x, wide)
    low_y, high_y = plot.y_range or _range(y, 0.0 if plot.kind == "histogram" else 0.06)
    if plot.kind == "histogram":
        high_y *= 1.04
    log_x = plot.log_x and low_x > 0
    return Axes(low_x, high_x, low_y, high_y, log_x, plot.x, plot.y)


def _range(values: list[float], part: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * abs(low) or 0.5
        return low - room, high + room
    return low - part * (high - low), high + part * (high - low)


def ticks(low: float, high: float, log: bool = False) -> list[float]:
    """Round values between two ends, about five.

    Examples
    --------
    >>> ticks(0, 1), ticks(-3, 130), ticks(90, 30_000, log=True)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 50.0, 100.0], [100.0, 1000.0, 10000.0])
    """
    if log:
        tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5)):
            found = [k * 10.0**ten for ten in tens for k in steps if low <= k * 10.0**ten <= high]
            if len(found) >= 3:
                return found
        return [low, high]
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def short(value: float) -> str:
    """A number as a tick shows it.

    Examples
    --------
    >>> short(0.2), short(25000.0), short(3e6), short(-0.0)
    ('0.2', '25k', '3M', '0')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size <= abs(value) < 1e13:
            size = 1e3 if unit == "k" else size
            return f"{value / size:.4g}{unit}"
    return f"{value + 0.0:.4g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escape(text)}</text>"
