"""The analyses on arrays, against tables of known answers and brute-force twins."""

from __future__ import annotations

import functools
import itertools
import re

import numpy as np
import pytest
import xarray

import oracles
import sidestream

CONNECTIVITIES = (6, 14, 26)

# A few cells of an 8^3 grid of zeros, thresholds 4 and 8: {connectivity: (sum, cells)}, periodic and not.
HAND_MADE = {
    "two neighbours across the faces": (
        {(0, 0, 0): 10, (7, 0, 0): 5, (0, 7, 0): 5},
        {True: {6: (20, 3), 14: (20, 3), 26: (20, 3)}, False: {6: (10, 1), 14: (10, 1), 26: (10, 1)}},
    ),
    "an edge of one sign": (
        {(2, 2, 2): 10, (3, 3, 2): 6},
        {True: {6: (10, 1), 14: (16, 2), 26: (16, 2)}, False: {6: (10, 1), 14: (16, 2), 26: (16, 2)}},
    ),
    "an edge of two signs": (
        {(2, 2, 2): 10, (3, 1, 2): 6},
        {True: {6: (10, 1), 14: (10, 1), 26: (16, 2)}, False: {6: (10, 1), 14: (10, 1), 26: (16, 2)}},
    ),
    "a corner of one sign": (
        {(2, 2, 2): 10, (3, 3, 3): 6},
        {True: {6: (10, 1), 14: (16, 2), 26: (16, 2)}, False: {6: (10, 1), 14: (16, 2), 26: (16, 2)}},
    ),
    "a corner of two signs": (
        {(2, 2, 2): 10, (1, 3, 3): 6},
        {True: {6: (10, 1), 14: (10, 1), 26: (16, 2)}, False: {6: (10, 1), 14: (10, 1), 26: (16, 2)}},
    ),
}

# The formula field: (n, connectivity, t_boundary, t_halo, halos, largest sum, its cells, its peak).
FORMULA = [
    (16, 6, 20, 40, 13, 1206.1519904, 26, (6, 5, 14)),
    (16, 6, 8, 20, 4, 10774.0407302, 422, (2, 7, 8)),
    (16, 14, 20, 40, 10, 1315.0668762, 22, (7, 3, 3)),
    (16, 14, 8, 20, 3, 10818.9093723, 426, (2, 7, 8)),
    (16, 26, 20, 40, 7, 2170.0739230, 43, (7, 3, 3)),
    (16, 26, 8, 20, 2, 10844.9251627, 429, (2, 7, 8)),
    (32, 6, 20, 40, 14, 9953.2856214, 223, (11, 10, 28)),
    (32, 14, 20, 40, 13, 10516.1766998, 175, (14, 7, 7)),
    (32, 14, 8, 20, 4, 77289.0112001, 2889, (14, 7, 7)),
    (32, 26, 8, 20, 4, 77444.6748440, 2906, (14, 7, 7)),
]


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", HAND_MADE)
def test_halos_of_hand_made_fields(name: str, periodic: bool, connectivity: int) -> None:
    cells, expected = HAND_MADE[name]
    field = np.zeros((8, 8, 8))
    for place, value in cells.items():
        field[place] = value

    halos = sidestream.halos(field, 8.0, t_boundary=4.0, t_halo=8.0, connectivity=connectivity, periodic=periodic)

    mass, count = expected[periodic][connectivity]
    assert halos.sizes["halo"] == 1
    assert halos["mass"].item() == mass
    assert halos["cells"].item() == count
    assert halos["peak"].item() == 10


