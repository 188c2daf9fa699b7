"""P and D of linear machines in rational numbers, without any rounding."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["MulticlassMachine", "ScaledInputs", "SingleMachine", "fractions"]


class Exact:
    """An array of floating-point numbers as whole numbers times a power of two."""

    def __init__(self, values: Any) -> None:
        part, power = np.frexp(np.asarray(values, dtype=np.float64))
        power = np.where(part == 0.0, 0, power - 53).astype(int)
        self.power = int(power.min(initial=0))
        whole = (part * 2.0**53).astype(np.int64).ravel()
        shifts = (power - self.power).ravel()
        flat = [int(m) << int(k) for m, k in zip(whole, shifts, strict=True)]
        self.whole = np.array(flat, dtype=object).reshape(part.shape)

    def dot(self, other: "Exact") -> list[Fraction]:
        """The product of a matrix and a vector."""
        unit = Fraction(2) ** (self.power + other.power)
        return [int(value) * unit for value in self.whole.dot(other.whole)]


def fractions(values: Any) -> list[Fraction]:
    """Floating-point numbers as rational ones."""
    return [Fraction(float(value)) for value in np.ravel(values)]


@dataclass
class ScaledInputs:
    """Examples with an offset and a scale per column; None leaves them as they are."""

    X: Any
    mean: Any
    scale: Any

    @cached_property
    def exact(self) -> Exact:
        """The inputs as given."""
        return Exact(self.X)

    def outputs(self, coef: Any, intercept: Any) -> list[Fraction]:
        """f(x) from weights of the inputs as given."""
        return [f + Fraction(float(intercept)) for f in self.exact.dot(Exact(coef))]

    def scaled(self, coef: Any, intercept: Any) -> tuple[list[Fraction], Fraction]:
        """The weights and the intercept of the scaled inputs."""
        w, b = fractions(coef), Fraction(float(intercept))
        if self.mean is None:
            return w, b
        b += sum(a * m for a, m in zip(w, fractions(self.mean), strict=True))
        return [a * s for a, s in zip(w, fractions(self.scale), strict=True)], b

    def combine(self, beta: list[Fraction]) -> list[Fraction]:
        """Σ β x̂ of rational β."""
        unit = max(value.denominator for value in beta)
        if any(unit % value.denominator for value in beta):  # not all are powers of two
            return self._combine_slowly(beta)
        whole = np.array([int(value * unit) for value in beta], dtype=object)
        power = Fraction(2) ** self.exact.power / unit
        w = [int(value) * power for value in self.exact.whole.T.dot(whole)]
        return self._centred(w, sum(beta, Fraction(0)))

    def _combine_slowly(self, beta: list[Fraction]) -> list[Fraction]:
        power = Fraction(2) ** self.exact.power
        columns = self.exact.whole.T
        w = [
            power * sum((b * int(x) for b, x in zip(beta, column, strict=True)), Fraction(0))
            for column in columns
        ]
        return self._centred(w, sum(beta, Fraction(0)))

    def _centred(self, w: list[Fraction], total: Fraction) -> list[Fraction]:
        if self.mean is None:
            return w
        each = zip(w, fractions(self.mean), fractions(self.scale), strict=True)
        return [(a - m * total) / s for a, m, s in each]


def square(values: list[Fraction]) -> Fraction:
    """The sum of the squares."""
    return sum((value * value for value in values), Fraction(0))


@dataclass
class SingleMachine:
    """A machine of one output: labels if there is no tube ε, else targets."""

    inputs: ScaledInputs
    target: Any
    c: Any
    r: float
    coef: Any
    intercept: float
    beta: Any
    tube: float | None
    squared: bool

    def primal(self) -> Fraction:
        """P of the stored weights."""
        w, b = self.inputs.scaled(self.coef, self.intercept)
        value = square(w) / 2
        if 0 < self.r < np.inf:
            value += b * b / (2 * Fraction(self.r))
        f = self.inputs.outputs(self.coef, self.intercept)
        for each, t, c in zip(f, fractions(self.target), fractions(self.c), strict=True):
            xi = 1 - t * each if self.tube is None else abs(each - t) - Fraction(self.tube)
            xi = max(xi, Fraction(0))
            value += c * (xi * xi if self.squared else xi)
        return value

    def dual(self) -> Fraction:
        """D of β, moved into its bounds, and with sum 0 if the intercept is free."""
        targets, costs = fractions(self.target), fractions(self.c)
        beta = fractions(self.beta)
        for number, (t, c) in enumerate(zip(targets, costs, strict=True)):
            if not self.squared:
                beta[number] = min(max(beta[number], -c), c)
            if self.tube is None and t * beta[number] < 0:
                beta[number] = Fraction(0)
        if self.r == np.inf:
            beta = _balanced(beta)
        w, total = self.inputs.combine(beta), sum(beta, Fraction(0))
        value = -square(w) / 2 - (Fraction(self.r) * total**2 / 2 if self.r < np.inf else 0)
        for b, t, c in zip(beta, targets, costs, strict=True):
            value += t * b - Fraction(self.tube or 0.0) * abs(b)
            if self.squared:
                value -= b * b / (4 * c)
        return value


def _balanced(beta: list[Fraction]) -> list[Fraction]:
    """β with sum 0: the largest of the sign of the sum are lowered first."""
    beta, excess = list(beta), sum(beta, Fraction(0))
    sign = 1 if excess > 0 else -1
    for number in sorted(range(len(beta)), key=lambda i: -sign * beta[i]):
        less = min(abs(excess), max(sign * beta[number], Fraction(0)))
        beta[number] -= sign * less
        excess -= sign * less
    return beta


@dataclass
class MulticlassMachine:
    """Crammer and Singer's machine; with two classes it is stored as a single output."""

    inputs: ScaledInputs
    y: Any
    c: Any
    r: float
    coef: Any
    intercept: Any
    beta: Any

    def primal(self) -> Fraction:
        """P of the stored weights."""
        single = len(self.coef) == 1
        factors = [Fraction(-1, 2), Fraction(1, 2)] if single else [Fraction(1)] * len(self.coef)
        parts = [0, 0] if single else range(len(self.coef))
        value, outputs = Fraction(0), []
        for part, factor in zip(parts, factors, strict=True):
            w, b = self.inputs.scaled(self.coef[part], self.intercept[part])
            value += factor**2 * square(w) / 2
            if 0 < self.r < np.inf:
                value += factor**2 * b * b / (2 * Fraction(self.r))
            f = self.inputs.outputs(self.coef[part], self.intercept[part])
            outputs.append([factor * each for each in f])
        for number, (own, c) in enumerate(zip(self.y, fractions(self.c), strict=True)):
            f = [of_class[number] + (k != own) for k, of_class in enumerate(outputs)]
            value += c * (max(f) - f[own])
        return value

    def dual(self) -> Fraction:
        """D of β, whose rows sum to 0, and whose columns do if the intercepts are free."""
        classes = self.beta.shape[1]
        alpha = [[max(-b, Fraction(0)) for b in fractions(row)] for row in self.beta]
        for row, own, c in zip(alpha, self.y, fractions(self.c), strict=True):
            row[own] = Fraction(0)
            total = sum(row, Fraction(0))
            if total > c:
                row[:] = [a * c / total for a in row]
        if self.r == np.inf:
            kept = _circulation(alpha, self.y, classes)
            for row, own in zip(alpha, self.y, strict=True):
                row[:] = [a * part for a, part in zip(row, kept[own], strict=True)]
        own = [sum(row, Fraction(0)) for row in alpha]
        value = sum(own, Fraction(0))
        for k in range(classes):
            beta = [
                total if mine == k else -row[k]
                for row, mine, total in zip(alpha, self.y, own, strict=True)
            ]
            value -= square(self.inputs.combine(beta)) / 2
            if self.r < np.inf:
                value -= Fraction(self.r) * sum(beta, Fraction(0)) ** 2 / 2
        return value


def _circulation(alpha: list[list[Fraction]], y: Any, classes: int) -> list[list[Fraction]]:
    """By what factor the flow from each class to each other is kept, so that all are balanced."""
    flow = [[Fraction(0)] * classes for _ in range(classes)]
    for row, own in zip(alpha, y, strict=True):
        for k, a in enumerate(row):
            flow[own][k] += a
    first = [list(row) for row in flow]
    while True:
        excess = [sum(flow[k]) - sum(row[k] for row in flow) for k in range(classes)]
        start = max(range(classes), key=excess.__getitem__)
        if excess[start] <= 0:
            break
        before, queue = {start: start}, [start]
        for k in queue:
            for other in range(classes):
                if flow[k][other] > 0 and other not in before:
                    before[other] = k
                    queue.append(other)
        end = min(queue, key=excess.__getitem__)
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        steps = list(zip(path[1:], path[:-1], strict=True))
        less = min(excess[start], -excess[end], *(flow[a][b] for a, b in steps))
        for a, b in steps:
            flow[a][b] -= less
    return [
        [now / old if old else Fraction(0) for now, old in zip(*rows, strict=True)]
        for rows in zip(flow, first, strict=True)
    ]
