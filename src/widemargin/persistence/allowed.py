"""The classes, types and parameters that a model file may hold; all others are refused."""

import inspect
import math
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from widemargin.persistence.classes import find_class, public_name

MAX_DEPTH = 100  # levels of nesting: far above any real pipeline, far below Python's stack limit

# What a file may need in memory besides its own tensors and text: fixed-width strings, whose width
# is that of the longest, and converted copies of tensors that occur more than once.
FREE_BYTES = 2**26
BYTES_PER_BYTE = 64
FREE_ESTIMATORS = 1000  # estimators that a file may hold, counted at each place they are used

SKLEARN_CLASSES: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "sklearn.compose": "ColumnTransformer",
        "sklearn.decomposition": "PCA TruncatedSVD",
        "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
        "sklearn.feature_extraction.text": (
            "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer"
        ),
        "sklearn.feature_selection": "VarianceThreshold",
        "sklearn.impute": "MissingIndicator SimpleImputer",
        "sklearn.kernel_approximation": (
            "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler"
        ),
        "sklearn.multioutput": "MultiOutputRegressor",
        "sklearn.pipeline": "FeatureUnion Pipeline",
        "sklearn.preprocessing": (
            "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder "
            "MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder "
            "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler "
            "SplineTransformer StandardScaler"
        ),
        "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    }.items()
}

# Parameters through which a file could run code or read other files: a function to call, a folder
# of pickled results (joblib.Memory), documents given by file name.  They must have these values.
PINNED: dict[str, dict[str, str | None]] = {
    "sklearn.pipeline.Pipeline": {"memory": None},
    "sklearn.preprocessing.FunctionTransformer": {"func": None, "inverse_func": None},
    "sklearn.feature_extraction.text.CountVectorizer": {"input": "content"},
    "sklearn.feature_extraction.text.HashingVectorizer": {"input": "content"},
    "sklearn.feature_extraction.text.TfidfVectorizer": {"input": "content"},
}

# Callbacks observe the training and are not part of the model.
SKIPPED_ATTRIBUTES = frozenset({"_skl_callbacks"})

NUMBER_TYPES = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
)
TYPES: dict[str, type] = {
    f"{cls.__module__}.{cls.__name__}": cls
    for cls in (bool, int, float, str, object, np.str_, np.object_, *NUMBER_TYPES)
}
TYPE_NAMES = {cls: name for name, cls in TYPES.items()}
SPARSE: dict[str, type] = {
    cls.__name__: cls
    for cls in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
}
SPARSE_NAMES = {cls: name for name, cls in SPARSE.items()}

DTYPE = re.compile(r"[<>|][biufcmMUO]\d{0,9}(\[\d{0,9}[a-zA-Z]{1,2}\])?", re.ASCII)


def memory_budget(file_size: int) -> int:
    """Bytes that the values of a file of `file_size` bytes may need besides its tensors."""
    return FREE_BYTES + BYTES_PER_BYTE * file_size


def text_bytes(shape: Sequence[int], dtype: np.dtype[Any]) -> int:
    """Bytes of an array of fixed-width strings."""
    return math.prod(shape) * dtype.itemsize


def class_name(cls: type) -> str | None:
    """Public name under which instances of `cls` are stored, or None if they cannot be."""
    for module, names in SKLEARN_CLASSES.items():
        if cls.__name__ in names and getattr(import_module(module), cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    return public_name(cls)


def resolve_class(name: str) -> type:
    """The class with this name, if it is on the list; the inverse of `class_name`."""
    module, _, short = name.rpartition(".")
    if short in SKLEARN_CLASSES.get(module, ()):
        return getattr(import_module(module), short)  # type: ignore[no-any-return]
    if not name.startswith("widemargin."):
        raise ValueError(f"a model file must not hold the class {name!r}")
    return find_class(name)


def constructor_defaults(cls: type) -> dict[str, Any]:
    """Constructor parameters of `cls` with their defaults (`inspect.Parameter.empty` if none)."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: p.default for p in parameters if p.kind not in variadic}


def is_key(key: Any) -> bool:
    """Whether a dictionary or set in a model may have this key."""
    if type(key) is tuple:
        return all(map(is_key, key))
    return key is None or isinstance(key, (bool, int, float, str, np.generic))


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of `dtype` become tensors: not text, objects, records or long doubles."""
    return dtype.kind in "biumM" or (dtype.kind in "fc" and dtype.char not in "gG")


def storage_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the tensor for an array of `dtype`: safetensors lacks dates and complex numbers."""
    if dtype.kind in "mM":
        return np.dtype("<i8")
    return np.dtype(f"<f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
