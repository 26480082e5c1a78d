"""Configurations of lattice Boltzmann flows, what their files tell, and a lattice of nine velocities in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
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


def plain_steps(f: Array, solid: NDArray[np.bool_], viscosity: float, steps: int) -> Array:
    """Steps of a periodic plane with barriers, of whole populations (direction, y, x) as a collision leaves them."""
    for _ in range(steps):
        came = np.array([np.roll(g, (c[1], c[0]), axis=(0, 1)) for g, c in zip(f, VELOCITIES, strict=True)])
        for i, (cx, cy) in enumerate(VELOCITIES):
            came[i] = np.where(np.roll(solid, (cy, cx), axis=(0, 1)), f[OPPOSITES[i]], came[i])
        rho = came.sum(axis=0)
        ux, uy = np.tensordot(VELOCITIES.T, came, axes=1) / rho
        cu = VELOCITIES[:, 0, None, None] * ux + VELOCITIES[:, 1, None, None] * uy
        rest = WEIGHTS[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2))
        f = np.where(solid, f, came - (came - rest) / (3 * viscosity + 0.5))
    return f
