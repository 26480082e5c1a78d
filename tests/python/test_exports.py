"""Snapshots of runs as datasets of xarray and of yt: the cells, units, redshift and mass that the files hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import program
from configs import universe
from tiers import slow

REFINED = """
[amr]
max_level = 2
[refine.matter]
criterion = "threshold"
fields = ["gas_overdensity"]
refine_above = 1.5
coarsen_below = 1.2
level_factor = 1.2
"""
OUTPUT = '[output]\nplotfile = {{ format = "{0}", at_end = true }}\ncheckpoint = {{ format = "{0}", at_end = true }}\n'
KINDS = {"uniform": ("nyx", ""), "refined": ("nyx", REFINED), "flash": ("flash", ""), "plain": ("sidestream", "")}
PLAIN = """
simulation = "sedov"
[mesh]
cells = [8, 8, 1]
block = 8
[amr]
max_level = 3
[refine.blast]
criterion = "loehner"
fields = ["gas_density", "pressure"]
[sedov]
end = 0.05
[run]
max_steps = 3
"""


@pytest.fixture(scope="module")
def plots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Plot files of a universe on a uniform and a refined mesh, of one in FLASH's comoving units, and of a plane."""
    folder = tmp_path_factory.mktemp("plots")
    made = {}
    for kind, (form, refine) in KINDS.items():
        text = PLAIN if kind == "plain" else universe(box="14.2 Mpc", z_start=20, z_end=3, steps=2) + refine
        (folder / f"{kind}.toml").write_text(text + OUTPUT.format(form))
        done = program(folder, 2, f"{kind}.toml", "--out", kind)
        assert done.returncode == 0, done.stderr
        (made[kind],) = (path for path in (folder / kind).iterdir() if "pl" in path.name and "chk" not in path.name)
    return made


def mass_on_the_finest_level(plot: sidestream.SnapshotFile) -> float:
    finest = plot.covering_grid("gas_density", plot.levels - 1)
    return float(finest.sum()) * np.prod(plot.box_size) / finest.size


@pytest.mark.parametrize("name", ["torn", "altered"])
def test_a_damaged_file_says_what_to_do_next(name: str, plots: dict[str, Path], tmp_path: Path) -> None:
    earlier, damaged = (tmp_path / f"sidestream_hdf5_plt_cnt_{step:04}" for step in (3, 4))
    whole = plots["plain"].read_bytes()
    earlier.write_bytes(whole)
    middle = len(whole) // 2
    cells = sidestream.open(earlier)["gas_density"].values
    at = whole.find(cells.tobytes()[:64]) if name == "altered" else middle
    damaged.write_bytes(whole[:at] + (b"" if name == "torn" else bytes([whole[at] ^ 1]) + whole[at + 1 :]))

    with pytest.raises(sidestream.Error) as caught:
        sidestream.open(damaged)["gas_density"]

    assert f"`sidestream verify {damaged}`" in caught.value.hint
    assert caught.value.hint.endswith(f"the plot file before it is {earlier}")


def drawn(plot: sidestream.SnapshotFile, *words: object, **more: object) -> tuple[np.ndarray, str, str]:
    """The cells of a picture, the names of its axes, and that of its colours."""
    (picture,) = plot.plot(*words, **more)
    axes = picture.figure.axes[0]
    (bar,) = axes.child_axes
    return np.asarray(axes.images[0].get_array()), f"{axes.get_xlabel()}, {axes.get_ylabel()}", bar.get_ylabel()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_is_the_mean_density_along_z(kind: str, plots: dict[str, Path]) -> None:
    plot = sidestream.open(plots[kind])

    cells, axes, colours = drawn(plot)

    finest = plot.covering_grid("gas_density", plot.levels - 1)
    np.testing.assert_allclose(cells, finest.mean("z").values, rtol=1e-12)
    unit = f" [{plot.length_unit}]" if plot.length_unit else ""
    assert axes == f"x{unit}, y{unit}"
    assert colours.startswith("mean gas density")
    assert ("[" in colours) == (plot.units[plot.quantities["gas_density"]] not in ("", "1"))


