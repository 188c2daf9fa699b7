"""Model files of earlier versions load, give the same answers, and can be resumed.

They were written by version 0.1.0, before its modules and parameters had their present names,
with what to expect of each in ``expected.npz``.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from widemargin import MixtureOfExpertsClassifier
from widemargin.persistence import load, save
from widemargin.persistence.classes import public_name
from widemargin.persistence.history import CHANGES, Changes, upgrade
from widemargin.streaming import fit_stream, stream

FOLDER = Path(__file__).parent / "models"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
FACTS = json.loads(str(EXPECTED["facts"]))
TRAINED = 1e-4  # precision after training, whose rounding depends on the processor
FOLDS = {"NuSVC-b": 0.05}  # of probabilities from folds that `tol` determines no better than this
TERMS = 1e-14  # rounding of a sum, per size of its terms: instruction sets add in other orders
ROWS = 40  # what follows is for predictions

#: Models with weights of classes. Weights are relative now, so further steps have other sizes.
RELATIVE_WEIGHTS = {
    "MLPClassifier-b",
    "SimpleMLPClassifier-b",
    "NilssonMLPClassifier-b",
    "HardMixtureClassifier-b",
}

pytestmark = pytest.mark.filterwarnings("ignore")


def read(name):
    if "dask" in name:
        pytest.importorskip("dask", reason="dask is not installed")
        pytest.importorskip("distributed", reason="distributed is not installed")
    return load(FOLDER / f"{name}.safetensors")


def inputs(problem):
    name, *kind = problem.split(":")
    if name == "table":
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        frame = pandas.DataFrame({c: EXPECTED[f"X/table/{c}"] for c in ("age", "size", "town")})
        return frame.assign(town=frame["town"].replace("", None))
    X = EXPECTED[f"X/{name}"]
    return sp.csr_array(X) if kind == ["csr"] else X


def targets(problem):
    return EXPECTED[f"y/{problem.split(':')[0]}"][:ROWS]


def check_answers(model, X, name, expected, precision=0.0):
    precision = max(precision, FACTS[name]["precision"])
    rounding = TERMS * np.abs(getattr(model, "dual_coef_", np.zeros(1))).sum()
    for method in FACTS[name]["outputs"]:
        right = EXPECTED[f"{expected}/{method}"]
        said = getattr(model, method)(X)
        said = said.toarray() if sp.issparse(said) else np.asarray(said)
        if right.dtype.kind != "f":
            assert (
                said.astype(str if right.dtype.kind == "U" else said.dtype).tolist()
                == right.tolist()
            )
        else:
            atol = precision * max(1.0, np.abs(right).max()) + rounding
            if precision == TRAINED and method == "predict_proba":
                atol += FOLDS.get(name, 0.0)
            np.testing.assert_allclose(said, right, rtol=0, atol=atol)


def test_every_file_is_tested():
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == FACTS.keys()


@pytest.mark.parametrize("name", [name for name in FACTS if "stream" not in FACTS[name]])
def test_same_answers(name):
    check_answers(read(name), inputs(FACTS[name]["problem"])[ROWS:], name, name)


@pytest.mark.parametrize("name", FACTS)
def test_same_parameters(name):
    model = read(name)
    model = getattr(model, "model", model)  # of a checkpoint
    model = model[-1] if hasattr(model, "steps") else model
    now = model.get_params(deep=False)
    changes = CHANGES.get(public_name(type(model)), Changes())
    expected = {}
    for old, value in FACTS[name]["params"].items():
        new = changes.parameters.get(old, old)
        if not isinstance(value, (list, dict)):
            value = changes.values.get(new, {}).get(value, value)
        expected[new] = value
    if changes.convert is not None:
        records = [{"items": list(record.items())} for record in model.history_]
        expected = changes.convert(expected, {"history_": records})
    for new, value in expected.items():
        if new is None:
            continue
        if hasattr(now[new], "get_params"):
            assert value == {"estimator": type(now[new]).__name__}
        else:
            assert json.loads(json.dumps(now[new])) == value, new


@pytest.mark.parametrize("name", ["SVC-a", "NuSVC-a", "SVR-a", "NuSVR-a", "OneClassSVM-a"])
def test_kernels_without_an_exponent(name):
    """Their files do not have the parameter; kernels of that time do not use it."""
    assert "exponent" not in FACTS[name]["params"]
    assert read(name).exponent == 1.0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"alpha": 0.5}, {"alpha": 0.5}),
        ({"alpha": 0.5, "mu": 0.1, "batch_size": 30}, {"alpha": 0.5, "output_alpha": 3.0}),
        ({"alpha": 0.5, "nu": 0.25}, {"alpha": 10.0, "output_alpha": 0.5}),
        ({"alpha": 0.5, "mu": 0.25, "nu": 0.25}, {"alpha": 10.0, "output_alpha": None}),
        ({"alpha": 0.25, "solver": "adamw"}, {"alpha": 10.0, "output_alpha": None}),
        ({"alpha": 0.25, "solver": "adamw", "mu": 0.5}, {"alpha": 10.0, "output_alpha": 20.0}),
        (
            {"alpha": 0.5, "mu": {"kind": "scalar", "dtype": "<f4", "hex": "0000003e"}},  # 0.125
            {"alpha": 0.5, "output_alpha": 5.0},
        ),
    ],
)
def test_weight_decays_of_networks_are_divided_by_the_batch_size(old, new):
    """All decays of a step were alpha / batch size, alpha for AdamW, or given by mu and nu."""
    options = {"solver": "adam", "batch_size": "auto", "mu": None, "nu": None} | old
    state = {"history_": [{"kind": "dict", "items": [["epoch", 0], ["rows", 40]]}]}
    node = {"kind": "estimator", "id": 0, "class": "widemargin.mlp.MLPClassifier"}
    found = upgrade(node | {"params": options, "state": state})
    rest = {name: options[name] for name in ("solver", "batch_size")}
    assert found["params"] == rest | new


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FACTS if "resumed" in FACTS[name]])
def test_resumes(name):
    model, X = read(name), inputs(FACTS[name]["problem"])
    y = targets(FACTS[name]["problem"])
    if name in RELATIVE_WEIGHTS:
        before, epochs = model.score(X[:ROWS], y), len(model.history_)
        model.fit(X[:ROWS], y)
        assert len(model.history_) > epochs
        assert model.score(X[:ROWS], y) >= before - 0.1
        return
    model.fit(X[:ROWS], y)
    check_answers(model, X[ROWS:], name, f"{name}/resumed", TRAINED)
    if "n_iter" in FACTS[name]:  # a machine that was solved stays so
        assert np.sum(model.n_iter_) < FACTS[name]["n_iter"] / 10


@pytest.mark.parametrize("name", [name for name in FACTS if "stream" in FACTS[name]])
def test_stream_resumes_from_its_checkpoint(name, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows, file = tmp_path / "rows.csv", tmp_path / "state"
    rows.write_bytes(EXPECTED[f"{name}/csv"].tobytes())
    shutil.copy(FOLDER / f"{name}.safetensors", file)
    model = clone(read(name).model)
    outcome = fit_stream(
        model,
        stream(rows, target="y", chunk_rows=10),
        **FACTS[name]["stream"],
        checkpoint=file,
        resume=True,
    )
    assert outcome.rows == ROWS * FACTS[name]["stream"]["epochs"]
    probes = pandas.DataFrame(inputs(FACTS[name]["problem"])[ROWS:], columns=["a", "b", "c"])
    check_answers(model, probes, name, name, TRAINED)


# ---------------------------------------------------------------------------------- format 2


@pytest.mark.parametrize(("was", "now"), [("mse", "tanh_mse"), ("likelihood", "likelihood")])
def test_squared_errors_of_tanh_were_called_mse(was, now):
    """Files of format 2 keep their meaning: predictions, and further training."""
    folder = FOLDER.with_name("models-2")
    data = dict(np.load(folder / "expected.npz"))
    model = load(folder / f"{was}.safetensors")
    assert model.criterion == now
    np.testing.assert_allclose(model.decision_function(data["X"]), data[was], atol=1e-12)
    model.fit(data["X"], data["y"])
    resumed = model.decision_function(data["X"])
    np.testing.assert_allclose(resumed, data[f"{was}/resumed"], atol=TRAINED)


def test_mse_is_mse_in_files_of_today(tmp_path):
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    model = MixtureOfExpertsClassifier(2, n_units=2, criterion="mse", max_iter=1).fit(X, y)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").criterion == "mse"
