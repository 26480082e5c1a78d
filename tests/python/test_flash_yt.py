"""FLASH files as other programs read them: yt, h5py, netCDF4 and VTK (the reader of ParaView)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sample_file as sample

SINGLE = 1.5e-7  # relative error of a number in single precision
CM_PER_MPC, GRAMS_PER_MSUN = 3.085677580962325e24, 1.98841586e33
FLASH_NAMES = dict(zip(sample.FIELDS, ("dens", "temp", "velx", "vely", "velz", "pres", "pden"), strict=True))
YT_NAMES = {
    "density": ("density", "Msun/Mpccm**3"),
    "Temp": ("temperature", "K"),
    "x_velocity": ("velocity_x", "km/s"),
    "y_velocity": ("velocity_y", "km/s"),
    "z_velocity": ("velocity_z", "km/s"),
    "pressure": ("pressure", "Msun/Mpccm**3*(km/s)**2"),
}


@pytest.fixture(scope="module")
def plotfile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write("flash", tmp_path_factory.mktemp("flash") / "sidestream_hdf5_plt_cnt_0007", "plotfile")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write("sidestream", tmp_path_factory.mktemp("flash") / "chk00007.hdf5_chk", "checkpoint")


def centres(level: int, block: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions [Mpc] of the cells of a block, each (z, y, x)."""
    size = sample.SIDE_MPC / (sample.CELLS << level)
    x, y, z = (size * (sample.BLOCK * b + np.arange(sample.BLOCK) + 0.5) for b in block)
    zz, yy, xx = np.meshgrid(z, y, x, indexing="ij")
    return xx, yy, zz


def all_blocks() -> list[tuple[int, tuple[int, int, int]]]:
    return [(level, block) for level in range(3) for block in sample.blocks(level)]


def test_yt_finds_the_universe_and_its_levels(dataset) -> None:
    ds = dataset
    assert type(ds).__name__ == "FLASHDataset"
    assert ds.current_redshift == pytest.approx(1.0 / sample.SCALE_FACTOR - 1.0)
    assert (ds.omega_matter, ds.omega_lambda) == (0.3, 0.7)
    assert ds.hubble_constant == pytest.approx(0.68)
    assert ds.current_time.to("Gyr").d == pytest.approx(sample.TIME * 977.792, rel=1e-5)
    np.testing.assert_allclose(ds.domain_width.to("Mpccm").d, sample.SIDE_MPC, rtol=1e-12)
    assert ds.periodicity == (True, True, True)
    assert ds.index.max_level == 2
    assert ds.index.num_grids == sum(sample.LEVEL_BLOCKS)
    assert ds.all_data()["index", "ones"].size == sum(sample.LEAVES) * sample.BLOCK**3


@pytest.fixture(scope="module")
def dataset(plotfile: Path):
    """What yt makes of the plot file; its regions refer to it weakly."""
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    return yt.load(str(plotfile))


@pytest.fixture(scope="module")
def places(dataset) -> list[np.ndarray]:
    leaves = dataset.all_data()
    return [leaves["index", axis].to("Mpccm").d for axis in "xyz"]


@pytest.mark.parametrize("field", YT_NAMES)
def test_yt_reads_fields_in_right_units_at_right_places(dataset, places: list[np.ndarray], field: str) -> None:
    leaves = dataset.all_data()
    name, unit = YT_NAMES[field]
    x, y, z = places
    expected = sample.value(field, x, y, z)

    np.testing.assert_allclose(leaves["gas", name].to(unit).d, expected, rtol=SINGLE, atol=1e-9)


