"""Redistribution of NumPy arrays, and its examples in three languages."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sidestream
from sidestream.launch.launcher import has_mpirun, prepare

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not has_mpirun(), reason="needs mpirun")
SCRIPT = Path(__file__).with_name("mpi_redistribution.py")
EXAMPLES = Path(__file__).parents[2] / "examples" / "redistribution"


def run(script: Path, ranks: int, *words: object) -> subprocess.CompletedProcess[str]:
    launch = prepare(Path(sys.executable), [str(script), *map(str, words)], ranks)
    package = Path(sidestream.__file__).parents[1]
    path = os.pathsep.join([str(package), launch.environment.get("PYTHONPATH", "")])
    environment = launch.environment | {"PYTHONPATH": path}
    return subprocess.run(launch.command, env=environment, capture_output=True, text=True, timeout=180)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_chunks_arrive_as_they_are_in_the_whole(ranks: int) -> None:
    done = run(SCRIPT, ranks)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "all is well"


def test_rows_become_quadrants() -> None:
    whole = np.arange(64).reshape(8, 8)
    corners = [(0, 0), (0, 4), (4, 0), (4, 4)]

    done = run(EXAMPLES / "quadrants.py", 4)

    assert done.returncode == 0, done.stderr
    expected = [
        f"rank {rank} has {' '.join(map(str, whole[y : y + 4, x : x + 4].ravel()))}"
        for rank, (y, x) in enumerate(corners)
    ]
    assert sorted(done.stdout.splitlines()) == expected


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_a_stack_of_images_becomes_bricks(ranks: int, tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    volume = np.random.default_rng(1).integers(0, 2**16, (11, 9, 14), np.uint16)
    for number, image in enumerate(volume):
        tifffile.imwrite(tmp_path / f"slice_{number:03}.tif", image)

    done = run(EXAMPLES / "tiff_bricks.py", ranks, tmp_path, tmp_path)

    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert len(lines) == ranks
    padded = np.pad(volume.astype(np.float32), 1)
    covered = np.zeros(volume.shape, int)
    for rank, line in enumerate(lines):
        first, end = (ast.literal_eval(part) for part in line.split("brick ")[1].split(" to "))
        brick = tuple(slice(a, b) for a, b in zip(first, end, strict=True))
        covered[brick] += 1
        with_rim = tuple(slice(a, b + 2) for a, b in zip(first, end, strict=True))
        assert np.array_equal(np.load(tmp_path / f"brick_{rank}.npy"), padded[with_rim])
    assert np.all(covered == 1)
