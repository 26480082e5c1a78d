"""Plot files and checkpoints of any format: what they tell, fields, particles, analyses."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import sample_file
import sidestream
import synthetic
from sidestream.files.analysis_units import CM_PER_MPC, GRAMS_PER_MSUN
from sidestream.files.formats import formats
from sidestream.launch.conversion import Conversion, convert


def test_a_file_tells_cells_fields_redshift_and_cosmology(tmp_path: Path) -> None:
    plot = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    assert isinstance(plot, sidestream.SnapshotFile)
    assert plot.format == "nyx"
    assert plot.kind == "plot file"
    assert plot.cells() == (8, 8, 8)
    assert plot.fields == ["density", "Temp"]
    assert plot.units == {"density": "Msun/Mpc^3", "Temp": "K"}
    assert plot.length_unit == "Mpc"
    assert len(plot.boxes()) == 1
    assert plot.attrs["redshift"] == pytest.approx(3.0)
    assert [plot.attrs[name] for name in ("omega_m", "omega_lambda", "hubble")] == [0.31, 0.69, 0.675]
    assert plot.particles().sizes == {}


def test_fields_are_derived_by_expressions(tmp_path: Path) -> None:
    plot = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))
    plot.derive("hot", "where(Temp > 800, density, 0)", unit=plot.units["density"])
    plot.derive("hot_share", "hot / Temp * (1 + redshift)")

    temperature, density = plot["Temp"].values, plot["density"].values
    hot = np.where(temperature > 800, density, 0)
    assert 0 < np.count_nonzero(hot) < hot.size
    np.testing.assert_array_equal(plot["hot"], hot)
    np.testing.assert_array_equal(plot["hot_share"], hot / temperature * (1 / plot.attrs["scale_factor"]))
    assert plot.fields == ["density", "Temp", "hot", "hot_share"]
    assert plot["hot"].attrs["units"] == "Msun/Mpc^3"
    halos = plot.halos("hot", t_boundary="1 mean", t_halo="2 mean")
    expected = sidestream.halos(hot, plot.box_size, t_boundary="1 mean", t_halo="2 mean")
    assert halos.sizes["halo"] > 0
    assert halos[list(expected)].equals(expected)


def test_fields_are_found_by_the_names_of_their_quantities(tmp_path: Path) -> None:
    plot = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    assert plot.quantities == {"gas_density": "density", "temperature": "Temp"}
    assert "temperature" in plot
    assert "pressure" not in plot
    np.testing.assert_array_equal(plot["gas_density"], plot["density"])
    plot.derive("thermal", "gas_density * temperature")
    with pytest.raises(sidestream.Error, match="there is a field `gas_density` already"):
        plot.derive("gas_density", "2 * density")
    np.testing.assert_array_equal(plot["thermal"], plot["density"].values * plot["Temp"].values)
    with pytest.raises(sidestream.Error, match="presure"):
        plot["presure"]


def test_a_file_is_a_mapping_of_its_fields(tmp_path: Path) -> None:
    plot = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    assert list(plot) == plot.keys() == plot.fields == ["density", "Temp"]
    assert len(plot) == 2
    assert all(name in plot for name in plot)
    assert {name: field.shape for name, field in dict(plot).items()} == {"density": (8, 8, 8), "Temp": (8, 8, 8)}
    plot.derive("twice", "2 * density")
    assert list(plot) == ["density", "Temp", "twice"]


def test_derived_fields_follow_each_level() -> None:
    plot = sidestream.open(REFINED)
    plot.derive("twice", "2 * Temp")

    np.testing.assert_array_equal(plot.covering_grid("twice", 2), 2.0 * plot.covering_grid("Temp", 2).values)


@pytest.mark.parametrize(
    ("name", "expression", "message"),
    [
        ("Temp", "density", "there is a field `Temp` already"),
        ("hot", "where(Tmp > 1, density, 0)", "no quantity `Tmp`"),
        ("hot", "density +", "end"),
        ("hot", "1 + 1", "names no field"),
        ("sqrt", "2 * density", "`sqrt` is there already"),
        ("../x", "2 * density", "is no name of a quantity"),
        ("", "2 * density", "is no name of a quantity"),
        ("hot", "sqrrt(density)", "no function `sqrrt`"),
    ],
)
def test_wrong_expressions_are_told(tmp_path: Path, name: str, expression: str, message: str) -> None:
    plot = sidestream.open(synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0))

    with pytest.raises(sidestream.Error, match=message):
        plot.derive(name, expression)
    assert plot.fields == ["density", "Temp"]


def test_names_of_expressions_are_listed_once(tmp_path: Path) -> None:
    header = synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0) / "Header"
    header.write_text(header.read_text().replace("Temp", "dust"))  # no quantity calls it otherwise

    with pytest.raises(sidestream.Error) as caught:
        sidestream.open(header.parent).derive("twice", "2 * no_such_quantity")

    names = str(caught.value).split("choose one of: ")[1].split(", ")
    assert names[:3] == ["density", "dust", "gas_density"]
    assert len(names) == len(set(names))


def test_a_checkpoint_is_one(tmp_path: Path) -> None:
    checkpoint = sidestream.open(synthetic.CHECKPOINT)

    assert (checkpoint.kind, checkpoint.format) == ("checkpoint", "sidestream")
    assert checkpoint.attrs["step"] == 50
    assert "redshift" not in checkpoint.attrs
    assert checkpoint["density"].shape == (1, 8, 16)
    assert checkpoint.describe()["attributes"]["mass_start"] > 0


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


@pytest.mark.parametrize("lines", [1, 3, 9])
def test_a_torn_header_is_an_error_that_names_it(tmp_path: Path, lines: int) -> None:
    path = synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0)
    header = path / "Header"
    header.write_text("\n".join(header.read_text().split("\n")[:lines]))

    with pytest.raises(sidestream.Error) as caught:
        sidestream.open(path)

    assert "plt00010" in caught.value.where


def test_torn_data_are_an_error_and_no_crash(tmp_path: Path) -> None:
    path = synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0)
    data = path / "Level_0" / "Cell_D_00000"
    data.write_bytes(data.read_bytes()[:200])

    with pytest.raises(sidestream.Error):
        sidestream.open(path)["density"]


# --- a refined file: three levels over 8^3 cells, written by our own writer (tests/io/refined_plotfile_test.cpp)

PLOT = Path(__file__).parents[1] / "data" / "nyx_plt00002"
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
    assert plot.describe()["boxes"] == [8, 16, 8]
    assert plot.describe()["particles"] == plot.particles().sizes["particle"] == 29
    assert "3 levels" in repr(plot)


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
        found, expected = plot.halos("density", level, **options), sidestream.halos(grid, 8.0, **options)
        for name in set(expected.data_vars) - {"inside"}:  # the file has a cosmology, and so more spheres
            np.testing.assert_array_equal(found[name], expected[name])
        assert "m200c" in found
        assert plot.power_spectrum(level=level).equals(sidestream.power_spectrum(grid, 8.0))
    assert plot.halos("density", 2, **options).cells.sum() > 30 * plot.halos("density", **options).cells.sum() > 0


@pytest.mark.parametrize("linking_length", [0.2, 1.2])
def test_groups_of_particles_are_those_of_their_positions(linking_length: float) -> None:
    plot = sidestream.open(REFINED)
    particles = plot.particles()
    points = np.column_stack([particles[axis] for axis in "xyz"])
    length = linking_length * 8.0 / len(points) ** (1 / 3)

    groups = plot.friends_of_friends(linking_length, "density", min_particles=2).sortby("id")

    of_particles = sidestream.friends_of_friends(
        points, 8.0, linking_length=length, ids=particles["id"].values.astype(np.int64)
    )
    ids, counts = np.unique(of_particles, return_counts=True)
    assert groups["id"].values.tolist() == ids[counts >= 2].tolist()
    assert groups["particles"].values.tolist() == counts[counts >= 2].tolist()
    np.testing.assert_allclose(groups["mass"], 3.0 * counts[counts >= 2])


def test_halos_are_of_all_matter() -> None:
    plot = sidestream.open(PLOT)
    total = plot["density"] + plot["particle_mass_density"]
    options = {"t_boundary": "1.05 mean", "t_halo": "1.1 mean"}

    found = plot.halos(**options)

    expected = sidestream.halos(total, plot.box_size, **options)
    assert found["mass"].values.tolist() == expected["mass"].values.tolist() != []


def test_dark_matter_that_is_particles_alone_is_not_left_out() -> None:
    with pytest.raises(sidestream.Error, match="as particles, but no density"):
        sidestream.open(REFINED).halos()


def test_particles_come_by_species(tmp_path: Path) -> None:
    file = sidestream.open(sample_file.write("raw", tmp_path / "chk00007.raw", "species"))

    assert file.species == ["dark_matter", "stars", "tracers", "black_holes"]
    stars = file.particles("stars")
    assert sorted(stars["id"].values) == list(range(90))
    assert list(stars) == ["id", "x", "y", "z", "creation_time", "mass", "momentum_x", "metallicity"]
    assert stars["creation_time"].attrs["units"] == "Gyr"
    assert float(stars["x"].max()) < 0.2 * file.box_size[0]
    assert list(file.particles("tracers")) == ["id", "x", "y", "z"]
    assert file.particles("black_holes").sizes["particle"] == 0
    assert file.particles().equals(file.particles("dark_matter"))
    masses = file.particles()["mass"]
    assert masses.shape == (700,) and masses.attrs["units"] == "Msun"
    np.testing.assert_array_equal(masses, 0.1)
    assert [(one["name"], one["particles"]) for one in file.describe()["species"]] == [
        ("dark_matter", 700),
        ("stars", 90),
        ("tracers", 300),
        ("black_holes", 0),
    ]
    groups = file.friends_of_friends(0.5, "density", min_particles=2, species="stars")
    assert groups["particles"].sum() <= 90
    of_one_mass = file.friends_of_friends(0.5, "density", min_particles=2, species="dark_matter")
    np.testing.assert_allclose(of_one_mass["mass"], 0.1 * of_one_mass["particles"])
    with pytest.raises(sidestream.Error, match="the particles have no masses"):
        file.friends_of_friends(field="density", species="tracers")
    with pytest.raises(sidestream.Error, match="species `star`") as caught:
        file.particles("star")
    assert "dark_matter, stars, tracers, black_holes" in caught.value.hint


def test_enzo_knows_the_types_of_species(tmp_path: Path) -> None:
    path = sample_file.write("enzo-hdf5", tmp_path / "DD0007", "species")

    with h5py.File(path / "DD0007.cpu0000") as data:
        grids = [grid for name, grid in data.items() if name.startswith("Grid") and "particle_type" in grid]
        types = np.concatenate([grid["particle_type"][:] for grid in grids])
        created = np.concatenate([grid["creation_time"][:] for grid in grids])
    np.testing.assert_array_equal(np.unique(types, return_counts=True), [[1, 2, 3], [700, 90, 300]])
    assert np.all((created == 0) | (types == 2))
    species = sidestream.open(path).species
    assert species == ["dark_matter", "stars", "tracers", "black_holes"]


def test_a_file_of_one_species_tells_it() -> None:
    plot = sidestream.open(REFINED)

    assert plot.species == ["dark_matter"]
    assert plot.describe()["species"][0]["particles"] == 29


def test_a_file_without_particles_has_no_groups(converted: dict[str, Path]) -> None:
    with pytest.raises(sidestream.Error, match="no particles"):
        sidestream.open(converted["vtkhdf"]).friends_of_friends()


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


# --- one state in every format, written by `sidestream convert`


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The refined plot file in every format."""
    folder = tmp_path_factory.mktemp("converted")
    paths = {form: folder / f"sample_{form}" for form in formats()}
    for form, path in paths.items():
        convert(Conversion(REFINED, path, form), ranks=2)
    return paths


