r"""The learner that trains a soft mixture by expectation-maximisation (Jordan and Jacobs, 1994).

It is unknown which expert generated an example. Given the posteriors
:math:`h_{lk} = P(k|x_l, y_l)` of the current mixture, Jensen's inequality says for any other
parameters θ

.. math:: \log P_\theta(y_l|x_l) \ge \sum_k h_{lk} \log \frac{g_k(x_l) P(y_l|x_l, k)}{h_{lk}}

with equality at the current mixture. So parameters with a larger

.. math:: \sum_l \sum_k h_{lk} \left(\log g_k(x_l) + \log P(y_l|x_l, k)\right)

increase the log-likelihood by at least as much. The M step finds such parameters: it fits the
gater, a softmax network, to the posteriors, and the experts to weighted examples.
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
from widemargin.inputs.threads import thread_count
from widemargin.mixtures.soft.criteria import MIN_LOG_VARIANCE, Likelihood, log_gates
from widemargin.mixtures.soft.mixture import SoftLearner, SoftMixture
from widemargin.training.loop import Tally
from widemargin.training.model import Examples
from widemargin.training.time_limit import current_limit, fixed_shares, now, share_of_time

EXPERTS_SHARE = 0.6  # of the time that is left, for experts that are estimators
LBFGS_STEPS = 20  # per M step, which starts from the last parameters
FIRST_LOGIT_SPREAD = 3.0  # standard deviation of the softmax inputs of the first gates
UNIFORM_FRACTION = 0.01  # of each first posterior that is the same for all experts
MIN_WEIGHT_FRACTION = 1e-8  # of the total weight; an expert with less is not fitted again


class EMLearner(SoftLearner):
    """Trains a `SoftMixture`: an epoch is an M step, then an E step (a learner of the loop).

    Networks (the gater, and the experts unless `expert` is given) take a few steps of L-BFGS. Each
    step raises the bound, so the penalised likelihood never falls (generalised EM). Given experts
    are fitted again; the likelihood then never falls if their fits are exact, or improve on the
    last ones.
    """

    def __init__(
        self,
        examples: Examples,
        mixture: SoftMixture,
        *,
        mu: float,
        n_jobs: int | None,
        random: np.random.RandomState | None,
        updates: int = 0,
        error_scale: FloatArray | None = None,
    ) -> None:
        assert isinstance(mixture.criterion, Likelihood)
        super().__init__(examples, mixture, error_scale)
        self.criterion, self.mu, self.n_jobs = mixture.criterion, mu, n_jobs
        self.rows_per_call = len(self.order)
        weights = examples.weights
        if random is not None:
            if mixture.experts is not None and sp.issparse(examples.X):
                mixture.scaling.centre = False  # given experts see these rows: keep them sparse
            mixture.scaling.update(examples.X, self.order, weights)
        inputs = mixture.inputs(examples.X)
        self.panels = list(inputs.panels(self.order))  # all rows, scaled once
        self.y = examples.y[self.order]
        self.w = np.ones(len(self.order)) if weights is None else weights[self.order]
        self.updates = updates
        self.given_outputs: NDArray[Any] | None = None
        if mixture.experts is not None:
            self.X = inputs.for_estimators(self.order)
        if random is None:  # resumes
            self._update_given_outputs()
            self._e_step()
        else:
            self.posteriors = self._first_posteriors(random)

    # -------------------------------------------------------------------------------- E step

    def _first_posteriors(self, random: np.random.RandomState) -> FloatArray:
        """Gates of a random linear gater, which a gater can learn, mixed with uniform ones."""
        layout = self.mixture.layout
        spread = FIRST_LOGIT_SPREAD / np.sqrt(layout.inputs)
        V = random.normal(scale=spread, size=(layout.inputs, layout.experts))
        zero = np.zeros(layout.experts)
        h = np.concatenate([np.exp(log_gates(p.times(V, zero))) for _, p in self.panels])
        return (1 - UNIFORM_FRACTION) * h + UNIFORM_FRACTION / layout.experts

    def _e_step(self) -> tuple[float, float]:
        """Updates the posteriors; returns the sums of the mixture's criterion and errors."""
        layout = self.mixture.layout
        weights = layout.views(self.mixture.parameters)
        found, criterion, errors = [], 0.0, 0.0
        for places, panel in self.panels:
            done, y, w = layout.forward(weights, panel), self.y[places], self.w[places]
            f = self._outputs(done.outputs, places)
            h, total = self.criterion.posteriors(done.logits, f, y, weights["log_variance"])
            found.append(h)
            criterion -= float(total @ w)
            scores = self.criterion.scores(done.logits, f)
            errors += float(example_errors(scores, y, self.error_scale) @ w)
        self.posteriors = np.concatenate(found)
        return criterion, errors

    def _outputs(self, network_outputs: NDArray[Any], places: slice) -> NDArray[Any]:
        return network_outputs if self.given_outputs is None else self.given_outputs[places]

    # -------------------------------------------------------------------------------- M step

    def visit(self, order: IntArray, rate: float) -> Tally:
        """One iteration; the sums are those of the mixture after it."""
        if self.mixture.experts is not None:
            self._fit_experts(self.mixture.experts)
        self._fit_networks()
        criterion, errors = self._e_step()
        self.updates += len(order)
        return Tally(len(order), criterion, errors, float(self.w.sum()))

    def _fit_experts(self, experts: list[Any]) -> None:
        """Weighted fits of given experts, in parallel, and the variance of their errors."""
        weights = self.posteriors * self.w[:, None]
        if self.error_scale is None:
            targets: ArrayLike = self.y.astype(np.intp)
        else:
            targets = self.y[:, 0] if self.y.shape[1] == 1 else self.y
        threads = thread_count(self.n_jobs, len(experts))
        left = EXPERTS_SHARE * current_limit().left
        shares = fixed_shares([1.0] * len(experts), left, threads)
        Parallel(threads, require="sharedmem")(
            delayed(_fit_expert)(expert, self.X, targets, weights[:, k], shares[k])
            for k, expert in enumerate(experts)
            if weights[:, k].sum() > MIN_WEIGHT_FRACTION * weights.sum()
        )
        self._update_given_outputs()
        if self.mixture.layout.variances and self.given_outputs is not None:
            squares = np.einsum("lk,lkc->c", weights, (self.y[:, None] - self.given_outputs) ** 2)
            with np.errstate(divide="ignore"):
                found = np.log(squares / weights.sum())
            parameters = self.mixture.layout.views(self.mixture.parameters)
            parameters["log_variance"][...] = np.maximum(found, MIN_LOG_VARIANCE)

    def _update_given_outputs(self) -> None:
        if self.mixture.experts is not None:
            self.given_outputs = self.mixture.expert_outputs(self.X)

    def _fit_networks(self) -> None:
        layout = self.mixture.layout
        least = np.full(layout.n_parameters, -np.inf)
        layout.views(least)["log_variance"][...] = MIN_LOG_VARIANCE
        last_work = current_limit().last_work

        def stop_in_time(_: FloatArray) -> None:
            if now() > last_work:
                raise StopIteration

        self.mixture.parameters = minimize(
            self._objective,
            self.mixture.parameters,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(least, np.inf),
            callback=stop_in_time,
            options={"maxiter": LBFGS_STEPS},
        ).x

    def _objective(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the mean expected complete log-likelihood, plus weight decay; its gradient."""
        layout = self.mixture.layout
        found = np.zeros_like(parameters)
        weights, gradient = layout.views(parameters), layout.views(found)
        value, total = 0.0, self.w.sum()
        for places, panel in self.panels:
            done, factor = layout.forward(weights, panel), self.w[places] / total
            f, h = self._outputs(done.outputs, places), self.posteriors[places]
            terms = self.criterion.expected(
                done.logits, f, self.y[places], weights["log_variance"], h
            )
            value += float(factor @ terms.value)
            slopes = factor[:, None] * terms.logits, factor[:, None, None] * terms.outputs
            layout.backward(weights, panel, done, slopes, gradient)
            gradient["log_variance"] += factor @ terms.log_variance
        if self.given_outputs is not None:
            gradient["log_variance"][...] = 0  # it is at its maximum already
        pairs = zip(layout.decayed(weights), layout.decayed(gradient), strict=True)
        for W, slope in pairs:
            slope += self.mu * W
        return value + self._penalty(parameters), found

    def _penalty(self, parameters: FloatArray) -> float:
        layout = self.mixture.layout
        squares = (np.sum(W**2) for W in layout.decayed(layout.views(parameters)))
        return 0.5 * self.mu * float(sum(squares))

    # ------------------------------------------------------------------------ training loop

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


def _fit_expert(
    expert: Any, X: ArrayLike, y: ArrayLike, weights: FloatArray, seconds: float
) -> None:
    with share_of_time(seconds):
        expert.fit(X, y, sample_weight=weights)
