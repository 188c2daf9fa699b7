r"""Reads and writes the model files of LIBSVM, which svm-train and svm-predict use.

A file is text. A few lines of names and values are followed by SV and one line per support vector:
its coefficients, then its non-zero inputs, counted from 1, or ``0:number`` of the training example
for a precomputed kernel. An output is

.. math:: \sum_l c_l\, k(x_l, x) - \rho,

which is positive for the class whose label comes first. More than two classes have one output per
pair, and the layout of the coefficients is that of `SVC.dual_coef_`. Labels are integers.
"""

import os
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from widemargin._runtime.files import PathLike, atomic_path
from widemargin._runtime.sparse import checked_sparse, most_columns
from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray
from widemargin.persistence.container import ModelFileError
from widemargin.persistence.libsvm_file import KERNELS, LARGEST, Content
from widemargin.svm.machine import KernelMachine
from widemargin.svm.nu_svc import NuSVC
from widemargin.svm.one_class import OneClassSVM
from widemargin.svm.svc import SVC
from widemargin.svm.svr import SVR, NuSVR

__all__ = ["load_libsvm", "save_libsvm"]

MODELS: dict[str, Any] = {cls._kind: cls for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}


# ------------------------------------------------------------------------------------------- save


def save_libsvm(model: Any, path: PathLike) -> None:
    """Write a kernel machine as a model file of LIBSVM.

    Parameters
    ----------
    model : estimator
        A fitted `SVC`, `SVCCV`, `NuSVC`, `SVR`, `SVRCV`, `NuSVR` or `OneClassSVM`, of widemargin
        or of scikit-learn. Its kernel must be named or precomputed, and a model of more than two
        classes must have one machine per pair.
    path : str or path
        File to write. It is replaced only when the new file is complete.

    Warns
    -----
    UserWarning
        If the classes are not integers. Then the labels are 0, 1, ... in the order of
        `classes_`, and `load_libsvm` needs ``classes=`` to restore the names.

    Notes
    -----
    Numbers are written with all their digits. The file does not hold C, ν and ε, the row numbers
    of the support vectors (`support_`) and the certificate of the solution. Use `widemargin.save`
    to keep them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from widemargin import SVC
    >>> from widemargin.persistence import load_libsvm, save_libsvm
    >>> clf = SVC(C=10.0, gamma=0.5).fit([[0, 0], [1, 1], [0, 1]], [1, 1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "corner.model"
    ...     save_libsvm(clf, path)
    ...     print(path.read_text()[:30])
    ...     load_libsvm(path).predict([[0, 1], [1, 1]])
    svm_type c_svc
    kernel_type rbf
    array([2, 1])
    """
    kind = _kind(model)
    check_is_fitted(model)
    names = {ours: (theirs, used) for theirs, (ours, used) in KERNELS.items()}
    if callable(model.kernel):
        raise ValueError(
            f"kernel={model.kernel!r} is a function, which LIBSVM's files cannot hold; use a "
            "named kernel, or kernel='precomputed'"
        )
    if getattr(model, "_one_against_rest", False):
        raise ValueError(
            "LIBSVM's files hold one machine per pair of classes, not multi_class='ovr'; fit "
            "with multi_class='ovo'"
        )
    if getattr(model, "scaling", None) is not None:
        raise ValueError(
            f"LIBSVM's files cannot hold scaling={model.scaling!r}; scale the inputs before fit, "
            "for example in a pipeline, and use scaling=None"
        )
    if model.kernel not in names:
        raise ValueError(
            f"LIBSVM has no kernel={model.kernel!r}, so its files cannot hold the model; use "
            "widemargin.save"
        )
    kernel, used = names[model.kernel]
    values = {"degree": model.degree, "gamma": float(model._gamma), "coef0": float(model.coef0)}
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    header: list[tuple[str, Any]] = [("svm_type", kind), ("kernel_type", kernel)]
    header += [(name, values[name]) for name in used]
    if kind.endswith("svc"):
        coef, fields = _class_fields(model, coef)
    else:
        fields = [("nr_class", 2), ("total_sv", coef.shape[1]), ("rho", -model.intercept_)]
    with atomic_path(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        for name, value in [*header, *fields]:
            texts = [value] if isinstance(value, str) else map(repr, np.ravel(value).tolist())
            file.write(f"{name} {' '.join(texts)}\n")
        file.write("SV\n")
        for numbers, inputs in zip(coef.T.tolist(), _inputs(model), strict=True):
            file.write(f"{' '.join(map(repr, numbers))} {inputs}\n")


def _kind(model: Any) -> str:
    """LIBSVM's svm_type."""
    if isinstance(model, KernelMachine):
        return model._kind
    import sklearn.svm  # here, so that importing widemargin does not load LIBSVM

    for kind, cls in MODELS.items():
        if isinstance(model, getattr(sklearn.svm, cls.__name__)):
            return kind
    raise TypeError(
        f"model={model!r} is not a kernel machine; save_libsvm takes SVC, NuSVC, SVR, NuSVR and "
        "OneClassSVM. For a pipeline, save its last step"
    )


def _class_fields(model: Any, coef: FloatArray) -> tuple[FloatArray, list[tuple[str, Any]]]:
    """Coefficients and lines of a classifier, with the first label positive."""
    two = len(model.classes_) == 2
    fields = [
        ("nr_class", len(model.classes_)),
        ("total_sv", coef.shape[1]),
        ("rho", model.intercept_ if two else -model.intercept_),
        ("label", _labels(model.classes_)),
    ]
    if isinstance(model, KernelMachine):
        a, b = model.probA_, -model.probB_ if two else model.probB_
    else:  # scikit-learn keeps LIBSVM's numbers
        a, b = getattr(model, "_probA", ()), getattr(model, "_probB", ())
    if len(a):
        fields += [("probA", a), ("probB", b)]
    return (-coef if two else coef), [*fields, ("nr_sv", model.n_support_)]


def _labels(classes: Any) -> list[int]:
    numbers = classes.dtype.kind in "iuf"
    if numbers and np.all(np.abs(classes) <= LARGEST) and np.all(classes == np.trunc(classes)):
        return [int(label) for label in classes]
    warn_caller(
        f"the classes {classes.tolist()!r} are not integers of 32 bits, as LIBSVM needs; they are "
        f"saved as 0 to {len(classes) - 1}, in this order. "
        f"load_libsvm(path, classes={classes.tolist()!r}) restores them",
        UserWarning,
    )
    return list(range(len(classes)))


def _inputs(model: Any) -> Iterator[str]:
    """The inputs of each support vector, as text."""
    if model.kernel == "precomputed":
        yield from (f"0:{row + 1}" for row in model.support_.tolist())
        return
    vectors = sp.csr_array(model.support_vectors_)
    vectors.sum_duplicates()
    for begin, end in zip(vectors.indptr[:-1], vectors.indptr[1:], strict=True):
        columns, values = vectors.indices[begin:end].tolist(), vectors.data[begin:end].tolist()
        yield " ".join(f"{j + 1}:{v!r}" for j, v in zip(columns, values, strict=True))


# ------------------------------------------------------------------------------------------- load


def load_libsvm(
    path: PathLike, *, classes: ArrayLike = None, n_features: int | None = None
) -> SVC | NuSVC | SVR | NuSVR | OneClassSVM:
    """Read a model file of LIBSVM; no code in the file is run.

    Parameters
    ----------
    path : str or path
        File to read, from svm-train or `save_libsvm`.
    classes : array-like of shape (n_classes,), optional
        The classes, in the order of their labels, the smallest first. None means the labels.
    n_features : int, optional
        The number of inputs, or of training examples for a precomputed kernel. The file does not
        hold it; None means the largest that the file uses, which must be in proportion to the size
        of the file.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        It predicts, and `widemargin.save` saves it. Training cannot resume from it, because the
        file does not hold the training set: `shape_fit_` begins with 0, `fit` starts afresh, and
        with ``warm_start=True`` a warning says so. `C`, `nu` and `epsilon` have their defaults,
        `support_` numbers the support vectors, and there is no certificate. `support_vectors_` is
        a CSR array if more than half of its entries are zero.

    Raises
    ------
    ModelFileError
        If the file is incomplete or incorrect; the message names the line.
    ValueError
        If `classes` or `n_features` do not match the file.

    Notes
    -----
    Classes are sorted. Between equal votes of the pairs the first class wins, whereas LIBSVM takes
    the one whose label comes first in the file. LIBSVM's probabilities of regression and one-class
    models are checked but not kept.

    Examples
    --------
    See `save_libsvm`.
    """
    with open(path, encoding="ascii", errors="replace") as file:
        content = Content(path, file)
    model: Any = MODELS[content.kind](kernel=content.kernel, **content.parameters)
    n, coef, rho = len(content.rows) - 1, content.coef.T, content.rho
    if content.kind.endswith("svc"):
        found, order = _classes(content, classes)
        coef, rho, a, b = _sorted_machines(content, order)
        two = len(order) == 2  # here the second of two classes is positive
        model.set_params(probability=len(a) > 0)
        model.classes_, model.probA_, model.probB_ = found, a, -b if two else b
        coef, rho = (-coef, -rho) if two else (coef, rho)
        chosen = np.concatenate([np.arange(n)[content.parts[c]] for c in order])
        model._n_support = np.array(content.n_sv, dtype=np.int32)[order]
    else:
        if classes is not None:
            raise ValueError(f"classes={classes!r}, but {path} has no classes; leave it out")
        chosen, model._n_support = np.arange(n), np.array([n], dtype=np.int32)
    model.dual_coef_, model.intercept_ = np.ascontiguousarray(coef), -rho
    model.gamma_, model._double_precision = float(content.parameters.get("gamma", 0.0)), None
    model.history_ = []
    _set_vectors(model, content, chosen, n_features)
    if content.kind == "one_class":
        model.offset_ = -model.intercept_
    return model  # type: ignore[no-any-return]


def _classes(content: Content, classes: ArrayLike) -> tuple[Any, list[int]]:
    """The classes, sorted, and the place of each in the file."""
    labels = np.array(content.labels)
    if classes is not None:
        names = np.asarray(classes)
        if names.shape != labels.shape or len(np.unique(names)) < len(names):
            raise ValueError(
                f"classes={classes!r}: {content.path} needs {len(labels)} different classes, for "
                f"the labels {sorted(content.labels)!r}"
            )
        labels = names[np.argsort(np.argsort(labels))]
    order = np.argsort(labels)
    return labels[order], order.tolist()


def _sorted_machines(
    content: Content, order: list[int]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Coefficients, ρ and sigmoids with the classes in this order: f of (j, i) is −f of (i, j).

    P(i) = 1/(1 + exp(A f + B)) is P(j) = 1/(1 + exp(A (−f) − B)).
    """
    old, pairs = content.coef.T, list(combinations(range(len(order)), 2))
    number = {pair: k for k, pair in enumerate(pairs)}
    ends = np.cumsum([content.n_sv[c] for c in order])
    parts = [slice(end - content.n_sv[c], end) for end, c in zip(ends, order, strict=True)]
    coef, rho, b = np.zeros_like(old), np.zeros(len(pairs)), np.zeros(len(content.prob_b))
    a = np.zeros_like(b)
    for k, (i, j) in enumerate(pairs):
        p, q = order[i], order[j]
        first, sign = number[min(p, q), max(p, q)], 1.0 if p < q else -1.0
        coef[j - 1, parts[i]] = sign * old[q - 1 if p < q else q, content.parts[p]]
        coef[i, parts[j]] = sign * old[p if p < q else p - 1, content.parts[q]]
        rho[k] = sign * content.rho[first]
        if len(b):
            a[k], b[k] = content.prob_a[first], sign * content.prob_b[first]
    return coef, rho, a, b


def _set_vectors(model: Any, content: Content, chosen: Any, n_features: int | None) -> None:
    n, used = len(content.rows) - 1, max(content.columns, default=-1) + 1
    if content.kernel == "precomputed":
        used = max(content.serials, default=0)
    size = os.stat(content.path).st_size
    if n_features is None and used > most_columns(size):
        raise ModelFileError(
            f"{content.path}: has {size:,} bytes, but an input {used:,}; get the file again from "
            "its source, or give n_features= if there are so many"
        )
    width = used if n_features is None else n_features
    if width < used or width < 1:
        raise ValueError(
            f"n_features={n_features}: {content.path} uses {used} inputs; give as many as the "
            "model was trained on"
        )
    model.n_features_in_, model.shape_fit_ = int(width), (0, int(width))
    if content.kernel == "precomputed":
        model.support_ = np.array(content.serials, dtype=np.int64)[chosen] - 1
        model.support_vectors_ = np.empty((0, 0))
        return
    parts = np.array(content.values), np.array(content.columns, np.int32), np.array(content.rows)
    vectors = checked_sparse(sp.csr_array, *parts, (n, width))[chosen]
    sparse = 2 * vectors.nnz < n * width
    model.support_, model.support_vectors_ = np.arange(n), vectors if sparse else vectors.toarray()
    if n and model._kernel.needs_double(vectors, float(np.abs(model.dual_coef_).max()), model.tol):
        model._double_precision = True
