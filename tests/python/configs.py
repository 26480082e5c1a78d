"""What configurations of the tests have in common."""

from __future__ import annotations

import json


def universe(
    simulation: str = "cosmology", *, cells: int = 16, block: int = 8, steps: int | None = None, **keys: object
) -> str:
    """The tables of a run on so many cells a side, without tasks and output; `keys` are those of `[cosmology]`."""
    lines = [f'simulation = "{simulation}"', "[mesh]", f"cells = {[cells] * 3}", f"block = {block}"]
    lines += ["[cosmology]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    lines += [] if steps is None else ["[run]", f"max_steps = {steps}"]
    return "\n".join(lines) + "\n"
