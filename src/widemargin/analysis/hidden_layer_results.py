"""What `hidden_layer_svm` finds, as numbers and as text."""

from dataclasses import dataclass, field

import numpy as np

from widemargin._typing import FloatArray, IntArray

__all__ = ["HiddenLayerSVM", "OutputSVM", "UnitSVM"]

WORST_SHOWN = 5  # units that the text names


@dataclass(frozen=True, eq=False)
class OutputSVM:
    """The output layer beside the SVM of the hidden outputs (8.7).

    Attributes
    ----------
    cost, optimum, bound : float
        The cost (8.3) of (w, b), that of the SVM, and a lower bound of every cost.
    margin, svm_margin : float
        2β/‖w‖ in the space of the hidden outputs, of the network and of the SVM.
    n_support : int
        Examples with α > 0.
    residual : float
        ‖μw − Σ α y Φ‖ relative to ‖μw‖; 0 for a Simple MLP, which does not train w.
    imbalance : float
        The same relative to Σ α ‖Φ‖, the sum of the norms of its terms.
    bias_residual : float
        :math:`|\\sum_l \\alpha_l y_l|` relative to Σ α.
    """

    cost: float
    optimum: float
    bound: float
    margin: float
    svm_margin: float
    n_support: int
    residual: float
    imbalance: float
    bias_residual: float

    @property
    def excess(self) -> float:
        """How far the cost is above the optimum, at most."""
        return max(0.0, self.cost - self.bound)


@dataclass(frozen=True, eq=False)
class UnitSVM:
    """A hidden unit beside its local SVM (8.30), (8.32).

    Attributes
    ----------
    unit : int
        n.
    n_local : int
        Examples with h' > 0; for HardTanh those with |z| ≤ 1.
    n_at_kink : int
        Support vectors near |z| = 1.
    support, coef : ndarray
        The local support vectors, and their coefficients :math:`w_n y_l \\alpha_l h' / \\nu` in
        v_n; without ν, the same without the division.
    residual : float
        ‖νv_n − Σ‖ relative to ‖νv_n‖; without ν, the same as `imbalance`.
    imbalance : float
        ‖νv_n − Σ‖ relative to the sum of the norms of the terms of Σ.
    kink_residual : float
        The same if h' may be any number in [0, 1] for examples near a kink.
    bias_residual : float
        :math:`|\\sum_l y_l \\alpha_l h'|` relative to :math:`\\sum_l \\alpha_l h'`.
    cost, optimum, bound : float
        The cost of (v_n, a_n) in the local SVM, that of its solution, and a lower bound. NaN if h
        is not straight.
    n_lost : int
        Global support vectors among the local examples that are outside the margin of the local
        SVM's solution. The theorem says 0.
    """

    unit: int
    n_local: int
    n_at_kink: int
    support: IntArray
    coef: FloatArray
    residual: float
    imbalance: float
    kink_residual: float
    bias_residual: float
    cost: float = np.nan
    optimum: float = np.nan
    bound: float = np.nan
    n_lost: int = 0

    @property
    def excess(self) -> float:
        """How far the cost is above the optimum, at most."""
        return float(np.maximum(0.0, self.cost - self.bound))


@dataclass(frozen=True, eq=False)
class HiddenLayerSVM:
    """Theorem 8.4 at the point that training reached; printing it gives the text form.

    Attributes
    ----------
    n_examples : int
        L.
    margin, mu, nu : float
        β, and the weight decays of the output layer and of the units.
    objective : float
        J of (8.28).
    gradient : float
        The norm of the shortest gradient of the Lagrangian, which is 0 at a minimum without kinks.
    alpha : ndarray of shape (n_examples,)
        The multipliers.
    output : OutputSVM
    units : list of UnitSVM
    tol : float
        The relative residual and excess up to which the text says that a statement holds.
    """

    n_examples: int
    margin: float
    mu: float
    nu: float
    objective: float
    gradient: float
    alpha: FloatArray = field(repr=False)
    output: OutputSVM
    units: list[UnitSVM] = field(repr=False)
    tol: float

    def unit_holds(self, unit: UnitSVM) -> bool:
        """Whether both equations of (8.30) hold for a unit, as printed."""
        return max(unit.residual, unit.bias_residual) <= self.tol

    @property
    def output_holds(self) -> bool:
        """Whether the output layer is an optimal SVM."""
        return self.output.excess <= self.tol * self.objective

    @property
    def holds(self) -> bool:
        """Whether the output layer is an SVM and (8.30) holds for every unit."""
        return self.output_holds and all(map(self.unit_holds, self.units))

    def __str__(self) -> str:
        output, units = self.output, self.units
        say = {True: "holds", False: "does not hold"}
        lines = [
            f"Theorem 8.4 on {self.n_examples} examples: J = {self.objective:.6g}, "
            f"shortest gradient {self.gradient:.2g}",
            f"output layer as the SVM of the hidden outputs (8.3): {say[self.output_holds]}",
            f"  cost {output.cost:.6g}, optimum {output.optimum:.6g}; margin {output.margin:.4g}, "
            f"of the SVM {output.svm_margin:.4g}; {output.n_support} support vectors",
            f"  residuals of (8.7): {output.residual:.2g} (w), {output.bias_residual:.2g} (b); "
            f"imbalance {output.imbalance:.2g}",
        ]
        if units:
            failed = [unit for unit in units if not self.unit_holds(unit)]
            lines += [
                f"equations (8.30): hold for {len(units) - len(failed)} of {len(units)} units",
                *map(self._why, sorted(failed, key=lambda unit: -unit.residual)[:WORST_SHOWN]),
            ]
            if len(failed) > WORST_SHOWN:
                lines.append(f"  and {len(failed) - WORST_SHOWN} more")
        solved = [unit for unit in units if not np.isnan(unit.cost)]
        if solved:
            excess = [unit.excess / self.objective for unit in solved]
            optimal = sum(value <= self.tol for value in excess)
            lost = sum(unit.n_lost for unit in solved)
            lines += [
                f"local SVMs (8.32): {optimal} of {len(solved)} units are optimal; "
                f"largest excess {max(excess):.2g} of J",
                f"global support vectors that are local ones: all but {lost} of "
                f"{sum(len(unit.support) for unit in solved)}",
            ]
        return "\n".join(lines)

    def _why(self, unit: UnitSVM) -> str:
        text = (
            f"  unit {unit.unit}: (8.30) does not hold: residuals {unit.residual:.2g} (v), "
            f"{unit.bias_residual:.2g} (a); imbalance {unit.imbalance:.2g}"
        )
        if unit.n_at_kink:
            text += f"; residual {unit.kink_residual:.2g} if h' is free at {unit.n_at_kink} kinks"
        return text
