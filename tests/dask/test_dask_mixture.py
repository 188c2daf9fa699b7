"""Mixtures on a cluster: like the local ones, whatever holds the data and whichever worker dies."""

import os
import pickle
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import widemargin
from widemargin import SVC, MLPClassifier
from widemargin.datasets import make_toy_mixture
from widemargin.mixtures import MLPGater
from widemargin.mixtures.hard.example_block import ExampleBlock
from widemargin.mixtures.hard.partition import divided_room
from widemargin.mixtures.hard.targets import Targets

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

from dask.sizeof import sizeof  # noqa: E402

from widemargin.dask import HardMixtureClassifier, HardMixtureRegressor  # noqa: E402
from widemargin.dask import cluster as _cluster  # noqa: E402
from widemargin.dask import learner as _learner  # noqa: E402
from widemargin.dask.data import ClusterBlock  # noqa: E402
from widemargin.dask.learner import ClusterLearner  # noqa: E402
from widemargin.dask.tasks import ExpertOutputs  # noqa: E402

LINEAR = SVC(kernel="linear")
GATER = MLPGater((), learning_rate=0.3, max_iter=2)
GATERS = {"mlp": GATER, "local": "local", "uniform": "uniform"}


@pytest.fixture(scope="module")
def client():
    """Threads of this process: quick to start."""
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as client:
        yield client


@pytest.fixture(scope="module")
def toy():
    return make_toy_mixture(900, random_state=0)


def spread(X, y, rows=300):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


def mixture(client, gater="mlp", **options):
    options = {"n_experts": 2, "max_iter": 2, "random_state": 0} | options
    return HardMixtureClassifier(LINEAR, GATERS.get(gater, gater), client=client, **options)


def same(a, b):
    """Two mixtures with the same experts and gates."""
    X = make_toy_mixture(200, random_state=1)[0]
    assert_array_equal(a.to_local().gates(X), b.to_local().gates(X))
    for pair in zip(a.experts_, b.experts_, strict=True):
        one, other = (getattr(expert, "expert", expert) for expert in pair)  # in Platt's sigmoid
        assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert_array_equal(a.to_local().decision_function(X), b.to_local().decision_function(X))


# ------------------------------------------------------------------------------- what is learnt


@pytest.mark.parametrize("gater", GATERS)
@pytest.mark.parametrize("regression", [False, True])
def test_one_block_gives_the_local_mixture(client, toy, gater, regression):
    X, y = toy
    expert, module = (widemargin.SVR(), "Regressor") if regression else (LINEAR, "Classifier")
    options = {"n_experts": 3, "max_iter": 3, "random_state": 0}
    local = getattr(widemargin, f"HardMixture{module}")(expert, GATERS[gater], **options)
    cls = HardMixtureRegressor if regression else HardMixtureClassifier
    model = cls(expert, GATERS[gater], client=client, **options).fit(*spread(X, y, len(y)))
    local.fit(X, y)
    assert_array_equal(model.subset_sizes_, np.bincount(local.partition_))
    assert_allclose(model.gates(X), local.gates(X), atol=1e-3)
    for record, expected in zip(model.history_, local.history_, strict=True):
        assert_allclose(record["criterion"], expected["criterion"], rtol=1e-3)
        assert record["updates"] == expected["updates"]


def test_blocks_solve_the_toy_problem(client, toy):
    """What no line can separate (6.5.1)."""
    X, y = toy
    gater = MLPGater((), learning_rate=0.1, max_iter=5)
    model = mixture(client, gater, max_iter=4).fit(*spread(X, y))
    assert LINEAR.fit(X, y).score(X, y) < 0.8 < 0.9 < model.score(*spread(X, y))
    assert model.subset_sizes_.max() <= len(y) // 2 + 1


def test_averaged_copies_of_the_gater_learn_too(client, toy, monkeypatch):
    monkeypatch.setattr(_learner, "ROWS_PER_COPY", 300)  # three copies
    gater = MLPGater((), learning_rate=0.2, max_iter=5)
    one, again = (mixture(client, gater, max_iter=4).fit(*spread(*toy)) for _ in range(2))
    assert one.score(*spread(*toy)) > 0.85
    same(one, again)
    monkeypatch.setattr(_learner, "ROWS_PER_COPY", 3000)
    alone = mixture(client, gater, max_iter=4).fit(*spread(*toy))
    assert not np.array_equal(alone.gater_.coefs_[0], one.gater_.coefs_[0])


