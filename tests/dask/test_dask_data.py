"""Mixtures on a cluster: kinds of collections, lazy predictions, copies, and errors."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
import scipy.sparse as sp
from dask.sizeof import sizeof
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import widemargin
from helpers.cluster_mixtures import GATER, assert_same_experts_and_gates, chunked, mixture
from widemargin.dask import HardMixtureClassifier
from widemargin.dask.data import ClusterBlock
from widemargin.dask.tasks import ExpertOutputs
from widemargin.mixtures.hard.example_block import ExampleBlock
from widemargin.mixtures.hard.targets import Targets

pytestmark = pytest.mark.slow  # every file starts clusters

# ---------------------------------------------------------------------------------- collections


def test_frames_and_unknown_sizes_train_like_arrays(client, toy):
    pd = pytest.importorskip("pandas")
    X, y = toy
    expected = mixture(client).fit(*chunked(X, y))
    frame = dd.from_pandas(pd.DataFrame(X, columns=["u", "v"]).assign(y=y), npartitions=3)
    assert [len(part) for part in frame.partitions] == [300] * 3
    model = mixture(client).fit(frame[["u", "v"]], frame["y"])
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert_same_experts_and_gates(model, expected)
    unknown = mixture(client).fit(frame[["u", "v"]].to_dask_array(), frame["y"].to_dask_array())
    assert_same_experts_and_gates(unknown, expected)
    lazy = model.predict(frame[["u", "v"]])
    assert_array_equal(lazy.compute(), expected.to_local().predict(X))


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
    model = mixture(client, criterion="likelihood").fit(*chunked(X, y))
    local = model.to_local()
    widemargin.save(local, tmp_path / "model.safetensors")
    loaded = widemargin.load(tmp_path / "model.safetensors")
    for method in ("predict", "decision_function", "predict_proba", "gates"):
        lazy = getattr(model, method)(chunked(X, y, 500)[0])
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
    model = mixture(client).fit(*chunked(*toy))
    assert clone(model).client is client
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert_same_experts_and_gates(again, model)


def test_bad_input(client, toy):
    X, y = toy
    dX, dy = chunked(X, y)
    with pytest.raises(TypeError, match=r"X is a ndarray.*from_array"):
        mixture(client).fit(X, y)
    with pytest.raises(ValueError, match="X has 900 rows, but y has 899"):
        mixture(client).fit(dX, da.from_array(y[:-1], chunks=400))
    unknown = da.from_array(y, chunks=200)
    with pytest.raises(ValueError, match="divided in the same way"):
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
    """If it underestimates sizes, it writes to disk too late."""
    X, y = np.zeros((100, 50)), np.zeros(100)
    dense = ExampleBlock(X, Targets("margin", 2, y), None)
    sparse = ExampleBlock(sp.csr_matrix(np.ones((100, 50))), Targets("margin", 2, y), y)
    for part in (dense, sparse):
        assert sizeof(part) >= X.nbytes + y.nbytes
        assert sizeof(ClusterBlock(part, part)) >= 2 * (X.nbytes + y.nbytes)
        assert sizeof([part] * 20) >= 20 * X.nbytes
    assert sizeof(ExpertOutputs(np.zeros((100, 20, 1), np.float32), None)) >= 8000
