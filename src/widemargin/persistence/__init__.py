"""Save models to files that are safe to load, and load them.

A model file is one `safetensors` file.  Its arrays are tensors, which any safetensors reader can
open.  Its metadata has one entry, ``widemargin``, a JSON header::

    {"format": 2, "widemargin": "...", "sklearn": "...", "numpy": "...",
     "model": {...}, "digest": "sha256 of all of the above and of the tensors"}

Loading runs no code from the file.  The decoder accepts only the kinds of values that it knows,
creates only estimators of widemargin and scikit-learn transformers from a fixed list, and checks
every size and index before an array is used.  The digest detects damage; it does not prove who
wrote the file.
"""

import warnings
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import BaseEstimator

from widemargin._runtime.files import PathLike
from widemargin.persistence import container
from widemargin.persistence.container import ModelFileError, damaged
from widemargin.persistence.decode import DECODING_ERRORS, Decoder, summary
from widemargin.persistence.encode import Encoder
from widemargin.persistence.libsvm import load_libsvm, save_libsvm

__all__ = ["ModelFileError", "describe", "load", "load_libsvm", "save", "save_libsvm"]


def save(model: BaseEstimator, path: PathLike) -> None:
    """Save a model to one file that is safe to load.

    Parameters
    ----------
    model : estimator
        A widemargin estimator, or a pipeline of scikit-learn transformers that may end in one.
    path : str or path
        File to write.  An existing file is replaced only when the new one is complete.

    Raises
    ------
    TypeError
        If the model holds something that cannot be stored without code: a function, a random
        generator, an estimator of another package.  The message names the attribute.

    Notes
    -----
    Callbacks set with ``set_callbacks`` are not saved.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, widemargin.persistence as persistence
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit(np.arange(6.0).reshape(3, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scaler.safetensors"
    ...     persistence.save(scaler, path)
    ...     persistence.load(path).mean_
    array([2., 3.])
    """
    if not isinstance(model, BaseEstimator) or isinstance(model, type):
        raise TypeError(f"model={model!r} is not an estimator; pass a fitted estimator")
    encoder = Encoder()
    tree = encoder.encode(model, "")
    container.write(path, tree, encoder.tensors, encoder.text_bytes)


def load(path: PathLike) -> Any:
    """Load a model written by `save`; no code from the file is run.

    Parameters
    ----------
    path : str or path
        File to read.

    Returns
    -------
    estimator
        A model whose predictions are exactly those of the saved one.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or needs another version of widemargin.
    OSError
        If the file does not exist or must not be read.

    Warns
    -----
    UserWarning
        If the model has scikit-learn transformers that another version of scikit-learn wrote.

    Examples
    --------
    See `save`.
    """
    header, tensors = container.read(path)
    decoder = Decoder(tensors, Path(path).stat().st_size)
    try:
        model = decoder.decode(container.model_of(header), "")
    except DECODING_ERRORS as error:
        raise ModelFileError(
            f"{path}: {error or type(error).__name__}; get the file again from its source, or "
            f"load it with widemargin {header['widemargin']}, which wrote it"
        ) from error
    if not isinstance(model, BaseEstimator):
        raise damaged(path, "it does not hold an estimator")
    if unused := tensors.keys() - decoder.used - container.removed_tensors(header):
        raise damaged(path, f"the model does not use its tensor {min(unused)!r}")
    if decoder.sklearn_classes and header["sklearn"] != sklearn.__version__:
        warnings.warn(
            f"{path}: {', '.join(sorted(decoder.sklearn_classes))} were saved with scikit-learn "
            f"{header['sklearn']} and loaded with {sklearn.__version__}; check the predictions, "
            "or fit and save again",
            UserWarning,
            stacklevel=2,
        )
    return model


def describe(path: PathLike) -> dict[str, Any]:
    """Facts about a model file, read from its header without building the model.

    Parameters
    ----------
    path : str or path
        File to read.

    Returns
    -------
    dict
        ``class``, ``format``, ``widemargin``, ``sklearn``, ``numpy`` (versions), ``parameters``
        and ``attributes`` (name to value, or to a short text for arrays and estimators),
        ``tensors`` (name to dtype and shape) and ``file_size`` in bytes.

    Raises
    ------
    ModelFileError
        If the file is not a model file.  Only `load` checks the digest.

    Examples
    --------
    >>> import tempfile, pathlib, widemargin.persistence as persistence
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scaler.safetensors"
    ...     persistence.save(MinMaxScaler(clip=True), path)
    ...     facts = persistence.describe(path)
    >>> facts["class"], facts["parameters"]["clip"]
    ('sklearn.preprocessing.MinMaxScaler', True)
    """
    header, tensors = container.read_header(path)
    try:
        model = container.model_of(header)
        parts = {
            title: {name: summary(node) for name, node in model[part].items()}
            for title, part in (("parameters", "params"), ("attributes", "state"))
        }
        facts = {"class": str(model["class"])}
    except DECODING_ERRORS as error:
        raise damaged(path, "its header does not describe an estimator") from error
    facts |= {key: header[key] for key in container.versions()}
    return facts | parts | {"tensors": tensors, "file_size": Path(path).stat().st_size}