@pytest.mark.parametrize("row", FORMULA, ids=lambda row: "-".join(map(str, row[:4])))
def test_halos_of_the_formula_field(row: tuple) -> None:
    n, connectivity, t_boundary, t_halo, count, mass, cells, peak = row

    halos = sidestream.halos(
        oracles.formula_field(n), box_size=n, t_boundary=t_boundary, t_halo=t_halo, connectivity=connectivity
    )

    assert halos.sizes["halo"] == count
    largest = halos.isel(halo=int(halos["mass"].values.argmax()))
    np.testing.assert_allclose(largest["mass"], mass, rtol=1e-10)
    assert int(largest["cells"]) == cells
    assert int(largest["id"]) == np.ravel_multi_index(peak, (n, n, n))


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@pytest.mark.parametrize("seed", range(8))
def test_halos_of_random_fields_are_those_of_brute_force(seed: int, connectivity: int, periodic: bool) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 13))
    field = random.integers(0, 5, (n, n, n)).astype(float) if seed % 2 else random.random((n, n, n))
    t_boundary, t_halo = (3.0, 4.0) if seed % 2 else (0.75, 0.97)

    found = sidestream.halos(field, 2.0 * n, t_boundary, t_halo, connectivity, periodic).sortby("id")

    expected = oracles.brute_halos(field, t_boundary, t_halo, connectivity, periodic)
    assert found["id"].values.tolist() == [halo[0] for halo in expected]
    assert found["cells"].values.tolist() == [halo[1] for halo in expected]
    np.testing.assert_allclose(found["mass"] / 8, [halo[2] for halo in expected], rtol=1e-13)
    np.testing.assert_array_equal(found["peak"], [halo[3] for halo in expected])


def test_periodic_is_true_or_false() -> None:
    field = np.ones((8, 8, 8))
    calls = [
        lambda: sidestream.halos(field, 8.0, periodic="yes"),  # type: ignore[arg-type]
        lambda: sidestream.halos(field, 8.0, periodic=(True, False, False)),  # type: ignore[arg-type]
        lambda: sidestream.merge_tree(field, periodic=(True, False)),  # type: ignore[arg-type]
        lambda: sidestream.merge_tree(field, periodic=1),  # type: ignore[arg-type]
        lambda: sidestream.friends_of_friends(np.ones((2, 3)), 8.0, linking_length=0.2, periodic="no"),  # type: ignore
    ]
    for call in calls:
        with pytest.raises(sidestream.Error, match="`periodic` is .*, neither True nor False"):
            call()
    assert sidestream.halos(field, 8.0, 0.5, 0.5, periodic=np.bool_(False)).sizes["halo"] == 1


@pytest.mark.parametrize("dims", list(itertools.permutations("zyx")), ids="".join)
def test_axes_of_xarray_count_by_their_names(dims: tuple[str, ...]) -> None:
    field = np.random.default_rng(2).lognormal(sigma=2.0, size=(4, 6, 8))
    named = xarray.DataArray(field, dims=("z", "y", "x")).transpose(*dims)
    options = {"t_boundary": "2 mean", "t_halo": "5 mean"}

    xarray.testing.assert_identical(
        sidestream.halos(named, (8.0, 6.0, 4.0), **options), sidestream.halos(field, (8.0, 6.0, 4.0), **options)
    )
    assert sidestream.merge_tree(named).shape == (4, 6, 8)
    assert sidestream.power_spectrum(named, 8.0).equals(sidestream.power_spectrum(field, 8.0))


def test_the_axes_of_the_array_are_z_y_x() -> None:
    field = np.zeros((8, 8, 8))
    field[1, 2, 3] = 900.0

    halo = sidestream.halos(field, box_size=16.0, t_boundary=80.0, t_halo=200.0)

    assert [halo[axis].item() for axis in "xyz"] == [7.0, 5.0, 3.0]
    assert halo["id"].item() == (1 * 8 + 2) * 8 + 3
    assert halo["mass"].item() == 900.0 * 2.0**3


def test_a_box_may_have_three_sides() -> None:
    field = np.zeros((4, 8, 16))
    field[1, 2, 3] = 900.0

    one = sidestream.halos(field, box_size=16.0, t_boundary=80.0, t_halo=200.0)
    three = sidestream.halos(field, box_size=(32.0, 8.0, 4.0), t_boundary=80.0, t_halo=200.0)

    assert [one[axis].item() for axis in "xyz"] == [3.5, 2.5, 1.5]
    assert [three[axis].item() for axis in "xyz"] == [7.0, 2.5, 1.5]
    assert three["mass"].item() == 2 * one["mass"].item()