def test_yt_reads_the_particles(dataset) -> None:
    leaves, expected = dataset.all_data(), sample.particles()

    found = {a: leaves["io", f"particle_position_{a}"].to("Mpccm").d for a in "xyz"}
    found["mass"] = leaves["io", "particle_mass"].to("Msun").d
    order, wanted = (np.lexsort((p["z"], p["y"], p["x"])) for p in (found, expected))

    for name in ("x", "y", "z", "mass"):
        np.testing.assert_allclose(found[name][order], expected[name][wanted], rtol=SINGLE)
    velocity = sample.value("x_velocity", *(found[a] for a in "xyz"))
    np.testing.assert_allclose(leaves["io", "particle_velocity_x"].to("km/s").d, velocity, rtol=SINGLE, atol=1e-9)


def test_yt_reads_a_checkpoint_in_its_own_units(checkpoint: Path) -> None:
    yt = pytest.importorskip("yt")
    units = {"length_unit": (1.0, "Mpc"), "mass_unit": (1.0, "Msun"), "time_unit": (977.792, "Gyr")}
    leaves = yt.load(str(checkpoint), units_override=units).all_data()

    x, y, z = (leaves["index", axis].to("Mpc").d for axis in "xyz")

    np.testing.assert_array_equal(leaves["flash", "dens"].d, sample.value("density", x, y, z))
    np.testing.assert_array_equal(leaves["flash", "velx"].d, sample.value("x_velocity", x, y, z))


