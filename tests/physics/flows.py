"""Configurations of incompressible flow, and what their events and checkpoints tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import sidestream
from spectral_twin import Modes, Twin

VELOCITY = ("velocity_x", "velocity_y", "velocity_z")

CONFIG = """simulation = "turbulence"
[mesh]
cells = {cells}
block = {block}
[turbulence]
viscosity = {viscosity}
end = {end}
{more}
[initial]
flow = "{flow}"
{initial}
[output]
checkpoint = {{ format = "raw", at_start = true, at_end = true, every = {every}, keep = 9 }}
{tables}
"""


def config(flow: str, cells: int, viscosity: float, end: float, **extra: object) -> str:
    """A run of a flow in a cube."""
    words = {"more": "", "initial": "", "tables": "", "every": 0} | extra
    shape = words.pop("shape", [cells] * 3)
    return CONFIG.format(flow=flow, cells=shape, block=cells, viscosity=viscosity, end=end, **words)


def at(run: sidestream.Run, time: float) -> dict[str, float]:
    """The event of the step that ended at a time."""
    return min((event for event in run.events if event["event"] == "step"), key=lambda e: abs(e["time"] - time))


def modes(run: sidestream.Run, name: str, which: int = -1) -> NDArray[np.complex128]:
    """The amplitudes (z, y, x) of a quantity in a checkpoint, waves in their order of storage."""
    paths = sorted(run.folder.glob("chk*"))
    file = sidestream.SnapshotFile(paths[which])
    return file[f"{name}_real"].values + 1j * file[f"{name}_imag"].values


def fields(run: sidestream.Run, twin: Twin, which: int = -1, names: Sequence[str] = VELOCITY) -> Modes:
    """The same of some fields, as a plain solver takes them."""
    return np.array([twin.unpacked(modes(run, name, which)) for name in names])
