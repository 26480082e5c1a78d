"""Runs that are killed, that find the disk full, that are told to stop: what is left is whole, and a restart goes on
to the bit.

A process is killed at a sample of the calls on files of the run, and in the slow tests at every single one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from configs import universe
from sidestream.attack.subjects import checkpoints, expect_back, newest_committed, numbers_in, state_in, step_of
from sidestream.launch.launcher import find_program, mpi_environment
from sidestream.runs.run import Run
from sidestream.runs.summary import bills
from tiers import slow
from whole_runs import unfinished

RANKS = 2
LIMIT_S = 120
LAST_STEP = 5
SAMPLE = 3  # of the calls of a rank
CONFIG = (
    universe(steps=LAST_STEP, box="8 Mpc", z_start=50, z_end=5, seed=3)
    + """[task.spectra]
analysis = "power_spectrum"
every = 1

[output]
checkpoint = { format = "sidestream", every = 1, keep = 2 }
"""
)


@dataclass
class Place:
    """A folder with a configuration, in which runs are made."""

    folder: Path

    def command(
        self,
        out: str,
        *words: str,
        ranks: int = RANKS,
        layer: dict[str, str] | None = None,
        largest_file: int | None = None,  # bytes
    ) -> list[str]:
        program = find_program()
        own = [str(program), "box.toml", "--out", out, *words]
        if layer is not None:
            library = program.parent / "libsidestream_io_layer.so"
            assert library.exists(), "the layer is installed beside the program"
            variables = {"LD_PRELOAD": str(library), "SIDESTREAM_IO_PATH": f"/{out}"} | layer
            own = ["env", *(f"{name}={value}" for name, value in variables.items()), *own]
        if largest_file is not None:
            # MPI's own memory between ranks is a file.
            own = ["env", "OMPI_MCA_btl=self,tcp", "prlimit", f"--fsize={largest_file}", *own]
        return ["mpirun", "-n", str(ranks), *own]

    def start(self, *words: str, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words, **options),  # type: ignore[arg-type]
            cwd=self.folder,
            env=mpi_environment(os.environ, RANKS),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
        """A run to its end, which must come in time."""
        process = self.start(*words, **options)
        return finish(process)


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    try:
        _, said = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()  # a launcher that hangs may not hear anything less; ranks end with it
        process.communicate()
        pytest.fail("the run hangs")
    return subprocess.CompletedProcess(process.args, process.returncode, "", said)


@pytest.fixture(scope="module")
def place(whole_run: Path) -> Place:
    """A folder with an undisturbed run `whole`."""
    return Place(whole_run)


def results(run: Path, task: str = "*") -> dict[str, dict[str, bytes]]:
    found = sorted(run.glob(f"results/{task}/*.nc"))
    return {str(path.relative_to(run / "results")): numbers_in(path) for path in found}


def expect_as_undisturbed(place: Place, out: str, undisturbed: str = "whole") -> None:
    whole, other = place.folder / undisturbed, place.folder / out
    assert [path.name for path in checkpoints(other)] == [path.name for path in checkpoints(whole)]
    assert numbers_in(checkpoints(other)[-1]) == numbers_in(checkpoints(whole)[-1])
    assert results(other) == results(whole)
    assert not unfinished(other)
    assert not (other / "pending").exists()


def go_on(place: Place, out: str, *words: str, undisturbed: str) -> int:
    """After whatever happened to the run `out`: it goes on from the newest checkpoint that was committed, or begins
    again where there is none, and ends as ever. The step of that checkpoint, 0 without."""
    newest = newest_committed(place.folder / out, interval=1)
    again = place.run(out, *words, "--restart")
    if newest is None:
        assert again.returncode != 0
        assert again.stderr.count("error: ") == 1, again.stderr
        again = place.run(out, *words, "--overwrite")
    assert again.returncode == 0, again.stderr
    if newest is not None:
        expect_back(place.folder / out, newest)
    expect_as_undisturbed(place, out, undisturbed)
    return step_of(newest) if newest else 0


# Checkpoints to which a rank writes by itself what is as small as here: rank and words of the run.
WRITTEN_BY: dict[str, tuple[int, tuple[str, ...]]] = {
    "one_file": (0, ("--set", "output.checkpoint.format=sidestream")),
    "many_files": (1, ("--set", "output.checkpoint.format=files")),
    "master": (0, ("--set", "output.checkpoint.files=2")),
    "part": (1, ("--set", "output.checkpoint.files=2")),
}


@pytest.fixture(scope="module")
def calls_of_rank(place: Place) -> Callable[[str], int]:
    """The calls on files that the rank of a name makes in an undisturbed run `counted_NAME`."""

    @cache
    def counted(name: str) -> int:
        rank, words = WRITTEN_BY[name]
        count = place.folder / f"count_{name}"
        layer = {"SIDESTREAM_IO_COUNT": str(count), "SIDESTREAM_IO_CALLS": "all"}
        done = place.run(f"counted_{name}", *words, layer=layer)
        assert done.returncode == 0, done.stderr
        return int(json.loads(Path(f"{count}.{rank}.json").read_text())["matching_calls"])

    return counted


def sample(calls: int) -> list[int]:
    return sorted({1 + round(i * (calls - 1) / (SAMPLE - 1)) for i in range(SAMPLE)})


def every(calls: int) -> list[int]:
    return list(range(1, calls + 1))


EACH_ONCE = [("one_file", "kill"), ("many_files", "torn")]
OTHERS = [way for way in product(WRITTEN_BY, ("kill", "torn")) if way not in EACH_ONCE]


@pytest.mark.parametrize("chosen", [sample, *slow(every)])
@pytest.mark.parametrize(("name", "fault"), [*EACH_ONCE, *slow(*OTHERS)])
def test_a_rank_killed_at_any_call_loses_nothing(
    place: Place, calls_of_rank: Callable[[str], int], name: str, fault: str, chosen: Callable[[int], list[int]]
) -> None:
    calls = calls_of_rank(name)
    rank, words = WRITTEN_BY[name]
    came_back = []
    for n in chosen(calls):
        shutil.rmtree(place.folder / "killed", ignore_errors=True)
        layer = {"SIDESTREAM_IO_FAULT": fault, "SIDESTREAM_IO_FAULT_AT": str(n)}
        layer |= {"SIDESTREAM_IO_RANK": str(rank), "SIDESTREAM_IO_CALLS": "all"}

        done = place.run("killed", *words, layer=layer)

        if done.returncode == 0:  # what is told along the way varies a little
            assert n > 0.9 * calls, f"nothing happened at call {n} of {calls}"
            expect_as_undisturbed(place, "killed", f"counted_{name}")
        else:
            came_back.append(go_on(place, "killed", *words, undisturbed=f"counted_{name}"))
    assert came_back[0] == 0, "what was there before the first call?"
    assert came_back[-1] >= LAST_STEP - 1, f"only the checkpoint of step {came_back[-1]} was committed at the end"


@pytest.mark.parametrize("fault", ["enospc", *slow("eio")])
def test_a_checkpoint_that_fails_is_told_and_the_run_goes_on(place: Place, fault: str) -> None:
    shutil.rmtree(place.folder / "failed", ignore_errors=True)
    layer = {
        "SIDESTREAM_IO_PATH": "/failed/pending/.chk00003",
        "SIDESTREAM_IO_FAULT": fault,
        "SIDESTREAM_IO_FAULT_AT": "3+",
    }

    done = place.run("failed", layer=layer)

    assert done.returncode == 0, done.stderr
    assert "goes on" in done.stderr
    log = Run(place.folder / "failed").events
    assert [event["step"] for event in log.of("checkpoint_failed")] == [3]
    assert [event["step"] for event in log.of("checkpoint")] == [1, 2, 4, 5]
    expect_as_undisturbed(place, "failed")


def test_a_run_without_any_checkpoint_that_it_was_to_write_says_so_and_fails(place: Place) -> None:
    shutil.rmtree(place.folder / "without", ignore_errors=True)
    layer = {
        "SIDESTREAM_IO_PATH": "/without/pending/.chk",
        "SIDESTREAM_IO_FAULT": "enospc",
        "SIDESTREAM_IO_FAULT_AT": "3+",
    }

    done = place.run("without", layer=layer)

    assert done.returncode == 1
    assert "error: the run has lost all of 5 checkpoints" in done.stderr and "no restart is possible" in done.stderr
    run = Run(place.folder / "without")
    assert run.status == "incomplete" and "checkpoints" in run.reason
    assert run.events.last("run_end")["lost"] == {"results": 0, "plotfiles": 0, "checkpoints": 5}


WITHOUT_SIDECAR = ("--set", "output.checkpoint.keep=3")
WITH_SIDECAR = (*WITHOUT_SIDECAR, "--set", "coupling.sidecars=1", "--set", "task.spectra.transport=in-transit")


ON_THREADS = (*WITHOUT_SIDECAR, "--set", "task.spectra.transport=async")


@pytest.mark.parametrize(
    "words", [WITHOUT_SIDECAR, WITH_SIDECAR, *slow((ON_THREADS,))], ids=["in_situ", "in_transit", "async"]
)
def test_a_result_that_cannot_be_written_is_lost_until_a_restart_makes_it(place: Place, words: tuple[str, ...]) -> None:
    shutil.rmtree(place.folder / "lost", ignore_errors=True)
    run = place.folder / "lost"
    layer = {
        "SIDESTREAM_IO_PATH": "/lost/results/spectra/.00003",
        "SIDESTREAM_IO_FAULT": "enospc",
        "SIDESTREAM_IO_FAULT_AT": "1+",
    }

    done = place.run("lost", *words, layer=layer)

    assert done.returncode == 1
    assert "error: the run has lost 1 of 6 results of `spectra` (1 could not be written)" in done.stderr
    log = Run(run).events
    assert log.last("run_end")["status"] == "incomplete"
    assert log.last("run_end")["lost"] == {"results": 1, "plotfiles": 0, "checkpoints": 0}
    assert log.last("results_lost")["tasks"] == {"spectra": 1}
    assert "1 of 6 results of `spectra`" in Run(run).reason
    newest = committed_step(run)
    assert newest in ((2,) if words is WITHOUT_SIDECAR else (1, 2)), "a checkpoint after the lost result counts"
    assert [path.name[:8] for path in run.glob("pending/chk*")] == ["chk00005"], "the newest of those, for `--from`"

    again = place.run("lost", *words, "--restart")

    assert "make room, then go on with `--restart`" in done.stderr
    assert again.returncode == 0, again.stderr
    assert Path(Run(run).events.last("restart")["path"]).name.startswith(f"chk{newest:05d}")
    assert results(run) == results(place.folder / "whole")
    assert committed_step(run) == LAST_STEP
    assert not (run / "pending").exists()
    assert bills(Run(run).events, ["spectra"])[0].failed == 0


def test_a_plot_file_that_cannot_be_written_is_lost_until_a_restart_makes_it(place: Place) -> None:
    words = ("--set", "output.plotfile.every=1", "--set", "output.plotfile.format=raw")
    layer = {"SIDESTREAM_IO_PATH": "/unplotted/.plt00004", "SIDESTREAM_IO_FAULT": "enospc"}
    layer["SIDESTREAM_IO_FAULT_AT"] = "1+"
    run = place.folder / "unplotted"

    done = place.run(run.name, *words, layer=layer)

    assert done.returncode == 1
    assert "error: the run has lost 1 plot file\n" in done.stderr
    assert committed_step(run) == 3
    assert place.run(run.name, *words, "--restart").returncode == 0
    assert len(list(run.glob("plt*"))) == LAST_STEP + 1
    assert committed_step(run) == LAST_STEP


def test_a_checkpoint_can_be_asked_for_at_the_redshift_of_the_start(place: Place) -> None:
    words = ("--set", "output.checkpoint.every=0", "--set", "output.checkpoint.at_redshift=[50]")

    done = place.run("at_start", *words, "--set", "run.max_steps=2")

    assert done.returncode == 0, done.stderr
    assert [event["step"] for event in Run(place.folder / "at_start").events.of("checkpoint_committed")] == [0, 2]


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no `prlimit`")
@pytest.mark.parametrize(
    ("share", "lost", "hint"),
    [
        (0.5, "6 plot files; all of 5 checkpoints", "no restart is possible"),
        (1.4, "6 plot files", "there is no checkpoint of before: make room, then run again with `--overwrite`"),
    ],
    ids=["checkpoints", "plots"],
)
def test_a_file_beyond_the_largest_size_allowed_is_one_that_cannot_be_written(
    place: Place, share: float, lost: str, hint: str
) -> None:
    limit = round(share * size_of(checkpoints(place.folder / "whole")[-1]))
    run = place.folder / f"limited_{share}"
    plots = ("--set", "output.plotfile.every=1", "--set", "output.plotfile.format=sidestream")

    done = place.run(run.name, *plots, largest_file=limit)

    assert done.returncode == 1, done.stderr
    assert f"error: the run has lost {lost}\n" in done.stderr
    assert "File too large" in done.stderr
    log = Run(run).events
    assert log.last("run_end")["status"] == "incomplete"
    assert log.last("run_end")["step"] == LAST_STEP
    assert results(run) == results(place.folder / "whole")
    # There is nothing to go on from, and that is what the hint says.
    assert checkpoints(run) == []
    assert hint in done.stderr
    assert place.run(run.name, "--overwrite").returncode == 0
    expect_as_undisturbed(place, run.name)


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", disk], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"not allowed here: to mount a file system: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no `mount`")
@pytest.mark.parametrize("percent", [35, 99, *slow(0, 1, 10, 60, 85)])
def test_a_disk_with_room_for_part_of_a_checkpoint_loses_no_earlier_one(place: Place, percent: int) -> None:
    checkpoint_bytes = size_of(checkpoints(place.folder / "whole")[-1])
    with small_disk(place.folder, 64 << 20) as disk:
        first = place.run("disk/run", "--set", "run.max_steps=2")
        assert first.returncode == 0, first.stderr
        kept = {path.name: numbers_in(path) for path in checkpoints(disk / "run")}
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        with (disk / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, max(1, free - checkpoint_bytes * percent // 100))

        began = (disk / "run/config.toml").stat().st_mtime
        full = place.run("disk/run", "--restart")

        has_lost = len(results(disk / "run")) < LAST_STEP + 1
        assert full.returncode == (1 if has_lost else 0)
        said = "error: the run has lost" if (disk / "run/config.toml").stat().st_mtime > began else "config.toml"
        assert (said in full.stderr) == has_lost
        assert "No space left" in full.stderr
        for name, arrays in kept.items():
            assert numbers_in(disk / "run" / name) == arrays
        assert not unfinished(disk / "run")
        (disk / "ballast").unlink()
        committed = newest_committed(disk / "run", interval=1)
        assert committed is not None
        again = place.run("disk/run", "--restart")
        assert again.returncode == 0, again.stderr
        expect_back(disk / "run", committed)
        assert committed_step(disk / "run") == LAST_STEP
        newest = checkpoints(disk / "run")[-1]
        assert numbers_in(newest) == numbers_in(place.folder / "whole" / newest.name)
        assert results(disk / "run") == results(place.folder / "whole")


def ranks_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that an `mpirun` of ours has started."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


def wait_for_a_checkpoint(run: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not checkpoints(run) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    assert checkpoints(run), "no checkpoint came"


def told_until(process: subprocess.Popen[str], words: str) -> str:
    """What a run says up to the line with `words`; it is ended where these do not come in time."""
    assert process.stderr is not None
    limit = threading.Timer(LIMIT_S, process.terminate)
    limit.start()
    told = ""
    for line in iter(process.stderr.readline, ""):
        told += line
        if words in line:
            break
    limit.cancel()
    assert words in told, told
    return told


LONG = ("--set", "run.max_steps=100000", "--set", "cosmology.z_end=0", "--set", "output.checkpoint.every=20")


@pytest.mark.parametrize("name", ["SIGUSR1", *slow("SIGTERM")])
def test_a_signal_causes_a_last_checkpoint(place: Place, name: str) -> None:
    run = place.folder / name
    process = place.start(name, *LONG, "--set", "output.checkpoint.keep=0")
    wait_for_a_checkpoint(run, process)

    for pid in ranks_of(process):
        os.kill(pid, getattr(signal, name))
    done = finish(process)

    log = Run(run).events
    assert log.last("run_end")["status"] == "interrupted", done.stderr
    last = log.last("step")["step"]
    assert log.last("checkpoint_committed")["step"] == committed_step(run) == last
    again = place.run(name, "--restart", "--set", f"run.max_steps={last + 1}")
    assert again.returncode == 0, again.stderr
    assert Run(run).events.last("restart")["step"] == last


def test_a_folder_removed_while_it_is_written_to_is_told_and_no_rank_hangs(place: Place) -> None:
    alone = Place(place.folder / "alone")  # without tasks, whose results would make the folder again
    alone.folder.mkdir()
    task, output = CONFIG.index("[task"), CONFIG.index("[output]")
    (alone.folder / "box.toml").write_text(CONFIG[:task] + CONFIG[output:])
    run = alone.folder / "removed"
    process = alone.start("removed", "--set", "run.max_steps=100000", "--set", "cosmology.z_end=0")
    wait_for_a_checkpoint(run, process)

    run.rename(place.folder / "elsewhere")
    shutil.rmtree(place.folder / "elsewhere")
    told = told_until(process, "was the folder removed")  # by the next checkpoint
    for pid in ranks_of(process):  # a last checkpoint is tried, and the run ends: in a few steps, on a busy machine too
        os.kill(pid, signal.SIGTERM)
    done = finish(process)

    assert not run.exists()
    assert done.returncode == 1  # as told, before its end
    assert "MPI_ABORT" not in done.stderr
    assert "goes on" in told
    assert "No such file or directory" in told


STEPS_IN_TRANSIT = 40
IN_TRANSIT = (
    *(
        "--set",
        "coupling.sidecars=1",
        "--set",
        f"run.max_steps={STEPS_IN_TRANSIT}",
        "--set",
        "output.checkpoint.every=2",
    ),
    *("--set", "task.spectra.transport=in-transit", "--set", "output.checkpoint.keep=3"),
)


def rank_of(pid: int) -> int:
    """-1 while the program has not begun."""
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    found = [int(word.partition(b"=")[2]) for word in words if word.startswith(b"OMPI_COMM_WORLD_RANK=")]
    return found[0] if found else -1


def sidecar_of(process: subprocess.Popen[str], number: int = RANKS - 1) -> int:
    """The process of the last rank, or of another, once it is there."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        ranks = {rank_of(pid): pid for pid in ranks_of(process)}
        if number in ranks:
            return ranks[number]
        time.sleep(0.02)
    pytest.fail("the sidecar does not start")


