"""What configurations of the tests have in common."""

from __future__ import annotations

import json

# Cells refined around one place, across the edge between blocks.
ZONE = """
[amr]
max_level = 1
regrid_every = 1

[refine.zone]
criterion = "region"
lower = [9.2, 1.5, 1.5]
upper = [17.1, 7.6, 7.6]
max_level = 1
"""


def universe(
    simulation: str = "cosmology",
    *,
    cells: int | list[int] = 16,
    block: int = 8,
    steps: int | None = None,
    **keys: object,
) -> str:
    """The tables of a run on so many cells (a side), without tasks and output; `keys` are those of `[cosmology]`."""
    sides = cells if isinstance(cells, list) else [cells] * 3
    lines = [f'simulation = "{simulation}"', "[mesh]", f"cells = {sides}", f"block = {block}"]
    lines += ["[cosmology]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    lines += [] if steps is None else ["[run]", f"max_steps = {steps}"]
    return "\n".join(lines) + "\n"


def dark_matter_to_zoom(*, box: str, seed: int, largest_expansion: float, t_boundary: str, t_halo: str) -> str:
    """Dark matter down to today, with its halos and a plot file there."""
    return (
        universe("nbody", cells=32, box=box, z_start=49, z_end=0, seed=seed, largest_expansion=largest_expansion)
        + f"""[task.halos]
analysis = "halos"
field = "dark_matter_density"
at_redshift = [0]
t_boundary = "{t_boundary}"
t_halo = "{t_halo}"

[output]
plotfile = {{ format = "nyx", at_redshift = [0] }}
"""
    )


def blast(steps: int) -> str:
    """The tables of a blast that refines, without tasks and output."""
    return f"""simulation = "sedov"
[mesh]
cells = [16, 16, 16]
block = 8
[sedov]
end = 10
[amr]
max_level = 1
[refine.shocks]
criterion = "loehner"
fields = ["gas_density"]
[run]
max_steps = {steps}
"""
