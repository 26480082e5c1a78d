"""Arrays are looked at where they lie."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import sidestream
from sidestream.arrays.blocks import blocks_of

SHAPE = (40, 6, 7)


def whole() -> np.ndarray:
    return np.random.default_rng(3).lognormal(size=SHAPE)


def cells_of(array: np.ndarray) -> list[np.ndarray]:
    return blocks_of(array, periodic=True).arrays()


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(whole(), id="contiguous"),
        pytest.param(np.pad(whole(), 2)[2:-2, 2:-2, 2:-2], id="with ghost cells"),
        pytest.param(np.swapaxes(whole(), 0, 1), id="planes and rows exchanged"),
        pytest.param(whole()[::-2, ::-1], id="backwards"),
        pytest.param(np.stack([whole(), whole()], axis=1)[:, 1], id="a component between others"),
    ],
)
def test_rows_of_doubles_are_not_copied(array: np.ndarray) -> None:
    blocks = cells_of(array)
    assert all(np.shares_memory(block, array) for block in blocks)
    assert np.array_equal(np.concatenate(blocks), array)
    expected = sidestream.halos(array.copy(), box_size=1.0, t_boundary="1 mean", t_halo="2 mean")
    found = sidestream.halos(array, box_size=1.0, t_boundary="1 mean", t_halo="2 mean")
    assert len(found) > 0
    for name in expected:
        assert np.array_equal(found[name], expected[name])


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(whole().astype(np.float32), id="single precision"),
        pytest.param(np.asfortranarray(whole()), id="order of Fortran"),
        pytest.param(whole()[:, :, ::2], id="every second cell"),
        pytest.param(whole().astype(">f8"), id="bytes of another machine"),
        pytest.param((100 * whole()).astype(np.int16), id="whole numbers"),
    ],
)
def test_other_cells_are_packed_once(array: np.ndarray) -> None:
    assert np.array_equal(np.concatenate(cells_of(array)), array)


def test_arrays_live_as_long_as_somebody_looks_at_them() -> None:
    class Watched(np.ndarray):
        pass

    array = whole().view(Watched)
    watched = weakref.ref(array)
    blocks = blocks_of(array, periodic=True)
    expected = array.copy()
    del array
    gc.collect()
    assert np.array_equal(np.concatenate(blocks.arrays()), expected)
    last = blocks.arrays()[-1]
    del blocks
    gc.collect()
    assert np.array_equal(last, expected[32:])
    del last
    gc.collect()
    assert watched() is None


def test_a_merge_tree_is_that_of_the_array_as_it_was() -> None:
    array = whole()
    tree = sidestream.merge_tree(array)
    expected = tree.halos("1 mean", "2 mean")
    array[:] = 0.0
    found = tree.halos("1 mean", "2 mean")
    for name in expected:
        assert np.array_equal(found[name], expected[name])
