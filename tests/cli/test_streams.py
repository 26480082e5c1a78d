"""Streams between jobs: what readers get, in whatever way, and what becomes of a run and its readers when one goes."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream
from calls import Done, attached, command, program, running
from configs import universe
from sidestream.streams import ask, make_keys, status
from test_faults import results
from tiers import slow
from waiting import until
from wire import Wire

CELLS = 24
STEPS = 6
BOX = f"""
simulation = "sedov"
[run]
max_steps = {STEPS}
[mesh]
cells = [{CELLS}, {CELLS}, {CELLS}]
block = 8
"""
LIVE = """
[task.live]
analysis = "readers"
transport = "stream"
every = 1
"""
SLICES = """
[task.slices]
analysis = "slice"
fields = ["gas_density", "pressure"]
transport = "stream"
every = 1
"""
STORED = """
[output]
plotfile = { format = "nyx", every = 1 }
"""
WAIT = "[stream]\nwait_for = {}\n"
Results = dict[str, dict[str, bytes]]


def write(folder: Path, *parts: str) -> None:
    (folder / "box.toml").write_text("".join(parts))


def run(folder: Path, ranks: int = 1, *words: object) -> Done:
    return program(folder, ranks, "box.toml", "--quiet", "--out", "run", *words, limit_s=120)


def events(folder: Path, name: str, file: str = "events.jsonl") -> list[dict[str, Any]]:
    lines = (folder / "run" / file).read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def reader_of(folder: Path, script: str, ranks: int = 1) -> subprocess.Popen[str]:
    """A Python program that has attached to the run `run` in the folder, as soon as that is there."""
    (folder / "reader.py").write_text(script)
    line = [sys.executable, "reader.py"]
    if ranks > 1:
        line = ["mpirun", "--oversubscribe", "-n", str(ranks), *line]
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.Popen(line, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def is_open(folder: Path) -> bool:
    return (folder / "run" / "stream.json").exists()


def made(folder: Path, task: str) -> int:
    """How many results there are: for those who wait, as `results` reads them all."""
    return len(list(folder.glob(f"run/results/{task}/*.nc")))


def expected_results(folder: Path, box: str) -> Results:
    """Of a run that makes its slices itself."""
    (folder / "whole.toml").write_text(box + SLICES)
    done = program(folder, 2, "whole.toml", "--quiet", "--out", "whole", "--set", "task.slices.transport=in-situ")
    assert done.returncode == 0, done.stderr
    return results(folder / "whole", "slices")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What jobs are to make of `BOX`."""
    return expected_results(tmp_path_factory.mktemp("expected"), BOX)


