"""Configurations of lattice Boltzmann flows, what their files tell, and a lattice of nine velocities in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as field_of
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sidestream

Array = NDArray[np.float64]

CONFIG = """simulation = "lbm"
[mesh]
cells = {cells}
block = {block}
[lbm]
viscosity = {viscosity!r}
end = {end}
{lbm}
[initial]
{initial}
{tables}
[output]
plotfile = {{ format = "raw", at_end = true, variables = {variables} }}
checkpoint = {{ format = "raw", at_start = true, at_end = true, keep = 9 }}
"""
IN_PLANE = ("density", "velocity_x", "velocity_y")

# Directions of a lattice in the order of the program: at rest, and pairs of opposites.
VELOCITIES = np.array(
    [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1]],
)
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITES = [0, 2, 1, 4, 3, 6, 5, 8, 7]


def config(cells: Sequence[int], viscosity: float, end: int, **extra: object) -> str:
    """A run: `lbm`, `initial` and `tables` are lines of it, `edges` the kinds of faces by name."""
    words: dict[str, object] = {"lbm": "", "initial": "", "tables": "", "block": 1, "variables": IN_PLANE} | extra
    edges = words.pop("edges", {})
    assert isinstance(edges, dict)
    tables = "".join(
        f"[edge.{name}]\n{text if '=' in text else f'kind = {chr(34)}{text}{chr(34)}'}\n"
        for name, text in edges.items()
    )
    words["tables"] = tables + str(words["tables"])
    words["variables"] = str(list(words["variables"])).replace("'", '"')  # type: ignore[call-overload]
    return CONFIG.format(cells=list(cells), viscosity=viscosity, end=end, **words)


def files(run: sidestream.Run, kind: str = "plt") -> list[Path]:
    """The plot files of a run, or its checkpoints (`chk`), the first one first."""
    return sorted(run.folder.glob(f"{kind}*"))


def field(run: sidestream.Run, name: str, step: int | None = None) -> Array:
    """A quantity (z, y, x) of the last plot file, or that of a step."""
    path = files(run)[-1] if step is None else run.folder / f"plt{step:05d}.raw"
    return np.asarray(sidestream.SnapshotFile(path)[name].values)


def populations(run: sidestream.Run, which: int = -1, count: int = 9) -> Array:
    """All populations (direction, z, y, x) of a checkpoint, without their weights."""
    file = sidestream.SnapshotFile(files(run, "chk")[which])
    return np.array([file[f"f{direction}"].values for direction in range(count)])


def relative_error(found: Array, exact: Array) -> float:
    """The root of the sum of squares of the difference, over that of what is exact."""
    return float(np.sqrt(((found - exact) ** 2).sum() / (exact**2).sum()))


@dataclass(frozen=True)
class PlainLattice:
    """A plane with barriers, of whole populations (direction, y, x) as a collision leaves them.

    `magic` is that of two relaxation times, of one without it. `force(t)` is that of the step after t. `walls` have
    velocities; they stand at the first and last cells along x and y by (axis, whether it is the last). Else it is
    periodic.
    """

    solid: NDArray[np.bool_]
    viscosity: float
    magic: float | None = None
    force: Callable[[int], Sequence[float]] = lambda t: (0.0, 0.0)
    walls: dict[tuple[int, bool], Sequence[float]] = field_of(default_factory=dict)

    def steps(self, f: Array, count: int) -> Array:
        """So many steps from 0 on."""
        slow = 3 * self.viscosity  # 1/omega - 1/2 of what is even; then of what is odd
        even, odd = 1 / (slow + 0.5), 1 / ((slow if self.magic is None else self.magic / slow) + 0.5)
        for t in range(count):
            came = self._stream(f)
            rho, push = came.sum(axis=0), np.array(self.force(t))[:, None, None]
            u = (np.tensordot(VELOCITIES.T, came, axes=1) + 0.5 * push) / rho
            cu, cf = (np.tensordot(VELOCITIES, vector, axes=1) for vector in (u, push + 0 * u))
            rest = WEIGHTS[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u**2).sum(axis=0))
            kick = WEIGHTS[:, None, None] * (3 * (cf - (u * push).sum(axis=0)) + 9 * cu * cf)
            change = np.zeros_like(f)
            for omega, sign in ((even, 1), (odd, -1)):
                off, part = (0.5 * (g + sign * g[OPPOSITES]) for g in (came - rest, kick))
                change += (1 - 0.5 * omega) * part - omega * off
            f = np.where(self.solid, f, came + change)
        return f

    def _stream(self, f: Array) -> Array:
        came = np.empty_like(f)
        y, x = np.indices(self.solid.shape)
        for i, c in enumerate(VELOCITIES):
            from_x, from_y = x - c[0], y - c[1]
            turned = np.roll(self.solid, (c[1], c[0]), axis=(0, 1))
            added = np.zeros(self.solid.shape)
            for (axis, is_last), velocity in self.walls.items():
                place = (from_x, from_y)[axis]
                through = place >= self.solid.shape[1 - axis] if is_last else place < 0
                turned = turned | through
                added += np.where(through, 6 * WEIGHTS[i] * np.dot(c, velocity), 0.0)
            came[i] = np.where(turned, f[OPPOSITES[i]] + added, np.roll(f[i], (c[1], c[0]), axis=(0, 1)))
        return came

    def force_on_barriers(self, f: Array) -> Array:
        """The momentum that populations leave at barriers in the next step."""
        total = np.zeros(2)
        for i, c in enumerate(VELOCITIES):
            turned = np.roll(self.solid, (c[1], c[0]), axis=(0, 1)) & ~self.solid
            total -= 2 * c * f[OPPOSITES[i]][turned].sum()
        return total