def test_h5py_reads_blocks_tree_and_ids(checkpoint: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(checkpoint) as file:
        names = [name.decode() for name in file["unknown names"][:, 0]]
        assert names == list(FLASH_NAMES.values())
        np.testing.assert_array_equal(file["refine level"], [level + 1 for level, _ in all_blocks()])
        leaves = file["node type"][:] == 1
        assert leaves.sum() == sum(sample.LEAVES)
        np.testing.assert_array_equal((file["gid"][:, 7:] > 0).all(axis=1), ~leaves)
        for row, (level, block) in enumerate(all_blocks()):
            size = sample.SIDE_MPC / (sample.CELLS << level) * sample.BLOCK
            np.testing.assert_array_equal(file["bounding box"][row, :, 0], np.multiply(block, size))
            for column, field in enumerate(sample.FIELDS):
                cells = file[names[column]][row]
                np.testing.assert_array_equal(cells, sample.value(field, *centres(level, block)))
        np.testing.assert_array_equal(np.sort(file["particle ids"]), np.sort(sample.particles()["id"]))
        check_tree(file["gid"][:], file["bounding box"][:])


def test_checksums_are_those_of_the_bytes_in_the_file(checkpoint: Path) -> None:
    h5py = pytest.importorskip("h5py")
    xxhash = pytest.importorskip("xxhash")

    def checksum(rows: np.ndarray) -> np.int64:
        return np.uint64(xxhash.xxh3_64_intdigest(rows.tobytes())).astype(np.int64)

    with h5py.File(checkpoint) as file:
        for column, name in enumerate(FLASH_NAMES.values()):
            assert [checksum(block) for block in file[name][:]] == list(file["checksum"][:, column])
        ends = np.cumsum(file["localnp"])
        for rows, checksums in (("tracer particles", "particle checksum"), ("particle ids", "particle id checksum")):
            blocks = np.split(file[rows][:], ends[:-1])
            assert [checksum(block) for block in blocks] == list(file[checksums][:, 0])


def check_tree(gid: np.ndarray, boxes: np.ndarray) -> None:
    """Neighbours touch, children lie in their parents, and both sides say so."""
    width = boxes[:, :, 1] - boxes[:, :, 0]
    for row, entry in enumerate(gid):
        for axis in range(3):
            for side in range(2):
                other = entry[2 * axis + side] - 1
                if other < 0:
                    continue
                assert gid[other][2 * axis + 1 - side] == row + 1
                gap = boxes[row, axis, side] - boxes[other, axis, 1 - side]
                assert gap % sample.SIDE_MPC == 0
        for child in entry[7:]:
            if child > 0:
                assert gid[child - 1][6] == row + 1
                assert (boxes[child - 1, :, 0] >= boxes[row, :, 0]).all()
                np.testing.assert_array_equal(2 * width[child - 1], width[row])


@pytest.mark.parametrize("form", ["flash-netcdf", "flash-netcdf-5d"])
def test_pnetcdf_files_hold_the_same(tmp_path: Path, form: str) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    name = "sidestream_5d_ncmpi_chk_0007" if form.endswith("5d") else "sidestream_ncmpi_chk_0007"
    path = sample.write(form, tmp_path / name, "checkpoint")

    with netcdf4.Dataset(path) as file:
        assert file.data_model == "NETCDF3_64BIT_DATA"
        assert file["scalars"].nxb == sample.BLOCK
        assert file["runtime_parameters"].nblockx == sample.CELLS // sample.BLOCK
        names = [file.getncattr(f"unknown_{i}") for i in range(len(sample.FIELDS))]
        assert names == list(FLASH_NAMES.values())
        np.testing.assert_array_equal(file["lrefine"], [level + 1 for level, _ in all_blocks()])
        for row, (level, block) in enumerate(all_blocks()):
            for column, field in enumerate(sample.FIELDS):
                cells = file["unknowns"][row, column] if form.endswith("5d") else file[names[column]][row]
                np.testing.assert_array_equal(cells, sample.value(field, *centres(level, block)))
        np.testing.assert_array_equal(np.sort(file["particle_ids"]), np.sort(sample.particles()["id"]))


def test_the_5d_dataset_holds_all_fields_of_a_block(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = sample.write("flash-5d", tmp_path / "sidestream_5d_hdf5_chk_0007", "checkpoint")

    with h5py.File(path) as file:
        assert file["unknowns"].shape == (sum(sample.LEVEL_BLOCKS), len(sample.FIELDS), *3 * (sample.BLOCK,))
        for row, (level, block) in enumerate(all_blocks()):
            for column, field in enumerate(sample.FIELDS):
                expected = sample.value(field, *centres(level, block))
                np.testing.assert_array_equal(file["unknowns"][row, column], expected)


def test_vtk_opens_the_blocks_as_paraview_does(checkpoint: Path) -> None:
    vtk = pytest.importorskip("vtkmodules.vtkIOAMR")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkAMRFlashReader()
    reader.SetFileName(str(checkpoint))
    reader.SetMaxLevel(10)
    reader.UpdateInformation()
    for name in FLASH_NAMES.values():
        reader.SetCellArrayStatus(name, 1)
    reader.Update()
    amr = reader.GetOutputDataObject(0)

    assert amr.GetNumberOfLevels() == 3
    for level in range(3):
        blocks = {}
        for index in range(sample.LEVEL_BLOCKS[level]):
            grid = amr.GetDataSetAsImageData(level, index)
            blocks[tuple(np.round(grid.GetOrigin(), 9))] = grid
        size = sample.SIDE_MPC / (sample.CELLS << level) * sample.BLOCK
        for block in sample.blocks(level):
            data = blocks[tuple(np.multiply(block, size))].GetCellData()
            for field, name in FLASH_NAMES.items():
                cells = vtk_to_numpy(data.GetArray(name)).reshape(3 * (sample.BLOCK,))
                np.testing.assert_array_equal(cells, sample.value(field, *centres(level, block)))


def test_vtk_reads_the_particles(checkpoint: Path) -> None:
    vtk = pytest.importorskip("vtkmodules.vtkIOAMR")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkAMRFlashParticlesReader()
    reader.SetFileName(str(checkpoint))
    reader.Update()
    data = reader.GetOutputDataObject(0)

    points = [data.GetBlock(i).GetPoints() for i in range(data.GetNumberOfBlocks()) if data.GetBlock(i)]
    found = np.concatenate([vtk_to_numpy(p.GetData()) for p in points if p is not None and p.GetNumberOfPoints() > 0])
    expected = np.stack([sample.particles()[axis] for axis in "xyz"], axis=1)
    found = np.unique(found, axis=0)  # the reader gives all of them to each block
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)], rtol=1e-6)
