"""`sidestream steer` on a run that goes on, and the same run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, program, unreported
from sidestream.launch.launcher import mpi_environment
from steered import CONFIG, END_S, RANKS, Steered, cells_of, told


@pytest.fixture
def steered(tmp_path: Path) -> Iterator[Steered]:
    run = Steered(tmp_path)
    yield run
    run.kill()


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steered]:
    """One that no test changes."""
    run = Steered(tmp_path_factory.mktemp("steered"))
    write_arrays(run.folder)
    yield run
    run.kill()


def test_what_is_set_and_paused_is_told_in_the_events(steered: Steered) -> None:
    knobs = {knob["name"]: knob for knob in steered.asked("list")["knobs"]}
    assert knobs["hydro.cfl"]["value"] == 0.5
    assert knobs["hydro.cfl"]["maximum"] == 1.0
    why = "a shock comes [/see log]\x1b[2J"  # neither markup nor an order to the terminal
    assert steered.steer("set", "hydro.cfl", "0.25", "--why", why).returncode == 0
    assert steered.steer("pause").returncode == 0
    at = steered.wait_for_state("paused")["step"]
    assert steered.steer("edit", "pressure", "multiply", "2", "--cells", "0:4,0:8,0:8").returncode == 0
    assert steered.steer("set", "task.pdf.every", "5", "--at", str(at + 2)).returncode == 0
    assert steered.steer("step", "3").returncode == 0
    steered.wait_for(lambda: steered.status()["step"] == at + 3)
    assert steered.wait_for_state("paused")["step"] == at + 3
    table = steered.steer("status")
    assert "hydro.cfl" in table.stdout and "a shock comes [/see log]" in table.stdout and "\x1b" not in table.stdout

    assert steered.end() == 0
    change, *_ = steered.events("steering")
    assert (change["name"], change["old"], change["value"]) == ("hydro.cfl", 0.5, 0.25)
    assert change["why"] == why and "@" in change["who"]
    done = [(event["verb"], event["step"]) for event in steered.events("steering")][1:]
    assert done == [("pause", at), ("edit", at), ("step", at), ("set", at + 2), ("stop", at + 3)]
    assert (steered.run / f"chk{at + 3:05}.hdf5_chk").exists()


def test_a_python_program_steers(steered: Steered) -> None:
    run = sidestream.steer(steered.run)
    run.set("task.pdf.every", 1)
    at = run.pause(why="to look")
    steered.wait_for_state("paused")
    assert run.status()["step"] == at
    with pytest.raises(sidestream.Error, match=r"hydro\.clf"):
        run.set("hydro.clf", 0.3)
    with pytest.raises(sidestream.Error, match="no region"):
        run.edit("gas_density", ((0, 0, 0), (8, 8, 4.5)), 2.0)
    run.edit("gas_density", ((0, 0, 0), (8, 8, 4)), 2.0)
    run.resume()
    run.set("hydro.cfl", 0.3)
    assert run.outcome() == "done"
    steered.wait_for(lambda: run.status()["state"] == "running")
    at = run.pause()
    steered.wait_for_state("paused")
    run.step(3)
    steered.wait_for(lambda: run.status()["step"] == at + 3)
    assert steered.wait_for_state("paused")["step"] == at + 3
    assert steered.end() == 0
    assert steered.events("steering")[2]["value"]["cells"] == [[0, 0, 0], [4, 8, 8]]


def write_arrays(folder: Path) -> None:
    """Files that hold no real numbers, or not what they say."""
    ones = np.ones((4, 4, 4))
    arrays = {"ones": ones, "complex": ones + 1j, "dates": np.full((1, 1, 1), np.datetime64("2020-01-01"))}
    arrays["pairs"] = np.zeros((1, 1, 1), dtype=[("a", "f8"), ("b", "i4")])
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "empty.npy").touch()
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999, 999999, 999)}".ljust(117) + b"\n"
    (folder / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + head)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("set", "hydro.clf", "0.3"), "hydro.cfl"),
        (("set", "hydro.cfl", "2"), "1"),
        (("set", "hydro.cfl", "-0.5"), "must be between 0.001 and 1"),
        (("set", "hydro.cfl", "fast"), "number"),
        (("set", "hydro.cfl", "1e999"), "larger than any number"),
        (("pause", "--at", "-1"), "past"),
        (("edit", "velocity_x", "set", "1", "--cells", "0:1,0:1,0:1"), "pressure"),
        (("edit", "pressure", "set", "1", "--cells", "0:99,0:1,0:1"), "domain"),
        (("edit", "pressure", "set", "1", "--cells", "everything"), "0:8,0:8,0:4"),
        (("edit", "pressure", "set", "1"), "--where"),
        (("edit", "pressure", "set", "many", "--where", "pressure > 1"), "no number"),
        (("edit", "pressure", "set", "1", "--where", "presure > 1"), "`pressure`"),
        (("edit", "pressure", "set", "1", "--where", "pressure + 1"), "compare"),
        (("edit", "pressure", "set", "nan", "--cells", "0:1,0:1,0:1"), "finite"),
        (("edit", "pressure", "set", "1", "--cells", "4:0,0:4,0:4"), "no cells"),
        (("edit", "pressure", "set", "complex.npy", "--cells", "0:1,0:1,0:1"), "complex128"),
        (("edit", "pressure", "set", "dates.npy", "--cells", "0:1,0:1,0:1"), "datetime64"),
        (("edit", "pressure", "set", "pairs.npy", "--cells", "0:1,0:1,0:1"), "no real numbers"),
        (("edit", "pressure", "set", "empty.npy", "--cells", "0:1,0:1,0:1"), "empty.npy"),
        (("edit", "pressure", "set", "huge.npy", "--cells", "0:1,0:1,0:1"), "huge.npy"),
        (("edit", "pressure", "set", "ones.npy", "--cells", "0:4294967296,0:4,0:4"), "does not fit"),
        (("edit", "pressure", "set", "1", "--where", "x" * 100_000), "1000 characters"),
        (("edit", "pressure", "set", "missing.npy", "--cells", "0:1,0:1,0:1"), "missing.npy"),
        (("set", "hydro.riemann", "hlcc"), '"hllc"'),
        (("set", "output.checkpoint.asynchronous", "perhaps"), "true"),
    ],
)
def test_what_makes_no_sense_is_refused(unchanged: Steered, words: tuple[str, ...], complaint: str) -> None:
    done = unchanged.steer(*words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert unchanged.status()["state"] == "running"
    assert not unchanged.events("steering")


def test_an_edit_after_which_no_cell_could_go_on_is_refused_as_a_whole(steered: Steered) -> None:
    assert steered.steer("edit", "pressure", "add", "-1e30", "--cells", "0:2,0:2,0:2").returncode == 1
    done = steered.steer("edit", "gas_density", "multiply", "1e-300", "--cells", "0:2,0:2,0:2")
    assert done.returncode == 1
    assert "the edit was refused" in done.stderr and "too small" in done.stderr
    assert "too small" in json.dumps(steered.events("steering_refused")[0])
    assert steered.end() == 0
    assert [event["verb"] for event in steered.events("steering")] == ["stop"]


def test_the_same_run_again_on_other_ranks(steered: Steered) -> None:
    assert steered.steer("set", "hydro.cfl", "0.3").returncode == 0
    assert steered.steer("set", "task.pdf.every", "7").returncode == 0
    assert steered.steer("edit", "pressure", "multiply", "2", "--cells", "0:4,0:8,0:8").returncode == 0
    assert steered.steer("checkpoint").returncode == 0
    steered.wait_for(lambda: len(list(steered.run.rglob("*.nc"))) > 2)
    assert steered.end() == 0

    again = steered.folder / "again"
    done = program(steered.folder, 1, "run/config.toml", "--out", again, "--replay", "run/events.jsonl")
    assert done.returncode == 0, done.stderr
    results, checkpoints = list(steered.run.rglob("*.nc")), list(steered.run.glob("*.hdf5_chk"))
    assert len(results) > 2 and len(checkpoints) == 2
    for path in results:
        assert path.read_bytes() == (again / path.relative_to(steered.run)).read_bytes(), path.name
    for path in checkpoints:  # which tell the ranks that wrote them
        first, second = sidestream.open(path), sidestream.open(again / path.name)
        for name in first:
            assert np.array_equal(first[name], second[name]), (path.name, name)


REGION = ((0, 2, 4), (8, 14, 20))  # z, y, x
# Each rank gives the rows that are its turn.
SENDER = """
import numpy as np
from mpi4py import MPI
import sidestream
comm = MPI.COMM_WORLD
(z0, y0, x0), (z1, y1, x1) = region = {region}
whole = np.fromfunction(lambda z, y, x: 1.5 + z + 0.1 * y + 0.01 * x, (z1 - z0, y1 - y0, x1 - x0))
mine = [((z, y, x0), whole[z - z0:z - z0 + 4, y - y0:y - y0 + 1]) for z in range(z0, z1, 4) for y in range(y0, y1)]
run = sidestream.steer("run")
print(run.edit("gas_density", region, mine[comm.rank::comm.size], why="by hand", comm=comm))
try:
    run.edit("pressure", region, mine[comm.rank::comm.size] + mine[:1], comm=comm)
