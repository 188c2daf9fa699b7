"""Gaters: what they learn, resuming, stopping, and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import widemargin
from widemargin.mixtures import Gater, GaussianGater, MLPGater, UniformGater
from widemargin.mixtures.gaters.mlp_passes import GaterCopy, averaged
from widemargin.reference.hard_mixture import Gaussians, bayes, em_step, mixture, posterior
from widemargin.training.loop import Tally

GATERS = [MLPGater(), GaussianGater(2), UniformGater()]
every_gater = pytest.mark.parametrize("gater", GATERS, ids=lambda g: type(g).__name__)
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
SIDE = (X[:, 0] > 0).astype(int)  # the expert that is right
SIGNS = rng.choice([-1.0, 1.0], (300, 1))
OUTPUTS = np.where(np.eye(2)[SIDE] == 1, SIGNS, -SIGNS)[:, :, None].astype(np.float32)
TASK = {"outputs": OUTPUTS, "targets": SIGNS, "partition": SIDE}


def quick(**options):
    return MLPGater((5,), **{"learning_rate": 0.05, "random_state": 0} | options)


@every_gater
def test_gates_are_a_distribution(gater):
    fitted = clone(gater).fit(X, **TASK)
    gates = fitted.gates(X)
    assert gates.shape == (300, fitted.n_experts_) == (300, 2)
    assert gates.min() >= 0
    assert_allclose(gates.sum(1), 1)
    assert_allclose(np.exp(fitted.log_gates(X)), gates)


@every_gater
def test_posteriors(gater):
    fitted = clone(gater).fit(X, **TASK)
    log_p = np.log(rng.uniform(0.1, 1, (300, 2)))
    expected = posterior(fitted.log_gates(X), log_p)
    assert_allclose(fitted.log_posterior(X, log_p), expected)
    assert_allclose(fitted.posterior(X, log_p), np.exp(expected))
    log_p[0] = -np.inf  # no expert allows the class
    assert_allclose(fitted.log_posterior(X, log_p)[0], fitted.log_gates(X)[0])


@every_gater
def test_csr_and_single_precision(gater):
    thin = np.where(rng.random(X.shape) < 0.5, X, 0)
    one = clone(gater).set_params(**seeded(gater)).fit(thin, **TASK)
    other = clone(gater).set_params(**seeded(gater)).fit(sp.csr_array(thin), **TASK)
    assert_allclose(one.gates(thin), other.gates(sp.csr_array(thin)), atol=1e-4)
    single = clone(gater).set_params(**seeded(gater)).fit(thin.astype(np.float32), **TASK)
    assert_allclose(one.gates(thin), single.gates(thin), atol=1e-2)


def seeded(gater):
    return {} if isinstance(gater, UniformGater) else {"random_state": 0}


@every_gater
def test_saved_and_loaded(gater, tmp_path):
    fitted = clone(gater).fit(X, **TASK)
    widemargin.save(fitted, tmp_path / "gater.safetensors")
    loaded = widemargin.load(tmp_path / "gater.safetensors")
    assert_array_equal(loaded.gates(X), fitted.gates(X))
    loaded.fit(X, **TASK)


@every_gater
def test_not_fitted(gater):
    with pytest.raises(NotFittedError):
        clone(gater).gates(X)


@every_gater
def test_what_it_says_of_itself(gater):
    assert isinstance(gater, Gater)
    if gater.local:
        fitted = clone(gater).fit(X, partition=SIDE)
        assert fitted.n_experts_ == 2
    else:
        with pytest.raises(ValueError, match="outputs is missing"):
            clone(gater).fit(X, partition=SIDE)


@pytest.mark.parametrize("gater", [MLPGater(), GaussianGater(2)], ids=["mlp", "gaussian"])
def test_a_failed_fit_leaves_the_gater_as_it_was(gater):
    fitted = clone(gater).set_params(random_state=0).fit(X, **TASK)
    before = fitted.gates(X)
    wrong = TASK | {"outputs": OUTPUTS[1:], "partition": SIDE[1:]}
    with pytest.raises(ValueError, match="300"):
        fitted.fit(X, **wrong)
    assert_array_equal(fitted.gates(X), before)


# ---------------------------------------------------------------------------------- MLPGater


@pytest.mark.parametrize("criterion", ["tanh_mse", "mse", "likelihood"])
def test_mlp_finds_the_expert_that_is_right(criterion):
    outputs = (OUTPUTS * SIGNS[:, None] + 1) / 2 if criterion == "likelihood" else OUTPUTS
    gater = quick().fit(X, outputs=outputs, targets=SIGNS, criterion=criterion)
    assert np.mean(gater.gates(X).argmax(1) == SIDE) > 0.95
    first, last = gater.history_[0], gater.history_[-1]
    assert last["criterion"] < 0.5 * first["criterion"]
    assert last["error"] < first["error"]


def test_mlp_with_several_outputs():
    """Three classes, ±1 a class: each expert knows one side."""
    y = rng.integers(0, 3, 300)
    targets = 2.0 * np.eye(3)[y] - 1
    right = 2.0 * np.eye(2)[SIDE] - 1
    outputs = right[:, :, None] * targets[:, None, :]
    gater = quick().fit(X, outputs=outputs, targets=targets)
    m = mixture(gater.gates(X), outputs)
    assert np.mean(m.argmax(1) == y) > 0.95
    assert gater.history_[-1]["error"] < 0.05


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mlp_regression_does_not_know_units():
    """The criterion is in variances of the targets: a factor changes nothing."""
    y = rng.normal(size=(300, 2))
    outputs = np.stack([y + 3 * (SIDE == 1)[:, None], y - 3 * (SIDE == 0)[:, None]], axis=1)
    gates, criteria = [], []
    for unit in (1.0, 1024.0):
        gater = quick(dtype="float64", tol=1e-9)
        gater.fit(X, outputs=unit * outputs, targets=unit * y, criterion="mse")
        gates.append(gater.gates(X))
        criteria.append(gater.history_[-1]["criterion"])
    assert_allclose(gates[0], gates[1], rtol=1e-4, atol=1e-6)
    assert criteria[0] == pytest.approx(criteria[1], rel=1e-4)
    assert gater.history_[-1]["error"] == pytest.approx(2 * criteria[1])


def test_linear_gater_of_the_toy_problem():
    """6.5.1: no expert is right everywhere, and no line separates; two lines and a gater do."""
    x = rng.uniform(-1, 1, (500, 2))
    y = np.where(np.abs(x[:, 0]) > 0.5, 1.0, -1.0)[:, None]
    outputs = np.stack([-4 * x[:, :1] - 2, 4 * x[:, :1] - 2], axis=1)
    gater = MLPGater((), learning_rate=0.1, max_iter=30, random_state=0)
    gater.fit(x, outputs=outputs, targets=y)
    m = mixture(gater.gates(x), outputs)
    assert np.mean((m > 0) == (y > 0)) > 0.97
    assert len(gater.coefs_) == 1


def test_examples_of_weight_zero_are_not_there():
    keep = rng.random(300) < 0.5
    some = quick().fit(X[keep], outputs=OUTPUTS[keep], targets=SIGNS[keep])
    flipped = np.where(keep[:, None], SIGNS, -SIGNS)
    weighted = quick().fit(X, outputs=OUTPUTS, targets=flipped, sample_weight=keep.astype(float))
    assert_allclose(weighted.gates(X), some.gates(X), rtol=1e-4, atol=1e-5)


def test_outputs_are_not_copied(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "widemargin.mixtures.gaters.mlp.Mixed", lambda *args: seen.append(args) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        quick().fit(X, **TASK)
    assert np.shares_memory(seen[0][1], OUTPUTS)


def test_it_goes_on_from_its_last_weights():
    gater = quick(schedule="constant", max_iter=3)
    first = gater.fit(X, **TASK).history_[-1]["criterion"]
    gater.fit(X, **TASK)
    assert [record["epoch"] for record in gater.history_] == list(range(6))
    assert gater.history_[3]["criterion"] < first
    assert gater.n_iter_ == 3
    whole = quick(schedule="constant", max_iter=6).fit(X, **TASK)
    assert_allclose(gater.gates(X), whole.gates(X), rtol=1e-3, atol=1e-4)


def test_other_experts_or_inputs_begin_anew():
    gater = quick(max_iter=2).fit(X, **TASK)
    three = np.concatenate([OUTPUTS, OUTPUTS[:, :1]], axis=1)
    assert gater.fit(X, outputs=three, targets=SIGNS).gates(X).shape == (300, 3)
    assert len(gater.history_) == 2
    assert gater.fit(X[:, :2], outputs=three, targets=SIGNS).n_features_in_ == 2
    assert len(gater.history_) == 2
    gater.set_params(warm_start=False).fit(X[:, :2], outputs=three, targets=SIGNS)
    assert len(gater.history_) == 2


def test_changed_layers_cannot_go_on():
    gater = quick(max_iter=2).fit(X, **TASK)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        gater.set_params(hidden_layer_sizes=(7,)).fit(X, **TASK)


def test_the_seed_decides():
    one, other = quick(n_jobs=1).fit(X, **TASK), quick(n_jobs=1).fit(X, **TASK)
    assert_array_equal(one.gates(X), other.gates(X))


def test_copies_are_averaged_by_the_weight_of_their_examples():
    copies = [
        GaterCopy(quick(max_iter=2, random_state=seed).fit(X, **TASK), Tally(5, 6.0, 2.0, weight))
        for seed, weight in enumerate([1.0, 3.0])
    ]
    one, other = (copy.gater for copy in copies)
    mean = averaged(copies).gater
    assert_allclose(mean._parameters, 0.25 * one._parameters + 0.75 * other._parameters, rtol=1e-5)
    assert mean.history_[-1]["criterion"] == (6.0 + 6.0) / 4.0
    assert mean.history_[-1]["error"] == (2.0 + 2.0) / 4.0


def test_time_limit_and_going_on():
    gater = quick(max_iter=10**6, time_limit=0.05)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        gater.fit(X, **TASK)
    assert gater.stop_reason_ == "time_limit"
    done = len(gater.history_)
    gater.set_params(max_iter=1, time_limit=None).fit(X, **TASK)
    assert len(gater.history_) == done + 1


def test_ctrl_c_leaves_a_gater(ctrl_c, monkeypatch):
    monkeypatch.setattr(
        "widemargin.mlp.network.NetworkLearner.geometric_margin", lambda self: ctrl_c()
    )
    gater = quick(max_iter=10**6)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        gater.fit(X, **TASK)
    assert gater.stop_reason_ == "interrupted"
    assert gater.gates(X).shape == (300, 2)


WRONG = {
    "criterion": ({"criterion": "margin"}, "criterion='margin'"),
    "no targets": ({"targets": None}, "needs targets"),
    "targets": ({"targets": SIGNS[1:]}, "targets has the shape"),
    "columns": ({"targets": np.hstack([SIGNS, SIGNS])}, "targets has the shape"),
    "outputs": ({"outputs": OUTPUTS[1:]}, "outputs has the shape"),
    "flat": ({"outputs": OUTPUTS[:, :, 0]}, "outputs has the shape"),
    "infinite": ({"outputs": np.where(OUTPUTS > 0, np.inf, OUTPUTS)}, "not finite"),
    "nan": ({"targets": SIGNS * np.nan}, "not finite"),
    "no probability": ({"criterion": "likelihood"}, "probability"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_tasks(wrong):
    changed, message = WRONG[wrong]
    with pytest.raises(ValueError, match=message):
        quick().fit(X, **TASK | changed)


# ------------------------------------------------------------------------------ GaussianGater


def components(gater):
    """The density of each expert, as the reference has it."""
    ends = np.cumsum(gater.sizes_)
    arrays = gater.weights_, gater.means_, getattr(gater, "covariances_", gater.variances_)
    starts = ends - gater.sizes_
    return [Gaussians(*(a[i:j] for a in arrays)) for i, j in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
@pytest.mark.parametrize("scaling", ["standard", None])
def test_gaussian_densities_and_gates(kind, scaling, monkeypatch):
    monkeypatch.setattr("widemargin.mixtures.gaters.gaussian.DENSITIES_PER_CALL", 64)
    data = X * [1, 100, 0.01] + [0, 1000, 0]
    gater = GaussianGater(3, covariance_type=kind, scaling=scaling, random_state=0)
    gater.fit(data, partition=SIDE)
    scaled = (data - data.mean(0)) / (data.std(0) if scaling else 1)
    expected = np.column_stack([g.log_density(scaled) for g in components(gater)])
    assert_allclose(gater.log_density(data), expected, rtol=1e-6, atol=1e-6)
    priors = np.bincount(SIDE) / 300
    assert_allclose(gater.priors_, priors)
    assert_allclose(gater.log_gates(data), bayes(expected, priors), rtol=1e-6, atol=1e-5)
    if scaling:  # else the second input is nearly all of a distance
        assert np.mean(gater.gates(data).argmax(1) == SIDE) > 0.9


def test_gaussians_far_from_zero():
    gater = GaussianGater(2, scaling=None, random_state=0).fit(X + 1e6, partition=SIDE)
    near = GaussianGater(2, scaling=None, random_state=0).fit(X, partition=SIDE)
    assert_allclose(gater.log_density(X + 1e6), near.log_density(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_gaussians_go_on_by_em(kind):
    gater = GaussianGater(2, covariance_type=kind, max_iter=1, scaling=None, random_state=0)
    gater.fit(X, partition=SIDE)
    starts = components(gater)
    partition = 1 - SIDE
    gater.fit(X, partition=partition)
    for k, (start, found) in enumerate(zip(starts, components(gater), strict=True)):
        expected = em_step(start, (X - X.mean(0))[partition == k], floor=gater.reg_covar)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_densities_of_covariance_matrices():
    gater = GaussianGater(2, covariance_type="full", scaling=None, random_state=0)
    gater.fit(X, partition=SIDE)
    assert gater.covariances_.shape == (4, 3, 3)
    assert_array_equal(gater.variances_, np.diagonal(gater.covariances_, axis1=1, axis2=2))
    normals = [
        weight * multivariate_normal(mean, covariance).pdf(X - X.mean(0))
        for weight, mean, covariance in zip(
            gater.weights_, gater.means_, gater.covariances_, strict=True
        )
    ]
    expected = np.column_stack([normals[0] + normals[1], normals[2] + normals[3]])
    assert_allclose(np.exp(gater.log_density(X)), expected, rtol=1e-9)


def test_covariances_that_a_diagonal_cannot_have():
    """Two thin bands side by side, along a diagonal."""
    rng = np.random.default_rng(0)
    bands = rng.normal(size=(400, 2)) @ np.diag([1.0, 0.03]) @ [[1.0, 1.0], [-1.0, 1.0]]
    side = np.repeat([0, 1], 200)
    bands[side == 1] += [0.2, -0.2]
    right = {
        kind: np.mean(
            GaussianGater(1, covariance_type=kind, random_state=0)
            .fit(bands, partition=side)
            .gates(bands)
            .argmax(1)
            == side
        )
        for kind in ("diag", "full")
    }
    assert right["full"] > 0.98
    assert right["diag"] < 0.75


@pytest.mark.parametrize(("first", "then"), [("diag", "full"), ("full", "diag"), ("full", "full")])
def test_the_type_of_covariances_may_change(first, then):
    gater = GaussianGater(2, covariance_type=first, random_state=0).fit(X, partition=SIDE)
    gater.set_params(covariance_type=then).fit(X, partition=SIDE)
    assert hasattr(gater, "covariances_") == (then == "full")
    assert_allclose(gater.gates(X).sum(1), 1)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_few_and_no_examples(kind):
    """Experts have no more Gaussians than examples; one without examples is never believed."""
    partition = np.zeros(300, dtype=int)
    partition[:3], partition[3] = 1, 2
    outputs = np.zeros((300, 4, 1), dtype=np.float32)
    gater = GaussianGater(5, covariance_type=kind, random_state=0)
    gater.fit(X, partition=partition, outputs=outputs)
    assert_array_equal(gater.sizes_, [5, 3, 1, 0])
    gates = gater.gates(X)
    assert_array_equal(gates[:, 3], 0)
    assert_allclose(gates.sum(1), 1)
    gater.fit(X, partition=SIDE, outputs=outputs)  # it resumes when the subsets change
    assert_array_equal(gater.sizes_, [5, 5, 0, 0])


def test_gaussian_weights_of_examples():
    weights = np.where(rng.random(300) < 0.5, 0.0, 2.0)
    keep = weights > 0
    gater = GaussianGater(2, random_state=0).fit(X, partition=SIDE, sample_weight=weights)
    alone = GaussianGater(2, random_state=0).fit(X[keep], partition=SIDE[keep])
    assert_allclose(gater.gates(X), alone.gates(X), rtol=1e-6)


def test_gaussian_jobs_change_nothing():
    one, two = (GaussianGater(3, n_jobs=n, random_state=0).fit(X, partition=SIDE) for n in (1, 2))
    assert_array_equal(one.gates(X), two.gates(X))


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        (None, "missing"),
        (SIDE[1:], "each of the 300"),
        (SIDE / 2, "each of the 300"),
        (SIDE - 1, "from 0"),
        (SIDE + 1, "from 0 to 1"),
    ],
)
def test_wrong_partitions(partition, message):
    with pytest.raises(ValueError, match=message):
        GaussianGater().fit(X, partition=partition, outputs=OUTPUTS)


def test_uniform_gates():
    assert_array_equal(UniformGater().fit(X, outputs=OUTPUTS).gates(X[:4]), np.full((4, 2), 0.5))
    with pytest.raises(ValueError, match="number of experts"):
        UniformGater().fit(X)
