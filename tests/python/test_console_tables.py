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
