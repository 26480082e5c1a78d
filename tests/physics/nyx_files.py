"""Plot files in the layout of Nyx, written with NumPy alone: states for `sidestream run --from`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DOUBLES = "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))"  # little-endian, as AMReX describes them


@dataclass
class State:
    """A universe on a uniform mesh: comoving Mpc and Msun, proper peculiar velocities in km/s."""

    scale_factor: float
    box: tuple[float, float, float]  # sides along x, y, z
    fields: Mapping[str, Array]  # (z, y, x): density, xmom, ymom, zmom, rho_e
    positions: Array  # (particle, axis)
    velocities: Array
    mass: Array  # of each particle


def write(folder: Path, state: State) -> Path:
    """Writes the plot file; all cells are in one box."""
    z, y, x = next(iter(state.fields.values())).shape
    _write_mesh(folder, state, (x, y, z))
    _write_particles(folder / "DM", state)
    (folder / "comoving_a").write_text(f"{state.scale_factor!r}\n")
    return folder


def _write_mesh(folder: Path, state: State, cells: tuple[int, int, int]) -> None:
    (folder / "Level_0").mkdir(parents=True)
    names, numbers = list(state.fields), len(state.fields)
    box = "((0,0,0) ({},{},{}) (0,0,0))".format(*(n - 1 for n in cells))
    sides = " ".join(repr(float(side)) for side in state.box)
    widths = " ".join(repr(side / n) for side, n in zip(state.box, cells, strict=True))
    lines = ["HyperCLaw-V1.1", numbers, *names, 3, 0.0, 0, "0 0 0", sides, "", box, 0, widths, 0, 0]
    lines += ["0 1 0.0", 0, *(f"0 {float(side)!r}" for side in state.box), "Level_0/Cell"]
    (folder / "Header").write_text("".join(f"{line}\n" for line in lines))

    extremes = [",".join(f"{f(v):.17g}" for v in state.fields.values()) + "," for f in (np.min, np.max)]
    head = [1, 1, numbers, 0, "(1 0", box, ")", 1, "FabOnDisk: Cell_D_00000 0", ""]
    head += [f"1,{numbers}", extremes[0], "", f"1,{numbers}", extremes[1]]
    (folder / "Level_0" / "Cell_H").write_text("".join(f"{line}\n" for line in head))
    with (folder / "Level_0" / "Cell_D_00000").open("wb") as file:
        file.write(f"FAB {DOUBLES}{box} {numbers}\n".encode())
        for values in state.fields.values():
            file.write(np.ascontiguousarray(values, dtype="<f8").tobytes())


def _write_particles(folder: Path, state: State) -> None:
    (folder / "Level_0").mkdir(parents=True)
    count = len(state.mass)
    lines = ["Version_Two_Dot_Zero_double", 3, 4, "mass", "xvel", "yvel", "zvel", 0, 1, count, count + 1, 0, 1]
    (folder / "Header").write_text("".join(f"{line}\n" for line in [*lines, f"0 {count} 0"]))
    ids = np.stack([np.arange(1, count + 1), np.zeros(count)], axis=1)
    reals = np.column_stack([state.positions, state.mass, state.velocities])
    with (folder / "Level_0" / "DATA_00000").open("wb") as file:
        file.write(ids.astype("<i4").tobytes())
        file.write(reals.astype("<f8").tobytes())