def let_crawl(pid: int, until: Callable[[], object]) -> None:
    """Lets a process work for a tenth of the time only: its analyses fall behind the steps."""
    deadline = time.monotonic() + LIMIT_S
    while not until():
        assert time.monotonic() < deadline, "what was waited for did not come"
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.045)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.005)


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.005)


def committed_step(run: Path) -> int:
    found = checkpoints(run)
    return step_of(found[-1]) if found else 0


@pytest.fixture(scope="module")
def in_transit(place: Place) -> Path:
    """An undisturbed run with a sidecar."""
    done = place.run("whole_in_transit", *IN_TRANSIT)
    assert done.returncode == 0, done.stderr
    return place.folder / "whole_in_transit"


@pytest.mark.parametrize("seconds", [0.05, *slow(0.0, 0.3)])
def test_killed_with_sidecars_behind_no_result_is_missing_and_none_is_there_twice(
    place: Place, in_transit: Path, seconds: float
) -> None:
    run = place.folder / f"killed_in_transit_{seconds}"
    process = place.start(run.name, *IN_TRANSIT)
    sidecar = sidecar_of(process)
    let_crawl(sidecar, lambda: checkpoints(run))
    os.kill(sidecar, signal.SIGSTOP)  # what is written from now on stays pending
    wait_for(lambda: bool(list(run.glob("pending/chk*"))))
    time.sleep(seconds)
    for pid in ranks_of(process):
        os.kill(pid, signal.SIGKILL)
    finish(process)

    committed = newest_committed(run, interval=2, may_wait=True)
    assert committed is not None
    newest = step_of(committed)
    (pending,) = run.glob("pending/chk*")
    assert pending.name > committed.name
    of_before = {name for name in results(in_transit) if int(Path(name).stem) <= newest}
    assert of_before <= set(results(run)), "a result of before the committed checkpoint is missing"

    again = place.run(run.name, *IN_TRANSIT, "--restart")
    assert again.returncode == 0, again.stderr
    expect_back(run, committed)
    assert results(run) == results(in_transit)
    assert numbers_in(checkpoints(run)[-1]) == numbers_in(checkpoints(in_transit)[-1])
    assert not (run / "pending").exists()


