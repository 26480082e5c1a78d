"""Lattice Boltzmann flows by the command line: pictures of barriers, tasks over transports, a run that is killed."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, program

TUNNEL = """simulation = "lbm"
[mesh]
cells = [40, 20, 1]
block = 5
[lbm]
viscosity = 0.05
barrier = "wing.png"
end = 60
[initial]
velocity = [0.05, 0.0, 0.0]
[edge.left]
kind = "inflow"
velocity = [0.05, 0.0, 0.0]
[edge.right]
kind = "outflow"
[task.wake]
analysis = "slice"
axis = "z"
fields = ["vorticity", "speed", "q_criterion", "barrier"]
every = 20
[output]
checkpoint = { every = 20, keep = 2 }
"""


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(pixels: np.ndarray) -> bytes:
    """A picture of 8 bits of grey, or of grey and opacity, the highest row first."""
    height, width = pixels.shape[:2]
    colour = 0 if pixels.ndim == 2 else 4
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def tunnel(tmp_path: Path) -> Path:
    pixels = np.full((20, 40), 255)
    pixels[4:9, 10:12] = 0  # the fifth to the ninth row from above
    (tmp_path / "wing.png").write_bytes(png(pixels))
    (tmp_path / "tunnel.toml").write_text(TUNNEL, encoding="utf-8")
    return tmp_path


def test_what_is_dark_is_solid_and_the_lowest_row_comes_first(tunnel: Path) -> None:
    assert program(tunnel, 2, "tunnel.toml", "--quiet", "--out", "run").returncode == 0

    run = sidestream.open(tunnel / "run")
    table = run["wake"]
    barrier = table["barrier"].values[-1]
    expected = np.zeros((20, 40))
    expected[11:16, 10:12] = 1
    np.testing.assert_array_equal(barrier, expected)
    assert (table["speed"].values[-1][expected == 1] == 0.0).all()
    assert abs(table["vorticity"].values[-1]).max() > 1e-3
    assert run.forces("picture").attrs["length"] == 5
    assert run.forces("picture").attrs["drag"] > 0.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (png(np.full((21, 40), 0)), "40 x 21 pixels, and the flow 40 x 20 cells"),
        (png(np.full((20, 40), 200)), "nothing in the picture of barriers is dark"),
        (png(np.dstack([np.zeros((20, 40)), np.zeros((20, 40))])), "nothing in the picture of barriers is dark"),
        (b"no picture at all", "is no picture that can be read"),
        (png(np.full((20, 40), 0))[:60], "is no picture that can be read"),
        (None, "wing.png"),
    ],
)
def test_a_picture_that_does_not_fit_is_refused(content: bytes | None, said: str, tunnel: Path) -> None:
    (tunnel / "wing.png").unlink()
    if content is not None:
        (tunnel / "wing.png").write_bytes(content)

    for words in (("check", "tunnel.toml"), ("run", "tunnel.toml", "--out", "run", "-n", 1)):
        done = command(tunnel, *words)
        assert done.returncode == 2
        assert said in done.stderr
        assert "lbm.barrier" in done.stderr or content is None
    assert not (tunnel / "run").exists()


@pytest.mark.parametrize("transport", ["in-transit", "async", "file"])
def test_tasks_find_the_same_over_every_transport(transport: str, tunnel: Path) -> None:
    assert program(tunnel, 1, "tunnel.toml", "--quiet", "--out", "plain").returncode == 0
    extra = (
        "--set",
        f"task.wake.transport={transport}",
        *(("--set", "coupling.sidecars=1") * (transport == "in-transit")),
    )
    assert program(tunnel, 3, "tunnel.toml", "--quiet", "--out", "other", *extra).returncode == 0
    if transport == "file":
        assert command(tunnel, "analyze", "other").returncode == 0

    plain, other = (sidestream.open(tunnel / name)["wake"] for name in ("plain", "other"))
    for name in plain:
        assert plain[name].values.tobytes() == other[name].values.tobytes()


def test_a_run_in_single_precision_is_opened_as_it_was_written(tunnel: Path) -> None:
    words = ("--set", "lbm.precision=single", "--set", "lbm.end=20")
    assert program(tunnel, 2, "tunnel.toml", "--quiet", "--out", "run", *words).returncode == 0

    file = sidestream.open(next((tunnel / "run").glob("chk*")))
    assert float(abs(file["f1"].values).max()) > 1e-3
    assert (
        program(
            tunnel, 1, "tunnel.toml", "--quiet", "--out", "run", "--restart", "--set", "lbm.end=40", *words[:2]
        ).returncode
        == 0
    )
