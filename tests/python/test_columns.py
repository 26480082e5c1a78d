"""Columns read by our own walk through a file are what xarray reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sidestream.runs.columns import read_attributes, read_columns


def by_xarray(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as dataset:
        return dataset.load()


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """What results do not have, and other netCDF files do: gaps, text, scalars, axes, columns of no rows."""
    dataset = xr.Dataset(
        {
            "gaps": ("x", np.array([1.0, np.nan, 3.0])),
            "name": ("x", np.array(["one", "zwölf", ""], dtype=object)),
            "one": ((), 4.5),
            "plane": (("y", "x"), np.arange(6, dtype=np.int32).reshape(2, 3)),
            "none": ("row", np.zeros(0)),
        },
        {"x": [0.5, 1.5, 2.5], "label": ("y", [1, 2])},
        {"words": "a text", "number": 3, "list": [1.0, 2.0]},
    )
    dataset["gaps"].attrs = {"units": "Mpc", "flags": np.array([1], dtype=np.int64)}
    dataset["plane"].encoding = {"_FillValue": 4}
    dataset.to_netcdf(tmp_path / "odd.nc", engine="h5netcdf")
    return tmp_path / "odd.nc"


def test_all_results_of_a_run_are_what_xarray_reads(finished_run: Path) -> None:
    files = sorted((finished_run / "results").glob("*/*.nc"))

    assert len({path.parent for path in files}) > 3
    for path in files:
        xr.testing.assert_identical(read_columns(path), by_xarray(path))


def test_other_files_are_what_xarray_reads(odd: Path) -> None:
    xr.testing.assert_identical(read_columns(odd), by_xarray(odd))
    assert read_attributes(odd)["words"] == "a text"


def test_columns_over_a_dimension_or_of_some_names_are_read_alone(odd: Path) -> None:
    assert set(read_columns(odd, "x").variables) == {"gaps", "name", "x"}
    assert set(read_columns(odd, "z").variables) == set(by_xarray(odd).variables)
    assert set(read_columns(odd, names={"gaps", "one", "nowhere"}).variables) == {"gaps", "one"}
