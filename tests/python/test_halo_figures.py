"""Halo mass functions against the literature; maps, properties and scenes of halos."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sidestream
import synthetic
import synthetic_halos
from sidestream.figures import Picture, pictures, scenes
from sidestream.figures.cosmology import FITS, PRESS_SCHECHTER, SHETH_TORMEN, TINKER, WARREN, Fit, Theory
from sidestream.figures.halos.halo_map import radii
from sidestream.figures.halos.halo_properties import lognormal_fit
from sidestream.figures.halos.halo_scene import MOST_POINTS, halo_scene
from sidestream.figures.halos.mass_function import (
    BIN_WIDTH,
    Curves,
    Labels,
    MassFunction,
    Series,
    draw,
    mass_column,
    mass_function,
    resolved_mass,
    with_fine_spheres,
)
from sidestream.figures.numbers import numbers_of
from sidestream.figures.paper import INK, TEAL
from sidestream.report import write_report

DATA = Path(__file__).parents[1] / "data"
COSMOLOGY = {"hubble": 0.7, "omega_m": 0.3, "omega_b": 0.05, "sigma8": 0.8, "ns": 0.96}

# dn/dlnM at z = 0 and 1e12, 1e13, 1e14 Msun/h [(h/Mpc)^3], to the four digits that are given.
CHECK_VALUES = [
    (SHETH_TORMEN, [3.816e-3, 4.545e-4, 3.738e-5]),
    (WARREN, [3.729e-3, 4.767e-4, 4.298e-5]),
    (TINKER, [4.069e-3, 5.094e-4, 4.403e-5]),
]


@pytest.fixture(scope="module")
def theory() -> Theory:
    return Theory(COSMOLOGY)


@pytest.fixture(scope="module")
def two_finders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_halos.write_run(tmp_path_factory.mktemp("runs") / "box")


@pytest.fixture(scope="module")
def drawn(two_finders: Path) -> dict[str, Picture]:
    return {picture.name: picture for picture in pictures(sidestream.open(two_finders))}


@pytest.fixture(scope="module")
def page(two_finders: Path) -> str:
    return write_report(sidestream.open(two_finders)).read_text()


@pytest.mark.parametrize(("fit", "expected"), CHECK_VALUES, ids=lambda value: getattr(value, "model", ""))
def test_the_fits_have_their_known_values(theory: Theory, fit: Fit, expected: list[float]) -> None:
    found = theory.mass_function(np.array([1e12, 1e13, 1e14]), 0.0, fit)

    np.testing.assert_allclose(found, expected, rtol=2e-4)  # half a unit of the last digit


@pytest.mark.parametrize(
    ("redshift", "column", "fit"),
    [(0, 3, WARREN), *((z, *what) for z in (0, 2, 3) for what in ((2, SHETH_TORMEN), (4, TINKER)))],
)
def test_the_fits_are_those_of_the_tables(theory: Theory, redshift: int, column: int, fit: Fit) -> None:
    table = np.loadtxt(DATA / f"hmf_A_z{redshift}.csv", delimiter=",")

    found = theory.mass_function(table[:, 0], float(redshift), fit)

    # Colossus interpolates sigma(M): an error of 1e-6 grows with the exponent of the cut-off.
    np.testing.assert_allclose(found, table[:, column], rtol=2e-4)


def test_the_fit_of_press_and_schechter_is_the_formula(theory: Theory) -> None:
    log_mass, sigma = np.log(np.loadtxt(DATA / "hmf_A_z0.csv", delimiter=",")[:, :2]).T
    nu = 1.68647 / np.exp(sigma)
    mean = 2.775366e11 * COSMOLOGY["omega_m"]
    expected = mean / np.exp(log_mass) * np.sqrt(2 / np.pi) * nu * np.exp(-(nu**2) / 2)
    expected *= np.abs(np.gradient(sigma, log_mass))

    found = theory.mass_function(np.exp(log_mass), 0.0, PRESS_SCHECHTER)

    # The slope of sigma from a table in steps of a tenth of a decade is good to a few thousandths.
    np.testing.assert_allclose(found[1:-1], expected[1:-1], rtol=4e-3)


def test_figures_name_the_units_of_the_table_and_none_where_it_has_none() -> None:
    mass = ("halo", np.geomspace(1e10, 1e14, 9))
    universe = xr.Dataset({"mass": (*mass, {"units": "Msun"})}, attrs=COSMOLOGY)
    plain, cgs = xr.Dataset({"mass": mass}), xr.Dataset({"mass": (*mass, {"units": "g"})})

    assert Labels.of(universe) == Labels(r" [$h^{-1}M_\odot$]", r" [$(h/\mathrm{Mpc})^{3}$]")
    assert (Labels.of(plain), Labels.of(cgs)) == (Labels("", ""), Labels(" [g]", ""))
    figure = draw("halos", [Series(mass_function(plain), 0.0, "now", "k")], None, 0.0, Labels.of(plain))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("halo mass $M$", r"$dn/d\ln M$")


def test_halos_between_masses_are_the_integral_of_the_fit(theory: Theory) -> None:
    edges = np.geomspace(1e12, 1e15, 16)
    fine = np.geomspace(1e12, 1e15, 20001)
    density = theory.mass_function(fine, 0.0)

    found = theory.halos_between(edges[:-1], edges[1:], 0.0)

    expected = np.sum(0.5 * (density[1:] + density[:-1]) * np.diff(np.log(fine)))
    np.testing.assert_allclose(found.sum(), expected, rtol=1e-3)


def test_the_spectrum_of_a_run_without_gas_has_baryons_all_the_same() -> None:
    stated = COSMOLOGY | {"omega_b": 0.0}

    with_config = Theory.of(stated, {"cosmology": {"omega_b": 0.05}})

    mass = np.array([1e12])
    assert with_config is not None
    np.testing.assert_allclose(with_config.mass_function(mass, 0.0), Theory(COSMOLOGY).mass_function(mass, 0.0))


def test_the_mass_function_counts_every_halo_once() -> None:
    mass = 10 ** np.random.default_rng(1).uniform(10, 14, 500)
    table = xr.Dataset({"mass": ("halo", mass)}, attrs={"box_mpc": 100.0, "hubble": 0.7})

    points = mass_function(table)

    assert points.count.sum() == 500
    np.testing.assert_allclose(points.density.sum() * (100.0 * 0.7) ** 3 * BIN_WIDTH * np.log(10), 500)
    assert points.low.min() > 0.7e10 / 10**BIN_WIDTH
    assert points.high.max() < 0.7e14 * 10**BIN_WIDTH
    assert np.all(points.low[1:] >= points.high[:-1] * (1 - 1e-12))


@pytest.mark.filterwarnings("error")
def test_where_a_fit_has_no_halos_there_is_no_ratio(theory: Theory) -> None:
    edges = np.array([1e12, 2e12, 1e17, 2e17])
    points = MassFunction(edges[[0, 2]], edges[[1, 3]], np.array([5, 1]), 1e6)

    ratio = points.over(theory, 12.0, WARREN)

    assert theory.halos_between(edges[[2]], edges[[3]], 12.0) == 0.0, "too few for a number"
    assert np.isfinite(ratio[0])
    assert np.isnan(ratio[1])


def test_poisson_errors_are_those_of_gehrels() -> None:
    one = np.ones(3)
    points = MassFunction(one, 2 * one, np.array([1, 10, 100]), 1.0)

    down, up = points.relative_error * points.count

    # Limits of one sigma in tables 1 and 2 of Gehrels (1986); his approximations are good to a few per cent.
    np.testing.assert_allclose(points.count + up, [3.300, 14.27, 111.03], rtol=0.02)
    np.testing.assert_allclose(points.count - down, [0.173, 6.891, 90.02], rtol=0.02)


def test_halos_drawn_from_a_fit_lie_on_it(theory: Theory) -> None:
    random = np.random.default_rng(3)
    mass = synthetic_halos.masses(random, 1e12)
    table = xr.Dataset({"mass": ("halo", mass)}, attrs={"box_mpc": synthetic_halos.BOX, **COSMOLOGY})

    points = mass_function(table)

    ratio = points.over(theory, 0.0, WARREN)[1:]  # the first bin is cut
    expected = points.count[1:] / ratio
    assert np.all(np.abs(points.count[1:] - expected) < 3.5 * np.sqrt(expected) + 1)


def test_friends_of_friends_halos_count_by_their_corrected_masses() -> None:
    table = xr.Dataset({"mass": ("halo", [1e13]), "mass_warren": ("halo", [0.9e13])}, attrs={"box_mpc": 1.0})

    assert mass_column(table) == "mass_warren"
    assert mass_function(table).low[0] < 0.9e13 < mass_function(table).high[0]


def test_what_is_resolved_follows_the_mass_of_a_cell() -> None:
    table = xr.Dataset({"mass": ("halo", [4.0, 20.0]), "cells": ("halo", [2, 10])}, attrs={"hubble": 0.5})

    assert resolved_mass(table) == 100 * 2.0 * 0.5
    assert resolved_mass(table.drop_vars("cells")) == 0.0


def test_two_finders_are_compared_once(drawn: dict[str, Picture]) -> None:
    labels = drawn["mass-function-comparison"].figure.axes[0].get_legend_handles_labels()[1]

    assert [name for name in drawn if "comparison" in name] == ["mass-function-comparison"]
    assert "groups: friends of friends" in labels
    assert "halos: iso-density" in labels
    assert {fit.label for fit in FITS} <= set(labels)


def test_the_ratio_panel_shows_the_reference_as_one(drawn: dict[str, Picture]) -> None:
    _, ratios = drawn["groups-mass-function"].figure.axes

    assert ratios.get_ylabel() == "over Warren"
    assert any(np.allclose(line.get_ydata(), 1.0) for line in ratios.get_lines())


def test_halos_lie_over_the_projection_of_their_step(drawn: dict[str, Picture]) -> None:
    panel = drawn["halos-map"].figure.axes[0]

    assert len(panel.images) == 1
    assert "projected density of dark matter, seen along z" in drawn["halos-map"].caption
    assert "R200m" in drawn["halos-map"].caption


def test_a_circle_over_an_edge_of_the_box_appears_at_the_opposite_one(two_finders: Path, tmp_path: Path) -> None:
    side = synthetic_halos.BOX
    rows = ("halo",)
    places = {axis: (rows, np.array([0.5 * side if axis == "z" else 0.1]), "Mpc") for axis in "xyz"}
    one = {"id": (rows, np.array([1]), "1"), "mass": (rows, np.array([1e14]), "Msun")} | places
    synthetic_halos.write(tmp_path, "halos", one | {"r200m": (rows, np.array([2.0]), "Mpc")})

    drawn = {picture.name: picture for picture in pictures(sidestream.open(tmp_path))}

    (circles,) = drawn["halos-map"].figure.axes[0].collections
    corners = {(round(x / side), round(y / side)) for x, y in circles.get_offsets()}
    assert corners == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_halo_without_a_radius_has_that_of_its_volume() -> None:
    table = xr.Dataset({"mass": ("halo", [1.0]), "volume": ("halo", [4 * np.pi / 3 * 8])})

    np.testing.assert_allclose(radii(table)[0], 2.0)
    assert radii(table.drop_vars("volume"))[0] is None


def test_a_halo_within_another_one_is_as_large_as_its_volume() -> None:
    columns = {"mass": [1.0] * 3, "volume": [4 * np.pi / 3] * 3, "r200m": [5.0, 0.0, 5.0], "inside": [-1, -1, 8]}
    table = xr.Dataset({name: ("halo", values) for name, values in columns.items()})

    np.testing.assert_allclose(radii(table)[0], [5.0, 1.0, 1.0])


def test_small_spheres_are_not_trusted() -> None:
    columns = {"volume": [8.0] * 3, "cells": [8] * 3, "r200m": [3.5, 2.5, 0.0]}
    table = xr.Dataset({name: ("halo", values) for name, values in columns.items()})

    assert with_fine_spheres(table)["r200m"].values.tolist() == [3.5]
    assert with_fine_spheres(table.drop_vars("cells"))["r200m"].values.tolist() == [3.5, 2.5]


def test_a_damaged_projection_costs_the_map_its_background_only(two_finders: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(two_finders, tmp_path / "box")
    next((folder / "results" / "picture").iterdir()).write_bytes(b"not HDF5")

    names = {picture.name: picture for picture in pictures(sidestream.open(folder), "halos")}

    assert not names["halos-map"].figure.axes[0].images


def test_the_lognormal_fit_finds_what_went_in() -> None:
    spins = np.random.default_rng(1).lognormal(np.log(0.035), 0.5, 40000)

    assert lognormal_fit(spins) == pytest.approx((0.035, 0.5), rel=0.02)


def test_properties_have_a_panel_each_and_numbers_in_the_caption(drawn: dict[str, Picture]) -> None:
    picture = drawn["groups-properties"]

    titles = [axes.get_title(loc="left") for axes in picture.figure.axes]
    assert titles == ["Spin, z = 0", "Shape", "Spherical overdensity"]
    assert "median 0.03" in picture.caption
    assert "of at least 100 particles" in picture.caption


@pytest.mark.parametrize("missing", [["spin"], ["axis_a"], ["spin", "axis_b", "r200c", "m200m"]])
def test_properties_that_a_table_has_not_have_no_panel(missing: list[str], two_finders: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(two_finders, tmp_path / "box")
    table = sidestream.open(folder).result("groups", -1).drop_vars(missing)
    table.to_netcdf(next((folder / "results" / "groups").iterdir()), engine="h5netcdf")

    names = {picture.name: picture for picture in pictures(sidestream.open(folder), "groups")}

    panels = len(names["groups-properties"].figure.axes) if "groups-properties" in names else 0
    assert panels == {1: 2, 4: 0}[len(missing)]


def test_a_scene_has_every_halo_with_its_id_and_the_box(two_finders: Path) -> None:
    run = sidestream.open(two_finders)
    halos = run.result("halos", -1)

    (scene,) = scenes(run, "halos")

    points, edges = json.loads(scene.plot)["data"]
    assert sorted(map(int, points["text"])) == sorted(halos["id"].values)
    assert {x for x in edges["x"] if x is not None} == {0.0, synthetic_halos.BOX}
    assert edges["x"].count(None) == 12
    assert json.loads(scene.plot)["layout"]["scene"]["xaxis"]["title"]["text"] == "x [Mpc]"


def test_a_scene_of_very_many_halos_has_the_heaviest() -> None:
    n = MOST_POINTS + 10
    table = xr.Dataset({name: ("halo", np.arange(1.0, n + 1)) for name in ("mass", "x", "y", "z")})
    table["id"] = ("halo", np.arange(n))

    scene = halo_scene("halos", table)

    assert len(json.loads(scene.plot)["data"][0]["text"]) == MOST_POINTS
    assert f"The {MOST_POINTS} heaviest of {n} halos" in scene.caption


def test_a_task_without_halos_has_no_scene(finished_run: Path) -> None:
    assert not list(scenes(sidestream.open(finished_run), "phase"))


def test_the_page_holds_the_library_of_its_scenes_once_and_asks_for_nothing(page: str) -> None:
    packed = re.findall(r'<script type="text/plain" id="plotly">([^<]*)</script>', page)

    assert page.count('<div class="scene"') == 2
    assert len(packed) == 1
    assert b"Licensed under the MIT license" in gzip.decompress(base64.b64decode(packed[0]))[:400]
    assert "src=" not in re.sub(r'src="data:image/[^"]*"', "", page)
    assert len(page) < 8e6


def test_a_page_without_halos_holds_no_library(tmp_path: Path) -> None:
    synthetic.write_log(tmp_path / "events.jsonl", [synthetic.start_event()])

    assert "<script" not in write_report(sidestream.open(tmp_path)).read_text()


def test_what_a_cosmology_has_computed_serves_the_next_picture() -> None:
    first, other = Theory(COSMOLOGY), Theory({**COSMOLOGY, "sigma8": 0.9})
    density = first.mass_function(np.array([1e12]), 0.0)

    assert other.mass_function(np.array([1e12]), 0.0) != density
    assert Theory(COSMOLOGY).mass_function(np.array([1e12]), 0.0) == density
    assert Theory(COSMOLOGY)._cosmology() is first._cosmology()


def test_the_legend_covers_no_point_and_no_bar_of_an_error(drawn: dict[str, Picture], theory: Theory) -> None:
    few = MassFunction(*(10.0 ** (x := np.array([11.0, 11.2, 11.4])), 10.0 ** (x + 0.2), np.ones(3, dtype=int), 1e3))
    series = [Series(few, 3.0, "z = 3", TEAL), Series(few, 2.0, "z = 2", INK)]
    pair = Picture("mass-function-of-few", "", "", draw("few", series, Curves.of(theory), 0.0))
    for picture in [*(drawn[name] for name in drawn if "mass-function" in name), pair]:
        axes = picture.figure.axes[0]
        picture.figure.canvas.draw()
        legend = axes.get_legend().get_window_extent()
        for points in axes.containers:
            for x, y in axes.transData.transform(np.column_stack(points[0].get_data())):
                assert not legend.contains(x, y), picture.name
            for segment in (segment for bar in points[2] for segment in bar.get_segments()):
                for place in np.linspace(*axes.transData.transform(segment), 50):
                    assert not legend.contains(*place), picture.name


def test_curves_of_earlier_moments_have_names(theory: Theory) -> None:
    few = MassFunction(np.array([1e12]), np.array([2e12]), np.ones(1, dtype=int), 1e3)
    figure = draw("few", [Series(few, 3.0, "z = 3", TEAL), Series(few, 2.0, "z = 2", INK)], Curves.of(theory), 0.0)

    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()][-2:] == ["z = 3, line: Warren", "z = 2"]
    assert "Warren et al. 2006 (FOF, b = 0.2), z = 3" in {numbers.series for numbers in numbers_of(figure)}
