"""Plot files: headers in Python, fields through the extension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
import synthetic
from sidestream.plotfile import read_header


def test_the_header_tells_cells_fields_redshift_and_cosmology(tmp_path: Path) -> None:
    header = read_header(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    assert header.cells == [8, 8, 8]
    assert header.fields == ["density", "Temp"]
    assert header.boxes == 1
    assert header.redshift == pytest.approx(3.0)
    assert header.cosmology == {"omega_m": 0.31, "omega_lambda": 0.69, "hubble": 0.675}
    assert header.particles is None


def test_a_plot_file_opens_as_fields_on_z_y_x(tmp_path: Path) -> None:
    fields = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    expected = np.arange(8.0**3).reshape(8, 8, 8)
    np.testing.assert_array_equal(fields["density"].transpose("z", "y", "x"), expected)
    np.testing.assert_array_equal(fields["Temp"], expected + 512)
    np.testing.assert_allclose(fields["x"][0], 14.2 / 16)
    assert fields["density"].attrs["units"] == "Msun/Mpc^3"
    assert fields.attrs["redshift"] == pytest.approx(3.0)


@pytest.mark.parametrize("lines", [0, 1, 3, 9])
def test_a_torn_header_is_an_error_that_names_it(tmp_path: Path, lines: int) -> None:
    path = synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0)
    header = path / "Header"
    header.write_text("\n".join(header.read_text().split("\n")[:lines]))

    with pytest.raises(sidestream.Error) as caught:
        sidestream.open(path)

    assert "Header" in caught.value.where


def test_torn_data_are_an_error_and_no_crash(tmp_path: Path) -> None:
    path = synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0)
    data = path / "Level_0" / "Cell_D_00000"
    data.write_bytes(data.read_bytes()[:200])

    with pytest.raises(sidestream.Error):
        sidestream.open(path)