@pytest.mark.parametrize(("axis", "plane"), [("x", "y [Mpc], z [Mpc]"), ("y", "x [Mpc], z [Mpc]")])
def test_a_cut_has_the_cells_at_its_place(axis: str, plane: str, plots: dict[str, Path]) -> None:
    plot = sidestream.open(plots["refined"])
    finest = plot.covering_grid("gas_density", plot.levels - 1)

    cells, axes, _ = drawn(plot, "gas_density", axis, at=float(finest[axis][5]))

    np.testing.assert_array_equal(cells, finest.isel({axis: 5}).values)
    assert axes == plane


def test_a_plot_of_a_plane_from_its_side_is_as_thin_as_the_domain(plots: dict[str, Path]) -> None:
    plot = sidestream.open(plots["plain"])

    (picture,) = plot.plot(axis="x")

    sides = [(low, low + side) for low, side in zip(plot.origin[1:], plot.box_size[1:], strict=True)]
    assert picture.figure.axes[0].images[0].get_extent() == pytest.approx([*sides[0], *sides[1]])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("tea",), "no field `tea`"),
        (("",), "no field ``"),
        ((5,), "no field `5`"),
        ((["temperature"],), "no field"),
        ((None, "w"), "no axis 'w'"),
        ((None, 2), "no axis 2"),
        ((None, np.arange(3)), "no axis array"),
        ((None, "z", 99.0), "domain"),
        ((None, "z", "middle"), "a cut at 'middle' is at no number"),
    ],
)
def test_plots_of_what_is_not_there_are_refused(
    words: tuple[object, ...], complaint: str, plots: dict[str, Path]
) -> None:
    with pytest.raises(sidestream.Error, match=complaint):
        sidestream.open(plots["uniform"]).plot(*words)


@pytest.mark.parametrize("kind", [*sorted(set(KINDS) - {"uniform"}), *slow("uniform")])
def test_yt_finds_the_mass_of_the_file(kind: str, plots: dict[str, Path]) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    plot = sidestream.open(plots[kind])
    assert (plot.levels > 1) == (kind in ("refined", "plain"))

    dataset = plot.to_yt()

    mass = dataset.all_data().sum(("gas", "cell_mass"))
    unit = {"Mpc": "Msun", "cm": "g", "": "code_mass"}[plot.length_unit]
    assert float(mass.to(unit)) == pytest.approx(mass_on_the_finest_level(plot), rel=1e-14)
    assert dataset.index.max_level == plot.levels - 1
    assert dataset.index.num_grids == (1 if plot.levels == 1 else sum(len(plot.boxes(n)) for n in range(plot.levels)))


@pytest.mark.parametrize("kind", ["refined", "flash", *slow("uniform")])
def test_yt_has_the_particles_of_the_file(kind: str, plots: dict[str, Path]) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    plot = sidestream.open(plots[kind])
    particles = plot.particles("dark_matter")
    middle = [origin + 0.4 * side for origin, side in zip(plot.origin, plot.box_size, strict=True)]
    inside = np.all([particles[axis] < end for axis, end in zip("xyz", middle, strict=True)], axis=0)

    dataset = plot.to_yt()

    region = dataset.box(dataset.arr(plot.origin, "code_length"), dataset.arr(middle, "code_length"))
    found = np.asarray(region["dark_matter", "particle_index"]).astype(int)
    np.testing.assert_array_equal(np.sort(found), np.sort(particles["id"].values[inside]))
    assert 0 < len(found) < particles.sizes["particle"]
    whole = dataset.all_data()
    unit = "Msun" if plot.length_unit == "Mpc" else "g"
    assert float(whole["dark_matter", "particle_mass"].sum().to(unit)) == pytest.approx(float(particles["mass"].sum()))
    speed = whole["dark_matter", "particle_velocity_x"]
    if kind != "flash":  # whose velocities are those of comoving lengths
        order, own = np.argsort(whole["dark_matter", "particle_index"]), np.argsort(particles["id"].values)
        np.testing.assert_allclose(speed.to("km/s")[order], particles["xvel"].values[own])
    assert float(abs(speed).max().to("km/s")) < 1000
    assert "dark_matter" not in plot.to_yt(species=[]).particle_types


