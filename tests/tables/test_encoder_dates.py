"""Dates become days, and points on the circles of the year, the week and the day."""

import numpy as np
import pytest

from widemargin.tables import TableEncoder

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

pytestmark = pytest.mark.filterwarnings("error")


def names_of(dates):
    encoder = TableEncoder().fit(pd.DataFrame({"d": dates}))
    return [name.removeprefix("d").strip() for name in encoder.get_feature_names_out()]


def pairs(*cycles):
    return ["", *(f"{cycle} {wave}" for cycle in cycles for wave in ("sin", "cos"))]


def test_cycles_of_dates_only_where_they_vary():
    assert names_of(pd.date_range("2026-01-01", periods=5)) == pairs()
    assert names_of(pd.date_range("2026-01-01", periods=20)) == pairs("week")
    assert names_of(pd.date_range("2026-01-01", periods=100)) == pairs("year", "week")
    assert names_of(pd.date_range("2026-01-05", periods=20, freq="7D")) == pairs("year")
    assert names_of(pd.to_datetime(["2020-01-01", "2021-01-01", "2026-01-01"])) == pairs("week")
    assert names_of(pd.date_range("2026-01-01", periods=9, freq="3h")) == pairs("day")
    assert names_of(pd.date_range("2024-01-01 08:00", periods=400)) == pairs("year", "week")


def test_cycles_are_points_on_a_circle():
    dates = pd.Series(pd.date_range("2024-01-01", "2025-12-31 18:00", freq="6h"))
    dates[5] = pd.NaT
    encoder = TableEncoder()
    Z = encoder.fit_transform(pd.DataFrame({"d": dates}))
    assert encoder.output_kinds_ == ["number", "missing", *["cycle"] * 6]
    waves = Z[:, 2:].reshape(len(Z), 3, 2)
    assert not waves[5].any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(waves, 5, axis=0), axis=2), 1)
    np.testing.assert_allclose(waves[0, 0], [0, 1])  # 1 January
    np.testing.assert_allclose(waves[1, 2], [1, 0], atol=1e-12)  # 6 in the morning
    np.testing.assert_allclose(waves[0, 1], waves[28, 1])  # a week later
    np.testing.assert_allclose(waves[0, 0], waves[366 * 4, 0])  # 2024 is a leap year


def test_dates_of_every_type_are_the_same_days():
    moments = pd.date_range("2026-01-01", periods=90, freq="31h")
    train = pd.DataFrame({"d": moments})
    encoder = TableEncoder().fit(train)
    expected = encoder.transform(train)
    days = expected[:, 0]
    for same in (
        moments.tz_localize("UTC").tz_convert("Asia/Tokyo"),
        moments.to_pydatetime().astype(object),
        moments.astype("datetime64[s]"),
        moments.strftime("%Y-%m-%dT%H:%M:%S"),
        moments.tz_localize("UTC").strftime("%Y-%m-%d %H:%M:%S+00:00"),
        days,  # as read_table gives them
    ):
        table = pd.DataFrame({"d": same})
        np.testing.assert_allclose(encoder.transform(table), expected, atol=1e-8)
        polars = pl.DataFrame({"d": list(table["d"])})
        np.testing.assert_allclose(encoder.transform(polars), expected, atol=1e-8)
    with pytest.warns(UserWarning, match="'d' holds 'soon', which is not a date"):
        assert encoder.transform(pd.DataFrame({"d": ["soon"]}))[0, 0] == np.median(days)
