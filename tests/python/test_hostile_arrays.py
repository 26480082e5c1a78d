"""Arrays and numbers that cannot be, or are laid out in memory as few are: a typed error or the right answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sidestream

RANDOM = np.random.default_rng(7)
FIELD = np.where(RANDOM.random((8, 6, 10)) > 0.9, 500.0, 1.0) + RANDOM.random((8, 6, 10)).round(2)
SHAPE = FIELD.shape


def padded(field: np.ndarray) -> np.ndarray:
    """The field as every second cell of a larger one."""
    wide = np.full([2 * n for n in field.shape], -1e300)
    wide[::2, ::2, ::2] = field
    return wide[::2, ::2, ::2]


def unaligned(field: np.ndarray) -> np.ndarray:
    """The field at an odd place in memory."""
    bytes_ = np.zeros(field.nbytes + 1, np.uint8)
    view = bytes_[1:].view(np.float64).reshape(field.shape)
    view[...] = field
    return view


def read_only(field: np.ndarray) -> np.ndarray:
    copy = field.copy()
    copy.flags.writeable = False
    return copy


def member(field: np.ndarray) -> np.ndarray:
    """The field as a member of records."""
    records = np.zeros(field.shape, dtype=[("before", "i1"), ("value", "f8")])
    records["value"] = field
    return records["value"]


SAME = {
    "big-endian": lambda f: f.astype(">f8"),
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "every second": padded,
    "reversed": lambda f: f[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
    "unaligned": unaligned,
    "member": member,
    "list": lambda f: f.tolist(),
    "memory": memoryview,
    "long double": lambda f: f.astype(np.longdouble),
    "masked nowhere": lambda f: np.ma.masked_array(f, np.zeros(f.shape, bool)),
    "matrices": lambda f: f.view(type("Field", (np.ndarray,), {})),
}
REFUSED = {
    "no planes": np.empty((0, 6, 10)),
    "no rows": np.empty((8, 0, 10)),
    "no cells": np.empty((8, 6, 0)),
    "objects": FIELD.astype(object),
    "complex": FIELD.astype(complex),
    "texts": FIELD.astype(str),
    "moments": FIELD.astype("datetime64[s]"),
    "records": np.zeros(SHAPE, dtype=[("a", "f8"), ("b", "f4")]),
    "masked": np.ma.masked_array(FIELD, FIELD > 100),
    "ragged": [[[1.0, 2.0], [3.0]]],
    "one number": np.array(1.0),
    "two axes": FIELD[0],
    "four axes": FIELD[None, None],
    "none": None,
}
USES: dict[str, Callable[[Any], Any]] = {
    "halos": lambda f: sidestream.halos(f, 10.0, t_boundary="2 mean", t_halo="4 mean").to_dataframe().to_numpy(),
    "merge_tree": lambda f: sidestream.merge_tree(f, threads=1).branches.to_dataframe().to_numpy(),
    "power_spectrum": lambda f: sidestream.power_spectrum(f, 10.0)["power"].to_numpy(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("layout", SAME)
def test_the_answer_does_not_depend_on_how_cells_lie(layout: str, use: str) -> None:
    np.testing.assert_array_equal(USES[use](SAME[layout](FIELD)), USES[use](FIELD))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_field_is_an_error(kind: str, use: str) -> None:
    with pytest.raises(sidestream.Error):
        USES[use](REFUSED[kind])


def test_a_cell_seen_everywhere_is_a_uniform_field() -> None:
    one = np.broadcast_to(np.array([[[3.0]]]), SHAPE)  # strides of zero
    assert sidestream.halos(one, 10.0, t_boundary=2.0, t_halo=2.5)["cells"].to_numpy().tolist() == [FIELD.size]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_density_that_is_no_number_is_an_error(value: float) -> None:
    field = FIELD.copy()
    field[3, 2, 1] = value
    for use in ("halos", "merge_tree", "power_spectrum"):
        with pytest.raises(sidestream.Error):
            USES[use](field)


SIDES = [5e-324, 0.0, -0.0, -1.0, 1e300, 1e-300, np.inf, -np.inf, np.nan, 10**400, "x", (1, 2), [1, 2, np.inf], 3 + 0j]


@pytest.mark.parametrize("side", SIDES, ids=lambda side: repr(side)[:12])
def test_a_box_that_cannot_be_is_an_error(side: Any) -> None:
    tree = sidestream.merge_tree(FIELD)
    for use in (
        lambda: sidestream.halos(FIELD, side),
        lambda: sidestream.power_spectrum(FIELD, side),
        lambda: sidestream.friends_of_friends(FIELD[0, :, :3], side, linking_length=0.1),
        lambda: tree.halos("2 mean", "4 mean", box_size=side),
    ):
        with pytest.raises(sidestream.Error):
            use()


NO_NUMBERS = [None, "x", [1], np.nan, 10**400, 1j]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:12])
def test_what_is_no_number_is_an_error(value: Any) -> None:
    tree = sidestream.merge_tree(FIELD)
    for use in (
        lambda: sidestream.halos(FIELD, 10.0, connectivity=value),
        lambda: sidestream.friends_of_friends(FIELD[0, :, :3], 10.0, linking_length=value),
        lambda: tree.components(value),
        lambda: tree.simplified(value),
        lambda: tree.component_of(value, 1.0),
        *([] if value is None else [lambda: sidestream.merge_tree(FIELD, threads=value)]),
        *([] if value is None else [lambda: sidestream.halos(FIELD, 10.0, t_boundary=value)]),
    ):
        with pytest.raises(sidestream.Error):
            use()


@pytest.mark.parametrize("threads", [0, -1, 2.5, 1e300, 2**70, np.inf])
def test_threads_that_cannot_be_are_an_error(threads: Any) -> None:
    with pytest.raises(sidestream.Error, match="threads"):
        sidestream.merge_tree(FIELD, threads=threads)


@pytest.mark.parametrize("path", [None, 3.5, [1], "x" * 4000, "a\0b", "a\nb"], ids=lambda path: repr(path)[:12])
def test_what_names_no_file_is_an_error(path: Any) -> None:
    with pytest.raises(sidestream.Error):
        sidestream.open(path)


IDS = {
    "big-endian": np.arange(6, dtype=">i4"),
    "every second": np.arange(12)[::2] // 2,
    "unsigned": np.arange(6, dtype=np.uint8),
    "list": list(range(6)),
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_may_be_any_whole_numbers(kind: str) -> None:
    points = FIELD[0, :, :3]
    expected = sidestream.friends_of_friends(points, 1000.0, linking_length=5.0)
    found = sidestream.friends_of_friends(np.asfortranarray(points), 1000.0, linking_length=5.0, ids=IDS[kind])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ids", [np.zeros(6, int), [0, 1, 2, 3, 4, 0], np.broadcast_to(3, (6,))], ids=repr)
def test_two_particles_of_one_id_are_an_error(ids: Any) -> None:
    with pytest.raises(sidestream.Error, match="two particles have the id"):
        sidestream.friends_of_friends(FIELD[0, :, :3], 1000.0, linking_length=5.0, ids=ids)


def test_masked_positions_are_an_error() -> None:
    with pytest.raises(sidestream.Error, match="masked"):
        sidestream.friends_of_friends(np.ma.masked_less(FIELD[0, :, :3], 2.0), 1000.0, linking_length=5.0)


@pytest.mark.parametrize("name", ["t_boundary", "t_halo"])
def test_thresholds_of_none_are_the_usual_ones_and_truth_values_are_none(name: str) -> None:
    for find in (lambda **of: sidestream.halos(FIELD, 10.0, **of), sidestream.merge_tree(FIELD, threads=1).halos):
        assert find(**{name: None}).equals(find())
        for truth in (True, np.False_):
            with pytest.raises(sidestream.Error, match=f"`{name}` is {truth}, a truth value"):
                find(**{name: truth})