def test_sorted_blocks_keep_the_balance(client, toy):
    X, y = toy
    order = np.argsort(X[:, 0])
    model = mixture(client, n_experts=3).fit(*spread(X[order], y[order], 170))
    assert model.subset_sizes_.sum() == len(y)
    assert model.subset_sizes_.max() <= len(y) // 3 + 1


@pytest.mark.parametrize("gater", GATERS)
def test_bound_is_above_the_likelihood(client, toy, gater):
    model = mixture(client, gater, criterion="likelihood").fit(*spread(*toy))
    for record in model.history_:
        assert record["bound"] >= record["negative_log_likelihood"]


@pytest.mark.parametrize("gater", GATERS)
def test_regression(client, gater):
    X = np.random.RandomState(0).uniform(-1, 1, (800, 1))
    y = np.abs(X[:, 0])
    line = widemargin.SVR(kernel="linear")
    model = HardMixtureRegressor(
        line, GATERS[gater], n_experts=2, max_iter=5, random_state=0, client=client
    ).fit(*spread(X, y, 200))
    assert model.predict(X).shape == y.shape
    if gater != "uniform":
        assert line.fit(X, y).score(X, y) < 0.1 < 0.5 < model.score(*spread(X, y, 150))


def test_several_targets(client):
    X = np.random.RandomState(0).uniform(-1, 1, (400, 2))
    y = X @ [[1.0, 2.0], [0.5, -1.0]]
    model = HardMixtureRegressor(
        LinearRegression(), n_experts=2, random_state=0, client=client
    ).fit(da.from_array(X, chunks=(100, 1)), da.from_array(y, chunks=(100, 1)))
    assert model.predict(da.from_array(X, chunks=100)).compute().shape == y.shape
    assert model.score(da.from_array(X, chunks=100), y) > 0.99


