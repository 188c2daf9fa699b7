"""Lines about linear machines, exact and stochastic: objective, bound, support vectors."""

import numpy as np

from widemargin.analysis.linear_solution import LinearSolution, linear_solutions
from widemargin.analysis.report import Outcome, check, decided, holds, inapplicable, number
from widemargin.analysis.subject import Subject
from widemargin.linear_svm.machine import LinearMachine
from widemargin.perceptrons import SGDSVC

SLACK = 2.0  # times tol: the gap of the model, and that of the bound


def _solutions(subject: Subject) -> list[LinearSolution]:
    found: list[LinearSolution] = subject.once(linear_solutions)
    return found


def _worst(solutions: list[LinearSolution]) -> tuple[LinearSolution, str]:
    """The problem with the largest relative gap, and its place among several."""
    place = int(np.argmax([s.relative_gap for s in solutions]))
    among = "" if len(solutions) == 1 else f" (worst of {len(solutions)}: number {place + 1})"
    return solutions[place], among


@check("primal and dual", "(3.25), (3.30)", LinearMachine)
def gap(subject: Subject) -> Outcome:
    """P at the stored weights, and D of a feasible β, both recomputed from the rows."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    worst, among = _worst(_solutions(subject))
    tol, relative = float(subject.model.tol), worst.relative_gap
    source = "" if worst.recorded_beta else ", D from solving the dual again"
    if relative > SLACK * tol and not subject.model.converged_:
        source += f"; the fit stopped early (stop_reason_={subject.model.stop_reason_!r})"
    return decided(
        relative <= SLACK * tol,
        f"P = {number(worst.primal)}, D = {number(worst.dual)}: relative gap {number(relative)}, "
        f"tol={number(tol)}{source}{among}",
        primal=worst.primal,
        dual=worst.dual,
        gap=worst.primal - worst.dual,
    )


@check("KKT conditions", "(3.28), (3.29)", LinearMachine)
def kkt(subject: Subject) -> Outcome:
    """w = Σ β x̂ as far as the gap allows: ½‖w − Σ β x̂‖² is a part of it."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    found = []
    for solution in _solutions(subject):
        size = float(np.linalg.norm(solution.certificate.w)) or 1.0
        most = np.sqrt(2.0 * SLACK * subject.model.tol * max(solution.primal, 0.0)) / size
        # complementarity: what is left of the gap, in units of P
        rest = solution.relative_gap
        found.append((solution.stationarity, float(most), rest))
    place = int(np.argmax([r / max(m, 1e-300) for r, m, _ in found]))
    residual, most, rest = found[place]
    good = all(r <= m * (1 + 1e-9) + 1e-12 and g <= SLACK * subject.model.tol for r, m, g in found)
    return decided(
        good,
        f"‖w − Σ β x‖/‖w‖ = {number(residual)}, at most {number(most)} if the gap is within "
        f"tol; complementarity within {number(rest)} P",
        stationarity=residual,
        allowed=most,
        complementarity=rest,
    )


@check("recorded optimum", "primal_objective_", LinearMachine)
def recorded(subject: Subject) -> Outcome:
    """`primal_objective_` is P at the stored weights."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    noted = np.atleast_1d(subject.model.primal_objective_)
    primal = np.array([s.primal for s in _solutions(subject)])
    apart = np.abs(noted - primal) / np.maximum(np.abs(noted), 1e-300)
    place = int(np.argmax(apart))
    return decided(
        apart[place] <= 1e-6,
        f"primal_objective_ {number(noted[place])}, recomputed {number(primal[place])}",
        difference=float(apart[place]),
    )


@check("support vectors", "(3.31), Figure 3.5", LinearMachine)
def support_vectors(subject: Subject) -> Outcome:
    """β ≠ 0; the dual variables need not be unique."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    solutions = _solutions(subject)
    free, bound = np.sum([solution.support() for solution in solutions], axis=0).tolist()
    squared = bool(getattr(solutions[0].problem, "squared", False))
    text = f"{number(free)} free and {number(bound)} at bound"
    text = f"{number(free)}; the squared loss has no bound on β" if squared else text
    text += f", summed over {len(solutions)} problems" if len(solutions) > 1 else ""
    source = "of the model" if solutions[0].recorded_beta else "from solving the dual again"
    return holds(f"{text}; β {source}", free=free, at_bound=bound)


# -------------------------------------------------------------------------------- stochastic


@check("primal and dual", "(8.15), (3.30)", SGDSVC)
def stochastic_gap(subject: Subject) -> Outcome:
    """(8.15) at the stored weights is what `fit` noted down, and above a dual bound."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    if subject.model.early_stopping:
        return inapplicable("early stopping held out some of the rows, which are not known here")
    solutions = _solutions(subject)
    primal, dual = sum(s.primal for s in solutions), sum(s.dual for s in solutions)
    noted = float(subject.model.primal_objective_)
    same = abs(noted - primal) <= 1e-6 * max(abs(noted), 1e-300)
    text = f"P = {number(primal)}, at most {number(100 * (primal - dual) / max(primal, 1e-300))} % "
    text += f"above the optimum, which is at least D = {number(dual)} (from solving the dual)"
    if not same:
        text = (
            f"P = {number(primal)} is not primal_objective_ = {number(noted)}; D = {number(dual)}"
        )
    return decided(same, text, primal=primal, dual=dual, gap=primal - dual, recorded=noted)


@check("KKT conditions", "(3.27)-(3.29)", SGDSVC)
def stochastic_kkt(subject: Subject) -> Outcome:
    return inapplicable("stochastic gradient keeps no dual variables (8.17); see primal and dual")
