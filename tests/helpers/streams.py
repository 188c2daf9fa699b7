"""Rows to stream, files of every format that hold them, and the rows that came out."""

import gzip
import lzma

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from widemargin.streaming import stream

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
X = rng.normal(size=(230, 4)).astype(np.float32)
Y = np.where(X @ [1.0, -2.0, 0.5, 0.0] > 0, "yes", "no")
LABELS = np.where(Y == "yes", 1.0, -1.0)
FORMATS = ("csv", "csv.gz", "csv.xz", "tsv", "parquet", "svm", "svm.gz")
every_format = pytest.mark.parametrize("suffix", FORMATS)


def write(folder, suffix, rows=slice(None), name="data"):
    """A file with some of the rows."""
    path = folder / f"{name}.{suffix}"
    frame = pd.DataFrame(X[rows], columns=list("abcd")).assign(y=Y[rows])
    if suffix == "parquet":
        frame.to_parquet(path, row_group_size=37)
    elif suffix.startswith("svm"):
        plain = folder / f"{name}.plain"
        dump_svmlight_file(X[rows], LABELS[rows], str(plain), zero_based=False)
        path.write_bytes(compressed(plain.read_bytes(), suffix))
    else:
        text = frame.to_csv(index=False, sep="\t" if suffix == "tsv" else ",")
        path.write_bytes(compressed(text.encode(), suffix))
    return path


def compressed(data, suffix):
    if suffix.endswith("gz"):
        return gzip.compress(data)
    return lzma.compress(data) if suffix.endswith("xz") else data


def open_stream(path, **options):
    """A stream with the target of the files of `write`."""
    svmlight = ".svm" in str(path)
    return stream(path, **({} if svmlight else {"target": "y"}), **options)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def content(chunks):
    """The rows and targets of all chunks."""
    chunks = list(chunks)
    return np.vstack([dense(c.X) for c in chunks]), np.concatenate([c.y for c in chunks])


def write_text(tmp_path, text, name="rows.csv"):
    """A file with this text."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
