"""Chunks that travel are those of NumPy, on any ranks. usage: mpirun -n N python mpi_redistribution.py"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mpi4py import MPI

import sidestream as ss

COMM = MPI.COMM_WORLD
CONVERSIONS = [("f8", "f8"), ("f4", "f8"), ("f8", "f4"), ("u1", "f4"), ("i2", "i8"), ("c8", "c16"), ("u2", "u2")]


def strided(shape: tuple[int, ...], dtype: str, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """An array with its axes in any order in memory, some backwards, and gaps between the elements."""
    order = random.permutation(len(shape))
    steps = [int(random.integers(1, 3)) for _ in shape]
    memory = np.full([shape[a] * steps[a] for a in order], 121, dtype)
    array = memory[tuple(slice(None, None, steps[a]) for a in order)].transpose(np.argsort(order))
    return array[tuple(slice(None, None, int(random.choice([1, -1]))) for _ in shape)]


def wrapped(
    whole: np.ndarray[Any, Any], held: np.ndarray[Any, Any], chunk: list[tuple[int, int]], periodic: list[bool]
):
    """The cells of a chunk by looking for each, and which of them there are."""
    index = np.ix_(*[np.arange(first, end) for first, end in chunk])
    exists = np.ones([end - first for first, end in chunk], bool)
    place = []
    for along, n, is_periodic in zip(index, held.shape, periodic, strict=True):
        if not is_periodic:
            exists &= (along >= 0) & (along < n)
        place.append(np.mod(along, n))
    exists &= held[tuple(place)]
    return whole[(slice(None), *place)], exists


def check_random_chunks(seed: int) -> None:
    random = np.random.default_rng(seed)  # alike on all ranks
    axes = 1 + seed % 3
    shape = [int(n) for n in random.integers(3, 10, axes)]
    periodic = [bool(word) for word in random.integers(0, 2, axes)]
    rim = [int(n) for n in random.integers(0, 3, axes)]
    components = int(random.integers(1, 4))
    allow_holes = bool(random.integers(0, 2))
    source_type, target_type = CONVERSIONS[seed % len(CONVERSIONS)]
    whole = random.integers(1, 120, (components, *shape)).astype(source_type)
    held = np.zeros(shape, bool)
    cuts = sorted({0, shape[0], *(int(n) for n in random.integers(0, shape[0], 4))})
    owned: list[Any] = []
    for first, end in zip(cuts[:-1], cuts[1:], strict=True):
        owner = int(random.integers(0, COMM.size))
        if allow_holes and random.integers(0, 3) == 0:
            continue
        held[first:end] = True
        if owner == COMM.rank:
            owned.append(tuple([slice(first, end)] + [slice(None)] * (axes - 1)))
    mine: list[list[tuple[int, int]]] = []
    for rank in range(COMM.size):
        for _ in range(int(random.integers(0, 4))):
            chunk = []
            for n, is_periodic in zip(shape, periodic, strict=True):
                first = int(random.integers(-n, 2 * n) if is_periodic else random.integers(0, n))
                chunk.append((first, first + int(random.integers(0, 2 * n if is_periodic else n - first + 1))))
            if rank == COMM.rank:
                mine.append(chunk)
    has_axis = components > 1 or bool(random.integers(0, 2))
    data = ss.DataDescription(
        shape if axes > 1 else shape[0],
        target_type,
        periodic=periodic,
        rim=rim,
        components=components if has_axis else None,
        allow_holes=allow_holes,
        exchange=["automatic", "p2p", "alltoallv", "alltoallw", "rma", "shared", "pipelined"][seed % 7],
    )
    needed = [tuple(slice(first, end) for first, end in chunk) for chunk in mine]
    mapping = data.map(owned if axes > 1 else [part[0] for part in owned], needed, COMM)

    local = np.random.default_rng([seed, COMM.rank])
    lead = (components,) if has_axis else ()
    sources = []
    for part in owned:
        cells = whole[(slice(None), *part)]
        sources.append(strided((*lead, *cells.shape[1:]), source_type, local))
        sources[-1][...] = cells if has_axis else cells[0]
    with_rims = [
        [(a - r, b + r) for (a, b), r in zip(chunk, rim, strict=True)] if all(a < b for a, b in chunk) else chunk
        for chunk in mine
    ]
    targets = [strided((*lead, *(b - a for a, b in chunk)), target_type, local) for chunk in with_rims]
    filled = mapping.reorganise(sources, targets)
    assert all(a is b for a, b in zip(filled, targets, strict=True))
    for arrays, rest in ((filled, 121), (mapping.reorganise(sources), 0)):
        for array, chunk in zip(arrays, with_rims, strict=True):
            cells, exists = wrapped(whole, held, chunk, periodic)
            expected = np.where(exists, cells.astype(target_type), np.asarray(rest, target_type))
            assert np.array_equal(array, expected if has_axis else expected[0]), (seed, array, expected)


for number in range(84):
    check_random_chunks(number)

# All integers become wider ones, and reals that hold them.
INTEGERS = [f"{kind}{bits}" for kind in "iu" for bits in (1, 2, 4, 8)]
for source in INTEGERS:
    limits = np.array([np.iinfo(source).min, np.iinfo(source).max], source)
    for target in [*INTEGERS, "f4", "f8"]:
        if np.can_cast(source, target) and source != target:
            [there] = (
                ss.DataDescription(2, target)
                .map(np.s_[0:2] if COMM.rank == 0 else [], np.s_[0:2], COMM)
                .reorganise([limits] if COMM.rank == 0 else [])
            )
            assert np.array_equal(there, limits.astype(target)), (source, target)

# A rim that is filled in place, in two halves: what is owned is a part of what is needed.
row = np.full((3, 6), -1.0)
row[:, 1:-1] = np.arange(4) + 4 * COMM.rank
mapping = ss.DataDescription((3, 4 * COMM.size), periodic=[False, True], rim=[0, 1]).map(
    np.s_[:, 4 * COMM.rank : 4 * COMM.rank + 4], np.s_[:, 4 * COMM.rank : 4 * COMM.rank + 4], COMM
)
mapping.start(row[:, 1:-1], row)
while not mapping.test():
    pass
[same] = mapping.finish()
assert same is row
assert np.array_equal(row[1], np.arange(4 * COMM.rank - 1, 4 * COMM.rank + 5) % (4 * COMM.size))

# From the first ranks to the others, across an intercommunicator.
for senders in range(1, COMM.size):
    is_sender = COMM.rank < senders
    group = COMM.Split(int(is_sender), COMM.rank)
    between = group.Create_intercomm(0, COMM, senders if is_sender else 0)
    n, part = group.size, np.arange(12) * group.size // 12 == group.rank
    mine = slice(int(np.argmax(part)), int(np.argmax(part)) + int(part.sum()))
    table = np.arange(144.0).reshape(12, 12)
    across = ss.DataDescription((12, 12)).map(
        [np.s_[mine, :]] if is_sender else [], [] if is_sender else [np.s_[:, mine]], between
    )
    arrived = across.reorganise([table[mine]] if is_sender else [])
    assert len(arrived) == (0 if is_sender else 1)
    assert is_sender or np.array_equal(arrived[0], table[:, mine])
    between.Free()
    group.Free()


def refusal(call: Any) -> str:
    """What `call` is refused with, the same on all ranks."""
    try:
        call()
    except ss.Error as error:
        text = str(error)
    else:
        text = ""
    assert len(set(COMM.allgather(text))) == 1, text
    return text


LAST = COMM.rank == COMM.size - 1
square = ss.DataDescription((8, 8))
everything = np.s_[:, :]
rows = [everything] if COMM.rank == 0 else []
assert "overlap in [0 0 0, 8 2 1)" in refusal(lambda: square.map(rows + ([np.s_[0:2, :]] if LAST else []), [], COMM))
hole = refusal(lambda: square.map([np.s_[0:4, :]] if COMM.rank == 0 else [], [np.s_[2:6, 1:3]] if LAST else [], COMM))
assert f"nobody owns the cells [1 4 0, 3 6 1), which chunk 0 of rank {COMM.size - 1} needs" in hole
assert "allow holes" in hole
assert "reaches out of the whole" in refusal(lambda: square.map(rows, [np.s_[0:9, :]] if LAST else [], COMM))
assert "is no chunk of data of 2 axes" in refusal(lambda: square.map(rows, [np.s_[0:3]] if LAST else [], COMM))
assert "leaves cells out" in refusal(lambda: square.map(rows, [np.s_[::2, :]] if LAST else [], COMM))
assert "3 are no chunks" in refusal(lambda: square.map(rows, 3 if LAST else [], COMM))
assert "p2q" in refusal(lambda: ss.DataDescription((8, 8), exchange="p2q" if LAST else "p2p").map(rows, [], COMM))
if COMM.size > 1:
    differs = refusal(lambda: ss.DataDescription((8, 9 if LAST else 8)).map(rows, [], COMM))
    assert f"rank {COMM.size - 1} describes data that differ from those of rank 0" in differs
mapping = square.map(rows, everything, COMM)
good = [np.arange(64.0).reshape(8, 8)] if COMM.rank == 0 else []


def given(array: Any) -> Any:
    """What the last rank gives as its needed array; others give a right one."""
    return array if LAST else np.empty((8, 8))


read_only = np.empty((8, 8))
read_only.flags.writeable = False
packed = np.zeros(8, [("kind", "u1"), ("row", "f8", 8)])["row"]
for wrong, words in [
    (np.empty((8, 7)), "has the shape (8, 7), the chunk (8, 8)"),
    ([], "0 arrays are given for 1 needed chunks"),
    (5, "5 are no needed arrays"),
    (np.empty((8, 8), bool), "holds `dtype('bool')`"),
    (np.empty((8, 8), ">f8" if sys.byteorder == "little" else "<f8"), "convert it: `array.astype("),
    (np.lib.stride_tricks.as_strided(np.zeros(8), (8, 8), (0, 8)), "a stride of its memory is 0"),
    (read_only, "cannot be written to"),
    (packed, "not aligned"),
    (np.ma.masked_all((8, 8)), "without a mask"),
]:
    assert words in refusal(lambda wrong=wrong: mapping.reorganise(good, given(wrong))), words
assert "cannot be converted to int32" in refusal(lambda: mapping.reorganise(good, np.empty((8, 8), "i4")))
assert "call `finish` first" in refusal(lambda: (mapping.start(good), mapping.start(good)))
assert np.array_equal(mapping.finish()[0], np.arange(64.0).reshape(8, 8))
assert "call `start` first" in refusal(mapping.finish)
here = np.zeros(128)
if COMM.rank == 0:  # what it owns and what it needs in the same memory, but of other sizes
    here[:64] = np.arange(64)
own = [here[:64].reshape(8, 8)] if COMM.rank == 0 else []
assert "lie in the same memory" in refusal(
    lambda: mapping.reorganise(own, here.view("f4")[:64].reshape(8, 8) if COMM.rank == 0 else np.empty((8, 8), "f4"))
)

# Mappings that somebody lets go amid a transfer: what comes for them does not come into memory of others.
for turn in range(20):
    lost = square.map(rows, everything, COMM)
    lost.start([np.arange(64.0).reshape(8, 8)] if COMM.rank == 0 else [])
    del lost
    others = [np.full((8, 8), 7.0) for _ in range(20)]
    COMM.Barrier()
    assert all(np.all(other == 7.0) for other in others), turn

vast = ss.DataDescription((2**30 - 1, 2**30 - 1), allow_holes=True)
too_large = vast.map([], [np.s_[:, :]] if LAST else [], COMM)
assert "there is no memory for the needed chunks" in refusal(too_large.reorganise)
if COMM.rank == 0:
    print("all is well")
