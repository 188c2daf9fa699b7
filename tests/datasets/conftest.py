"""Small substitutes for the real data sets and for their servers."""

import dataclasses

import numpy as np
import pytest
from sklearn.utils import Bunch

from widemargin.datasets import downloads, sources
from widemargin.datasets.catalogue import SOURCES


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Hide the data of the environment and of scikit-learn; use tmp_path instead."""
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    return tmp_path


@pytest.fixture
def expect(monkeypatch):
    """Function that makes the catalogue expect these arrays (in its dtypes), not the real ones."""

    def expect(name, **arrays):
        source, specs, canonical = SOURCES[name], {}, {}
        for key, spec in source.arrays.items():
            canonical[key] = np.ascontiguousarray(arrays[key], dtype=spec.dtype)
            specs[key] = dataclasses.replace(
                spec,
                shape=canonical[key].shape if spec.fixed_rows is None else spec.shape,
                sha256=sources.checksum(canonical[key][: spec.fixed_rows]),
            )
        monkeypatch.setitem(SOURCES, name, dataclasses.replace(source, arrays=specs))
        return canonical

    return expect


@pytest.fixture
def store():
    """Function that writes the file of a data set into a folder."""

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
    """Function that replaces OpenML with a `FakeOpenML` that has these fields."""

    def serve_openml(**fields):
        server = FakeOpenML(**fields)
        monkeypatch.setattr(downloads, "fetch_openml", server)
        return server

    return serve_openml


@pytest.fixture
def kin(expect, no_data):
    """Arrays that replace kin8nm."""
    rng = np.random.default_rng(0)
    return expect("kin8nm", X=rng.normal(size=(8192, 8)), y=rng.normal(size=8192))


@pytest.fixture
def boards(expect, no_data):
    """Arrays that replace connect-4."""
    rng = np.random.default_rng(2)
    return expect("connect-4", X=rng.integers(0, 3, (60, 42)), y=rng.integers(0, 3, 60))


@pytest.fixture
def daily_series():
    """Function that returns days since 1818 as (year, month, day), and one number per day."""

    def daily_series(n_days):
        days = np.datetime64("1818-01-01") + np.arange(n_days)
        months = days.astype("M8[M]")
        year = days.astype("M8[Y]").astype(int) + 1970
        ymd = np.column_stack([year, months.astype(int) % 12 + 1, (days - months).astype(int) + 1])
        return ymd, np.arange(n_days) % 300

    return daily_series
