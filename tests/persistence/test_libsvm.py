"""LIBSVM's model files: LIBSVM predicts from ours what we do, and we from theirs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin import SVC, SVCCV, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.persistence import load_libsvm, save_libsvm

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.6)
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=150)
Y2 = np.where(SCORE > 0, 7, -2)
Y4 = np.digitize(SCORE, np.quantile(SCORE, [0.25, 0.5, 0.75])) * 5 - 3
X_NEW = rng.normal(size=(80, 6))
KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.2, "coef0": 1.0},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.01, "coef0": -0.1},
}
MODELS = {  # name: class, targets
    "SVC two": (SVC, Y2),
    "SVC four": (SVC, Y4),
    "NuSVC two": (NuSVC, Y2),
    "NuSVC four": (NuSVC, Y4),
    "SVR": (SVR, SCORE),
    "NuSVR": (NuSVR, SCORE),
    "OneClassSVM": (OneClassSVM, None),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


def outputs(model, X):
    """All that a model says of X: a row for each example."""
    if isinstance(model, (SVR, NuSVR)):
        return model.predict(X)[:, None]
    if not isinstance(model, OneClassSVM):
        model.set_params(decision_function_shape="ovo")
    out = model.decision_function(X)
    return out.reshape(len(X), -1)


class Libsvm:
    """A model file as LIBSVM sees it: `svm_predict_values` of its C library.

    Its Python function svm_predict is of no use: for nu-SVC of several classes it gives the
    library an array that is too short.
    """

    def __init__(self, path):
        self.svm = pytest.importorskip("libsvm.svm", reason="libsvm-official is not installed")
        self.model = pytest.importorskip("libsvm.svmutil").svm_load_model(str(path))
        assert self.model is not None

    def __call__(self, rows):
        """Outputs and predictions."""
        n = self.model.get_nr_class()
        values = (self.svm.c_double * max(1, n * (n - 1) // 2))()
        found = []
        for row in rows:
            nodes, _ = self.svm.gen_svm_nodearray(row)
            label = self.svm.libsvm.svm_predict_values(self.model, nodes, values)
            found.append((list(values), label))
        some, labels = zip(*found, strict=True)
        return np.array(some), np.array(labels)

    def probabilities(self, rows):
        values = (self.svm.c_double * self.model.get_nr_class())()
        found = []
        for row in rows:
            nodes, _ = self.svm.gen_svm_nodearray(row)
            self.svm.libsvm.svm_predict_probability(self.model, nodes, values)
            found.append(list(values))
        return np.array(found)[:, np.argsort(self.model.get_labels())]


def in_rows(X):
    return [{j + 1: float(v) for j, v in enumerate(row) if v != 0} for row in X]


# ----------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MODELS)
def test_libsvm_and_the_loaded_model_predict_the_same(name, kernel, layout, path):
    cls, y = MODELS[name]
    model = cls(kernel=kernel, **KERNELS[kernel]).fit(layout(X), y)
    save_libsvm(model, path)
    loaded = load_libsvm(path)
    assert type(loaded) is cls
    assert_allclose(outputs(loaded, X_NEW), outputs(model, X_NEW), rtol=1e-10, atol=1e-10)
    assert_allclose(loaded.predict(X_NEW), model.predict(X_NEW), rtol=1e-10)

    theirs, labels = Libsvm(path)(in_rows(X_NEW))
    sign = -1 if name.endswith("two") else 1
    assert_allclose(sign * theirs, outputs(model, X_NEW), rtol=1e-7, atol=1e-7)
    assert_allclose(labels, model.predict(X_NEW), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_models_of_scikit_learn(name, path):
    cls, y = MODELS[name]
    theirs = getattr(sklearn.svm, cls.__name__)(gamma=0.3).fit(X, y)
    save_libsvm(theirs, path)
    loaded = load_libsvm(path)
    assert_array_equal(loaded.n_support_, theirs.n_support_)
    assert_allclose(loaded.predict(X_NEW), theirs.predict(X_NEW), rtol=1e-10)


@pytest.mark.parametrize("y", [Y2, Y4], ids=["two", "four"])
def test_files_of_svm_train_with_labels_in_another_order(y, path):
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    shuffled = np.random.default_rng(1).permutation(len(y))
    rows = in_rows(X[shuffled])
    trained = svmutil.svm_train(y[shuffled].tolist(), rows, "-q -g 0.3 -b 1")
    svmutil.svm_save_model(str(path), trained)
    reader = Libsvm(path)
    assert reader.model.get_labels() != sorted(reader.model.get_labels())
    loaded = load_libsvm(path)
    values, labels = reader(in_rows(X_NEW))
    assert np.mean(loaded.predict(X_NEW) == labels) >= 0.98  # ties go to another class
    assert_allclose(loaded.predict_proba(X_NEW), reader.probabilities(in_rows(X_NEW)), atol=0.005)
    magnitudes = np.sort(np.abs(outputs(loaded, X_NEW)), axis=1)
    assert_allclose(magnitudes, np.sort(np.abs(values), axis=1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("y", [Y2, Y4], ids=["two", "four"])
@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_probabilities(cls, y, path):
    model = cls(gamma=0.3, probability=True, random_state=0).fit(X, y)
    save_libsvm(model, path)
    loaded = load_libsvm(path)
    assert_allclose(loaded.predict_proba(X_NEW), model.predict_proba(X_NEW), rtol=1e-9)
    theirs = Libsvm(path).probabilities(in_rows(X_NEW))
    assert_allclose(theirs, model.predict_proba(X_NEW), atol=0.005)  # LIBSVM stops early


def test_probabilities_of_scikit_learn(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn deprecates the parameter
        theirs = sklearn.svm.SVC(gamma=0.3, probability=True, random_state=0).fit(X, Y2)
        wanted = theirs.predict_proba(X_NEW)
    save_libsvm(theirs, path)
    assert_allclose(load_libsvm(path).predict_proba(X_NEW), wanted, atol=0.005)


@pytest.mark.parametrize("name", MODELS)
def test_precomputed(name, path):
    cls, y = MODELS[name]
    K, K_new = X @ X.T, X_NEW @ X.T
    model = cls(kernel="precomputed").fit(K, y)
    save_libsvm(model, path)
    loaded = load_libsvm(path, n_features=len(X))
    assert_array_equal(loaded.support_, model.support_)
    assert_array_equal(outputs(loaded, K_new), outputs(model, K_new))
    rows = [{0: 1, **{j + 1: float(v) for j, v in enumerate(row)}} for row in K_new]
    sign = -1 if name.endswith("two") else 1
    theirs, _ = Libsvm(path)(rows)
    assert_allclose(sign * theirs, outputs(model, K_new), rtol=1e-7, atol=1e-7)


def test_cross_validated(path):
    model = SVCCV(Cs=[0.1, 1.0], cv=3).fit(X, Y2)
    save_libsvm(model, path)
    assert_array_equal(load_libsvm(path).predict(X_NEW), model.predict(X_NEW))


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=25, deadline=None)
def test_numbers_keep_their_digits(tmp_path_factory, seed, dtype):
    generator = np.random.default_rng(seed)
    inputs = (generator.normal(size=(20, 3)) * 10.0 ** generator.integers(-9, 9)).astype(dtype)
    model = SVR(C=1e3, kernel="rbf", gamma=generator.random() + 1e-9)
    model.fit(inputs, generator.normal(size=20))
    path = tmp_path_factory.mktemp("digits") / "some.model"
    save_libsvm(model, path)
    loaded = load_libsvm(path, n_features=3)
    dense = sp.csr_array(loaded.support_vectors_).toarray()
    assert_array_equal(dense, model.support_vectors_)
    assert_array_equal(loaded.dual_coef_, model.dual_coef_)
    assert_array_equal(loaded.intercept_, model.intercept_)
    assert loaded.gamma_ == model.gamma_


# ---------------------------------------------------------------------- what a loaded model is


def test_names_of_classes(path):
    names = np.array(["no", "perhaps", "yes", "zero"])[np.digitize(SCORE, [-1, 0, 1])]
    model = SVC().fit(X, names)
    with pytest.warns(UserWarning, match="saved as 0 to 3.*classes=.'no', 'perhaps'"):
        save_libsvm(model, path)
    assert_array_equal(load_libsvm(path).classes_, [0, 1, 2, 3])
    loaded = load_libsvm(path, classes=model.classes_)
    assert_array_equal(loaded.predict(X_NEW), model.predict(X_NEW))
    turned = load_libsvm(path, classes=["z", "y", "x", "w"])
    wanted = np.array(["z", "y", "x", "w"])[load_libsvm(path).predict(X)]
    assert list(turned.classes_) == ["w", "x", "y", "z"]
    assert np.mean(turned.predict(X) == wanted) > 0.98  # ties go to another class
    for wrong in (["a", "b"], ["a", "a", "b", "c"]):
        with pytest.raises(ValueError, match="needs 4 different classes"):
            load_libsvm(path, classes=wrong)


@pytest.mark.parametrize("classes", [[False, True], [0, 2**40]])
def test_classes_that_are_not_integers_of_libsvm(classes, path):
    model = SVC().fit(X, np.array(classes)[(Y2 > 0).astype(int)])
    with pytest.warns(UserWarning, match="not integers of 32 bits"):
        save_libsvm(model, path)
    loaded = load_libsvm(path, classes=model.classes_)
    assert_array_equal(loaded.predict(X_NEW), model.predict(X_NEW))


def test_support_vectors_are_sparse_if_mostly_zeros(path):
    wide = sp.random_array((60, 400), density=0.05, rng=np.random.default_rng(0)).toarray()
    for inputs, sparse in ((X, False), (wide, True)):
        model = SVR().fit(inputs, inputs[:, 0])
        save_libsvm(model, path)
        loaded = load_libsvm(path, n_features=inputs.shape[1])
        assert sp.issparse(loaded.support_vectors_) == sparse
        for some in (inputs, sp.csr_array(inputs)):
            assert_allclose(loaded.predict(some), model.predict(inputs), rtol=1e-9)


def test_a_loaded_model_is_saved(path, tmp_path):
    for cls, y in MODELS.values():
        save_libsvm(cls().fit(X, y), path)
        loaded = load_libsvm(path)
        widemargin.save(loaded, tmp_path / "some.safetensors")
        again = widemargin.load(tmp_path / "some.safetensors")
        assert_array_equal(again.predict(X_NEW), loaded.predict(X_NEW))
        text = path.read_text()
        save_libsvm(again, path)
        assert path.read_text() == text


def test_a_loaded_model_cannot_go_on(path):
    model = SVC().fit(X, Y2)
    save_libsvm(model, path)
    loaded = load_libsvm(path).set_params(warm_start=True)
    with pytest.warns(UserWarning, match=r"warm_start=True.*starts afresh"):
        loaded.fit(X, Y2)
    assert_array_equal(loaded.n_iter_, model.n_iter_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.fit(X, Y2)  # now it can resume
        load_libsvm(path).fit(X, Y2)
    assert loaded.n_iter_[0] < model.n_iter_[0]


def test_no_support_vectors(path):
    model = SVR(epsilon=10.0).fit(X, SCORE)
    assert len(model.support_) == 0
    save_libsvm(model, path)
    with pytest.raises(ValueError, match="n_features=None"):
        load_libsvm(path)
    assert_array_equal(load_libsvm(path, n_features=6).predict(X_NEW), model.predict(X_NEW))


def test_number_of_inputs(path):
    save_libsvm(SVC().fit(X, Y2), path)
    assert load_libsvm(path, n_features=9).predict(np.zeros((2, 9))).shape == (2,)
    with pytest.raises(ValueError, match="uses 6 inputs"):
        load_libsvm(path, n_features=5)


# ------------------------------------------------------------------------------- what is refused


def test_models_that_libsvm_does_not_have(path):
    with pytest.raises(NotFittedError):
        save_libsvm(SVC(), path)
    with pytest.raises(TypeError, match="last step"):
        save_libsvm(make_pipeline(StandardScaler(), SVC()).fit(X, Y2), path)
    with pytest.raises(ValueError, match="multi_class='ovo'"):
        save_libsvm(SVC(multi_class="ovr").fit(X, Y4), path)
    with pytest.raises(ValueError, match="is a function"):
        save_libsvm(SVC(kernel=lambda a, b: a @ b.T).fit(X, Y2), path)
    assert not path.exists()
    save_libsvm(SVR().fit(X, SCORE), path)
    with pytest.raises(ValueError, match="has no classes"):
        load_libsvm(path, classes=[0, 1])