def test_the_centroid_of_a_halo_across_the_faces_lies_inside_it() -> None:
    field = np.zeros((8, 8, 8))
    field[4, 4, [7, 0]] = 900.0, 901.0

    halo = sidestream.halos(field, box_size=8.0, t_boundary=80.0, t_halo=200.0)

    assert halo["x"].item() % 8.0 == pytest.approx(0.0)


def test_thresholds_may_be_multiples_of_the_mean() -> None:
    field = oracles.formula_field(16)
    mean = field.mean()

    relative = sidestream.halos(field, 1.0, t_boundary="3 mean", t_halo="6 mean")
    absolute = sidestream.halos(field, 1.0, t_boundary=3 * mean, t_halo=repr(float(6 * mean)))

    assert relative.sizes["halo"] > 0
    np.testing.assert_array_equal(relative["id"], absolute["id"])
    np.testing.assert_array_equal(relative["mass"], absolute["mass"])


@pytest.mark.parametrize("absurd", [1e25, 1e300, 1e305])
def test_an_absurd_cell_leaves_the_other_halos_as_they_are(absurd: float) -> None:
    field = np.random.default_rng(5).lognormal(0.0, 2.0, (24, 24, 24))
    field[10:14, 3:7, 16:20] = 1e-300  # an empty place for it

    without = sidestream.halos(field, box_size=24.0, t_boundary=8.0, t_halo=16.0).sortby("id")
    field[12, 5, 18] = absurd
    with_it = sidestream.halos(field, box_size=24.0, t_boundary=8.0, t_halo=16.0).sortby("id")

    assert without.sizes["halo"] > 50
    assert float(with_it.mass.max()) == absurd
    others = with_it.isel(halo=with_it.mass.values != absurd)
    spheres = re.compile(r"[mr](\d+[cm]|vir)|inside")  # of multiples of the mean, which the cell raises
    for name in filter(lambda name: not spheres.fullmatch(str(name)), without.data_vars):
        np.testing.assert_array_equal(others[name], without[name], err_msg=str(name))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_cell_without_a_number_is_named(bad: float) -> None:
    field = np.ones((8, 8, 8))
    field[1, 2, 3] = bad
    with pytest.raises(sidestream.Error, match=r"\(z, y, x\) = \(1, 2, 3\)"):
        sidestream.halos(field, 8.0, t_boundary=2.0, t_halo=3.0)


def test_a_shift_of_a_periodic_field_shifts_the_ids_only() -> None:
    field, shift = oracles.formula_field(16), (5, 11, 3)

    here = sidestream.halos(field, 16.0, 20.0, 40.0).sortby("id")
    there = sidestream.halos(np.roll(field, shift, axis=(0, 1, 2)), 16.0, 20.0, 40.0)

    places = np.array(np.unravel_index(here["id"].values, field.shape)) + np.array(shift)[:, None]
    moved = np.ravel_multi_index(tuple(places % 16), field.shape)
    order = np.argsort(moved)
    np.testing.assert_array_equal(there.sortby("id")["id"], moved[order])
    np.testing.assert_array_equal(there.sortby("id")["mass"], here["mass"].values[order])


@pytest.mark.parametrize("make", [np.float32, np.int64, np.asfortranarray, np.ndarray.tolist])
def test_any_kind_of_array_will_do(make) -> None:
    field = np.round(oracles.formula_field(16))

    halos = sidestream.halos(make(field), 16.0, 20.0, 40.0)

    np.testing.assert_array_equal(halos["id"], sidestream.halos(field, 16.0, 20.0, 40.0)["id"])


def test_views_of_a_larger_array_are_read_right() -> None:
    large = np.zeros((16, 16, 20))
    large[::2, ::2, 2:18:2] = oracles.formula_field(8)

    halos = sidestream.halos(large[::2, ::2, 2:18:2], 8.0, 10.0, 20.0)

    np.testing.assert_array_equal(halos["id"], sidestream.halos(oracles.formula_field(8), 8.0, 10.0, 20.0)["id"])


