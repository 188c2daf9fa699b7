r"""The learner that trains a soft mixture by expectation-maximisation (Jordan and Jacobs, 1994).

Which expert made an example is not known. Given the posteriors :math:`h_{lk} = P(k|x_l, y_l)` of
the mixture so far, for any other parameters θ (Jensen's inequality)

.. math:: \log P_\theta(y_l|x_l) \ge \sum_k h_{lk} \log \frac{g_k(x_l) P(y_l|x_l, k)}{h_{lk}}

with equality at the mixture so far. So parameters with a higher

.. math:: \sum_l \sum_k h_{lk} \left(\log g_k(x_l) + \log P(y_l|x_l, k)\right)

have a likelihood that is higher by as much or more. The M step finds such parameters: it is a
soft-max network fitted to the posteriors, and weighted fits of the experts.
"""

from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_errors
from widemargin.mixtures.soft.criteria import LEAST_LOG_VARIANCE, Likelihood, log_gates
from widemargin.mixtures.soft.mixture import SoftLearner, SoftMixture
from widemargin.training.loop import Tally
from widemargin.training.model import Examples

M_STEPS = 20  # of L-BFGS in an M step, from where the last one ended
CRISPNESS = 3.0  # deviation of the soft-max inputs of the first gates
EVERYWHERE = 0.01  # the part of an example that is first shared out evenly
LEAST_SHARE = 1e-8  # of all weight; an expert with less keeps what it knows