@pytest.fixture(scope="module")
def expected_of_steered(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same of `STEERED`."""
    return expected_results(tmp_path_factory.mktemp("steered"), STEERED)


PAIRS = [(m, n) for m in (1, 2, 3, 4) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("technique", "writers", "readers"), [("bounding-box", 2, 3), ("write-block", 3, 2), *slow(("auto", 2, 3))]
)
def test_results_are_those_of_in_situ_from_any_ranks_to_any(
    technique: str, writers: int, readers: int, expected: Results, tmp_path: Path
) -> None:
    expect_equal([(writers, readers)], technique, expected, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("technique", ["bounding-box", "write-block"])
def test_results_are_those_of_in_situ_from_all_ranks_to_all(technique: str, expected: Results, tmp_path: Path) -> None:
    expect_equal(PAIRS, technique, expected, tmp_path)


def expect_equal(pairs: list[tuple[int, int]], technique: str, expected: Results, tmp_path: Path) -> None:
    write(tmp_path, BOX, SLICES, WAIT.format(1))
    assert len(expected) == STEPS + 1
    for writers, readers in pairs:
        with attached(tmp_path, "run", "slices", readers, "--technique", technique) as reader:
            done = run(tmp_path, writers, "--overwrite")
            assert done.returncode == 0, done.stderr
            assert reader.wait(60) == 0, reader.stdout.read()
        assert results(tmp_path / "run", "slices") == expected, (writers, readers)
        steps = events(tmp_path, "attach_step", "events.attach.slices.jsonl")
        used = {step["technique"] for step in steps}
        assert used == ({"bounding-box", "write-block"} if technique == "auto" else {technique})
        (tmp_path / "run" / "events.attach.slices.jsonl").unlink()


LAYOUTS = {
    "columns": "bounding-box",
    "rectangles": "write-block",
    "rows": "write-block",
    "slabs": "bounding-box",
    "blocks": "write-block",
}
ASSEMBLING = f"""
import numpy as np
from mpi4py import MPI
import sidestream
comm = MPI.COMM_WORLD
layouts = {LAYOUTS}
streams = [
    sidestream.stream("run", "live", quantities=["gas_density", "velocity_y"], layout=layout, technique=technique,
                      patience=60, comm=comm)
    for layout, technique in layouts.items()
]
got = {{}}
for snapshots in zip(*streams, strict=True):
    for layout, snapshot in zip(layouts, snapshots, strict=True):
        for name in snapshot.fields:
            blocks = comm.gather(snapshot.blocks(name))
            if comm.rank == 0:
                cells = np.full(({CELLS}, {CELLS}, {CELLS}), np.nan)
                for (z, y, x), block in (block for part in blocks for block in part):
                    nz, ny, nx = block.shape
                    assert np.isnan(cells[z:z + nz, y:y + ny, x:x + nx]).all()  # no cell twice
                    cells[z:z + nz, y:y + ny, x:x + nx] = block
                got[f"{{layout}}:{{name}}:{{snapshot.step}}"] = cells
if comm.rank == 0:
    np.savez("got.npz", **got)
"""


def cells_of(folder: Path, field: str, step: int) -> np.ndarray:
    plot = sidestream.open(folder / "run" / f"plt{step:05d}")
    return np.asarray(plot[field])


@pytest.mark.parametrize("ranks", [4, *slow(2, 3)])
def test_readers_lay_out_the_cells_as_they_like(ranks: int, tmp_path: Path) -> None:
    """One job of each layout, at the same run."""
    write(tmp_path, BOX, LIVE, STORED, WAIT.format(len(LAYOUTS)))
    reader = reader_of(tmp_path, ASSEMBLING, ranks)
    assert run(tmp_path, 2).returncode == 0
    assert reader.wait(60) == 0
    got = np.load(tmp_path / "got.npz")
    assert len(got.files) == len(LAYOUTS) * 2 * (STEPS + 1)
    for step in (0, STEPS):
        for name in ("gas_density", "velocity_y"):
            expected = cells_of(tmp_path, name, step)
            for layout in LAYOUTS:
                assert (got[f"{layout}:{name}:{step}"] == expected).all(), (layout, name, step)


def test_a_reader_is_given_the_region_and_the_precision_it_asks_for(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, STORED, WAIT.format(2))
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        region = ((0, 8, 0), (8, 16, 24))
        part = sidestream.stream(tmp_path / "run", quantities=["pressure"], region=region)
        single = sidestream.stream(tmp_path / "run", quantities="gas_density", precision="single")
        for of_part, of_single in zip(part, single, strict=True):
            step = of_part.step
            assert of_single.step == step
            assert of_part.fields == ["pressure"]
            whole = cells_of_when_written(tmp_path, "pressure", step)
            blocks = of_part.blocks("pressure")
            assert sorted(block.origin for block in blocks) == [(0, 8, x) for x in (0, 8, 16)]
            for (z, y, x), cells in blocks:
                assert (cells == whole[z : z + 8, y : y + 8, x : x + 8]).all()
            density = cells_of_when_written(tmp_path, "gas_density", step)
            assert (np.asarray(of_single["gas_density"]) == density.astype(np.float32)).all()
        assert job.wait(60) == 0
    of_all = 8 * CELLS**3  # bytes of a quantity
    assert part.state["bytes"] == (STEPS + 1) * of_all // 9
    assert single.state["bytes"] == (STEPS + 1) * of_all // 2


def cells_of_when_written(folder: Path, field: str, step: int) -> np.ndarray:
    until(lambda: (folder / "run" / f"plt{step:05d}" / "Header").exists())
    return cells_of(folder, field, step)


def test_nothing_is_packed_when_nobody_listens(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, SLICES)
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert not events(tmp_path, "publish")
    unheard = [(event["step"], event["last_step"], event["publishes"]) for event in events(tmp_path, "unheard")]
    assert unheard == 2 * [(0, STEPS, STEPS + 1)]  # of each of two tasks
    assert not is_open(tmp_path)  # nobody comes to a run that is over


def test_only_what_some_reader_demands_is_sent(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, WAIT.format(2))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        one = sidestream.stream(tmp_path / "run", quantities=["gas_density"])
        two = sidestream.stream(tmp_path / "run", quantities=["gas_density", "pressure"])
        for first, second in zip(one, two, strict=True):
            assert (np.asarray(first["gas_density"]) == np.asarray(second["gas_density"])).all()
            assert "pressure" not in first
        assert job.wait(60) == 0
    assert {event["bytes"] for event in events(tmp_path, "publish")} == {2 * 8 * CELLS**3}  # once for both


LAST = 40
LONG = BOX.replace(f"max_steps = {STEPS}", f"max_steps = {LAST}") + "[sedov]\nend = 1.0\n"
STEERED = LONG.replace("[run]", "[run]\nsteering = true").replace(str(CELLS), "16")  # small: it is paused in time
STEP_BYTES = 8 * CELLS**3


@pytest.mark.parametrize("policy", ["drop-oldest", "drop-newest", "latest"])
def test_a_slow_reader_is_left_steps_out_that_both_sides_count(policy: str, tmp_path: Path) -> None:
    queue = f'[coupling]\nwhen_full = "{policy}"\nqueue = "{3.5 * STEP_BYTES:.0f} B"\n'
    write(tmp_path, LONG, LIVE, queue, WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        slow = sidestream.stream(tmp_path / "run", quantities=["gas_density"])
        steps = []
        for snapshot in slow:
            steps.append(snapshot.step)
            if len(steps) == 1:
                until(lambda: len(events(tmp_path, "publish")) >= 20)
        assert job.wait(60) == 0
    dropped = [event["step"] for event in events(tmp_path, "stream_dropped")]
    assert steps == sorted(steps)
    assert dropped
    assert sorted(steps + dropped) == list(range(41))  # each step is given or counted, none both
    assert slow.state["dropped"] == len(dropped)
    if policy == "drop-newest":
        assert steps[:3] == [0, 1, 2]  # what waited is kept
    else:
        assert steps[1] > 10  # what waited has given way
    assert max(event["queue_bytes"] for event in events(tmp_path, "publish")) <= 3.5 * STEP_BYTES


def status_of(folder: Path) -> dict[str, Any]:
    try:
        return status(folder / "run", timeout=2)
    except sidestream.Error:
        return {"published": -1, "readers": []}


@pytest.mark.parametrize("policy", ["block", "spill"])
def test_a_slow_reader_gets_every_step(policy: str, tmp_path: Path) -> None:
    queue = f'[coupling]\nwhen_full = "{policy}"\nspill = "spill"\nqueue = "{2.5 * STEP_BYTES:.0f} B"\n'
    last = 16
    box = LONG.replace(f"max_steps = {LAST}", f"max_steps = {last}")
    write(tmp_path, box, LIVE, STORED, queue, WAIT.format(1))
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        slow = sidestream.stream(tmp_path / "run", quantities=["gas_density"])
        given = {}
        for snapshot in slow:
            if snapshot.step == 1 and policy == "spill":  # the run ends all its steps meanwhile
                until(lambda: status_of(tmp_path)["published"] == last + 1)
            given[snapshot.step] = np.asarray(snapshot["gas_density"])
        assert job.wait(60) == 0
    assert list(given) == list(range(last + 1))
    for step, cells in given.items():
        assert (cells == cells_of(tmp_path, "gas_density", step)).all(), step
    actions = {event["action"] for event in events(tmp_path, "publish")}
    assert actions == ({"sent"} if policy == "block" else {"sent", "stored"})


HANGING = """
import sys, time, sidestream
for snapshot in sidestream.stream("run", "live", quantities=["gas_density"], patience=60):
    print(snapshot.step, flush=True)
    if snapshot.step == 2:
        time.sleep(1000)
"""


@pytest.mark.parametrize("sign", [signal.SIGKILL, *slow(signal.SIGSTOP)])
def test_a_reader_that_dies_or_hangs_is_let_go_and_nobody_else_loses_anything(sign: int, tmp_path: Path) -> None:
    queue = f'[coupling]\nwhen_full = "drop-oldest"\nqueue = "{4.5 * STEP_BYTES:.0f} B"\n'
    write(tmp_path, LONG, LIVE, SLICES, queue, '[stream]\nwait_for = 2\ntimeout = "2 s"\n')
    victim = reader_of(tmp_path, HANGING)
    try:
        with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
            until(lambda: is_open(tmp_path))
            steps = []
            for snapshot in sidestream.stream(tmp_path / "run", "live", quantities=["gas_density"]):
                steps.append(snapshot.step)
                if snapshot.step == 4:
                    victim.send_signal(sign)
                    until(lambda: events(tmp_path, "stream_leave"))
            assert job.wait(60) == 0
    finally:
        victim.kill()
        victim.wait()
    assert len(steps) + len([e for e in events(tmp_path, "stream_dropped") if str(os.getpid()) in e["reader"]]) == 41
    left = events(tmp_path, "stream_leave")[0]
    assert "silent" in left["reason"]


def test_a_run_that_is_killed_is_told_of_in_time(tmp_path: Path) -> None:
    write(tmp_path, STEERED, LIVE, WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        pause_at(tmp_path, 10)
        reader = sidestream.stream(tmp_path / "run", quantities=["gas_density"], timeout=3)
        next(reader)
        os.kill(process_of(tmp_path), signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(sidestream.Error, match="silent for 3 s"):
            for _ in reader:
                pass
        assert time.monotonic() - began < 60
        job.wait(60)


def pause_at(folder: Path, step: int) -> None:
    """Lets the run, which waits for its reader, go no further than to `step`: it does not end before its fault."""
    steering(folder).pause(at=step)


def steering(folder: Path) -> sidestream.Steering:
    """Of a run, once it listens."""
    run = sidestream.steer(folder / "run")
    until(lambda: listens(run))
    return run


def listens(run: sidestream.Steering) -> bool:
    try:
        return bool(run.status())
    except sidestream.Error:
        return False


def process_of(folder: Path) -> int:
    return int(json.loads((folder / "run" / "stream.json").read_text())["process"])


CHECKPOINTS = '[output]\ncheckpoint = { format = "sidestream", every = 4 }\n'


ONCE = [
    ("run", 2, "spill", 20),
    ("reader", 1, "block", 9),
    *slow(("run", 1, "block", 9), ("run", 2, "block", 12), ("reader", 2, "spill", 20)),
]


@pytest.mark.parametrize(("victim", "ranks", "policy", "moment"), ONCE)
def test_each_step_takes_effect_once_whoever_is_killed(
    victim: str, ranks: int, policy: str, moment: int, expected_of_steered: Results, tmp_path: Path
) -> None:
    queue = f'[coupling]\nwhen_full = "{policy}"\nspill = "spill"\n'
    write(tmp_path, STEERED, SLICES, CHECKPOINTS, queue, WAIT.format(1))
    words = ["--once", "--timeout", 3]
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        pause_at(tmp_path, moment + 6)
        with attached(tmp_path, "run", "slices", ranks, *words) as reader:
            until(lambda: made(tmp_path, "slices") > moment)
            if victim == "run":
                os.kill(process_of(tmp_path), signal.SIGKILL)
                job.wait(60)
                again = run(tmp_path, 3, "--restart")
                assert again.returncode == 0, again.stderr
                assert reader.wait(60) == 0
            else:
                kill_group(reader)
                until(lambda: steering(tmp_path).status()["state"] == "paused")
                steering(tmp_path).resume()
                with attached(tmp_path, "run", "slices", ranks, *words) as another:
                    assert job.wait(100) == 0
                    assert another.wait(60) == 0
    assert results(tmp_path / "run", "slices") == expected_of_steered
    done = events(tmp_path, "analysis", "events.attach.slices.jsonl")
    repeated = len(done) - len({event["step"] for event in done})
    assert repeated <= (victim == "reader")  # the one whose result was there, and nobody knew
    if victim == "run":
        lines = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
        (restart,) = [line for line in lines if line["event"] == "restart"]
        later = [line["step"] for line in lines[lines.index(restart) :] if line["event"] == "publish"]
        assert later == list(range(restart["step"] + 1, LAST + 1))  # those after the checkpoint came again


@pytest.mark.parametrize("patience", [0, 30])
def test_a_reader_that_was_let_go_as_silent_is_told_so_or_comes_back(patience: int, tmp_path: Path) -> None:
    endless = BOX.replace(f"max_steps = {STEPS}", "steering = true") + "[sedov]\nend = 1e3\n"
    write(tmp_path, endless, LIVE, '[coupling]\nwhen_full = "latest"\n', '[stream]\nwait_for = 1\ntimeout = "2 s"\n')
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        reader = reader_of(tmp_path, SLEEPER.format(patience=patience, timeout=30))
        assert reader.stdout is not None
        assert reader.stdout.readline().strip().isdigit()  # 0, or later where the run was ahead
        steering(tmp_path).pause()
        reader.send_signal(signal.SIGSTOP)
        (left,) = until(lambda: events(tmp_path, "stream_leave"))
        reader.send_signal(signal.SIGCONT)
        if patience:
            until(lambda: any(one["is_here"] for one in status_of(tmp_path)["readers"]))
        steered = steering(tmp_path)
        steered.step()
        assert steered.outcome() == "done"
        steered.stop()
        told = reader.communicate(timeout=60)[0]
        assert job.wait(60) == 0
    if patience:
        assert int(told.splitlines()[-1]) == events(tmp_path, "step")[-1]["step"]
    else:
        assert "silent" in left["reason"]
        assert re.search(r"the run has let this reader go: (it was silent|this run does not know)", told)


@pytest.mark.parametrize("policy", ["spill", *slow("block")])
def test_what_waits_for_a_reader_that_gave_up_is_kept_for_it_or_named_as_lost(
    policy: str, expected_of_steered: Results, tmp_path: Path
) -> None:
    queue = f'[coupling]\nwhen_full = "{policy}"\nspill = "spill"\n'
    write(tmp_path, STEERED, SLICES, queue, WAIT.format(1))
    words = ["run", "--task", "slices", "--once", "--timeout", 2]
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        pause_at(tmp_path, 10)  # it goes on when the reader is back
        with running(tmp_path, 1, *words, name="sidestream-attach") as reader:
            until(lambda: made(tmp_path, "slices") > 4)
            os.kill(process_of(tmp_path), signal.SIGSTOP)
            assert reader.wait(60) != 0  # the run was silent
        os.kill(process_of(tmp_path), signal.SIGCONT)
        with running(tmp_path, 1, *words, name="sidestream-attach") as another:
            until(lambda: any(one["is_here"] for one in status_of(tmp_path)["readers"]))
            steering(tmp_path).resume()
            assert job.wait(100) == 0
            code = another.wait(60)
    found = results(tmp_path / "run", "slices")
    lost = [step for event in events(tmp_path, "attach_end", "events.attach.slices.jsonl") for step in event["lost"]]
    unheard = {event["step"] for event in events(tmp_path, "publish") if event["action"] == "dropped"}
    for event in events(tmp_path, "unheard"):
        unheard |= set(range(event["step"], event["last_step"] + 1))
    assert {int(Path(name).stem) for name in found} | set(lost) | unheard == set(range(LAST + 1))
    assert found.items() <= expected_of_steered.items()
    if policy == "spill":
        assert found == expected_of_steered
    assert (code != 0) == bool(lost)


def test_a_reader_that_is_attached_finds_a_run_that_begins_anew_at_once(tmp_path: Path) -> None:
    write(tmp_path, STEERED, LIVE, CHECKPOINTS, WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        pause_at(tmp_path, 8)
        reader = reader_of(tmp_path, SLEEPER.format(patience=120, timeout=300))
        until(lambda: steering(tmp_path).status()["state"] == "paused")
        os.kill(process_of(tmp_path), signal.SIGKILL)
        job.wait(60)
    assert run(tmp_path, 2, "--restart").returncode == 0  # which waits for the reader, but not as long as its `timeout`
    assert reader.communicate(timeout=60)[0].splitlines()[-1] == str(LAST)


SLEEPER = """
import sidestream
try:
    for snapshot in sidestream.stream(
        "run", "live", quantities=["gas_density"], patience={patience}, timeout={timeout}
    ):
        print(snapshot.step, flush=True)
except sidestream.Error as problem:
    print(problem)
"""


def kill_group(process: subprocess.Popen[str]) -> None:
    """The launcher and what it has started, at one blow."""
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    for victim in [*children, str(process.pid)]:
        os.kill(int(victim), signal.SIGKILL)


def test_who_wants_each_step_is_refused_where_steps_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, LONG, LIVE, '[coupling]\nwhen_full = "latest"\n', WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run"):
        until(lambda: is_open(tmp_path))
        with pytest.raises(sidestream.Error, match='policy is "latest"'):
            sidestream.stream(tmp_path / "run", once_as="me")


def secured(folder: Path) -> str:
    make_keys(folder / "keys")
    return '[stream]\nlisten = "tcp://127.0.0.1:*"\nkeys = "keys"\nwait_for = 1\n'


def key_of(folder: Path) -> str:
    return (folder / "stream.pub").read_text().strip()


def spoil(folder: Path, how: str) -> None:
    if how == "halves changed":
        for name in ("stream.pub", "stream.key"):
            (folder / name).chmod(0o600)
        (folder / "stream.key").write_text((folder / "stream.pub").read_text())
    elif how == "of another pair":
        make_keys(folder.with_name("other"))
        (folder / "stream.pub").write_text(key_of(folder.with_name("other")))
    elif how == "open to all":
        folder.chmod(0o777)
    else:
        folder.chmod(0o755)
        (folder / "allowed").chmod(0o775)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("halves changed", "not the public half"),
        ("of another pair", "not the public half"),
        ("open to all", "others can write there"),
        ("allowed open to a group", "others can write there"),
    ],
)
def test_keys_that_protect_nothing_are_refused_before_work_starts(how: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, secured(tmp_path))
    assert program(tmp_path, 1, "box.toml", "--check").returncode == 0
    spoil(tmp_path / "keys", how)
    checked = program(tmp_path, 1, "box.toml", "--check")
    assert checked.returncode != 0
    assert said in checked.stderr


def test_an_unknown_key_is_refused_and_logged_and_a_known_one_let_in(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, secured(tmp_path))
    make_keys(tmp_path / "stranger")
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        address = json.loads((tmp_path / "run" / "stream.json").read_text())
        unknown = f"does not know the key {re.escape(key_of(tmp_path / 'stranger'))}"
        began = time.monotonic()
        with pytest.raises(sidestream.Error, match=unknown):
            sidestream.stream(tmp_path / "run", keys=tmp_path / "stranger", timeout=300, patience=300)
        with pytest.raises(sidestream.Error, match=unknown):
            status(tmp_path / "run", keys=tmp_path / "stranger")
        assert time.monotonic() - began < 100  # nothing is waited for
        with pytest.raises(sidestream.Error, match="there is no key"):
            sidestream.stream(tmp_path / "run", timeout=60)
        with pytest.raises(sidestream.Error, match="the run asks for keys"):
            sidestream.stream(address["address"], timeout=60)
        stranger = f"{address['address']}#{key_of(tmp_path / 'stranger')}"
        with pytest.raises(sidestream.Error, match="not the one that was given for it"):
            sidestream.stream(stranger, keys=tmp_path / "keys", timeout=60)
        by_address = f"{address['address']}#{address['key']}"
        snapshots = list(sidestream.stream(by_address, quantities=["pressure"], keys=tmp_path / "keys"))
        assert [snapshot.step for snapshot in snapshots] == list(range(STEPS + 1))
        assert job.wait(60) == 0
    (refused, *_) = events(tmp_path, "stream_refused")
    assert refused["key"] == key_of(tmp_path / "stranger")
    assert events(tmp_path, "stream_open")[0]["encrypted"]


@contextmanager
def listening(closes: bool) -> Iterator[str]:
    """The address of something that is no run: it hangs up at once, or says nothing."""
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    kept.append(peer)
                    if closes:
                        peer.close()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.slow
@pytest.mark.parametrize("has_keys", [True, False])
def test_who_hangs_up_again_and_again_has_other_keys_and_who_says_nothing_is_waited_for(
    has_keys: bool, tmp_path: Path
) -> None:
    make_keys(tmp_path / "keys")
    keys = {"keys": tmp_path / "keys"} if has_keys else {}
    end = f"#{key_of(tmp_path / 'keys')}" if has_keys else ""
    message = "the run hangs up" if has_keys else "the run asks for keys"
    with listening(closes=True) as address, pytest.raises(sidestream.Error, match=message):
        sidestream.stream(address + end, timeout=120, **keys)
    with listening(closes=False) as address, pytest.raises(sidestream.Error, match="which says nothing"):
        sidestream.stream(address + end, timeout=32, patience=0, **keys)


def test_keys_are_not_left_unused_without_a_word(tmp_path: Path) -> None:
    write(tmp_path, LONG, LIVE, WAIT.format(1))
    make_keys(tmp_path / "keys")
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run"):
        until(lambda: is_open(tmp_path))
        with pytest.raises(sidestream.Error, match="nothing that travels would be encrypted"):
            sidestream.stream(tmp_path / "run", keys=tmp_path / "keys", timeout=60)
        address = json.loads((tmp_path / "run" / "stream.json").read_text())["address"]
        with pytest.raises(sidestream.Error, match="the run hangs up"):
            sidestream.stream(f"{address}#{key_of(tmp_path / 'keys')}", keys=tmp_path / "keys", timeout=60)


@pytest.mark.parametrize("hard", [400, *slow(None)])
def test_silent_strangers_leave_files_for_checkpoints_and_readers(hard: int | None, tmp_path: Path) -> None:
    """Where the system allows more files, and where it does not."""
    output = '[output]\ncheckpoint = { format = "sidestream", every = 5, keep = 2 }\n'
    write(tmp_path, LONG, LIVE, secured(tmp_path), output)
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if min(most, 65536) < 3000:
        pytest.skip("not allowed here: more than a few files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (150, most))  # of the run, which inherits it
    strangers: list[socket.socket] = []
    try:
        with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run"):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
            until(lambda: is_open(tmp_path))
            if hard is not None:
                resource.prlimit(process_of(tmp_path), resource.RLIMIT_NOFILE, (hard, hard))
            host, port = json.loads((tmp_path / "run" / "stream.json").read_text())["address"][6:].split(":")
            with suppress(ConnectionError):  # nobody is heard any more for a while
                for _ in range(1000):
                    strangers.append(socket.create_connection((host, int(port))))
            reader = sidestream.stream(tmp_path / "run", quantities=["pressure"], keys=tmp_path / "keys", timeout=30)
            assert len([next(reader) for _ in range(12)]) == 12
            until(lambda: len(events(tmp_path, "checkpoint_committed")) > 1)
        assert not events(tmp_path, "checkpoint_failed")
    finally:
        for stranger in strangers:
            stranger.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))


@pytest.mark.parametrize("by", ["stream", "attach"])
def test_a_colleague_is_let_in_by_his_public_key(by: str, tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, SLICES.replace('transport = "stream"\n', ""), secured(tmp_path))
    make_keys(tmp_path / "colleague")
    (tmp_path / "keys" / "allowed" / "colleague.pub").write_text((tmp_path / "colleague" / "stream.pub").read_text())
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        if by == "stream":
            reader = sidestream.stream(tmp_path / "run", quantities=["pressure"], keys=tmp_path / "colleague")
            assert len(list(reader)) == STEPS + 1
        else:
            point = json.loads((tmp_path / "run" / "stream.json").read_text())
            words = ("--task", "slices", "--stream", "live", "--keys", "colleague", "--out", "else", "-n", 1)
            done = command(tmp_path, "attach", f"{point['address']}#{point['key']}", *words)
            assert done.returncode == 0, done.stderr
            assert len(results(tmp_path / "else", "slices")) == STEPS + 1
        assert job.wait(60) == 0


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_with_keys_nobody_on_the_way_can_read_what_travels(is_encrypted: bool, tmp_path: Path) -> None:
    text = secured(tmp_path) if is_encrypted else '[stream]\nlisten = "tcp://127.0.0.1:*"\nwait_for = 1\n'
    write(tmp_path, BOX, LIVE, text)
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        point = json.loads((tmp_path / "run" / "stream.json").read_text())
        wire = Wire(int(point["address"].rsplit(":", 1)[1]))
        key = f"#{point['key']}" if is_encrypted else ""
        keys = tmp_path / "keys" if is_encrypted else None
        reader = sidestream.stream(f"tcp://127.0.0.1:{wire.port}{key}", quantities=["pressure"], keys=keys)
        assert len(list(reader)) == STEPS + 1
        assert job.wait(60) == 0
    assert (b"pressure" in wire.heard) != is_encrypted


def test_nonsense_from_strangers_does_not_disturb_a_run(tmp_path: Path) -> None:
    write(tmp_path, LONG, LIVE, '[stream]\nlisten = "tcp://127.0.0.1:*"\nwait_for = 1\n')
    random = np.random.default_rng(5)
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        port = int(json.loads((tmp_path / "run" / "stream.json").read_text())["address"].rsplit(":", 1)[1])
        strangers = []
        for size in (0, 1, 10, 64, 1000, 100000):
            stranger = socket.create_connection(("127.0.0.1", port))
            stranger.sendall(random.bytes(size))
            strangers.append(stranger)  # left open
        greeting = bytes.fromhex("ff00000000000000017f") + b"\x03\x00NULL" + bytes(48)
        for frame in (b"\x06\xff\xff\xff\xff\xff\xff\xff\xff", b"\x04\x05READY" + bytes(3), random.bytes(300)):
            stranger = socket.create_connection(("127.0.0.1", port))
            stranger.sendall(greeting + frame)
            strangers.append(stranger)
        steps = [snapshot.step for snapshot in sidestream.stream(tmp_path / "run", quantities=["pressure"])]
        assert steps == list(range(41))
        assert job.wait(60) == 0


@pytest.mark.parametrize(
    "request_",
    [
        {"kind": "hello"},
        {"kind": "hello", "version": 99, "who": "", "task": "", "once_as": "", "layout": "", "ranks": 1, "demand": {}},
        {"kind": "state", "sequence": 1},
        {"kind": "leave"},
        {"kind": "step"},
        {"kind": 7},
        {},
        {"kind": "hello", "version": 1, "who": "x" * 10000, "task": "", "once_as": "", "layout": "", "ranks": 1},
    ],
    ids=lambda request: json.dumps(request)[:40],
)
def test_a_request_that_makes_no_sense_is_refused_in_a_sentence(request_: dict[str, Any], shared_run: Path) -> None:
    with pytest.raises(sidestream.Error) as problem:
        ask(shared_run, request_, timeout=60)
    assert "waited" not in str(problem.value)
    assert len(str(problem.value)) > 20


@pytest.fixture(scope="module")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run that waits for its first reader as long as the tests need it."""
    folder = tmp_path_factory.mktemp("shared")
    write(folder, BOX, LIVE, SLICES, WAIT.format(1))
    with running(folder, 1, "box.toml", "--quiet", "--out", "run"):
        until(lambda: is_open(folder))
        yield folder / "run"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "several streams"),
        ({"task": "lives"}, "live"),
        ({"task": "live", "technique": "fast"}, "technique"),
        ({"task": "live", "layout": "cubes"}, "layout"),
        ({"task": "live", "precision": "half"}, "precision"),
        ({"task": "live", "region": ((0, 0), (1, 1))}, "region"),
        ({"task": "live", "region": ((4, 4, 4), (4, 8, 8))}, "region is empty"),
        ({"task": "live", "level": -1}, "level"),
    ],
)
def test_what_a_reader_cannot_have_is_told_at_once(options: dict[str, Any], message: str, shared_run: Path) -> None:
    with pytest.raises(sidestream.Error, match=message):
        sidestream.stream(shared_run, **options)


