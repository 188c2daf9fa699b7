"""What the tests of data sets share: small stand-ins for the real data, and for their servers."""

import dataclasses

import numpy as np
import pytest
from sklearn.utils import Bunch

from widemargin.datasets import downloads as _downloads
from widemargin.datasets import sources as _sources
from widemargin.datasets.catalogue import SOURCES


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Neither the environment's data nor scikit-learn's data home: everything in tmp_path."""
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    return tmp_path


@pytest.fixture
def expect(monkeypatch):
    """Makes the catalogue expect these arrays (in its own dtypes) instead of the real ones."""

    def expect(name, **arrays):
        source, specs, canonical = SOURCES[name], {}, {}
        for key, spec in source.arrays.items():
            canonical[key] = np.ascontiguousarray(arrays[key], dtype=spec.dtype)
            specs[key] = dataclasses.replace(
                spec,
                shape=canonical[key].shape if spec.fixed_rows is None else spec.shape,
                sha256=_sources.checksum(canonical[key][: spec.fixed_rows]),
            )
        monkeypatch.setitem(SOURCES, name, dataclasses.replace(source, arrays=specs))
        return canonical

    return expect


@pytest.fixture
def store():
    """Writes the file of a data set into a folder, as a user who downloaded it has it."""

    def store(folder, name, **arrays):
        file = folder / name / f"{name}.npz"
        file.parent.mkdir(parents=True)
        np.savez(file, **arrays)
        return file

    return store


class FakeOpenML:
    """Answers like scikit-learn's fetch_openml, and counts the calls."""

    def __init__(self, **fields):
        self.answer, self.calls = Bunch(**fields), []

    def __call__(self, *, data_id, **options):
        assert options["as_frame"] is False
        self.calls.append(data_id)
        return self.answer


@pytest.fixture
def serve_openml(monkeypatch):
    """Puts a `FakeOpenML` with these fields in the place of OpenML."""

    def serve_openml(**fields):
        server = FakeOpenML(**fields)
        monkeypatch.setattr(_downloads, "fetch_openml", server)
        return server

    return serve_openml


@pytest.fixture
def kin(expect, no_data):
    """A stand-in for kin8nm; returns its arrays."""
    rng = np.random.default_rng(0)
    return expect("kin8nm", X=rng.normal(size=(8192, 8)), y=rng.normal(size=8192))


@pytest.fixture
def boards(expect, no_data):
    """A stand-in for connect-4; returns its arrays."""
    rng = np.random.default_rng(2)
    return expect("connect-4", X=rng.integers(0, 3, (60, 42)), y=rng.integers(0, 3, 60))


@pytest.fixture
def daily_series():
    """Makes days since 1818 as year, month, day, and a number for each of them."""

    def daily_series(n_days):
        days = np.datetime64("1818-01-01") + np.arange(n_days)
        months = days.astype("M8[M]")
        year = days.astype("M8[Y]").astype(int) + 1970
        ymd = np.column_stack([year, months.astype(int) % 12 + 1, (days - months).astype(int) + 1])
        return ymd, np.arange(n_days) % 300

    return daily_series
