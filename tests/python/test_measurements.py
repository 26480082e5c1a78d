"""The tables of measurements that come with the package."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest

from sidestream import measurements
from sidestream.error import Error


def test_the_spectra_are_those_of_the_papers_and_near_each_other() -> None:
    # One row of each table at redshift three: k in s/km and P in km/s.
    rows = {
        "chabanier2019": (0.009756, 20.4227),
        "walther2018": (0.0112, 16.634),
        "irsic2017": (0.009, 20.7667),
        "karacayli2022": (0.00993927, 23.4456),
        "karacayli2024": (0.00975, 20.1973),
    }

    assert set(measurements.flux_power()) == set(rows)
    for name, (k, power) in rows.items():
        near = measurements.flux_power()[name].near(3.0)
        assert near is not None
        assert near.power[near.k == k] == pytest.approx([power], rel=1e-5), name
        assert power == pytest.approx(20.0, rel=0.2)


def test_errors_are_added_in_quadrature() -> None:
    power = measurements.flux_power()["chabanier2019"]

    assert (power.redshift[0], power.k[0], power.power[0]) == (2.2, 0.001084, 19.2561)
    assert power.error[0] == pytest.approx(np.hypot(0.252723, 0.683784), rel=1e-12)


def test_the_nearest_redshift_is_taken_within_a_distance() -> None:
    power = measurements.flux_power()["irsic2017"]

    near = power.near(3.29)
    assert near is not None and set(near.redshift) == {3.2}
    assert near.k.size == 19
    assert power.near(2.9) is not None
    assert power.near(2.89) is None
    assert power.near(2.89, within=0.2) is not None


def test_thermal_states_have_errors_downwards_and_upwards() -> None:
    states = measurements.thermal_state()

    walther = states["walther2019"]
    assert walther.temperature[0] == 6840
    assert walther.temperature_error[:, 0].tolist() == [1220, 1800]
    assert np.isnan(walther.gamma).all()
    assert states["gaikwad2021"].gamma[5] == 1.225
    assert sum(state.redshift.size for state in states.values()) == 29


def test_fits_of_the_mean_flux_have_the_published_values() -> None:
    # exp(-tau) of the formulas of the papers, computed beforehand.
    expected = {
        "becker2013": {2.2: 0.863, 2.5: 0.794, 3.0: 0.669, 4.0: 0.412},
        "faucher-giguere2008": {2.2: 0.842, 3.0: 0.662, 4.0: 0.372},
        "kim2007": {2.2: 0.852, 3.0: 0.696, 4.0: 0.441},
    }

    assert set(measurements.mean_flux()) == set(expected)
    for name, values in expected.items():
        for redshift, flux in values.items():
            assert float(measurements.mean_flux()[name](np.array(redshift))) == pytest.approx(flux, abs=6e-4)


def test_fits_of_the_mean_flux_are_not_taken_beyond_their_redshifts() -> None:
    fit = measurements.mean_flux()["becker2013"]

    for redshifts in (2.1, 5.0, np.array([3.0, 4.9]), np.nan):
        with pytest.raises(Error, match="from redshift 2.15 to 4.85"):
            fit(redshifts)
    assert fit(np.array([2.15, 4.85])).shape == (2,)


def test_every_table_has_numbers_alone_and_an_origin() -> None:
    folder = files("sidestream.measurements")
    tables = [table for table in folder.iterdir() if table.name.endswith(".csv")]

    assert len(tables) == 9
    origin = (folder / "ORIGIN.md").read_text(encoding="utf-8")
    for table in tables:
        assert table.name in origin
        for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
            assert all(np.isfinite(float(value or 0)) for name, value in row.items() if name != "source")
