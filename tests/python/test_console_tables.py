"""Tables on narrow terminals."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from sidestream.runs.catalogue import print_catalogue


@pytest.mark.parametrize("columns", [20, 80, 200])
def test_numbers_of_a_table_are_never_cut_off(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    names = ("id", "mass", "cells", "particles", "x", "y", "z", "peak")
    units = dict(zip(names, ("1", "Msun", "1", "1", "Mpc", "Mpc", "Mpc", "Msun/Mpc^3"), strict=True))

    print_catalogue(xr.Dataset({name: ("halo", np.array([1234567.125]), {"units": units[name]}) for name in names}))

    head, row = capsys.readouterr().out.splitlines()
    assert "peak [Msun/Mpc^3]" in head
    assert row.split() == ["1.235e+06", "1.235e+06", "1.235e+06", "1.235e+06", *["1234567.125"] * 3, "1.235e+06"]


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        (1.0, ["7.020", "0.300", "12.000"]),
        (1e-3, ["0.00702", "0.00030", "0.01200"]),
        (1e-12, ["7.02e-12", "3e-13", "1.2e-11"]),
        (3.0857e24, ["2.166161e+25", "9.2571e+23", "3.70284e+25"]),
    ],
)
def test_places_have_the_digits_that_tell_them_apart(
    scale: float, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    places = dict(zip("xyz", scale * np.array([7.02, 0.3, 12.0]), strict=True))

    print_catalogue(xr.Dataset({"mass": ("halo", [1.0])} | {name: ("halo", [value]) for name, value in places.items()}))

    assert capsys.readouterr().out.split()[-3:] == shown