@pytest.mark.parametrize("form", formats())
def test_a_state_is_the_same_in_every_format(form: str, converted: dict[str, Path]) -> None:
    before, after = sidestream.open(REFINED), sidestream.open(converted[form])

    assert isinstance(after, sidestream.SnapshotFile)
    assert (after.levels, after.fields, after.box_size) == (before.levels, before.fields, before.box_size)
    assert after.attrs == pytest.approx(before.attrs)
    for level in range(before.levels):
        for field in before.fields:
            np.testing.assert_array_equal(after.covering_grid(field, level), before.covering_grid(field, level))
    if form == "vtkhdf":  # holds none
        assert after.particles().sizes == {}
        return
    ours, theirs = (file.particles().sortby("id") for file in (before, after))
    assert set(ours.data_vars) == set(theirs.data_vars)
    for name in ours.data_vars:
        np.testing.assert_array_equal(ours[name], theirs[name])


@pytest.mark.parametrize("form", formats())
def test_analyses_give_the_same_for_every_format(form: str, converted: dict[str, Path]) -> None:
    options = {"t_boundary": "1.2 mean", "t_halo": "1.5 mean"}
    before, after = sidestream.open(REFINED), sidestream.open(converted[form])

    assert after.halos("density", 1, **options).equals(before.halos("density", 1, **options))
    assert after.power_spectrum(level=1).equals(before.power_spectrum(level=1))


