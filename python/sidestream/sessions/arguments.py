"""What the calls of a session are given, as the compiled part takes it, or an error that says what to give."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from operator import index
from os import PathLike, fspath
from typing import Any

import numpy as np

from ..error import Error

Triple = tuple[int, int, int]
Problem = tuple[str, str, str]
MOST, MOST_CELLS = 10**15, 2**29  # as many steps as the library counts


def as_text(given: Any, what: str) -> str:
    """A text that is UTF-8."""
    try:
        if isinstance(given, str):
            given.encode()
            return given
    except UnicodeEncodeError:
        pass
    raise Error(f"`{what}` is {given!r}", hint="give a text")


def as_path(given: Any, what: str) -> str:
    """A path as text."""
    if not isinstance(given, (str, PathLike)):
        raise Error(f"`{what}` is {given!r}", hint="give a path")
    return as_text(fspath(given), what)


def as_number(given: Any, what: str) -> float:
    """A real number."""
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise Error(f"`{what}` is {given!r}", hint="give a number") from error


def as_finite(given: Any, what: str) -> float:
    """A real number that files and events can hold."""
    number = as_number(given, what)
    if not isfinite(number):
        raise Error(f"`{what}` is {given!r}", hint="look for what made it no number, and give one that is finite")
    return number


def as_whole(given: Any, what: str) -> int:
    """A whole number up to 10^15."""
    try:
        number = index(given)
    except TypeError:
        number = MOST + 1
    if abs(number) > MOST:
        raise Error(f"`{what}` is {given!r}", hint="give a whole number up to 10^15")
    return number


def as_moment(step: Any, time: Any) -> tuple[int, float, Problem | None]:
    """Step and time, or what is wrong with them: to be raised on all ranks, as those that are right would wait."""
    try:
        return as_whole(step, "step"), as_number(time, "time"), None
    except Error as caught:
        return 0, 0.0, (caught.what, caught.where, caught.hint)


def as_numbers(given: Any, what: str, hint: str) -> tuple[Any, ...]:
    """The members of what can be gone through, and is no text."""
    if isinstance(given, str) or not np.iterable(given):
        raise Error(f"`{what}` is {given!r}", hint=f"give {hint}")
    return tuple(given)


def as_triple(numbers: Sequence[int], what: str, least: int) -> Triple:
    """One to three whole numbers as those along z, y and x; `least` along axes that are not there."""
    whole = [as_whole(number, what) for number in numbers]
    if not 1 <= len(whole) <= 3 or any(not least <= number <= MOST_CELLS for number in whole):
        raise Error(f"`{what}` is {tuple(numbers)!r}", hint=f"give one to three whole numbers from {least} to 2^30")
    z, y, x = [least] * (3 - len(whole)) + whole
    return z, y, x


def as_sides(lengths: Sequence[float] | None, cells: Triple, axes: int) -> tuple[float, float, float]:
    """Lengths along z, y and x; those of cells of length 1 where none are given."""
    if lengths is None:
        return float(cells[0]), float(cells[1]), float(cells[2])
    given = [as_number(length, "lengths") for length in as_numbers(lengths, "lengths", f"{axes} numbers above 0")]
    if len(given) != axes or not all(0.0 < length < float("inf") for length in given):
        raise Error(f"`lengths` is {lengths!r}", hint=f"give {axes} numbers above 0")
    z, y, x = [1.0] * (3 - axes) + given
    return z, y, x


def as_flags(periodic: bool | Sequence[bool], axes: int) -> tuple[bool, bool, bool]:
    """A word for z, y and x each; true along axes that are not there."""
    words = (
        [bool(periodic)] * axes
        if isinstance(periodic, (bool, np.bool_))
        else [bool(word) for word in as_numbers(periodic, "periodic", f"one word, or {axes}")]
    )
    if len(words) != axes:
        raise Error(f"`periodic` is {periodic!r}", hint=f"give one word, or {axes}")
    z, y, x = [True] * (3 - axes) + words
    return z, y, x


def as_rim(ghosts: int | Sequence[int], axes: int) -> Triple:
    """Layers of ghost cells along z, y and x."""
    given = (ghosts,) * axes if np.ndim(ghosts) == 0 else as_numbers(ghosts, "ghosts", f"one number, or {axes}")
    layers = [as_whole(layer, "ghosts") for layer in given]
    if len(layers) != axes or any(not 0 <= layer <= MOST_CELLS for layer in layers):
        raise Error(f"`ghosts` is {ghosts!r}", hint=f"give one number, or {axes}, 0 or more")
    z, y, x = [0] * (3 - axes) + layers
    return z, y, x


def as_blocks(blocks: Any, levels: Sequence[int] | None, shape: tuple[int, ...]) -> list[tuple[int, Triple, Triple]]:
    """Level, first cell and end of each block."""
    if blocks is None:
        given: list[tuple[slice, ...]] = [tuple(slice(0, cells) for cells in shape)]
    elif isinstance(blocks, (tuple, slice)):
        given = [blocks if isinstance(blocks, tuple) else (blocks,)]
    else:
        many = as_numbers(blocks, "blocks", "slices, or a list with those of each block: np.s_[0:32, :, :]")
        given = [block if isinstance(block, tuple) else (block,) for block in many]
    words = [0] * len(given) if levels is None else as_numbers(levels, "levels", "one whole number for each block")
    of_level = [as_whole(level, "levels") for level in words]
    if any(level < 0 for level in of_level):
        raise Error(f"a block has the level {min(of_level)}", hint="levels are counted from 0, the coarsest")
    if len(of_level) != len(given):
        raise Error(f"{len(of_level)} levels for {len(given)} blocks", hint="give one for each")
    return [(level, *_box_of(block, level, shape)) for block, level in zip(given, of_level, strict=True)]


def _box_of(block: tuple[slice, ...], level: int, shape: tuple[int, ...]) -> tuple[Triple, Triple]:
    lo, hi = [], []
    if len(block) > len(shape):
        raise Error(f"a block has {len(block)} axes, the domain {len(shape)}", hint="give a slice for each axis")
    for axis, cells in enumerate(shape):
        part = block[axis] if axis < len(block) else slice(None)
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise Error(f"a block is {block!r}", hint="give slices without a step: np.s_[0:32, :, :]")
        end = cells << min(level, MOST_CELLS.bit_length()) if cells > 1 else cells
        lo.append(0 if part.start is None else as_whole(part.start, "blocks"))
        hi.append(end if part.stop is None else as_whole(part.stop, "blocks"))
        if not -MOST_CELLS <= lo[-1] <= MOST_CELLS or not -MOST_CELLS <= hi[-1] <= MOST_CELLS:
            raise Error(f"a block is {block!r}", hint="there may be 2^29 cells along an axis")
    flat = 3 - len(shape)
    z, y, x = [0] * flat + lo
    z_end, y_end, x_end = [1] * flat + hi
    return (z, y, x), (z_end, y_end, x_end)