def of_memory(array: np.ndarray, axes: tuple[int, int, int], flips: tuple[int, ...]) -> np.ndarray:
    """The same array with its axes in another order in memory, and some backwards."""
    return np.flip(np.flip(array, flips).transpose(axes).copy().transpose(np.argsort(axes)), flips)


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
def test_equal_cells_are_told_apart_by_their_places_and_not_by_memory(connectivity: int) -> None:
    field = 1.0 + (np.random.default_rng(2).random((12, 12, 12)) > 0.93)
    find = functools.partial(sidestream.halos, box_size=10.0, t_boundary=1.5, t_halo=1.5, connectivity=connectivity)
    expected = find(field)
    assert expected.sizes["halo"] > 10

    backwards = [(0,), (1,), (2,), (0, 1)]
    for view in [*(of_memory(field, (0, 1, 2), flips) for flips in backwards), of_memory(field, (1, 0, 2), ())]:
        assert (view == field).all()
        xarray.testing.assert_identical(find(view), expected)
    same = np.broadcast_to(field[:1], field.shape)
    xarray.testing.assert_identical(find(same), find(same.copy()))


def test_a_field_below_the_threshold_has_no_halos() -> None:
    halos = sidestream.halos(np.ones((8, 8, 8)), box_size=1.0)

    assert halos.sizes["halo"] == 0
    assert {"id", "x", "y", "z", "mass", "cells", "peak"} <= set(halos.data_vars)


def test_the_columns_have_names_and_no_units_that_nobody_told() -> None:
    halos = sidestream.halos(oracles.formula_field(8), 8.0, 10.0, 20.0)
    spectrum = sidestream.power_spectrum(oracles.formula_field(8), 8.0)

    for table in (halos, spectrum):
        assert all("long_name" in column.attrs for column in table.data_vars.values())
        assert {column.attrs.get("units", "1") for column in table.data_vars.values()} == {"1"}


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"array": np.ones((8, 8))}, "2 dimensions"),
        ({"array": np.ones((0, 8, 8))}, "no cell"),
        ({"array": np.ones((8, 8, 8), dtype=complex)}, "not real numbers\nhint: of complex numbers give `np.abs"),
        ({"connectivity": 18}, "connectivity 18"),
        ({"box_size": 0.0}, "box_size"),
        ({"box_size": "large"}, "box_size"),
        ({"box_size": 5e-324}, "box_size"),
        ({"box_size": (1.0, 1e300, 1.0)}, "box_size"),
        ({"t_boundary": "many mean"}, "many"),
        ({"t_boundary": 300.0, "t_halo": 200.0}, ""),
        ({"array": np.full((8, 8, 8), np.nan)}, ""),
    ],
)
def test_wrong_arguments_are_errors(arguments: dict, what: str) -> None:
    with pytest.raises(sidestream.Error) as caught:
        sidestream.halos(**({"array": np.ones((8, 8, 8)), "box_size": 1.0} | arguments))

    assert what in str(caught.value)


@pytest.mark.parametrize("n", [8, 15, 16])
def test_the_power_spectrum_is_that_of_a_plain_transform(n: int) -> None:
    field = np.exp(np.random.default_rng(n).normal(0, 0.5, (n, n, n)))

    spectrum = sidestream.power_spectrum(field, box_size=50.0)

    k, modes, power = oracles.brute_spectrum(field, 50.0)
    np.testing.assert_array_equal(spectrum["modes"], modes)
    np.testing.assert_allclose(spectrum["k"], k, rtol=1e-12)
    np.testing.assert_allclose(spectrum["power"], power, rtol=1e-11)


def test_one_wave_has_all_its_power_in_one_shell() -> None:
    x = np.arange(16) / 16
    field = np.broadcast_to(1 + 0.1 * np.cos(2 * np.pi * 3 * x), (16, 16, 16))

    spectrum = sidestream.power_spectrum(field, box_size=10.0)

    total = (spectrum["power"] * spectrum["modes"]).values / 10.0**3
    np.testing.assert_allclose(total[2], 2 * 0.05**2, rtol=1e-12)
    np.testing.assert_allclose(np.delete(total, 2), 0, atol=1e-18)
