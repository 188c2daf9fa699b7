"""Problems over a part of the examples: how a kernel machine begins when its time is limited.

A solver that is cut off after a few iterations has seen few examples, and those that violate the
conditions most; its machine can be worse than a constant. A random part of the examples is solved
in a fraction of the time, and its solution is feasible for the whole problem with β = 0 elsewhere.
So parts of growing size are solved, each from the solution of the last, and the whole problem comes
after them. Whenever the time is over, there is the machine of the largest part so far.
"""

from dataclasses import replace

import numpy as np

from widemargin._typing import FloatArray, IntArray
from widemargin.svm.decomposition import Solution
from widemargin.svm.problem import Problem, feasible_start

__all__ = ["nested_parts", "part_of", "whole"]

FIRST_EXAMPLES = 2000  # of the smallest part
GROWTH = 4  # the ratio of the sizes of two parts
MIN_EXAMPLES = 50  # of each class in a part, if it has so many


def nested_parts(problem: Problem) -> list[IntArray]:
    """The examples of each part, ascending; none if the problem is hardly larger than the first.

    A part has the classes in the proportions of the problem, but a rare one has some examples.
    The examples of a part are also in the next ones.
    """
    count = problem.examples
    sizes, size = [], FIRST_EXAMPLES
    while 2 * size <= count:
        sizes.append(size)
        size *= GROWTH
    if not sizes:
        return []
    random = np.random.RandomState(0)
    signs = problem.z if problem.kind.endswith("svc") else np.ones(count)
    strata = [random.permutation(np.flatnonzero(signs == z)) for z in (1.0, -1.0)]
    return [
        np.sort(
            np.concatenate(
                [
                    members[: max(MIN_EXAMPLES, round(size * len(members) / count))]
                    for members in strata
                ]
            )
        )
        for size in sizes
    ]


def _variables(problem: Problem, examples: IntArray) -> IntArray:
    """The variables of these examples: one or two of each."""
    sides = len(problem.z) // problem.examples
    return np.concatenate([side * problem.examples + examples for side in range(sides)])


def part_of(problem: Problem, examples: IntArray) -> Problem:
    """The problem of these examples alone; where sums are given, with the same fractions."""
    at = _variables(problem, examples)
    z, upper, group = problem.z[at], problem.upper[at], problem.group[at]
    sums = problem.sums
    if np.any(sums):
        room = [upper[group == g].sum() for g in range(len(sums))]
        total = min(np.abs(sums).max() * upper.sum() / problem.upper.sum(), *room)
        sums = np.sign(sums) * total
    part = Problem(problem.kind, z, problem.s[at], upper, group, sums, np.zeros(len(at)))
    return replace(part, initial=feasible_start(part, part.initial))


def whole(problem: Problem, examples: IntArray, solution: Solution) -> Solution:
    """The solution of a part as one of the problem, of which nothing else is known.

    Its β is feasible, and its dual a bound, if the sums of the problem are 0.
    """
    beta: FloatArray = np.zeros(len(problem.z))
    beta[_variables(problem, examples)] = solution.beta
    return replace(
        solution,
        beta=beta,
        f=np.zeros(problem.examples),
        error=np.full(problem.examples, np.inf),
        violation=np.inf,
        gap=np.inf,
        dual=-np.inf if np.any(problem.sums) else solution.dual,
    )