except sidestream.Error as problem:
    assert "overlap" in str(problem), problem
else:
    raise AssertionError("a cell came twice")
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_of_a_reader_give_an_array_in_their_own_layout(steered: Steered, ranks: int) -> None:
    run = sidestream.steer(steered.run)
    run.pause()
    steered.wait_for_state("paused")
    (steered.folder / "sender.py").write_text(SENDER.format(region=REGION))
    line = ["mpirun", "-n", str(ranks), sys.executable, "sender.py"]
    environment = mpi_environment(os.environ, ranks)
    sent = subprocess.run(line, cwd=steered.folder, env=environment, capture_output=True, text=True, timeout=END_S)
    assert sent.returncode == 0, sent.stderr
    assert steered.end() == 0
    (edit,) = (event for event in steered.events("steering") if event["verb"] == "edit")
    assert edit["cells"] == 8 * 12 * 16 and edit["why"] == "by hand"

    (z0, y0, x0), (z1, y1, x1) = REGION
    values = np.load(steered.run / edit["value"]["array"]["name"])
    assert np.array_equal(
        values, np.fromfunction(lambda z, y, x: 1.5 + z + 0.1 * y + 0.01 * x, (z1 - z0, y1 - y0, x1 - x0))
    )
    (checkpoint,) = steered.run.glob("*.hdf5_chk")
    assert np.array_equal(cells_of(checkpoint, "gas_density")[z0:z1, y0:y1, x0:x1], values)


