"""Folders in the format of Enzo, opened with yt and VTK and compared with the state that was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sample_file as sample
import sidestream

ENZO_NAMES = {
    "density": "Density",
    "Temp": "Temperature",
    "x_velocity": "x-velocity",
    "y_velocity": "y-velocity",
    "z_velocity": "z-velocity",
    "pressure": "Pressure",
    "particle_mass_density": "Dark_Matter_Density",
}
KINDS = [
    ("enzo", "plotfile", 3e-7, 0),
    ("enzo-hdf5", "checkpoint", 1e-12, 2),
]
LIKE_OTHERS = [
    ("enzo", "checkpoint", 1e-12, 0),
    ("enzo-hdf5", "checkpoint", 1e-12, 0),
]


@pytest.fixture(
    scope="module",
    params=[*KINDS, *(pytest.param(kind, marks=pytest.mark.slow) for kind in LIKE_OTHERS)],
    ids=lambda kind: f"{kind[0]}-{kind[1]}-{kind[3]}",
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, float]:
    form, kind, tolerance, files = request.param
    path = sample.write(form, tmp_path_factory.mktemp("enzo") / "DD0007", kind, ranks=3, files=files)
    assert len(list(path.glob("*.cpu*"))) == (files or (3 if form == "enzo" else 1))
    return path, kind, tolerance


def load(path: Path):
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    return yt.load(str(path / path.name))


def comoving_mpc(values) -> np.ndarray:
    """Positions in proper lengths of yt as comoving Mpc."""
    return values.to("Mpc").d / sample.SCALE_FACTOR


def test_yt_sees_an_enzo_dataset_of_the_right_size(written: tuple[Path, str, float]) -> None:
    path, kind, _ = written
    dataset = load(path)

    assert type(dataset).__name__ == "EnzoDataset"
    np.testing.assert_allclose(comoving_mpc(dataset.domain_width), sample.SIDE_MPC, rtol=1e-6)
    assert dataset.index.max_level == 2
    assert [(dataset.index.grid_levels == level).sum() for level in range(3)] == list(sample.LEVEL_BLOCKS)
    assert all(dataset.periodicity)
    if kind == "plotfile":
        assert dataset.cosmological_simulation == 1
        assert dataset.current_redshift == pytest.approx(1 / sample.SCALE_FACTOR - 1)
        assert dataset.current_time.to("Gyr").d == pytest.approx(dataset.cosmology.t_from_z(1.0).to("Gyr").d, rel=1e-3)


def test_yt_sees_the_grids_where_they_are(written: tuple[Path, str, float]) -> None:
    dataset = load(written[0])

    for level in range(3):
        size = sample.SIDE_MPC / (sample.CELLS << level)
        grids = [grid for grid in dataset.index.grids if grid.Level == level]
        corners = {tuple(np.rint(comoving_mpc(grid.LeftEdge) / size / sample.BLOCK).astype(int)) for grid in grids}
        assert corners == set(sample.blocks(level))
        assert all(tuple(grid.ActiveDimensions) == (sample.BLOCK,) * 3 for grid in grids)


def test_yt_sees_every_value_of_the_leaves_in_its_unit(written: tuple[Path, str, float]) -> None:
    path, _, tolerance = written
    dataset = load(path)  # kept: what yt gives refers to it weakly
    leaves = dataset.all_data()
    x, y, z = (comoving_mpc(leaves["index", axis]) for axis in "xyz")

    assert x.size == sample.BLOCK**3 * sum(sample.LEAVES)
    density = sample.SCALE_FACTOR**3
    for name, field, unit, factor in [
        ("density", "density", "Msun/Mpc**3", density),
        ("particle_mass_density", "dark_matter_density", "Msun/Mpc**3", density),
        ("Temp", "temperature", "K", 1.0),
        ("x_velocity", "velocity_x", "km/s", 1.0),
        ("y_velocity", "velocity_y", "km/s", 1.0),
        ("z_velocity", "velocity_z", "km/s", 1.0),
    ]:
        expected = sample.value(name, x, y, z)
        found = leaves["gas", field].to(unit).d * factor
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_yt_sees_the_particles(written: tuple[Path, str, float]) -> None:
    path, _, tolerance = written
    dataset, expected = load(path), sample.particles()
    data = dataset.all_data()
    found = np.array([comoving_mpc(data["io", f"particle_position_{axis}"]) for axis in "xyz"])
    wanted = np.array([expected[axis] for axis in "xyz"])

    assert found.shape == wanted.shape
    order, wanted_order = np.lexsort(found.round(5)), np.lexsort(wanted.round(5))
    np.testing.assert_allclose(found[:, order], wanted[:, wanted_order], rtol=3 * tolerance)
    mass = data["io", "particle_mass"].to("Msun").d[order]
    np.testing.assert_allclose(mass, expected["mass"][wanted_order], rtol=3 * tolerance)
    velocity = data["io", "particle_velocity_x"].to("km/s").d[order]
    gas = sample.value("x_velocity", *wanted)[wanted_order]
    np.testing.assert_allclose(velocity, gas, rtol=3 * tolerance, atol=1e-3)
    ids = data["io", "particle_index"].d[order]
    np.testing.assert_allclose(ids, expected["id"][wanted_order], rtol=0, atol=1)


def test_yt_tells_species_by_their_types(tmp_path: Path) -> None:
    path = sample.write("enzo", tmp_path / "DD0007", "species", ranks=2)
    dataset, expected = load(path), sidestream.open(path)
    data = dataset.all_data()
    types = data["io", "particle_type"].d

    for number, species in enumerate(("dark_matter", "stars", "tracers"), 1):
        particles = expected.particles(species)
        is_own = types == number
        assert is_own.sum() == particles.sizes["particle"]
        order = np.argsort(data["io", "particle_index"].d[is_own])
        found = comoving_mpc(data["io", "particle_position_x"])[is_own][order]
        np.testing.assert_allclose(found, particles.sortby("id")["x"], rtol=1e-12)
    assert set(np.unique(types)) == {1, 2, 3}


def test_vtk_sees_the_blocks_and_every_value(tmp_path: Path) -> None:
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    path = sample.write("enzo", tmp_path / "DD0007", "checkpoint", ranks=2)
    reader = vtk.vtkAMREnzoReader()
    reader.SetFileName(str(path / "DD0007.hierarchy"))
    reader.ConvertToCGSOff()
    reader.Update()
    reader.SetMaxLevel(2)
    for i in range(reader.GetNumberOfCellArrays()):
        reader.SetCellArrayStatus(reader.GetCellArrayName(i), 1)
    reader.Update()
    mesh = reader.GetOutput()

    assert {reader.GetCellArrayName(i) for i in range(reader.GetNumberOfCellArrays())} == set(ENZO_NAMES.values())
    assert [mesh.GetNumberOfBlocks(level) for level in range(mesh.GetNumberOfLevels())] == list(sample.LEVEL_BLOCKS)
    for level in range(3):
        for block in range(mesh.GetNumberOfBlocks(level)):
            grid = mesh.GetDataSetAsImageData(level, block)
            centres = sample_centres(grid)
            for name, enzo in ENZO_NAMES.items():
                found = vtk_to_numpy(grid.GetCellData().GetArray(enzo)).reshape((sample.BLOCK,) * 3)
                np.testing.assert_allclose(found, sample.value(name, *centres), rtol=1e-12)


def sample_centres(grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres of the cells of an image of VTK as x, y and z, each [z, y, x]."""
    axes = [grid.GetOrigin()[a] + grid.GetSpacing()[a] * (np.arange(sample.BLOCK) + 0.5) for a in range(3)]
    z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    return x, y, z


def test_the_boundary_is_that_of_a_periodic_run(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = sample.write("enzo", tmp_path / "DD0007", "checkpoint")

    with h5py.File(path / "DD0007.boundary.hdf") as file:
        kinds = file["BoundaryDimensionType.2"][:]
    lines = dict(line.split(" = ") for line in (path / "DD0007.boundary").read_text().splitlines())

    assert kinds.size == 2 * len(sample.FIELDS) * (sample.CELLS + 6) ** 2
    assert set(kinds) == {3.0}
    assert {key.strip(): value for key, value in lines.items()}["BoundaryDimension"] == "22 22 22"