def killed_at_work(place: Place, name: str, words: tuple[str, ...], count: int) -> Path:
    """Kills all ranks of a run when it has committed and has so many results; the newest committed checkpoint."""
    run = place.folder / name
    for _ in range(5):  # on a busy machine the run may end before it is killed
        process = place.start(name, *words, "--overwrite", ranks=3)
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline and not (len(list(run.glob("results/*/*.nc"))) >= count and checkpoints(run)):
            time.sleep(0.001)
        for pid in ranks_of(process):
            os.kill(pid, signal.SIGKILL)
        finish(process)
        newest = newest_committed(run, interval=2, may_wait=True)
        assert newest is not None, "no checkpoint was ever committed"
        if step_of(newest) < STEPS_IN_TRANSIT:
            return newest
    pytest.fail("the run could not be killed at work")


WAYS = {
    "a_sidecar": IN_TRANSIT,
    "two_sidecars": (*IN_TRANSIT, "--set", "coupling.sidecars=2"),
    "threads": (*IN_TRANSIT, "--set", "task.spectra.transport=async"),
    "threads_and_a_disk": (
        *(*IN_TRANSIT, "--set", "task.spectra.transport=async", "--set", "coupling.queue=80 KiB"),
        *("--set", "coupling.when_full=spill", "--set", "coupling.spill=spill"),
    ),
}