def test_three_classes_with_names(client):
    random = np.random.RandomState(0)
    X = random.normal(size=(600, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    expert = MLPClassifier((8,), max_iter=20, learning_rate_init=0.01)
    model = HardMixtureClassifier(expert, n_experts=2, random_state=0, client=client)
    dX, dy = spread(X, y, 150)
    model.fit(dX, dy)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(dX, dy) > 0.9
    assert_allclose(model.predict_proba(dX).sum(1).compute(), 1.0)


def test_a_classifier_as_gater(client, toy):
    model = mixture(client, DecisionTreeClassifier(max_depth=4, random_state=0), gater_rows=400)
    assert model.fit(*spread(*toy)).score(*spread(*toy)) > 0.8


def test_weights_are_repetitions_for_exact_experts(client, toy):
    """Weight zero is absence: with one expert nothing else is random."""
    X, y = toy
    w = (np.arange(len(y)) % 3 > 0).astype(float)
    dX, dy = spread(X, y)
    model = mixture(client, "uniform", n_experts=1, scaling=None)
    kept = clone(model).fit(*spread(X[w > 0], y[w > 0], 200))
    model.fit(dX, dy, sample_weight=da.from_array(w, chunks=300))
    assert model.subset_sizes_.sum() == np.count_nonzero(w)
    assert_allclose(model.experts_[0].coef_, kept.experts_[0].coef_, atol=1e-3)


def test_early_stopping_holds_out_a_part_of_every_block(client, toy):
    model = mixture(client, early_stopping=True, validation_fraction=0.2).fit(*spread(*toy))
    errors = [record["validation_error"] for record in model.history_]
    assert model.best_iter_ == 1 + int(np.argmin(errors))
    assert model.subset_sizes_.sum() == 0.8 * len(toy[1])


def test_balanced_classes_are_those_of_all_blocks(client, toy):
    """Sorted by class, every block has one class only."""
    X, y = toy
    keep = np.argsort(y, kind="stable")[300:]
    dX, dy = spread(X[keep], y[keep], 100)
    model = mixture(client, "uniform", n_experts=1, class_weight="balanced").fit(dX, dy)
    local = widemargin.HardMixtureClassifier(
        LINEAR, "uniform", n_experts=1, class_weight="balanced", random_state=0
    ).fit(X[keep], y[keep])
    assert_allclose(model.experts_[0].coef_, local.experts_[0].coef_, atol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_room_is_enough_and_not_too_much(seed):
    random = np.random.RandomState(seed)
    wanted = random.randint(0, random.randint(2, 60), (random.randint(1, 12), 7))
    room = wanted.sum() // 7 + 1
    shared = divided_room(wanted, room)
    assert np.all(shared >= 0)
    assert np.all(shared.sum(0) <= room)
    assert np.all(shared.sum(1) >= wanted.sum(1))


# ---------------------------------------------------------------------------------- collections


def test_frames_and_unknown_sizes_train_like_arrays(client, toy):
    pd = pytest.importorskip("pandas")
    X, y = toy
    reference = mixture(client).fit(*spread(X, y))
    frame = dd.from_pandas(pd.DataFrame(X, columns=["u", "v"]).assign(y=y), npartitions=3)
    assert [len(part) for part in frame.partitions] == [300] * 3
    model = mixture(client).fit(frame[["u", "v"]], frame["y"])
    assert model.feature_names_in_.tolist() == ["u", "v"]
    same(model, reference)
    unknown = mixture(client).fit(frame[["u", "v"]].to_dask_array(), frame["y"].to_dask_array())
    same(unknown, reference)
    lazy = model.predict(frame[["u", "v"]])
    assert_array_equal(lazy.compute(), reference.to_local().predict(X))


def test_empty_partitions_do_not_count(client, toy):
    pd = pytest.importorskip("pandas")
    X, y = toy
    frame = dd.from_pandas(pd.DataFrame(X, columns=["u", "v"]).assign(y=y), npartitions=3)
    frame = frame.map_partitions(lambda part: part[part.index < 600])  # the last one is empty
    model = mixture(client).fit(frame[["u", "v"]], frame["y"])
    assert model.subset_sizes_.sum() == 600
    assert len(model.predict(frame[["u", "v"]]).compute()) == 600


def test_predictions_are_lazy_and_those_of_the_local_mixture(client, toy, tmp_path):
    X, y = toy
    model = mixture(client, criterion="likelihood").fit(*spread(X, y))
    local = model.to_local()
    widemargin.save(local, tmp_path / "model.safetensors")
    loaded = widemargin.load(tmp_path / "model.safetensors")
    for method in ("predict", "decision_function", "predict_proba", "gates"):
        lazy = getattr(model, method)(spread(X, y, 500)[0])
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == (500, 400)
        assert_allclose(lazy.compute(), getattr(local, method)(X))
        assert_array_equal(getattr(model, method)(X), getattr(loaded, method)(X))


def test_sparse_chunks(client):
    X = sp.random(600, 30, 0.2, format="csr", random_state=0)
    y = (np.asarray(X.sum(1)).ravel() > 3).astype(int)
    dX = da.from_array(X.toarray(), chunks=(150, 30)).map_blocks(sp.csr_matrix)
    model = HardMixtureClassifier(
        widemargin.LinearSVC(), GATER, n_experts=2, max_iter=2, random_state=0, client=client
    ).fit(dX, da.from_array(y, chunks=150))
    assert_array_equal(model.predict(dX).compute(), model.to_local().predict(X))
    assert model.to_local().score(X, y) > 0.9


# ----------------------------------------------------------------------------------- estimators


def test_copies_keep_or_drop_the_client(client, toy):
    model = mixture(client).fit(*spread(*toy))
    assert clone(model).client is client
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    same(again, model)


def test_bad_input(client, toy):
    X, y = toy
    dX, dy = spread(X, y)
    with pytest.raises(TypeError, match=r"X is a ndarray.*from_array"):
        mixture(client).fit(X, y)
    with pytest.raises(ValueError, match="X has 900 rows, but y or sample_weight has 899"):
        mixture(client).fit(dX, da.from_array(y[:-1], chunks=400))
    unknown = da.from_array(y, chunks=200)
    with pytest.raises(ValueError, match="divided alike"):
        mixture(client).fit(dX, unknown[unknown < 5])
    with pytest.raises(ValueError, match="n_experts=5000 is more than n_samples=900"):
        mixture(client, n_experts=5000).fit(dX, dy)
    with pytest.raises(ValueError, match="one class only"):
        mixture(client).fit(dX, da.zeros_like(dy))
    with pytest.raises(ValueError, match="NaN"):
        mixture(client).fit(da.where(dX > 0.5, np.nan, dX), dy)
    with pytest.raises(TypeError, match="SVR has no decision_function"):
        mixture(client, criterion="likelihood").set_params(expert=widemargin.SVR()).fit(dX, dy)


def test_dask_knows_how_large_a_block_is():
    """What it takes for small goes to disk too late."""
    X, y = np.zeros((100, 50)), np.zeros(100)
    share = ExampleBlock(X, Targets("margin", 2, y), None)
    sparse = ExampleBlock(sp.csr_matrix(np.ones((100, 50))), Targets("margin", 2, y), y)
    for part in (share, sparse):
        assert sizeof(part) >= X.nbytes + y.nbytes
        assert sizeof(ClusterBlock(part, part)) >= 2 * (X.nbytes + y.nbytes)
        assert sizeof([part] * 20) >= 20 * X.nbytes
    assert sizeof(ExpertOutputs(np.zeros((100, 20, 1), np.float32), None)) >= 8000


# ------------------------------------------------------------------------------ loss of workers


def processes(n_workers=2):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def cluster():
    with processes() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize(
    ("gater", "phase"), [("mlp", "_train"), ("mlp", "_gater"), ("local", "_assign")]
)
def test_a_killed_worker_changes_nothing(cluster, toy, gater, phase, monkeypatch):
    """A real kill in the second iteration, when experts, gater or partition are to be made."""
    cluster.wait_for_workers(2)
    whole = mixture(cluster, gater, n_experts=4).fit(*spread(*toy))
    killed, usual = [], getattr(ClusterLearner, phase)

    def killing(self, *arguments):
        if self.state.iteration == 1:
            killed.append(min(self.cluster.client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)  # with all that it holds
        return usual(self, *arguments)

    monkeypatch.setattr(ClusterLearner, phase, killing)
    model = mixture(cluster, gater, n_experts=4).fit(*spread(*toy))
    cluster.wait_for_workers(2)
    assert len(killed) == 1
    # The scheduler may not have noticed yet that it is gone.
    assert killed[0] not in cluster.run(os.getpid, on_error="ignore").values()
    assert [r["criterion"] for r in model.history_] == [r["criterion"] for r in whole.history_]
    same(model, whole)


def test_the_number_of_workers_changes_nothing(client, cluster, toy):
    same(
        mixture(client, n_experts=3).fit(*spread(*toy)),
        mixture(cluster, n_experts=3).fit(*spread(*toy)),
    )


def test_a_cluster_that_is_gone_keeps_the_last_iteration(toy, monkeypatch):
    reference = widemargin.HardMixtureClassifier
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as own,
        distributed.Client(own) as client,
    ):
        whole = mixture(client, max_iter=1).fit(*spread(*toy))
        train = ClusterLearner._train

        def train_and_close(self):
            if self.state.iteration == 1:
                client.close()
            return train(self)

        monkeypatch.setattr(ClusterLearner, "_train", train_and_close)
        model = mixture(client)
        with pytest.raises(RuntimeError, match=r"cluster is gone.*iteration 1 is kept"):
            model.fit(*spread(*toy))
    assert model.stop_reason_ == "cluster_lost"
    assert len(model.history_) == 1
    assert isinstance(model.to_local(), reference)
    same(model, whole)
    with pytest.raises(RuntimeError, match="nothing was learnt"):
        mixture(client).fit(*spread(*toy))


def test_no_worker_is_not_waited_for_for_ever(toy, monkeypatch):
    monkeypatch.setattr(_cluster, "PATIENCE", 0.2)
    monkeypatch.setattr(_cluster, "LOOK_EVERY", 0.1)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty) as client,
    ):
        start = time.monotonic()
        with pytest.raises(RuntimeError, match="no worker"):
            mixture(client).fit(*spread(*toy))
        assert time.monotonic() - start < 60
