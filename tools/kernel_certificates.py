"""Whether kernel machines ever certify what is not true: random problems against an oracle.

    python -m tools.kernel_certificates --count 10000 --seed 0
    python -m tools.kernel_certificates --count 3000 --kernels exponential laplacian

Each problem is drawn from its seed: a machine, a kernel, 5 to 60 rows of 1 to 8 columns at scales
from 1e-30 to 1e30, with offsets, duplicates, columns of two values, weights, either precision,
dense or CSR. The oracle takes β and the rows, computes the kernel in extended precision (from
differences for distances), and from it f, the violation of the conditions and the duality gap.
These must hold:

- `converged_` means that the oracle's violation is at most `tol`;
- `kkt_violation_` and `duality_gap_` are not smaller than the oracle's, also without `converged_`;
- β is feasible: within its bounds, with the sums that the problem fixes, up to rounding;
- no fitted attribute and no prediction is NaN;
- no exception but the documented ones: numbers that overflow, and a ν that no β satisfies.
"""

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.reference.svm import Problem, svm_problem
from widemargin.svm.fit import KernelProblems

MACHINES = {"c_svc": SVC, "nu_svc": NuSVC, "epsilon_svr": SVR, "nu_svr": NuSVR}
MACHINES |= {"one_class": OneClassSVM}
DOCUMENTED = ("overflow", "infeasible", "makes every kernel value the same", "nu makes the sum")
KERNELS = ("linear", "poly", "rbf", "rbf", "sigmoid", "exponential", "laplacian")
SLACK = 1e-9  # relative, of a comparison with the oracle
FEASIBLE = 1e-9  # relative error of a sum of β

Extended = np.longdouble


@dataclass(frozen=True)
class Case:
    """A random problem: a machine with its parameters, and the arguments of its fit."""

    kind: str
    parameters: dict[str, Any]
    X: Any
    y: Any
    weights: Any


class Verdict(NamedTuple):
    """How a case ended."""

    outcome: str  # of the fit: its stop_reason_, or the exception
    faults: list[str]


# ---------------------------------------------------------------------------------- random problems