@pytest.mark.parametrize("way", ["a_sidecar", "threads_and_a_disk", *slow("two_sidecars", "threads")])
@pytest.mark.parametrize("count", [8, *slow(3, 20)])
def test_killed_at_any_moment_while_all_ranks_work_nothing_is_missing_or_there_twice(
    place: Place, in_transit: Path, count: int, way: str
) -> None:
    run = place.folder / f"killed_at_work_{count}_{way}"
    words = WAYS[way]

    newest = killed_at_work(place, run.name, words, count)

    of_before = {name for name in results(in_transit) if int(Path(name).stem) <= step_of(newest)}
    assert of_before <= set(results(run)), "a result of before the committed checkpoint is missing"

    again = place.run(run.name, *words, "--restart", ranks=3)
    assert again.returncode == 0, again.stderr
    expect_back(run, newest)
    assert results(run) == results(in_transit)
    assert state_in(checkpoints(run)[-1]) == state_in(checkpoints(in_transit)[-1])
    assert not (run / "pending").exists()


def interrupt_and_expect_all_results(process: subprocess.Popen[str], run: Path) -> None:
    for pid in ranks_of(process):
        os.kill(pid, signal.SIGINT)
    done = finish(process)

    log = Run(run).events
    assert log.last("run_end")["status"] == "interrupted", done.stderr
    last = log.last("step")["step"]
    assert committed_step(run) == last
    assert not (run / "pending").exists()
    assert len(results(run)) == last + 1


def test_a_signal_commits_the_last_checkpoint_with_all_results_of_threads(place: Place) -> None:
    run = place.folder / "interrupted_with_threads"
    process = place.start(run.name, *WAYS["threads"], "--set", "run.max_steps=100000", "--set", "cosmology.z_end=0")
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and not checkpoints(run):
        time.sleep(0.01)

    interrupt_and_expect_all_results(process, run)


def test_a_signal_commits_the_last_checkpoint_with_all_results_of_before(place: Place) -> None:
    run = place.folder / "interrupted_in_transit"
    process = place.start(run.name, *IN_TRANSIT, "--set", "run.max_steps=100000", "--set", "cosmology.z_end=0")
    sidecar = sidecar_of(process)
    let_crawl(sidecar, lambda: checkpoints(run))

    interrupt_and_expect_all_results(process, run)