def write_flash_file(path: Path, density: np.ndarray, side: float) -> Path:
    """A file as FLASH writes it: one block on the unit of its own tables only, in cgs."""
    name, n = np.dtype("S80"), len(density)
    integer, real = np.dtype([("name", name), ("value", "<i4")]), np.dtype([("name", name), ("value", "<f8")])

    def table(kind: np.dtype, values: dict[str, float]) -> np.ndarray:
        return np.array([(key.ljust(80).encode(), value) for key, value in values.items()], dtype=kind)

    with h5py.File(path, "w") as file:
        file["unknown names"] = np.array([[b"dens"]], dtype="S4")
        file["dens"] = density[np.newaxis]
        file["bounding box"] = np.array([[[0.0, side]] * 3])
        file["refine level"] = np.array([1], dtype="<i4")
        file["node type"] = np.array([1], dtype="<i4")
        file["gid"] = np.full((1, 15), -21, dtype="<i4")
        file["coordinates"] = np.full((1, 3), side / 2)
        file["block size"] = np.full((1, 3), side)
        counts = {"nxb": n, "nyb": n, "nzb": n, "globalnumblocks": 1, "dimensionality": 3, "nstep": 12}
        file["integer scalars"] = table(integer, counts)
        file["real scalars"] = table(real, {"time": 2.5, "redshift": 0.0, "scalefactor": 1.0})
        file["integer runtime parameters"] = table(
            integer, {"nblockx": 1, "nblocky": 1, "nblockz": 1, "lrefine_min": 1, "lrefine_max": 1}
        )
        sides = {f"{axis}{end}": side * (end == "max") for axis in "xyz" for end in ("min", "max")}
        file["real runtime parameters"] = table(real, sides)
    return path


