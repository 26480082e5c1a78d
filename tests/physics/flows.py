"""Configurations of incompressible flow, and what their events tell."""

from __future__ import annotations

import sidestream

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
