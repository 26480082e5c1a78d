"""Results whose rows many ranks wrote, opened with the readers of netCDF files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sample_file as sample
import sidestream

ROWS = 20000


def expected() -> dict[str, np.ndarray]:
    rows = np.arange(ROWS, dtype=np.int64)
    return {"id": (1 << 60) + rows, "mass": 1e10 / (rows + 1.0)}


@pytest.fixture(scope="module", params=[1, 3])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write("result", tmp_path_factory.mktemp("result") / "00012.nc", str(ROWS), ranks=request.param)


def test_netcdf4_sees_ordinary_variables(path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(path) as file:
        assert file.dimensions["halo"].size == ROWS
        assert set(file.variables) == {"id", "mass", "k"}
        for name, values in expected().items():
            variable = file[name]
            assert variable.dimensions == ("halo",)
            assert variable.dtype == values.dtype
            assert variable.long_name
            np.testing.assert_array_equal(variable[:], values)
        assert file["mass"].units == "Msun"
        assert file.redshift == 2.5


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_sees_a_table(path: Path, engine: str) -> None:
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(path, engine=engine) as table:
        assert dict(table.sizes) == {"halo": ROWS, "k": 2}
        for name, values in expected().items():
            np.testing.assert_array_equal(table[name].values, values)
        assert table["mass"].attrs["units"] == "Msun"
        assert table["mass"].attrs["long_name"] == "mass of the halo"
        np.testing.assert_array_equal(table["k"].values, [0.5, 1.5])


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (expected()["mass"].tobytes(), "checksum of the column `mass`"),
        (expected()["id"].tobytes(), "checksum of the column `id`"),
        (np.array([0.5, 1.5]).tobytes(), "checksum of the file's tables"),
        (b"mass of the halo", "checksum of the file's tables"),
    ],
)
def test_a_flipped_bit_anywhere_is_an_error_that_names_the_file(
    path: Path, tmp_path: Path, what: bytes, said: str
) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(what) + len(what) // 2] ^= 4
    copy = tmp_path / "damaged.nc"
    copy.write_bytes(content)

    with pytest.raises(sidestream.Error, match=said) as caught:
        sidestream.open(copy)

    assert caught.value.where == str(copy)
    assert sidestream.open(path)["mass"].size == ROWS


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(sample.write("result", tmp_path / "none.nc", "0", ranks=2)) as file:
        assert file["mass"].shape == (0,)
        assert file["mass"].units == "Msun"