def test_a_file_of_flash_in_cgs_is_analysed_in_mpc_and_solar_masses(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    density = np.exp(random.normal(size=(16, 16, 16)))  # Msun/Mpc^3
    in_cgs = density * GRAMS_PER_MSUN / CM_PER_MPC**3
    options = {"t_boundary": "1.5 mean", "t_halo": "4 mean"}

    plot = sidestream.open(write_flash_file(tmp_path / "box_hdf5_chk_0001", in_cgs, 20.0 * CM_PER_MPC))
    ours, expected = plot.halos("density", **options), sidestream.halos(density, 20.0, **options)

    assert (plot.length_unit, plot.units["density"], plot.attrs["step"]) == ("cm", "g/cm^3", 12)
    np.testing.assert_allclose(plot["density"], in_cgs, rtol=1e-14)
    np.testing.assert_array_equal(ours["cells"], expected["cells"])
    np.testing.assert_allclose(ours["mass"], expected["mass"], rtol=1e-9)
    np.testing.assert_allclose(ours["x"], expected["x"], rtol=1e-9)
    assert ours["mass"].attrs["units"] == "Msun"
    spectrum = plot.power_spectrum()
    np.testing.assert_allclose(spectrum["k"], sidestream.power_spectrum(density, 20.0)["k"], rtol=1e-9)
    assert spectrum["k"].attrs["units"] == "1/Mpc"


def test_a_cosmology_goes_to_the_units_of_flash_and_back(tmp_path: Path) -> None:
    path = synthetic.write_plotfile(tmp_path / "plt00010", redshift=3.0)
    convert(Conversion(path, tmp_path / "a_hdf5_plt_cnt_0010", "flash"), ranks=2)
    convert(Conversion(tmp_path / "a_hdf5_plt_cnt_0010", tmp_path / "back", "nyx"), ranks=2)

    before, flash, after = map(sidestream.open, (path, tmp_path / "a_hdf5_plt_cnt_0010", tmp_path / "back"))
    in_cgs = np.asarray(before["density"]) * GRAMS_PER_MSUN / CM_PER_MPC**3

    assert (flash.length_unit, flash.units) == ("cm", {"density": "g/cm^3", "Temp": "K"})
    np.testing.assert_allclose(flash["density"], in_cgs, rtol=1e-14)
    np.testing.assert_allclose(flash["Temp"], 16 * before["Temp"], rtol=1e-14, err_msg="T/a^2")
    assert (after.length_unit, after.units) == (before.length_unit, before.units)
    assert after.box_size == pytest.approx(before.box_size, rel=1e-14)
    assert after.attrs == pytest.approx(before.attrs, rel=1e-14)
    for field in before.fields:
        np.testing.assert_allclose(after[field], before[field], rtol=1e-14)


def test_what_has_units_of_its_own_keeps_them_unnamed() -> None:
    spectrum = sidestream.open(REFINED).power_spectrum()

    assert "units" not in spectrum["k"].attrs
    assert "units" not in sidestream.open(REFINED)["density"].attrs


def test_a_file_of_no_known_format_is_named_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")

    with pytest.raises(sidestream.Error, match="no known format") as caught:
        sidestream.open(tmp_path / "notes.txt")

    assert "nyx" in caught.value.hint


def test_a_file_that_is_cut_says_so_though_nothing_tells_what_it_was(tmp_path: Path) -> None:
    path = sample_file.write("sidestream", tmp_path / "chk00007.hdf5_chk", "checkpoint")
    whole = path.read_bytes()
    for length in (len(whole) // 2, 4096):
        cut = tmp_path / "some_file"
        cut.write_bytes(whole[:length])
        with pytest.raises(sidestream.Error, match=f"{length} (bytes instead|are there)") as caught:
            sidestream.open(cut)
        assert "copy it anew" in caught.value.hint
    cut.write_bytes(whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:])
    with pytest.raises(sidestream.Error, match="the checksum of the file's tables is wrong"):
        sidestream.open(cut)


@pytest.mark.parametrize("block_bytes", [512, 4096])
def test_hdf5_behind_a_user_block_is_opened(block_bytes: int, tmp_path: Path) -> None:
    plain = Path(__file__).parents[1] / "data" / "chk00050.hdf5_chk"
    with h5py.File(plain) as source, h5py.File(tmp_path / "other", "w", userblock_size=block_bytes) as target:
        for name in source:
            if "sidestream" not in name and name != "commit record":
                source.copy(name, target)
    with (tmp_path / "other").open("r+b") as file:
        file.write(b"#! what others put before")

    with pytest.warns(UserWarning, match="checksums are lost"):
        opened = sidestream.open(tmp_path / "other")

    assert opened.format == "flash"
    name = opened.fields[0]
    assert np.array_equal(opened[name], sidestream.open(plain)[name])
    (tmp_path / "cut").write_bytes((tmp_path / "other").read_bytes()[:-5000])
    with pytest.raises(sidestream.Error, match="the file is truncated: it is HDF5 of"):
        sidestream.open(tmp_path / "cut")