def draw(seed: int, kernels: Sequence[str] = KERNELS) -> Case:
    """The problem of this seed, with one of these kernels."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(MACHINES)))
    X, scale = _inputs(rng)
    n = X.shape[0]
    y = rng.choice([-1.0, 1.0], size=n)
    if rng.random() < 0.5:
        side = X @ rng.normal(size=X.shape[1]) / scale
        y = np.where(side + 0.3 * rng.normal(size=n) > np.median(side), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    if kind.endswith("svr"):
        y = 10 ** rng.uniform(-3, 6) * (y + rng.normal(size=n) + rng.choice([0.0, 0.0, 1e6]))
    weights = None
    if rng.random() < 0.4:
        weights = 10 ** rng.uniform(-rng.choice([0.5, 6]), 1, size=n)
        weights[2:][rng.random(n - 2) < 0.2] = 0.0
    if rng.random() < 0.25 and np.abs(X).max() < np.finfo(np.float32).max:
        X = X.astype(np.float32)
    if rng.random() < 0.3:
        X = sp.csr_array(X)
    return Case(kind, _parameters(rng, kind, scale, kernels), X, y, weights)


def _inputs(rng: np.random.Generator) -> tuple[Any, float]:
    n, d = int(rng.integers(5, 61)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.2:
        X = np.round(X)
    if rng.random() < 0.3:  # mostly zero
        X *= rng.random(X.shape) < 0.3
    if rng.random() < 0.3:  # far from the origin
        X += 10 ** rng.uniform(0, 9)
    if rng.random() < 0.2:  # columns of very different sizes
        X *= 10 ** rng.uniform(-5, 5, size=d)
    if rng.random() < 0.2:  # a column of two values
        X[:, 0] = rng.choice([0.0, 10 ** rng.uniform(-2, 9)], size=n)
    if rng.random() < 0.3:
        X[rng.integers(n, size=n // 2)] = X[rng.integers(n, size=n // 2)]
    if rng.random() < 0.1:
        X[n // 2 :] = X[: n - n // 2]
    scale = 10 ** rng.uniform(-30, 30) if rng.random() < 0.5 else 1.0
    return X * scale, scale


def _parameters(
    rng: np.random.Generator, kind: str, scale: float, kernels: Sequence[str]
) -> dict[str, Any]:
    kernel = str(rng.choice(kernels))
    most = {"exponential": 2.0, "laplacian": 1.0}.get(kernel)
    exponent = 1.0  # quarters are computed by roots, other numbers by logarithms
    if most is not None and rng.random() < 0.7:
        exponent = float(rng.choice([rng.uniform(0.05, most), rng.integers(1, 4 * most + 1) / 4]))
    gamma: Any = str(rng.choice(["scale", "auto"]))
    if rng.random() < 0.5:
        gamma = 10 ** rng.uniform(-4, 4) / scale ** (2.0 if most is None else exponent)
    found = {
        "kernel": kernel,
        "gamma": gamma,
        "degree": int(rng.integers(1, 5)),
        "coef0": float(rng.choice([0.0, 1.0, rng.normal()])),
        "exponent": exponent,
        "tol": 10 ** rng.uniform(-10, -1) if rng.random() < 0.7 else 1e-3,
        "dtype": str(rng.choice(["auto", "float32", "float64"])),
        "shrinking": bool(rng.random() < 0.7),
        "working_set_size": [2, 4, "auto", "auto", "auto"][rng.integers(5)],
        "max_iter": 50_000,
    }
    if kind in ("c_svc", "epsilon_svr", "nu_svr"):
        found["C"] = 10 ** rng.uniform(-6, 12) if rng.random() < 0.7 else 1.0
    if kind == "epsilon_svr":
        found["epsilon"] = float(rng.choice([0.0, 0.1, 10 ** rng.uniform(-6, 3)]))
    if kind in ("nu_svc", "nu_svr", "one_class"):
        found["nu"] = float(rng.uniform(0.01, 1.0))
    return found


# --------------------------------------------------------------------------------------- the oracle


def exact_kernel(model: Any, X: Any) -> Any:
    """The matrix of kernel values in extended precision."""
    x = (X.toarray() if sp.issparse(X) else X).astype(Extended)
    gamma, r = Extended(model.gamma_), Extended(model.coef0)
    if model.kernel in ("rbf", "exponential", "laplacian"):
        difference = np.abs(x[:, None] - x[None])
        if model.kernel == "rbf":
            return np.exp(-gamma * (difference**2).sum(axis=2))
        in_l1 = model.kernel == "laplacian"
        distance = difference.sum(axis=2) if in_l1 else np.sqrt((difference**2).sum(axis=2))
        return np.exp(-gamma * distance ** Extended(model.exponent))
    inner = x @ x.T
    if model.kernel == "linear":
        return inner
    inner = gamma * inner + r
    return inner**model.degree if model.kernel == "poly" else np.tanh(inner)


class Truth(NamedTuple):
    """The violation and the gap of a point, and how far its sums are from what they must be."""

    violation: Any
    gap: Any
    infeasible: bool


def truth(K: Any, problem: Problem, beta: Any, biases: Any) -> Truth:
    """What holds for this β, in extended precision; the gap is that of these biases."""
    z, U, s = (a.astype(Extended) for a in (problem.z, problem.upper, problem.s))
    b, e = beta.astype(Extended), problem.example
    f = (K @ b.reshape(-1, len(K)).sum(axis=0))[e]
    v, alpha = -(f + s), z * b
    violation, gap = Extended(0), Extended(0)
    infeasible = bool(np.any(alpha < 0) or np.any(alpha > U * (1 + SLACK)))
    for g, total in enumerate(problem.sums):
        members = problem.group == g
        up, low = members & (beta < problem.high), members & (beta > problem.low)
        if up.any() and low.any():
            violation = max(violation, v[up].max() - v[low].min())
        infeasible |= bool(abs(b[members].sum() - total) > FEASIBLE * abs(b[members]).sum())
        r = z * (v - Extended(biases[g]))
        gap += ((U - alpha) * np.maximum(r, 0) + alpha * np.maximum(-r, 0))[members].sum()
    return Truth(violation, gap, infeasible)


# ---------------------------------------------------------------------------------------- the check


def check(case: Case) -> Verdict:
    """Fits the machine and compares what it certifies with what holds."""
    model = MACHINES[case.kind](**case.parameters)
    seen: list[Any] = []
    attributes = KernelProblems.attributes

    def watched(problems: KernelProblems, solutions: Any) -> Any:
        seen[:] = [*solutions, *problems.tasks]
        return attributes(problems, solutions)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with patch.object(KernelProblems, "attributes", watched):
                y = None if case.kind == "one_class" else case.y
                model.fit(case.X, y, sample_weight=case.weights)
        except ValueError as error:
            known = any(words in str(error) for words in DOCUMENTED)
            return Verdict("ValueError", [] if known else [f"ValueError: {error}"])
        except Exception as error:
            return Verdict("exception", [repr(error)])
        solution, task = seen
        return Verdict(model.stop_reason_, _faults(case, model, solution, task))


def _faults(case: Case, model: Any, solution: Any, task: Any) -> list[str]:
    faults = [f"{name} is NaN" for name, value in vars(model).items() if _has_nan(value)]
    faults += ["a coefficient is infinite"] if not np.all(np.isfinite(model.dual_coef_)) else []
    outputs = model.predict if case.kind.endswith("svr") else model.decision_function
    faults += ["an output is NaN"] if _has_nan(outputs(case.X)) else []
    X, y = case.X[task.ids], case.y[task.ids]
    numbers = {name: getattr(model, name) for name in ("C", "epsilon") if hasattr(model, name)}
    weights = None if case.weights is None else case.weights[task.ids]
    problem = svm_problem(case.kind, y, weights, nu=getattr(model, "nu", 0.5), **numbers)
    found = truth(exact_kernel(model, X), problem, solution.beta, solution.biases)
    if not np.isfinite(found.violation):
        return faults  # the oracle overflows
    if found.infeasible:
        faults.append("beta is not feasible")
    if model.converged_ and not found.violation <= model.tol * (1 + SLACK):
        faults.append(f"converged_ with tol {model.tol:.3g} and violation {found.violation:.3g}")
    if not found.violation <= model.kkt_violation_ * (1 + SLACK):
        faults.append(f"kkt_violation_ {model.kkt_violation_:.3g} is {found.violation:.3g}")
    if not found.gap <= model.duality_gap_ * (1 + SLACK):
        faults.append(f"duality_gap_ {model.duality_gap_:.9g} is {found.gap:.9g}")
    return faults


def _has_nan(value: Any) -> bool:
    value = value.data if sp.issparse(value) else value
    return isinstance(value, (float, np.ndarray)) and bool(np.any(value != value))


def main(arguments: list[str] | None = None) -> int:
    """Counts what the random problems end with; returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.kernel_certificates")
    parser.add_argument("--count", type=int, default=1000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--kernels", nargs="+", default=KERNELS, help="to choose from")
    options = parser.parse_args(arguments)
    outcomes: Counter[str] = Counter()
    wrong, start = 0, time.process_time()
    for seed in range(options.seed, options.seed + options.count):
        case = draw(seed, options.kernels)
        verdict = check(case)
        outcomes[verdict.outcome] += 1
        if verdict.faults:
            wrong += 1
            print(f"seed {seed}: {MACHINES[case.kind].__name__}({case.parameters})")
            print("    " + "\n    ".join(verdict.faults), flush=True)
    print(f"{options.count} problems, {wrong} wrong, {time.process_time() - start:.0f} CPU seconds")
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
