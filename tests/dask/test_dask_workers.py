"""Mixtures on a cluster: the number of workers and the loss of workers do not change the result."""

import os
import signal
import time

import distributed
import pytest

import widemargin
from helpers.cluster_mixtures import assert_same_experts_and_gates, chunked, mixture
from widemargin.dask import cluster as cluster_module
from widemargin.dask.learner import ClusterLearner

pytestmark = pytest.mark.slow  # every file starts clusters


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
    """A real kill in the second iteration, before experts, gater or partition are computed."""
    cluster.wait_for_workers(2)
    whole = mixture(cluster, gater, n_experts=4).fit(*chunked(*toy))
    killed, usual = [], getattr(ClusterLearner, phase)

    def killing(self, *arguments):
        if self.state.iteration == 1:
            killed.append(min(self.cluster.client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)  # with all that it holds
        return usual(self, *arguments)

    monkeypatch.setattr(ClusterLearner, phase, killing)
    model = mixture(cluster, gater, n_experts=4).fit(*chunked(*toy))
    cluster.wait_for_workers(2)
    assert len(killed) == 1
    # The scheduler may not have noticed yet that the worker is gone.
    assert killed[0] not in cluster.run(os.getpid, on_error="ignore").values()
    assert [r["criterion"] for r in model.history_] == [r["criterion"] for r in whole.history_]
    assert_same_experts_and_gates(model, whole)


def test_the_number_of_workers_changes_nothing(client, cluster, toy):
    assert_same_experts_and_gates(
        mixture(client, n_experts=3).fit(*chunked(*toy)),
        mixture(cluster, n_experts=3).fit(*chunked(*toy)),
    )


def test_a_lost_cluster_keeps_the_last_iteration(toy, monkeypatch):
    reference = widemargin.HardMixtureClassifier
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as own,
        distributed.Client(own) as client,
    ):
        whole = mixture(client, max_iter=1).fit(*chunked(*toy))
        train = ClusterLearner._train

        def train_and_close(self):
            if self.state.iteration == 1:
                client.close()
            return train(self)

        monkeypatch.setattr(ClusterLearner, "_train", train_and_close)
        model = mixture(client)
        with pytest.raises(RuntimeError, match=r"cluster is lost.*iteration 1 is kept"):
            model.fit(*chunked(*toy))
    assert model.stop_reason_ == "cluster_lost"
    assert len(model.history_) == 1
    assert isinstance(model.to_local(), reference)
    assert_same_experts_and_gates(model, whole)
    with pytest.raises(RuntimeError, match="nothing was learnt"):
        mixture(client).fit(*chunked(*toy))


def test_the_fit_gives_up_without_workers(toy, monkeypatch):
    monkeypatch.setattr(cluster_module, "NO_WORKER_SECONDS", 0.2)
    monkeypatch.setattr(cluster_module, "POLL_SECONDS", 0.1)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty) as client,
    ):
        start = time.monotonic()
        with pytest.raises(RuntimeError, match="no worker"):
            mixture(client).fit(*chunked(*toy))
        assert time.monotonic() - start < 60
