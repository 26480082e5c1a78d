"""Files of the state in `tests/support/sample_content.hpp`, and what is in them, for tests of other readers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[2] / "build" / "release" / "tests" / "write_sample_file"
CELLS, BLOCK, SIDE_MPC = 16, 4, 16.0
FIELDS = ("density", "Temp", "x_velocity", "y_velocity", "z_velocity", "pressure", "particle_mass_density")
LEVEL_BLOCKS = (64, 64, 8)
LEAVES = (56, 63, 8)
SCALE_FACTOR, TIME, STEP = 0.5, 0.25, 7


def write(form: str, path: Path, kind: str, method: str = "", ranks: int = 2, files: int = 0) -> Path:
    """Write the sample as a "plotfile", "checkpoint" or checkpoint of several "species", or a "result" of `kind` rows.

    Skips the test where it cannot.
    """
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built (ninja -C build/release write_sample_file)")
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [
        "mpirun",
        "--oversubscribe",
        "-n",
        str(ranks),
        str(PROGRAM),
        form,
        str(path),
        kind,
        *([method, str(len(LEVEL_BLOCKS)), str(files)] if method or files else []),
    ]
    subprocess.run(command, check=True, timeout=120, env=environment)
    return path


def value(field: str, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The field at positions [Mpc], in Msun, comoving Mpc, km/s and K."""
    return {
        "density": 1e10 * (1.0 + 0.5 * x + 0.25 * y + 0.125 * z),
        "Temp": 1e4 * (1.0 + 0.1 * x + z),
        "x_velocity": 100.0 * (y - 8.0) + 0.0 * x,
        "y_velocity": -50.0 * (z - 8.0) + 0.0 * x,
        "z_velocity": 25.0 * (x - 8.0),
        "pressure": 1e12 * (2.0 + x + 3.0 * y),
        "particle_mass_density": 5e10 * (1.0 + 0.25 * z) + 0.0 * x,
    }[field]


def is_refined(level: int, x: int, y: int, z: int) -> bool:
    """Whether the block at a position, in blocks of its level, is cut into eight."""
    return (level == 0 and max(x, y, z) < 2) or (level == 1 and (x, y, z) == (1, 1, 1))


def blocks(level: int) -> list[tuple[int, int, int]]:
    """Positions (x, y, z) of all blocks of a level, in the order of the files."""
    if level == 0:
        n = CELLS // BLOCK
        return [(i % n, i // n % n, i // (n * n)) for i in range(n**3)]
    return [
        (2 * x + c % 2, 2 * y + c // 2 % 2, 2 * z + c // 4)
        for x, y, z in blocks(level - 1)
        if is_refined(level - 1, x, y, z)
        for c in range(8)
    ]


def particles() -> dict[str, np.ndarray]:
    """The particles in the order of levels and blocks: id, x, y, z [Mpc], mass [Msun]; they move as the gas does."""
    rows = []
    for level in range(3):
        size = SIDE_MPC / (CELLS << level)
        for index, (x, y, z) in enumerate(blocks(level)):
            if is_refined(level, x, y, z):
                continue
            number = 10**16 + 10**6 * level + index
            corner = (BLOCK * x + 0.25, BLOCK * y + 1.25, BLOCK * z + 2.25)
            rows.append((number, *(size * c for c in corner), 1e9 * (1 + number % 1000)))
    columns = list(zip(*rows, strict=True))
    table = {name: np.array(column) for name, column in zip(("x", "y", "z", "mass"), columns[1:], strict=True)}
    return {"id": np.array(columns[0], dtype=np.int64), **table}