def test_arrays_masks_and_conditions_are_made_again_on_other_ranks(steered: Steered) -> None:
    run = sidestream.steer(steered.run)
    run.pause()
    steered.wait_for_state("paused")
    random = np.random.default_rng(3)
    values = random.uniform(1.0, 2.0, (8, 12, 16))
    run.edit("gas_density", REGION, values, "multiply")
    run.edit("pressure", REGION, 0.5, where=values > 1.5)
    run.edit("pressure", None, 2.0, "multiply", where="pressure > 0.49 and gas_density > 0 and pressure < 0.51")
    np.save(steered.folder / "cloud.npy", np.full((2, 2, 2), 3.0))
    box = ("--cells", "0:2,0:2,0:2")
    assert steered.steer("edit", "gas_density", "set", steered.folder / "cloud.npy", *box).returncode == 0
    condition = ("--where", "pressure > 0.2 and gas_density < 2.9")
    assert steered.steer("edit", "gas_density", "multiply", "1.5", *condition).returncode == 0
    with pytest.raises(sidestream.Error, match="finite"):
        run.edit("pressure", REGION, np.full((8, 12, 16), np.nan))
    with pytest.raises(sidestream.Error, match="fit"):
        run.edit("pressure", REGION, values[1:])
    assert steered.steer("step", "4").returncode == 0
    steered.wait_for(lambda: len(steered.events("steering")) == 7)
    table = steered.steer("status").stdout
    assert "steering/00001.npy" in table and "where pressure" in table
    steered.wait_for_state("paused")
    assert steered.end() == 0
    edits = [event for event in steered.events("steering") if event["verb"] == "edit"]
    assert [event["cells"] for event in edits][:2] == [8 * 12 * 16, int((values > 1.5).sum())]
    assert 0 < edits[2]["cells"] < 32 * 16 * 16
    assert 0 < edits[4]["cells"] < 32 * 16 * 16

    again = steered.folder / "again"
    words = ("run/config.toml", "--out", again, "--replay", "run/events.jsonl")
    done = program(steered.folder, 1, *words)
    assert done.returncode == 0, done.stderr
    (checkpoint,) = steered.run.glob("*.hdf5_chk")
    for name in ("gas_density", "gas_total_energy", "gas_momentum_x"):
        assert np.array_equal(cells_of(checkpoint, name), cells_of(again / checkpoint.name, name)), name
    once_more = program(steered.folder, 2, "run/config.toml", "--out", "third", "--replay", "again/events.jsonl")
    assert once_more.returncode == 0, once_more.stderr

    array = steered.run / "steering" / "00001.npy"
    damaged = bytearray(array.read_bytes())
    damaged[-3] ^= 1
    array.write_bytes(damaged)
    refused = program(steered.folder, 1, *words, "--overwrite")
    assert refused.returncode == 2 and "damaged" in refused.stderr
    array.unlink()
    refused = program(steered.folder, 1, *words, "--overwrite")
    assert refused.returncode == 2 and "00001.npy" in refused.stderr
    assert (again / checkpoint.name).exists()  # refused before anything was replaced


