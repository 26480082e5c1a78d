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
    assert header.boxes == [1]
    assert header.level_cells == [[8, 8, 8]]
    assert header.redshift == pytest.approx(3.0)
    assert header.cosmology == {"omega_m": 0.31, "omega_lambda": 0.69, "hubble": 0.675}
    assert header.particles is None


def test_a_plot_file_opens_as_fields_on_z_y_x(tmp_path: Path) -> None:
    plot = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    expected = np.arange(8.0**3).reshape(8, 8, 8)
    np.testing.assert_array_equal(plot["density"].transpose("z", "y", "x"), expected)
    np.testing.assert_array_equal(plot["Temp"], expected + 512)
    np.testing.assert_allclose(plot["density"]["x"][0], 14.2 / 16)
    assert plot["density"].attrs["units"] == "Msun/Mpc^3"
    assert plot.attrs["redshift"] == pytest.approx(3.0)
    assert plot.box_size == (14.2, 14.2, 14.2)
    assert plot.levels == 1
    assert "density" in plot
    assert "metals" not in plot


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
        sidestream.open(path)["density"]


# --- a refined file: three levels over 8^3 cells, written by our own writer (tests/io/refined_plotfile_test.cpp)

REFINED = Path(__file__).parents[1] / "data" / "refined_plt00007"
COARSE_CELLS = 8


def leaf_levels() -> np.ndarray:
    """The finest level that covers each cell of the finest grid, [z, y, x]."""
    levels = np.zeros((32, 32, 32), dtype=int)
    for level, (x, y, z) in [(1, (0, 0, 0)), (1, (1, 0, 0)), (2, (1, 1, 0))]:
        side = 16 >> (level - 1)  # of a refined block of the next coarser level
        levels[z * side : (z + 1) * side, y * side : (y + 1) * side, x * side : (x + 1) * side] = level
    return levels


def density_on(cells: int) -> np.ndarray:
    """The trilinear density of the file at the centres of `cells`^3 cells, [z, y, x]."""
    centre = (np.arange(cells) + 0.5) * COARSE_CELLS / cells
    z, y, x = np.meshgrid(centre, centre, centre, indexing="ij")
    return 2.0 * (1.0 + 0.5 * x + 0.25 * y * z)


def test_a_refined_file_tells_its_levels_and_boxes() -> None:
    plot = sidestream.open(REFINED)

    assert plot.levels == 3
    assert [plot.cells(level) for level in range(3)] == [(8, 8, 8), (16, 16, 16), (32, 32, 32)]
    assert [len(plot.boxes(level)) for level in range(3)] == [8, 16, 8]
    np.testing.assert_array_equal(plot.boxes(2)[0], [[8, 8, 0], [12, 12, 4]])
    assert "3 levels" in repr(plot)
    assert read_header(REFINED).boxes == [8, 16, 8]
    assert read_header(REFINED).particles == 29


def test_a_covering_grid_has_the_finest_value_of_each_cell() -> None:
    plot = sidestream.open(REFINED)

    np.testing.assert_array_equal(plot.covering_grid("Temp", 2), 100.0 * (1 + leaf_levels()))
    np.testing.assert_array_equal(plot.covering_grid("Temp", 0), np.full((8, 8, 8), 100.0))
    np.testing.assert_array_equal(plot["density"], density_on(8))
    fine, coarse = density_on(32), density_on(8).repeat(4, 0).repeat(4, 1).repeat(4, 2)
    covering = plot.covering_grid("density", 2)
    np.testing.assert_array_equal(np.asarray(covering)[leaf_levels() == 2], fine[leaf_levels() == 2])
    np.testing.assert_array_equal(np.asarray(covering)[leaf_levels() == 0], coarse[leaf_levels() == 0])
    np.testing.assert_allclose(covering["z"], (np.arange(32) + 0.5) / 4)


def test_levels_and_fields_that_are_not_there_are_named() -> None:
    plot = sidestream.open(REFINED)

    with pytest.raises(sidestream.Error, match="level 3") as caught:
        plot.covering_grid("density", 3)
    assert "0 to 2" in caught.value.hint
    with pytest.raises(sidestream.Error, match="metals"):
        plot.covering_grid("metals")
    with pytest.raises(sidestream.Error, match="level -1"):
        plot.boxes(-1)


def test_analyses_take_the_level_that_is_asked_for() -> None:
    plot = sidestream.open(REFINED)
    options = {"t_boundary": "1.2 mean", "t_halo": "1.5 mean"}

    for level in (0, 2):
        grid = plot.covering_grid("density", level)
        assert plot.halos(level=level, **options).identical(sidestream.halos(grid, 8.0, **options))
        assert plot.power_spectrum(level=level).identical(sidestream.power_spectrum(grid, 8.0))
    assert plot.halos(level=2, **options).cells.sum() > 30 * plot.halos(**options).cells.sum() > 0


def test_yt_sees_the_levels_as_we_do() -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    plot, dataset = sidestream.open(REFINED), yt.load(str(REFINED))

    leaves = dataset.all_data()

    assert dataset.index.max_level == 2
    assert leaves["boxlib", "density"].size == 64 * (6 + 15 + 8)
    volume = leaves["index", "cell_volume"].d
    assert volume.sum() == 8.0**3
    for field in plot.fields:
        ours = np.asarray(plot.covering_grid(field, 2)).sum() / 4**3
        assert (leaves["boxlib", field].d * volume).sum() == pytest.approx(ours, rel=1e-13)
    for level in range(3):
        theirs = dataset.covering_grid(level, dataset.domain_left_edge, plot.cells(level))
        for field in plot.fields:
            np.testing.assert_array_equal(theirs["boxlib", field].d.transpose(), plot.covering_grid(field, level))
    assert leaves["DM", "particle_mass"].size == 29
    assert leaves["DM", "particle_mass"].d.sum() == 3.0 * 29
