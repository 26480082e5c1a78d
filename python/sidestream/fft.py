"""Fourier transforms of periodic fields on one process or on the ranks of a communicator, and what is easy with them.

Example:
    >>> plan = sidestream.fft.Transform((64, 64, 64), box_size=2 * np.pi)
    >>> modes = plan.forward(field)
    >>> slopes = plan.gradient(field)
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays.blocks import MOST_CELLS, Triple, handle_of
from .core import extension, translated_errors
from .error import Error

__all__ = ["Transform"]

Reals = NDArray[np.float64]
Modes = NDArray[np.complex128]
SMALLEST_SIDE, LARGEST_SIDE = 1e-100, 1e100  # so that squares of wave vectors are numbers
LARGEST_K = 1e150  # longer than any wave vector, and with a square


class Transform:
    """The Fourier transform of real periodic fields `[z, y, x]`, of which each rank has one block.

    Made once, used often; every method is collective on `comm`, but for those that take and give modes. The numbers do
    not depend on ranks or blocks, to the bit. Vector fields are arrays `[component, z, y, x]` with the components along
    x, y and z.
    """

    def __init__(
        self,
        shape: Sequence[int],
        box_size: float | Sequence[float] = 2 * np.pi,
        *,
        comm: Any = None,
        origin: Sequence[int] | None = None,
        block: Sequence[int] | None = None,
        kept: int | Sequence[int] | None = None,
        exchange: str = "automatic",
        threads: int = 1,
        thread_mode: str = "funneled",
    ) -> None:
        """Plans the transform. Collective on `comm`.

        Args:
            shape: `(nz, ny, nx)` of the whole field; 1 along an axis for fields of fewer dimensions.
            box_size: side of the box along x, with cubic cells, or three along x, y, z; wave vectors are in radians
                per its unit.
            comm: an mpi4py communicator; without it this process has the whole field.
            origin: indices `(z, y, x)` of the first cell of this rank's block; by default ranks have slabs of planes.
            block: shape `(nz, ny, nx)` of this rank's block, `(0, 0, 0)` for none.
            kept: only wavenumbers from `-kept` to `kept` are transformed and held: one number, or three along z, y, x.
            exchange: how modes travel between ranks, alike on all of them; `sidestream list strategies` has the names.
                `"tuned"` measures for some seconds which is fastest, and keeps that in the wisdom file. The numbers are
                the same to the bit.
            threads: of each rank that transform; an `exchange` that is tuned takes no more, where fewer are faster.
            thread_mode: which of them call MPI: `funneled` (one), `serialized` (one at a time) or `multiple` (all at
                once, as MPI has to allow: mpi4py asks for that). The numbers are the same to the bit.
        """
        self.shape = _triple(shape, "shape", 1)
        sides = _sides(box_size, self.shape)
        handle = handle_of(comm)
        self.comm = comm
        if (origin is None) != (block is None):
            raise Error("`origin` and `block` belong together", hint="give both, or neither for slabs of planes")
        if origin is None or block is None:
            origin, block = self._slab()
        first, extent = _triple(origin, "origin", 0), _triple(block, "block", 0)
        _require_memory(extent)
        most = None if kept is None else _triple(kept if np.ndim(kept) else [kept] * 3, "kept", 0)
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer):
            raise Error(f"`threads` is {threads!r}, no whole number", hint="1, or as many as a rank has cores")
        with translated_errors():
            self._plan = extension().Transform(
                first, extent, self.shape, most, str(exchange), int(threads), str(thread_mode), handle
            )
        self._wave_vectors = self._vectors(sides[::-1], is_derivative=True)
        self._squared = sum(k**2 for k in self._vectors(sides[::-1], is_derivative=False))
        #: Where the block of this rank lies in the whole: `whole[plan.block]`.
        self.block = tuple(slice(a, a + n) for a, n in zip(first, extent, strict=True))

    def _slab(self) -> tuple[Triple, Triple]:
        rank, ranks = (0, 1) if self.comm is None else (self.comm.Get_rank(), self.comm.Get_size())
        planes = self.shape[0]
        first, last = planes * rank // ranks, planes * (rank + 1) // ranks
        _, rows, columns = self.shape
        return (first, 0, 0), ((last - first, rows, columns) if last > first else (0, 0, 0))

    @property
    def modes(self) -> tuple[slice, ...]:
        """Where the modes of this rank lie in the spectrum of the whole, as `numpy.fft.rfftn` orders it (of a field of
        `2 * kept + 1` cells along each axis if not all are kept)."""
        return tuple(slice(a, a + n) for a, n in zip(self._plan.origin, self._plan.extent, strict=True))

    @property
    def wave_vectors(self) -> tuple[Reals, Reals, Reals]:
        """Their parts along x, y, z for the modes of this rank, as arrays that broadcast to their shape. The shortest
        wave of an axis with an even number of cells, which has no sign, counts as zero."""
        return self._wave_vectors

    def _vectors(self, sides: Any, is_derivative: bool) -> tuple[Reals, Reals, Reals]:
        parts = []
        for axis, (here, waves, cells, side) in enumerate(
            zip(self.modes, self._plan.waves, self.shape, sides, strict=True)
        ):
            index = np.arange(here.start, here.stop)
            wave = np.where(index <= waves // 2, index, index - waves)
            if is_derivative and waves == cells and cells % 2 == 0:
                wave[2 * index == cells] = 0
            parts.append((2 * np.pi / float(side) * wave).reshape([-1 if a == axis else 1 for a in range(3)]))
        z, y, x = parts
        return x, y, z

    def forward(self, field: ArrayLike) -> Modes:
        """The sum over cells of `field exp(-i k x)`, not normalised, as of `numpy.fft.rfftn`. Leading axes are
        components, transformed one after the other."""
        cells = _numbers(field, "field")
        components = self._components(cells, self._block_shape(), "field")
        modes = np.empty((*cells.shape[:-3], *self._plan.extent), np.complex128)
        with translated_errors():
            for part, result in zip(components, self._components(modes, self._plan.extent, "modes"), strict=True):
                self._plan.forward(part, result)
        return modes

    def backward(self, modes: ArrayLike) -> Reals:
        """The inverse of `forward`, as `numpy.fft.irfftn`. Modes that are not kept are zero."""
        work = np.array(_numbers(modes, "modes", np.complex128), order="C")
        field = np.empty((*work.shape[:-3], *self._block_shape()), np.float64)
        with translated_errors():
            for part, result in zip(
                self._components(work, self._plan.extent, "modes"),
                self._components(field, self._block_shape(), "field"),
                strict=True,
            ):
                self._plan.backward(part, result)
        field /= float(np.prod(self.shape))
        return field

    def gradient(self, field: ArrayLike) -> Reals:
        """The slopes along x, y, z of a scalar field."""
        modes = self.forward(field)
        return self.backward(np.stack([1j * k * modes for k in self._wave_vectors]))

    def divergence(self, vector: ArrayLike) -> Reals:
        """The divergence of a vector field."""
        modes = self.forward(_vector(vector))
        return self.backward(sum(1j * k * part for k, part in zip(self._wave_vectors, modes, strict=True)))

    def curl(self, vector: ArrayLike) -> Reals:
        """The curl of a vector field."""
        u, v, w = self.forward(_vector(vector))
        x, y, z = self._wave_vectors
        return self.backward(1j * np.stack([y * w - z * v, z * u - x * w, x * v - y * u]))

    def project(self, vector: ArrayLike) -> Reals:
        """The part of a vector field that has no divergence; its mean stays."""
        modes = self.forward(_vector(vector))
        squared = sum(k**2 for k in self._wave_vectors)
        along = sum(k * part for k, part in zip(self._wave_vectors, modes, strict=True))
        along = along / np.where(squared == 0, 1.0, squared)
        return self.backward(modes - np.stack([k * along for k in self._wave_vectors]))

    def low_pass(self, field: ArrayLike, largest_k: float) -> Reals:
        """The field without waves whose wave vector is longer than `largest_k`, which is zero or more."""
        largest = _limit(largest_k)
        modes = self.forward(field)
        return self.backward(np.where(self._squared <= largest**2, modes, 0))

    def poisson(self, field: ArrayLike) -> Reals:
        """The solution of `Laplace(u) = field` with mean zero; the mean of `field` is disregarded."""
        modes = self.forward(field)
        squared = np.where(self._squared == 0, np.inf, self._squared)
        return self.backward(-modes / squared)

    def _block_shape(self) -> Triple:
        z, y, x = (part.stop - part.start for part in self.block)
        return z, y, x

    @staticmethod
    def _components(array: NDArray[Any], shape: Sequence[int], name: str) -> list[NDArray[Any]]:
        if array.ndim < 3 or array.shape[-3:] != tuple(shape):
            raise Error(
                f"`{name}` has the shape {array.shape}, the plan takes {tuple(shape)} behind components",
                hint="give an array of the shape that the plan was made for, or make another plan",
            )
        count = int(np.prod(array.shape[:-3], dtype=int))
        return list(array.reshape((count, *shape)))


def _vector(array: ArrayLike) -> NDArray[Any]:
    vector = _numbers(array, "vector")
    if vector.ndim != 4 or vector.shape[0] != 3:
        raise Error(
            f"a vector field has the shape (3, z, y, x), not {vector.shape}", hint="numpy.stack([x, y, z]) makes one"
        )
    return vector


def _numbers(values: Any, name: str, kind: type = np.float64) -> NDArray[Any]:
    """The array itself, or as the compiled part takes it: of doubles, aligned, the last axis contiguous."""
    if np.ma.is_masked(values):
        raise Error(f"`{name}` has masked values, which have no transform", hint="fill them: `filled(0.0)`")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as problem:
        raise Error(
            f"`{name}` is no array of numbers: {problem}",
            hint="give an array of NumPy of numbers, such as numpy.asarray(values, dtype=float)",
        ) from problem
    is_complex = np.issubdtype(kind, np.complexfloating)
    if array.dtype.kind not in ("fiubc" if is_complex else "fiub"):
        hint = "transform the real and the imaginary part one after the other" if array.dtype.kind == "c" else ""
        raise Error(f"`{name}` holds `{array.dtype}`, not {'' if is_complex else 'real '}numbers", hint=hint)
    return np.require(array, kind, ["C", "A"])


def _sides(box_size: Any, shape: Triple) -> Reals:
    """Along x, y and z."""
    try:
        sides = np.asarray(box_size, float)
    except (TypeError, ValueError) as problem:
        raise Error(f"`box_size` is {box_size!r}, not one or three numbers", hint="along x, y, z") from problem
    if sides.shape not in ((), (1,), (3,)):
        raise Error(f"`box_size` is {box_size!r}, not one or three numbers", hint="along x, y, z")
    if not np.all((sides >= SMALLEST_SIDE) & (sides <= LARGEST_SIDE)):
        raise Error(
            f"`box_size` is {box_size!r}, and no side of a box",
            hint=f"sides are numbers from {SMALLEST_SIDE:g} to {LARGEST_SIDE:g}",
        )
    if sides.ndim == 0:
        return float(sides) / shape[2] * np.array(shape[::-1], float)
    return np.broadcast_to(sides, 3)


def _limit(largest_k: Any) -> float:
    try:
        limit = float(largest_k)
    except (TypeError, ValueError) as problem:
        raise Error(
            f"`largest_k` is {largest_k!r}, not a number",
            hint="give the largest wave number that is kept, such as 21.0, or leave `largest_k` out",
        ) from problem
    if not limit >= 0:
        raise Error(f"`largest_k` is {largest_k!r}, no length of a wave vector", hint="give zero or more")
    return min(limit, LARGEST_K)


def _require_memory(block: Triple) -> None:
    """An error for blocks of which the fields alone fill the machine."""
    needed = 8 * math.prod(block)
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > available:
        raise Error(
            f"a field of {' x '.join(map(str, block))} cells takes {needed / 2**30:.3g} GiB, and the machine has "
            f"{available / 2**30:.3g} GiB",
            hint="take fewer cells, or give `comm` and let more machines share them",
        )


def _triple(value: Any, name: str, least: int) -> Triple:
    try:
        z, y, x = (operator.index(number) for number in value)
    except (TypeError, ValueError) as problem:
        raise Error(f"`{name}` is {value!r}, not three whole numbers", hint="in the order z, y, x") from problem
    if min(z, y, x) < least:
        raise Error(f"`{name}` is {value!r}, with a number below {least}", hint="in the order z, y, x")
    if max(z, y, x) > MOST_CELLS:
        raise Error(f"`{name}` is {value!r}, which no array has", hint="in the order z, y, x")
    return z, y, x