STREAMED = (
    CONFIG
    + """
[task.live]
analysis = "readers"
transport = "stream"
every = 1
[stream]
wait_for = 1
"""
)
# The shock of the tube is there as soon as the gas is fast.
WATCHER = """
import sidestream
run = None
for snapshot in sidestream.stream("run", "live", quantities=["velocity_x"], patience=60):
    run = run or sidestream.steer("run")
    fastest = float(abs(snapshot["velocity_x"]).max())
    if fastest > 0.5 and snapshot.step > 3:
        run.set("hydro.cfl", 0.2, why=f"step {snapshot.step}: {fastest:.2f}")
        run.stop()
        break
"""


def test_a_script_that_reads_a_run_steers_it_by_what_it_finds(tmp_path: Path) -> None:
    (tmp_path / "tube.toml").write_text(STREAMED)
    (tmp_path / "watcher.py").write_text(WATCHER)
    watcher = subprocess.Popen([sys.executable, "watcher.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    done = program(tmp_path, RANKS, "tube.toml", "--out", "run")
    _, complaint = watcher.communicate(timeout=END_S)
    assert watcher.returncode == 0, complaint
    assert done.returncode == 0, done.stderr
    change, stop = told(tmp_path / "run", "steering")
    assert (change["name"], change["value"]) == ("hydro.cfl", 0.2)
    found = int(change["why"].split()[1].rstrip(":"))
    assert 3 < found <= change["step"] <= stop["step"]


def test_a_run_listens_where_its_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "tube.toml").write_text(CONFIG.replace("steering = true\n", ""))
    words = ("tube.toml", "-n", 1, "--set", "run.max_steps=1")

    for out, more in {"heard": ("--steer",), "deaf": ()}.items():
        assert unreported(tmp_path, "run", *words, "--out", out, *more).returncode == 0
        assert sidestream.open(tmp_path / out).config["run"].get("steering", False) == (out == "heard")


def test_a_run_that_does_not_listen_says_so(tmp_path: Path) -> None:
    (tmp_path / "tube.toml").write_text(CONFIG)
    words = ("tube.toml", "--out", "run", "--set", "run.max_steps=1", "--set", "run.steering=false")
    assert program(tmp_path, 1, *words).returncode == 0
    done = command(tmp_path, "steer", "run", "list")
    assert done.returncode == 1
    assert "--steer" in done.stderr


def test_a_replay_of_what_is_no_run_is_used_wrongly(tmp_path: Path) -> None:
    (tmp_path / "tube.toml").write_text(CONFIG)
    (tmp_path / "events.jsonl").write_text("step 3\n")
    done = program(tmp_path, 1, "tube.toml", "--replay", "events.jsonl")
    assert done.returncode == 2
    assert "events.jsonl:1" in done.stderr


JOBS = """simulation = "sod"
[mesh]
cells = [16, 8, 8]
block = 8
[run]
max_steps = 3
[task.pdf]
analysis = "pdf"
every = 1
isolate = true
deadline = "60 s"
"""


def test_a_job_that_was_late_is_late_again_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(JOBS)
    done = program(tmp_path, 1, "jobs.toml", "--out", "late", "--set", "task.pdf.deadline=0.001 s")
    assert done.returncode == 1
    late = told(tmp_path / "late", "job_ended")
    assert [event["step"] for event in late] == [0, 1, 2, 3]
    assert "deadline" in late[0]["message"]

    # As if the last three had been in time: the same deadline does not end them now.
    lines = (tmp_path / "late" / "events.jsonl").read_text().splitlines()
    kept = [line for line in lines if not ('"job_ended"' in line and json.loads(line)["step"] > 0)]
    (tmp_path / "events.jsonl").write_text("\n".join(kept) + "\n")
    words = ("--set", "task.pdf.deadline=0.001 s", "--replay", "events.jsonl")
    program(tmp_path, 1, "jobs.toml", "--out", "again", *words)
    again = tmp_path / "again"
    assert sorted(path.name for path in (again / "results" / "pdf").iterdir()) == ["00001.nc", "00002.nc", "00003.nc"]
    assert [(event["step"], event["message"]) for event in told(again, "analysis_failed")] == [(0, late[0]["message"])]
