"""Lattice Boltzmann flows by the command line: pictures of barriers, tasks over transports, a run that is killed."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import analyze_later, attached, command, program, running, unreported
from tiers import slow

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


def make_tunnel(folder: Path) -> None:
    pixels = np.full((20, 40), 255)
    pixels[4:9, 10:12] = 0  # the fifth to the ninth row from above
    (folder / "wing.png").write_bytes(png(pixels))
    (folder / "tunnel.toml").write_text(TUNNEL, encoding="utf-8")


@pytest.fixture
def tunnel(tmp_path: Path) -> Path:
    make_tunnel(tmp_path)
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


def results(run: Path, task: str = "wake") -> dict[str, bytes]:
    """The bytes of all columns of all results of a task."""
    table = sidestream.open(run)[task]
    found = {str(name): values.values.tobytes() for name, values in table.variables.items()}
    assert len(found) > 4
    return found


def state(run: Path) -> dict[str, bytes]:
    """The newest checkpoint."""
    file = sidestream.open(sorted(run.glob("chk*"))[-1])
    names = [f"f{direction}" for direction in range(9)] + ["barrier"]
    return {name: file[name].values.tobytes() for name in names}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `plain` on one rank, its tasks in situ."""
    folder = tmp_path_factory.mktemp("lattice")
    make_tunnel(folder)
    assert program(folder, 1, "tunnel.toml", "--quiet", "--out", "plain").returncode == 0
    return folder


WAYS = [(ranks, transport) for ranks in (1, 2, 3, 4) for transport in ("in-situ", "async", "in-transit", "file")]
QUICK = [(2, "in-situ"), (3, "in-transit"), (4, "async"), (3, "file")]


@pytest.mark.parametrize(
    ("ranks", "transport"), [pytest.param(*way, marks=[pytest.mark.slow] * (way not in QUICK)) for way in WAYS]
)
def test_tasks_find_the_same_on_any_ranks_over_every_transport(ranks: int, transport: str, whole: Path) -> None:
    name = f"{transport}-{ranks}"
    sidecars = int(transport == "in-transit")
    words = ("--set", f"task.wake.transport={transport}", "--set", f"coupling.sidecars={sidecars}")
    done = program(whole, ranks + sidecars, "tunnel.toml", "--quiet", "--out", name, *words)
    assert done.returncode == 0, done.stderr
    if transport == "file":
        assert analyze_later(whole / name, ranks).returncode == 0

    assert results(whole / name) == results(whole / "plain")
    assert state(whole / name) == state(whole / "plain")


@pytest.mark.parametrize(
    ("ranks", "readers"), [(2, 1), *(pytest.param(n, m, marks=pytest.mark.slow) for n, m in ((1, 2), (3, 2), (4, 3)))]
)
def test_another_job_finds_the_same_by_a_stream(ranks: int, readers: int, whole: Path) -> None:
    name = f"stream-{ranks}"
    words = ("--set", "task.wake.transport=stream", "--set", "stream.wait_for=1")
    with attached(whole, name, "wake", readers) as reader:
        done = program(whole, ranks, "tunnel.toml", "--quiet", "--out", name, *words, limit_s=120)
        assert done.returncode == 0, done.stderr
        assert reader.wait(60) == 0

    assert results(whole / name) == results(whole / "plain")


def test_what_a_step_leaves_for_a_task_is_what_a_task_that_nobody_foresaw_finds(whole: Path) -> None:
    fields = 'task.wake.fields=["gas_density", "velocity_x", "velocity_y", "speed", "vorticity", "q_criterion"]'
    for name, when in (("foreseen", "every=20"), ("unforeseen", "at_time=[0.0, 20.0, 40.0, 60.0]")):
        every = ("--set", "task.wake.every=0") * (name == "unforeseen")
        words = ("--set", fields, *every, "--set", f"task.wake.{when}")
        done = program(whole, 2, "tunnel.toml", "--quiet", "--out", name, *words)
        assert done.returncode == 0, done.stderr

    assert results(whole / "foreseen") == results(whole / "unforeseen")