def test_a_quantity_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        with pytest.raises(sidestream.Error, match="gas_density"):
            list(sidestream.stream(tmp_path / "run", quantities=["gas_densty"]))
        assert job.wait(60) == 0


def test_where_no_run_streams_the_command_says_so(tmp_path: Path) -> None:
    done = command(tmp_path, "attach", "nowhere", "--task", "halos", "-n", "1")
    assert done.returncode == 2
    assert "there is no stream of this run" in done.stderr


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ('[stream]\nlisten = "tcp://*:5555"\n', "other machines reach this address"),
        ('[stream]\nlisten = "nowhere"\n', "is no address"),
        ('[stream]\nlisten = "tcp://127.0.0.1:99999"\n', "is no address"),
        ('[stream]\nlisten = "tcp://127.0.0.1:-1"\n', "is no address"),
        ('[stream]\nlisten = "tcp://127.0.0.1:80x"\n', "is no address"),
        ('[stream]\nkeys = "keys"\n', "a local stream has no keys"),
        ('[stream]\nlisten = "tcp://127.0.0.1:*"\nkeys = "keys"\n', "there is no key"),
        ('[stream]\nlistne = "local"\n', "listen"),
        ('[task.own]\nanalysis = "readers"\nevery = 1\n', 'add transport = "stream"'),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(tables: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, BOX, tables)
    done = program(tmp_path, 1, "box.toml", "--check")
    assert done.returncode == 2
    assert message in done.stderr


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, secured(tmp_path))
    (tmp_path / "keys" / "stream.key").chmod(0o644)
    done = program(tmp_path, 1, "box.toml", "--check")
    assert done.returncode == 2
    assert "others can read this secret key" in done.stderr