@pytest.mark.parametrize(("unit", "metres"), [("kpc", 3.0857e19), ("pc", 3.0857e16), ("AU", 1.495979e11), ("m", 1.0)])
def test_yt_knows_boxes_in_any_unit(unit: str, metres: float, tmp_path: Path) -> None:
    pytest.importorskip("yt").set_log_level("error")
    plot = sidestream.open(written_by_a_session(tmp_path, unit))

    dataset = plot.to_yt()

    np.testing.assert_allclose(dataset.domain_width.to("m").d, np.array([2.0, 3.0, 4.0]) * metres, rtol=1e-4)
    mass = dataset.all_data().sum(("gas", "cell_mass")).to("kg")
    assert float(mass) == pytest.approx(24.0 * (metres * 100.0) ** 3 * 1e-3, rel=3e-4)


def test_a_unit_that_yt_does_not_know_is_told(tmp_path: Path) -> None:
    pytest.importorskip("yt").set_log_level("error")
    with pytest.raises(sidestream.Error, match="yt does not know `cubit`"):
        sidestream.open(written_by_a_session(tmp_path, "cubit")).to_yt()


def written_by_a_session(folder: Path, unit: str) -> Path:
    """A box of sides 2, 3, 4 along x, y, z of gas of 1 g/cm^3."""
    (folder / "session.toml").write_text('[output]\nplotfile = { format = "raw", every = 1 }\n')
    with sidestream.session(folder / "session.toml", folder / "run", quiet=True) as run:
        run.mesh((8, 6, 4), lengths=(4.0, 3.0, 2.0), unit=unit)
        run.field("gas_density", np.ones((8, 6, 4)), unit="g/cm^3")
        run.begin()
    return folder / "run" / "plt00000.raw"


def test_yt_has_the_mass_that_all_particles_have_in_common(plots: dict[str, Path]) -> None:
    pytest.importorskip("yt").set_log_level("error")
    masses = sidestream.open(plots["flash"]).particles("dark_matter")["mass"]
    (checkpoint,) = plots["flash"].parent.glob("*_chk_*")

    found = sidestream.open(checkpoint).to_yt(fields=[]).all_data()["dark_matter", "particle_mass"]

    assert found.size == masses.size
    np.testing.assert_allclose(found.to("g"), masses, rtol=1e-6)


@pytest.mark.parametrize("kind", ["refined", "flash", *slow("uniform")])
def test_yt_knows_the_universe_of_the_file(kind: str, plots: dict[str, Path]) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    plot = sidestream.open(plots[kind])

    dataset = plot.to_yt(["gas_density", "temperature", "x_velocity"], species=[])

    assert dataset.cosmological_simulation == 1
    assert dataset.current_redshift == plot.attrs["redshift"]
    assert dataset.hubble_constant == plot.attrs["hubble"]
    assert (dataset.omega_matter, dataset.omega_lambda) == (plot.attrs["omega_m"], plot.attrs["omega_lambda"])
    np.testing.assert_allclose(dataset.domain_width.to("Mpccm").d, 14.2, rtol=1e-12)
    np.testing.assert_allclose(dataset.domain_width.to("Mpc").d, 14.2 * plot.attrs["scale_factor"], rtol=1e-12)
    assert set(dataset.field_list) == {("stream", name) for name in ("density", "temperature", "velocity_x")}