def killed_at_work(folder: Path, name: str, words: tuple[object, ...]) -> None:
    """Starts a run and kills all its ranks once it has a checkpoint."""
    for _ in range(5):  # on a busy machine the run may end before it is killed
        shutil.rmtree(folder / name, ignore_errors=True)
        with running(folder, 3, "tunnel.toml", "--quiet", "--out", name, *words) as process:
            while process.poll() is None and not list((folder / name).glob("chk*")):
                time.sleep(0.005)
            for pid in ranks_of(process):
                os.kill(pid, signal.SIGKILL)
            if process.wait(60) != 0:
                return
    pytest.fail("the run could not be killed at work")


def ranks_of(launcher: subprocess.Popen[str]) -> list[int]:
    """The processes that a launcher has started."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    return [int(pid) for pid in children.read_text().split()] if children.exists() else []


def test_a_flow_that_is_killed_goes_on_with_every_bit_on_other_ranks(whole: Path) -> None:
    words = ("--set", "lbm.end=2000", "--set", "output.checkpoint={ every = 100, keep = 2 }")
    words += ("--set", "task.wake.every=500")
    assert program(whole, 1, "tunnel.toml", "--quiet", "--out", "undisturbed", *words).returncode == 0
    killed_at_work(whole, "killed", words)
    assert sidestream.open(whole / "killed").events.last("step")["step"] < 2000

    done = unreported(whole, "run", "tunnel.toml", "--restart", "--out", "killed", "-n", 2, *words)
    assert done.returncode == 0, done.stderr

    assert state(whole / "killed") == state(whole / "undisturbed")
    assert results(whole / "killed") == results(whole / "undisturbed")
    forces = [sidestream.open(whole / name).forces("picture") for name in ("killed", "undisturbed")]
    assert forces[0].identical(forces[1])


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


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("lbm.viscosity=1e-5", "cannot be stable"),
        ("lbm.viscosity=nan", "not a finite number"),
        ("initial.velocity=[nan, 0.0, 0.0]", "not a finite number"),
        ("edge.left.velocity=[nan, 0.0, 0.0]", "not a finite number"),
        ("edge.left.velocity=[0.18, 0.0, 0.0]", "Mach number of 0.312"),
        ("initial.velocity=[0.18, 0.0, 0.0]", "Mach number of 0.312"),
        ("mesh.cells=[1, 20, 1]", "flat along x or y"),
        ("mesh.cells=[40, 1, 1]", "flat along x or y"),
        ("lbm.end=10.5", "no whole number of steps"),
    ],
)
@pytest.mark.parametrize("verb", ["check", *slow("run")])  # a run checks what it begins with, as a picture shows above
def test_what_cannot_be_is_refused_before_a_run_begins(verb: str, setting: str, said: str, tunnel: Path) -> None:
    words = ("--out", "run", "-n", 1) if verb == "run" else ()
    done = command(tunnel, verb, "tunnel.toml", *words, "--set", setting)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert not (tunnel / "run").exists()


def test_vortices_that_are_too_fast_along_a_long_axis_are_refused_before_a_run_begins(tmp_path: Path) -> None:
    settings = (
        'simulation = "lbm"\n[mesh]\ncells = [2, {0}, 1]\nblock = {0}\n[initial]\nflow = "taylor-green"\nspeed = 0.02\n'
    )
    for cells, said in ((16, ""), (37, "a speed of 0.37 is a Mach number of 0.641")):
        (tmp_path / "vortices.toml").write_text(settings.format(cells))
        done = command(tmp_path, "check", "vortices.toml")
        assert done.returncode == (2 if said else 0), done.stderr
        assert said in done.stderr


def test_barriers_that_leave_no_fluid_are_refused(tunnel: Path) -> None:
    (tunnel / "wing.png").write_bytes(png(np.full((20, 40), 0)))
    done = program(tunnel, 2, "tunnel.toml", "--out", "run")
    assert done.returncode == 1
    assert done.stderr.count("barriers fill all cells") == 1


PUSHED = """simulation = "lbm"
[mesh]
cells = [16, 12, 1]
block = 3
[lbm]
viscosity = 0.02
force = [0.001, 0.0, 0.0]
end = {end}
[output]
checkpoint = {{ every = 50, keep = 2 }}
"""


def test_fluid_that_becomes_too_fast_is_named_as_it_happens(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(PUSHED.format(end=160), encoding="utf-8")
    (tmp_path / "fast.toml").write_text(PUSHED.format(end=220), encoding="utf-8")
    (tmp_path / "wild.toml").write_text(PUSHED.format(end=5000), encoding="utf-8")

    slow, fast, wild = (program(tmp_path, 2, f"{name}.toml", "--out", name) for name in ("slow", "fast", "wild"))

    assert (slow.returncode, fast.returncode) == (0, 0)
    assert "Mach" not in slow.stderr + slow.stdout
    assert "the fastest fluid has a Mach number of 0.346, above 0.3\n  --> step 200" in fast.stderr + fast.stdout
    (warning,) = sidestream.open(tmp_path / "wild").events.of("warning")
    assert warning["where"] == "step 200"
    assert wild.returncode == 1
    assert "and the speed 0.6 in the cell (" in wild.stderr
    assert "step 600" in wild.stderr
    assert sorted((tmp_path / "wild").glob("chk*"))[-1].stem == "chk00550"


@pytest.mark.parametrize("cells", [[2, 3, 1], [5, 2, 3], *slow([3, 2, 1], [37, 2, 1])])
def test_domains_of_few_cells_have_the_same_bits_on_any_ranks(cells: list[int], tmp_path: Path) -> None:
    text = PUSHED.format(end=50).replace("[16, 12, 1]", str(cells)).replace("block = 3", "block = 1")
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    found = []
    for ranks in (1, 2, 4):
        done = program(tmp_path, ranks, "run.toml", "--quiet", "--out", f"on_{ranks}")
        assert done.returncode == 0, done.stderr
        file = sidestream.open(sorted((tmp_path / f"on_{ranks}").glob("chk*"))[-1])
        found.append({name: file[name].values.tobytes() for name in file.quantities})

    assert found[0] == found[1] == found[2]


WALLS = """simulation = "lbm"
[mesh]
cells = {cells}
block = 4
[lbm]
viscosity = 0.1
end = 500
"""


@pytest.mark.parametrize(
    ("cells", "moving"),
    [
        ([16, 16, 1], {"right": [0.0, 0.05, 0.0], "top": [0.1, 0.0, 0.0]}),
        ([16, 16, 1], {"left": [0.0, -0.03, 0.0], "right": [0.0, 0.05, 0.0], "bottom": [0.02, 0.0, 0.0]}),
        ([8, 8, 8], {"right": [0.0, 0.05, 0.02], "top": [0.1, 0.0, 0.03], "front": [0.04, -0.02, 0.0]}),
    ],
)
def test_no_mass_is_lost_where_walls_that_move_meet(
    cells: list[int], moving: dict[str, list[float]], tmp_path: Path
) -> None:
    text = WALLS.format(cells=cells)
    for name in ["left", "right", "bottom", "top", "back", "front"][: 4 if cells[2] == 1 else 6]:
        text += f'[edge.{name}]\nkind = "wall"\nvelocity = {moving.get(name, [0.0, 0.0, 0.0])}\n'
    (tmp_path / "walls.toml").write_text(text)
    assert program(tmp_path, 2, "walls.toml", "--quiet", "--out", "run").returncode == 0
    assert sidestream.open(tmp_path / "run").events.last("run_end")["mass_error"] < 1e-12