class EMLearner(SoftLearner):
    """Trains a `SoftMixture`: an epoch is an M step, then an E step (a learner of the loop).

    Networks (the gater, and experts unless others are given) take some steps of L-BFGS, each of
    which raises the bound: generalised EM, in which the penalised likelihood never falls. Given
    experts are fitted anew; the same holds if their fit is exact, or goes on from the last one.
    """

    def __init__(
        self,
        examples: Examples,
        mixture: SoftMixture,
        *,
        decay: float,
        n_jobs: int | None,
        random: np.random.RandomState | None,
        updates: int = 0,
        variance_shares: FloatArray | None = None,
    ) -> None:
        assert isinstance(mixture.criterion, Likelihood)
        super().__init__(examples, mixture, variance_shares)
        self.criterion, self.decay, self.n_jobs = mixture.criterion, decay, n_jobs
        self.rows_per_call = len(self.order)
        weights = examples.weights
        if random is not None:
            if mixture.experts is not None and sp.issparse(examples.X):
                mixture.scaling.centre = False  # given experts see these rows: keep them sparse
            mixture.scaling.update(examples.X, self.order, weights)
        inputs = mixture.inputs(examples.X)
        self.panels = list(inputs.panels(self.order))  # all rows, standardised once
        self.y = examples.y[self.order]
        self.w = np.ones(len(self.order)) if weights is None else weights[self.order]
        self.updates = updates
        self.given_outputs: NDArray[Any] | None = None
        if mixture.experts is not None:
            self.X = inputs.for_estimators(self.order)
        if random is None:  # goes on
            self._ask_experts()
            self._e_step()
        else:
            self.posteriors = self._first_posteriors(random)

    # -------------------------------------------------------------------------------- E step

    def _first_posteriors(self, random: np.random.RandomState) -> FloatArray:
        """Gates of a random linear gater: regions that a gater can learn, and a bit of all."""
        layout = self.mixture.layout
        spread = CRISPNESS / np.sqrt(layout.inputs)
        V = random.normal(scale=spread, size=(layout.inputs, layout.experts))
        zero = np.zeros(layout.experts)
        h = np.concatenate([np.exp(log_gates(p.times(V, zero))) for _, p in self.panels])
        return (1 - EVERYWHERE) * h + EVERYWHERE / layout.experts

    def _e_step(self) -> tuple[float, float]:
        """Posteriors of the mixture; the sums of its criterion and errors."""
        layout = self.mixture.layout
        weights = layout.views(self.mixture.parameters)
        found, criterion, wrong = [], 0.0, 0.0
        for places, panel in self.panels:
            done, y, w = layout.forward(weights, panel), self.y[places], self.w[places]
            f = self._outputs(done.outputs, places)
            h, total = self.criterion.posteriors(done.logits, f, y, weights["log_variance"])
            found.append(h)
            criterion -= float(total @ w)
            scores = self.criterion.scores(done.logits, f)
            wrong += float(example_errors(scores, y, self.variance_shares) @ w)
        self.posteriors = np.concatenate(found)
        return criterion, wrong

    def _outputs(self, of_network: NDArray[Any], places: slice) -> NDArray[Any]:
        return of_network if self.given_outputs is None else self.given_outputs[places]

    # -------------------------------------------------------------------------------- M step

    def visit(self, order: IntArray, rate: float) -> Tally:
        """One iteration; its sums are those of the mixture after it."""
        if self.mixture.experts is not None:
            self._fit_experts(self.mixture.experts)
        self._fit_networks()
        criterion, wrong = self._e_step()
        self.updates += len(order)
        return Tally(len(order), criterion, wrong, float(self.w.sum()))

    def _fit_experts(self, experts: list[Any]) -> None:
        """Weighted fits of given experts, side by side, and the variance of what they miss."""
        shares = self.posteriors * self.w[:, None]
        if self.variance_shares is None:
            targets: ArrayLike = self.y.astype(np.intp)
        else:
            targets = self.y[:, 0] if self.y.shape[1] == 1 else self.y
        Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_fit_expert)(expert, self.X, targets, shares[:, k])
            for k, expert in enumerate(experts)
            if shares[:, k].sum() > LEAST_SHARE * shares.sum()
        )
        self._ask_experts()
        if self.mixture.layout.variances and self.given_outputs is not None:
            squares = np.einsum("lk,lkc->c", shares, (self.y[:, None] - self.given_outputs) ** 2)
            with np.errstate(divide="ignore"):
                found = np.log(squares / shares.sum())
            weights = self.mixture.layout.views(self.mixture.parameters)
            weights["log_variance"][...] = np.maximum(found, LEAST_LOG_VARIANCE)

    def _ask_experts(self) -> None:
        if self.mixture.experts is not None:
            self.given_outputs = self.mixture.expert_outputs(self.X)

    def _fit_networks(self) -> None:
        layout = self.mixture.layout
        least = np.full(layout.n_parameters, -np.inf)
        layout.views(least)["log_variance"][...] = LEAST_LOG_VARIANCE
        self.mixture.parameters = minimize(
            self._objective,
            self.mixture.parameters,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(least, np.inf),
            options={"maxiter": M_STEPS},
        ).x

    def _objective(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the mean expected complete log-likelihood, with weight decay; its gradient."""
        layout = self.mixture.layout
        found = np.zeros_like(parameters)
        weights, gradient = layout.views(parameters), layout.views(found)
        value, total = 0.0, self.w.sum()
        for places, panel in self.panels:
            done, share = layout.forward(weights, panel), self.w[places] / total
            f, h = self._outputs(done.outputs, places), self.posteriors[places]
            terms = self.criterion.expected(
                done.logits, f, self.y[places], weights["log_variance"], h
            )
            value += float(share @ terms.value)
            slopes = share[:, None] * terms.logits, share[:, None, None] * terms.outputs
            layout.backward(weights, panel, done, slopes, gradient)
            gradient["log_variance"] += share @ terms.log_variance
        if self.given_outputs is not None:
            gradient["log_variance"][...] = 0  # has its maximum already
        pairs = zip(layout.decayed(weights), layout.decayed(gradient), strict=True)
        for W, slope in pairs:
            slope += self.decay * W
        return value + self._penalty(parameters), found

    def _penalty(self, parameters: FloatArray) -> float:
        layout = self.mixture.layout
        squares = (np.sum(W**2) for W in layout.decayed(layout.views(parameters)))
        return 0.5 * self.decay * float(sum(squares))

    # ------------------------------------------------------------------- what the loop needs

    def measures(self, criterion: float) -> dict[str, float]:
        penalty = self._penalty(self.mixture.parameters)
        return {
            "objective": criterion + penalty,
            "log_likelihood": -criterion * float(self.w.sum()),
        }

    def snapshot(self) -> tuple[FloatArray, list[Any] | None]:
        return self.mixture.parameters.copy(), deepcopy(self.mixture.experts)

    def restore(self, state: tuple[FloatArray, list[Any] | None]) -> None:
        self.mixture.parameters, self.mixture.experts = state

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"n_updates_": self.updates}


def _fit_expert(expert: Any, X: ArrayLike, y: ArrayLike, weights: FloatArray) -> None:
    expert.fit(X, y, sample_weight=weights)