def test_why_nothing_is_attached_is_said_once(tmp_path: Path) -> None:
    done = command(tmp_path, "attach", "tcp://127.0.0.1:1#abc", "--task", "slices", "--out", "slices")
    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1
    assert "is no public key" in done.stderr


def test_keys_are_made_once(tmp_path: Path) -> None:
    first = command(tmp_path, "keys", "keys")
    assert first.returncode == 0
    assert first.stdout.strip() == (tmp_path / "keys" / "stream.pub").read_text().strip()
    assert (tmp_path / "keys" / "stream.key").stat().st_mode & 0o077 == 0
    second = command(tmp_path, "keys", "keys")
    assert second.returncode == 1
    assert "there are keys already" in second.stderr


def test_nothing_is_left_in_the_folder_of_temporary_files(tmp_path: Path) -> None:
    temporary = Path(tempfile.mkdtemp())  # short: the paths of sockets are
    write(tmp_path, BOX, LIVE)
    done = program(tmp_path, 1, "box.toml", "--quiet", "--out", "run", TMPDIR=str(temporary))
    assert done.returncode == 0
    assert not list(temporary.glob("sidestream-stream-*"))
    shutil.rmtree(temporary)


UNIVERSE = universe(cells=16, steps=3, box="10 Mpc", z_start=30, z_end=0, seed=3, power="eisenstein-hu")
HALOS = """
[task.halos]
analysis = "halos"
field = "dark_matter_density"
t_boundary = "1.02 mean"
t_halo = "1.05 mean"
finder = "iso-density"
every = 1
transport = "stream"
[task.fof]
analysis = "halos"
finder = "fof"
linking_length = 0.9
min_particles = 2
every = 1
transport = "stream"
"""


