"""A damaged data file is read, or refused with a DataFileError that names it; nothing else."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.data_files import csv_text, write
from widemargin.streaming import stream
from widemargin.tables import DataFileError, read_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("pandas")

MUTANTS = 60


def archive(**arrays):
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def parquet():
    columns = {"a": [1.5, 2.0, None] * 9, "b": ["x", "y", "é"] * 9, "y": [1, -1, 1] * 9}
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content, row_group_size=10)
    return content.getvalue()


CSV = ('a,b,y\n1,"x ""q""\n é",u\n-2.5,,v\n?,z,u\n' * 5).encode()
SVM = b"# words\n1 1:2.5 7:-1e3 # one\n-1 qid:3 2:1\n" * 5
X = np.arange(12.0).reshape(4, 3)
MATRIX = sp.csr_array(np.eye(4))
FILES = {
    "t.csv": CSV,
    "t.tsv": csv_text("\t").encode(),
    "t.csv.gz": gzip.compress(CSV, mtime=0),
    "t.csv.bz2": bz2.compress(CSV),
    "t.csv.xz": lzma.compress(CSV),
    "t.svm": SVM,
    "t.svm.gz": gzip.compress(SVM, mtime=0),
    "t.npz": archive(X=X, y=np.array(["é", "b", "b", "c"])),
    "sparse.npz": archive(
        data=MATRIX.data,
        indices=MATRIX.indices,
        indptr=MATRIX.indptr,
        shape=np.array(MATRIX.shape),
        format=np.array("csr"),
    ),
    "t.parquet": parquet(),
}


def damaged(content, rng):
    """The content cut off, with changed bits, with other bytes in the middle, or doubled parts."""
    changed = bytearray(content)
    at = int(rng.integers(len(content)))
    kind = rng.integers(4)
    if kind == 0:
        return bytes(changed[:at])
    if kind == 1:
        for place in rng.integers(len(content), size=int(rng.integers(1, 4))):
            changed[place] ^= 1 << rng.integers(8)
    elif kind == 2:
        changed[at : at + 8] = rng.bytes(int(rng.integers(1, 16)))
    else:
        changed[at:at] = changed[: int(rng.integers(1, 40))]
    return bytes(changed)


def read(path):
    named = ".csv" in path.name or path.suffix in (".tsv", ".parquet")
    table = read_table(path, target="y" if named else None)
    assert table.X.shape[0] == len(table.y) if table.y is not None else table.X.shape[0] > 0


def read_stream(path):
    named = ".svm" not in path.name
    for chunk in stream(path, target="y" if named else None, chunk_rows=7):
        assert chunk.X.shape[0] == len(chunk.y)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("use", [read, read_stream])
@pytest.mark.filterwarnings("ignore")
def test_damage(use, name, tmp_path):
    if use is read_stream and name.endswith("npz"):
        pytest.skip("archives are not streamed")
    content = FILES[name]
    use(write(tmp_path, name, content))
    rng = np.random.default_rng(7)
    messages = {}
    for number in range(MUTANTS):
        path = write(tmp_path, f"{number}-{name}", damaged(content, rng))
        try:
            use(path)
        except DataFileError as error:
            messages[path] = str(error)
    assert len(messages) > MUTANTS // 10
    for path, message in messages.items():
        assert str(path) in message
        assert "\n" not in message
        assert ";" in message or "closest" in message  # what to do


def test_a_name_longer_than_the_csv_module_reads(tmp_path):
    path = write(tmp_path, "t.csv", "a," + "b" * 200_000 + "\n1,2\n")
    assert read_table(path).feature_names == ("a", "b" * 200_000)


@pytest.mark.parametrize("index", [20_000_001, 2**31 - 2])
def test_a_column_number_out_of_proportion(index, tmp_path):
    path = write(tmp_path, "t.svm", f"1 1:2\n-1 {index}:1\n")
    for use in (read_table, lambda path: next(iter(stream(path)))):
        with pytest.raises(DataFileError, match=r"column 2[\d,]+;.*n_features="):
            use(path)
    assert read_table(path, n_features=index).X.shape == (2, index)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_a_shape_out_of_proportion(layout, tmp_path):
    parts = {"data": [1.0], "indices": [0], "indptr": [0, 1], "format": layout}
    shape = [1, 2**40] if layout == "csr" else [2**40, 1]
    np.savez(tmp_path / "t.npz", **parts, shape=shape)
    with pytest.raises(DataFileError, match="far too large"):
        read_table(tmp_path / "t.npz")


def test_an_array_larger_than_its_bytes(tmp_path):
    header = io.BytesIO()
    shape = (1, 10**12)
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as content:
        content.writestr("X.npy", header.getvalue() + bytes(8))
    with pytest.raises(DataFileError, match=r"but only \d+ bytes"):
        read_table(tmp_path / "t.npz")