def test_files_in_other_units_are_the_same_in_yt(plots: dict[str, Path]) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    datasets = [sidestream.open(plots[kind]).to_yt() for kind in ("uniform", "flash")]
    nyx, flash = (dataset.all_data() for dataset in datasets)

    for field in ("density", "temperature", "velocity_x", "pressure"):
        ours, theirs = nyx["gas", field], flash["gas", field]
        np.testing.assert_allclose(theirs.to(ours.units).d, ours.d, rtol=1e-9, err_msg=field)


def test_comoving_numbers_are_labelled_as_such(plots: dict[str, Path]) -> None:
    nyx, flash = (sidestream.open(plots[kind]) for kind in ("uniform", "flash"))
    a = flash.attrs["scale_factor"]

    for name, label, factor in (("Temp", "Temp / a^2", a**2), ("x_velocity", "x_velocity / a", a / 1e5)):
        for field in (flash[name], flash.to_xarray([name])[name]):
            assert field.attrs["long_name"] == label
            np.testing.assert_allclose(field * factor, nyx[name], rtol=1e-9)
        assert "long_name" not in nyx[name].attrs
    assert "long_name" not in flash["density"].attrs


def test_cells_of_yt_are_those_of_the_finest_level_there(plots: dict[str, Path]) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    plot = sidestream.open(plots["refined"])
    low, high = plot.boxes(2)[0]
    middle = (np.array(low) + 0.5) * 14.2 / plot.cells(2)[0]

    dataset = plot.to_yt(["density"])
    value = dataset.point(middle)["stream", "density"]

    x, y, z = low
    assert value.d[0] == plot.covering_grid("density", 2).values[z, y, x]
    assert len(plot.boxes(2)) * np.prod(high - low) < plot.cells(2)[0] ** 3


def test_a_dataset_of_xarray_has_fields_centres_and_units(plots: dict[str, Path]) -> None:
    plot = sidestream.open(plots["refined"])

    whole = plot.to_xarray(["gas_density", "Temp"], level=1)

    assert list(whole) == ["gas_density", "Temp"]
    assert dict(whole.sizes) == {"z": 32, "y": 32, "x": 32}
    assert whole["gas_density"].attrs["units"] == "Msun/Mpc^3"
    assert whole["x"].attrs["units"] == "Mpc"
    assert whole.attrs["redshift"] == plot.attrs["redshift"]
    np.testing.assert_array_equal(whole["Temp"], plot.covering_grid("Temp", 1))
    assert set(plot.to_xarray()) == set(plot.fields)


def test_a_region_has_the_cells_that_reach_into_it(plots: dict[str, Path]) -> None:
    plot = sidestream.open(plots["refined"])
    plot.derive("hot", "density * Temp")
    side = 14.2 / 64

    part = plot.to_xarray(["hot"], level=2, region=((1 * side, 2.5 * side, 0), (4 * side, 5.01 * side, 14.2)))

    whole = plot.to_xarray(["hot"], level=2)
    assert part.identical(whole.isel(x=slice(1, 4), y=slice(2, 6)))


@pytest.mark.parametrize(
    ("region", "what"),
    [
        (((0, 0, 0), (0, 1, 1)), "lower and an upper corner"),
        (((0, 0), (1, 1)), "lower and an upper corner"),
        (((0, 0, 0), (1, 1, 15)), "out of the domain"),
        (((float("nan"), 0, 0), (1, 1, 1)), "lower and an upper corner"),
    ],
)
def test_regions_that_are_none_are_refused(region: object, what: str, plots: dict[str, Path]) -> None:
    with pytest.raises(sidestream.Error, match=what):
        sidestream.open(plots["uniform"]).to_xarray(region=region)


def test_unknown_fields_and_levels_are_refused(plots: dict[str, Path]) -> None:
    plot = sidestream.open(plots["uniform"])

    with pytest.raises(sidestream.Error, match="no field `dnsity`"):
        plot.to_yt(["dnsity"])
    with pytest.raises(sidestream.Error, match="give \\['density'\\]"):
        plot.to_xarray("density")
    with pytest.raises(sidestream.Error, match="no level 1"):
        plot.to_xarray(level=1)