@pytest.mark.parametrize(("ours", "theirs"), [(2, 1), *slow((1, 1), (2, 2))])
def test_only_gateways_of_both_jobs_talk_with_each_other(ours: int, theirs: int, tmp_path: Path) -> None:
    write(tmp_path, UNIVERSE, HALOS, f"[stream]\nwait_for = 2\ngateways = {ours}\n")
    words = [word for task in ("halos", "fof") for word in ("--set", f"task.{task}.transport=in-situ")]
    assert program(tmp_path, 2, "box.toml", "--quiet", "--out", "whole", *words).returncode == 0
    with (
        attached(tmp_path, "run", "halos", 3, "--gateways", theirs) as one,
        attached(tmp_path, "run", "fof", 3, "--gateways", theirs) as other,
    ):
        done = run(tmp_path, 3)
        assert done.returncode == 0, done.stderr
        assert (one.wait(60), other.wait(60)) == (0, 0)
    expected = results(tmp_path / "whole")
    assert len(expected) == 8
    assert results(tmp_path / "run") == expected
    point = events(tmp_path, "attach_step", "events.attach.halos.jsonl")[-1]
    assert point["technique"] == "write-block"


def test_cells_are_compressed_on_the_way_up_to_a_bound(tmp_path: Path) -> None:
    by_name = {"gas_density": "zfp 1e-2", "*": "zstd"}
    cases: list[tuple[Any, dict[str, float]]] = [  # with the largest error of each quantity
        ("zstd", {"gas_density": 0.0, "pressure": 0.0}),
        ("zfp 1e-3", {"gas_density": 1e-3, "pressure": 1e-3}),
        (by_name, {"gas_density": 1e-2, "pressure": 0.0}),
    ]
    write(tmp_path, BOX, LIVE, STORED, WAIT.format(len(cases)))
    with running(tmp_path, 2, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        streams = [
            sidestream.stream(tmp_path / "run", quantities=["gas_density", "pressure"], compress=compress)
            for compress, _ in cases
        ]
        largest = [0.0] * len(cases)
        for snapshots in zip(*streams, strict=True):
            for name in ("gas_density", "pressure"):
                written = cells_of_when_written(tmp_path, name, snapshots[0].step)
                for case, ((compress, errors), snapshot) in enumerate(zip(cases, snapshots, strict=True)):
                    off = float(np.abs(np.asarray(snapshot[name]) - written).max())
                    assert off <= errors[name], (compress, name)
                    largest[case] = max(largest[case], off)
        assert job.wait(60) == 0
    assert [error > 0.0 for error in largest] == [False, True, True]
    for stream, (compress, _) in zip(streams, cases, strict=True):
        assert stream.state["bytes"] < (STEPS + 1) * 2 * STEP_BYTES / 2, compress


def test_a_bound_that_nobody_can_know_is_refused(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        with pytest.raises(sidestream.Error, match="a bound of its own"):
            list(sidestream.stream(tmp_path / "run", quantities="pressure", compress="zfp 1e-3 relative"))
        assert job.wait(60) == 0


def test_ctrl_c_ends_the_wait_for_a_step(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, WAIT.format(2))  # so that the first one waits
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        waiting = subprocess.Popen(
            [sys.executable, "-c", "import sidestream\nnext(sidestream.stream('run'))"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: status_of(tmp_path)["readers"])
        waiting.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in waiting.communicate(timeout=60)[1]
        until(lambda: not status_of(tmp_path)["readers"])
        job.kill()


@pytest.mark.parametrize("policy", ["spill", *slow("block")])
def test_a_run_ends_where_a_reader_of_each_step_does_not_come_back(policy: str, tmp_path: Path) -> None:
    text = f'[coupling]\nwhen_full = "{policy}"\nspill = "spill"\nqueue = "{4.5 * STEP_BYTES:.0f} B"\n'
    write(tmp_path, LONG, SLICES, CHECKPOINTS, text, '[stream]\nwait_for = 1\ntimeout = "2 s"\n')
    with (
        attached(tmp_path, "run", "slices", 1, "--once") as reader,
        running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job,
    ):
        until(lambda: made(tmp_path, "slices") > 4)
        kill_group(reader)
        assert job.wait(60) == 0
    found = {int(Path(name).stem) for name in results(tmp_path / "run", "slices")}
    unheard = {event["step"] for event in events(tmp_path, "publish") if event["action"] == "dropped"}
    for event in events(tmp_path, "unheard"):
        unheard |= set(range(event["step"], event["last_step"] + 1))
    lost = {event["step"] for event in events(tmp_path, "stream_dropped")}
    lost |= {step for event in events(tmp_path, "stream_leave") for step in event.get("lost", [])}
    assert found | unheard | lost == set(range(41))  # each step is accounted for


def test_results_of_another_run_are_not_taken_for_those_of_this_one(tmp_path: Path) -> None:
    write(tmp_path, BOX, SLICES, WAIT.format(1))
    found = []
    for gamma in (1.4, 1.6, 1.6):
        with attached(tmp_path, "run", "slices", 1, "--out", "else") as reader:
            done = run(tmp_path, 1, "--overwrite", "--set", f"hydro.gamma={gamma}")
            assert done.returncode == 0, done.stderr
            assert reader.wait(60) == 0, reader.stdout.read()
        found.append(results(tmp_path / "else", "slices"))
    assert len(found[0]) == STEPS + 1
    assert found[0] != found[1]
    assert found[1] == found[2]


def test_a_task_that_the_run_does_itself_needs_a_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, BOX, LIVE, SLICES.replace('transport = "stream"\n', ""), WAIT.format(1))
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        refused = command(tmp_path, "attach", "run", "--task", "slices", "--stream", "live", "-n", 1)
        assert refused.returncode == 2
        assert "with --out" in refused.stderr
        done = command(tmp_path, "attach", "run", "--task", "slices", "--stream", "live", "--out", "else", "-n", 3)
        assert done.returncode == 0, done.stderr
        assert job.wait(60) == 0
    assert results(tmp_path / "else", "slices") == results(tmp_path / "run", "slices")
    assert f"step {STEPS}" in done.stderr


def test_links_are_those_of_in_situ_when_a_job_begins_anew(tmp_path: Path) -> None:
    halos = HALOS.split("[task.fof]")[0] + "link = true\n"
    queue = '[coupling]\nqueue = "512 KiB"\n'  # two steps, so that the run is never far ahead
    universe = UNIVERSE.replace("max_steps = 3", "max_steps = 12\nsteering = true")
    write(tmp_path, universe, halos, CHECKPOINTS, queue, WAIT.format(1))
    whole = program(tmp_path, 1, "box.toml", "--quiet", "--out", "whole", "--set", "task.halos.transport=in-situ")
    assert whole.returncode == 0, whole.stderr
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        pause_at(tmp_path, 9)
        with attached(tmp_path, "run", "halos", 2, "--once", "--timeout", 3) as reader:
            until(lambda: made(tmp_path, "halos") > 5)
            os.kill(process_of(tmp_path), signal.SIGKILL)
            job.wait(60)
            kill_group(reader)
    with attached(tmp_path, "run", "halos", 2, "--once") as reader:
        assert run(tmp_path, 1, "--restart").returncode == 0
        assert reader.wait(60) == 0, reader.stdout.read()
    assert results(tmp_path / "run", "halos") == results(tmp_path / "whole", "halos")


@pytest.mark.slow
def test_memory_does_not_grow_with_readers_that_vanish(tmp_path: Path) -> None:
    text = '[coupling]\nwhen_full = "drop-oldest"\nqueue = "64 MiB"\n[stream]\nwait_for = 1\ntimeout = "2 s"\n'
    write(tmp_path, LONG.replace(str(CELLS), "64").replace("max_steps = 40", "max_steps = 4000"), LIVE, text)
    hanging = HANGING.replace("snapshot.step == 2", "True").replace('["gas_density"]', '"*"')
    with running(tmp_path, 1, "box.toml", "--quiet", "--out", "run") as job:
        until(lambda: is_open(tmp_path))
        process = process_of(tmp_path)
        seen = []
        for _ in range(6):
            victim = reader_of(tmp_path, hanging)
            until(lambda: any(reader["holds"] or reader["given"] for reader in status_of(tmp_path)["readers"]))
            victim.kill()
            victim.wait()
            until(lambda: not status_of(tmp_path)["readers"])
            seen.append(resident_bytes(process))
        job.kill()
    assert seen[-1] < seen[1] + 20e6, seen  # a step of all quantities takes 27 MB


def resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
