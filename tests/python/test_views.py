"""Arrays are looked at where they lie."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import sidestream
import sidestream.arrays.blocks as module_of_blocks
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
    assert found.sizes["halo"] > 0
    for name in expected:
        assert np.array_equal(found[name], expected[name])


LARGE = np.random.default_rng(3).lognormal(size=(40, 60, 70))
SMALL_THINGS = 64 * 1024  # bytes of Python's objects, less than a tenth of the array


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.asfortranarray(LARGE), id="order of Fortran"),
        pytest.param(np.asfortranarray(LARGE, np.float32), id="single precision in the order of Fortran"),
        pytest.param(np.swapaxes(LARGE, 1, 2)[::-1], id="rows along y, planes backwards"),
        pytest.param(np.repeat(LARGE, 2, axis=2)[:, :, ::2], id="every second cell"),
        pytest.param(LARGE.astype(">f8"), id="bytes of another machine"),
        pytest.param((100 * LARGE).astype(np.int16), id="whole numbers"),
        pytest.param(np.asfortranarray(100 * LARGE, np.int16), id="whole numbers in the order of Fortran"),
    ],
)
def test_other_cells_are_packed_once(array: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    (packed,), blocks, most = made_of(array, monkeypatch)

    assert packed.nbytes <= most < packed.nbytes + SMALL_THINGS
    assert all(np.shares_memory(block, packed) for block in blocks)
    assert np.array_equal(np.concatenate(blocks), array)


def test_rows_of_floats_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    array = LARGE.astype(np.float32)

    (given,), blocks, most = made_of(array, monkeypatch)

    assert np.shares_memory(given, array)
    assert most < SMALL_THINGS  # the compiled part has the copy
    assert np.array_equal(np.concatenate(blocks), array)


def made_of(array: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """What Python gives the compiled part for an array, what that has then, and the most memory Python held [bytes]."""
    given: list[np.ndarray] = []
    made = module_of_blocks._made

    def watched(arrays: list[np.ndarray], *rest: object) -> object:
        given.extend(arrays)
        return made(arrays, *rest)

    monkeypatch.setattr(module_of_blocks, "_made", watched)
    cells_of(array)  # whatever is loaded at first
    given.clear()
    tracemalloc.start()
    blocks = cells_of(array)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return given, blocks, most


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
