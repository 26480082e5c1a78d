"""What an analysis does to a run: what a process survives is reported and skipped, what it does not ends the run in
good order, or a job of its own. The simulation's state is the same to the bit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from calls import Done, command
from processes import descendants, kill
from sidestream.attack.subjects import checkpoints, state_in
from sidestream.launch.launcher import mpi_environment
from sidestream.runs.run import Run
from test_faults import results
from tiers import slow

PROGRAM = Path(__file__).parents[2] / "build" / "release" / "tests" / "hostile_run"
RANKS = 2
LIMIT_S = 300
STEPS = 3
CONFIG = f"""simulation = "sedov"

[mesh]
cells = [16, 16, 1]
block = 8

[sedov]
end = 1000

[run]
max_steps = {STEPS}

[output]
checkpoint = {{ format = "sidestream", every = 1, keep = {STEPS} }}
"""
SURVIVED = {"throw": "no halo in sight", "throw int": "no std::exception", "bad_alloc": "not enough memory"}
LAST = f"chk{STEPS:05d}"
HARM = 2  # the step from which on the tests have it done


def task(name: str, does: str, *lines: str) -> str:
    return "\n".join([f"\n[task.{name}]", 'analysis = "hostile"', f'does = "{does}"', *lines, ""])


def start(folder: Path, out: str, *words: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, "mpirun", "-n", str(RANKS), str(PROGRAM), f"{out}.toml", "--quiet", "--out", out, *words],
        cwd=folder,
        env=mpi_environment(os.environ, RANKS),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, out: str, tasks: str = "", *words: str, before: Sequence[str] = ()) -> Done:
    (folder / f"{out}.toml").write_text(CONFIG + tasks)
    process = start(folder, out, *words, before=before)
    try:
        _, said = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        kill(descendants(process.pid) | {process.pid})
        process.communicate()
        pytest.fail("the run hangs")
    return Done(process.args, process.returncode, "", said)


def state(folder: Path, out: str) -> dict[str, dict[str, bytes]]:
    return {path.name[:8]: state_in(path) for path in checkpoints(folder / out)}


def expect_the_state_of_an_undisturbed_run(folder: Path, out: str) -> None:
    """Of the last step, and of the others whose checkpoint did not give way to one that waited for analyses."""
    own, whole = state(folder, out), state(folder, "whole")
    assert LAST in own
    assert own == {name: whole[name] for name in own}


def failures(folder: Path, out: str) -> dict[str, str]:
    """The message of each task that failed."""
    return {event["task"]: event["message"] for event in Run(folder / out).events.of("analysis_failed")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `whole`, whose one task is sound."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built (ninja -C build/release hostile_run)")
    folder = tmp_path_factory.mktemp("hostile")
    done = run(folder, "whole", task("good", "nothing", "every = 1"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("transport", ["in-situ", "async", "in-transit", "file"])
def test_what_a_process_survives_is_reported_and_skipped_in_every_transport(place: Path, transport: str) -> None:
    lines = ("every = 1", f'transport = "{transport}"', f"from = {HARM}")
    tasks = "".join(task(does.replace(" ", "_"), does, *lines) for does in [*SURVIVED, "nan", "nothing"])

    done = run(place, transport, "\n[coupling]\nsidecars = 1\n" + tasks)

    if transport == "file":
        assert done.returncode == 0, done.stderr
        (place / f"{transport}.toml").write_text((place / transport / "config.toml").read_text())
        process = start(place, transport, "--analyze")
        done = Done([], process.wait(LIMIT_S), "", process.communicate()[1])
    assert done.returncode == 1, done.stderr
    told = failures(place, transport)
    assert set(told) == {does.replace(" ", "_") for does in SURVIVED}
    for does, message in SURVIVED.items():
        name = does.replace(" ", "_")
        assert message in told[name]
        assert f"task `{name}`, step {HARM}: the analysis failed: " in done.stderr
        assert len(results(place / transport, name)) == HARM  # of the steps before
    assert "task `nan`, step 2: the analysis found NaN: column `value`" in done.stderr
    nan = Run(place / transport).events.of("analysis", task="nan")
    assert [event["step"] for event in nan if "not_a_number" in event] == [2, 3]
    assert len(results(place / transport, "nothing")) == STEPS + 1
    expect_the_state_of_an_undisturbed_run(place, transport)


def expect_the_restart_to_be_whole(folder: Path, out: str) -> None:
    assert [path.name[:8] for path in checkpoints(folder / out)] == ["chk00001"], "the last one that was committed"
    again = run(folder, out, task("bad", "nothing", "every = 1"), "--restart")
    assert again.returncode == 0, again.stderr
    assert state(folder, out) == state(folder, "whole")
    assert list(results(folder / out, "bad").values()) == list(results(folder / "whole", "good").values())


CAUSES = {
    "exit": "`exit`",
    "abort": "signal 6 (SIGABRT)",
    "crash": "signal 11 (SIGSEGV)",
    "overflow": "signal 11 (SIGSEGV)",
}
DEATHS = [("in-situ", "exit"), ("in-situ", "overflow"), ("async", "overflow"), ("in-transit", "abort")]
MORE_DEATHS = [way for way in product(("in-situ", "async", "in-transit"), CAUSES) if way not in DEATHS]


@pytest.mark.parametrize(("transport", "does"), [*DEATHS, *slow(*MORE_DEATHS)])
def test_a_run_that_dies_in_an_analysis_names_it_and_goes_on_from_its_checkpoint(
    place: Path, transport: str, does: str
) -> None:
    out = f"{does}_{transport}"
    lines = ("every = 1", f'transport = "{transport}"', f"from = {HARM}", "rank = 0")

    done = run(place, out, "\n[coupling]\nsidecars = 1\n" + task("bad", does, *lines))

    assert done.returncode != 0
    assert done.stderr.count(f"error: the task `bad` (analysis `hostile`) ended its process by {CAUSES[does]}\n") == 1
    assert f"  --> step {HARM}, rank 0 of the " in done.stderr
    assert "`isolate = true`" in done.stderr
    if transport == "in-situ":
        expect_the_restart_to_be_whole(place, out)
    else:  # it was behind the simulation
        again = "--restart" if checkpoints(place / out) else "--overwrite"
        assert run(place, out, task("bad", "nothing", "every = 1"), again).returncode == 0
        expect_the_state_of_an_undisturbed_run(place, out)


@pytest.mark.parametrize("does", ["kill", *slow("_exit")])
def test_where_nothing_can_be_said_the_launcher_knows_what_was_under_way(place: Path, does: str) -> None:
    (place / f"{does}.toml").write_text(CONFIG + task("bad", does, "every = 1", f"from = {HARM}", "rank = 1"))

    done = command(place, "run", f"{does}.toml", "-n", RANKS, "--out", does, SIDESTREAM_RUN=str(PROGRAM))

    assert done.returncode == 1
    assert f"--> under way: task `bad` (hostile) at step {HARM}\n" in done.stderr
    expect_the_restart_to_be_whole(place, does)


@pytest.mark.parametrize(
    ("does", "rank", "message"),
    [
        ("loop", -1, "the task `bad` (analysis `hostile`) takes longer than the 1 s of its `deadline`"),
        ("skip", 1, "waited 3 s of 3 s for all ranks to end the task `bad`"),
    ],
)
def test_an_analysis_that_does_not_end_ends_the_run_at_the_time_out(
    place: Path, does: str, rank: int, message: str
) -> None:
    words = ("--set", "coupling.timeout=3 s")
    lines = ("every = 1", f"from = {HARM}", f"rank = {rank}", 'deadline = "1 s"')

    done = run(place, does, task("bad", does, *lines), *words)

    assert done.returncode != 0
    assert f"error: {message}" in done.stderr
    expect_the_restart_to_be_whole(place, does)


DEADLINE_S = 1
LATE = f"its job was ended after {DEADLINE_S} s, its `deadline`"
KILLED = {
    "exit": "ended its process by `exit`",
    "_exit": "(exit code 3)",
    "abort": "SIGABRT",
    "crash": "SIGSEGV",
    "kill": "(exit code 137)",
    "loop": LATE,
    "chatter": LATE,
    "scribble": "(exit code ",
    "skip": LATE,
    "eat": "not enough memory",
    "throw": "no halo in sight",
}
EACH_WAY = ("_exit", "crash", "loop", "scribble", "eat", "throw")
FEW = ("crash", "loop", "throw")  # what ends itself, what is ended, and what goes on


def in_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("sidestream-job-*")}


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """Neither processes nor files of jobs."""
    before = in_memory()
    yield
    deadline = time.monotonic() + 90  # jobs of tests beside this one end too
    while (jobs_alive() or in_memory() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not jobs_alive()
    assert not in_memory() - before


def jobs_alive() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(PROGRAM) in words and (b"--job" in words or b"--keep-job" in words):
                found.append(int(entry.name))
    return found


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize(
    ("transport", "harms"),
    [("in-situ", EACH_WAY), ("async", FEW), *slow(("in-situ", [*KILLED]), ("async", [*KILLED]))],
)
def test_a_job_of_its_own_can_do_the_run_no_harm(place: Path, transport: str, harms: Sequence[str]) -> None:
    out = f"isolated_{transport}_{len(harms)}"
    lines = (f'transport = "{transport}"', "isolate = true")
    tasks = [task("good", "nothing", "every = 1", *lines)]
    for does in harms:
        more = [f'deadline = "{DEADLINE_S} s"', "rank = 1"] if does in ("loop", "skip", "chatter") else []
        more += ['memory_limit = "100 MiB"'] if does == "eat" else []
        tasks.append(task(f"bad_{does}", does, "at_end = true", *lines, *more))

    done = run(place, out, "".join(tasks))

    assert done.returncode == 1, done.stderr
    assert "1 of 1 results of `bad_crash` (the analysis failed 1 time)" in done.stderr
    told = failures(place, out)
    assert set(told) == {f"bad_{does}" for does in harms}
    for does in harms:
        assert KILLED[does] in told[f"bad_{does}"]
        assert f"task `bad_{does}`, step {STEPS}: " in done.stderr
        assert not results(place / out, f"bad_{does}")
    assert results(place / out, "good") == results(place / "whole", "good")
    assert not list((place / out).rglob("*.tmp"))
    expect_the_state_of_an_undisturbed_run(place, out)
    assert Run(place / out).events.last("run_end")["status"] == "incomplete"


@pytest.mark.usefixtures("nothing_is_left")
def test_tasks_that_the_simulation_waits_for_have_the_queue_one_after_another(place: Path) -> None:
    lines = ("every = 1", "isolate = true")
    queue = '\n[coupling]\nqueue = "3 KiB"\nwhen_full = "drop-newest"\n'  # a field has 2 KiB
    other = task("two", "nothing", *lines, 'field = "pressure"')

    done = run(place, "small_queue", queue + task("one", "nothing", *lines) + other)

    assert done.returncode == 0, done.stderr
    good = list(results(place / "whole", "good").values())
    assert list(results(place / "small_queue", "one").values()) == good
    assert len(results(place / "small_queue", "two")) == len(good)


@pytest.mark.usefixtures("nothing_is_left")
def test_warnings_of_jobs_with_other_consequences_are_all_told(place: Path) -> None:
    lines = ("every = 1", "isolate = true", f"from = {HARM}")

    tasks = task("none", "nan", *lines) + task("thrown", "throw", *lines)
    done = run(place, "warnings", tasks, "--set", f"run.max_steps={HARM}")

    assert "task `none`, step 2: the analysis found NaN" in done.stderr
    assert "task `thrown`, step 2: the analysis failed: no halo in sight" in done.stderr
    assert done.stderr.count("the analysis found NaN") == 1


def test_an_earlier_run_stays_where_no_job_can_be_started(place: Path) -> None:
    assert run(place, "kept", task("good", "nothing", "every = 1")).returncode == 0
    before = results(place / "kept", "good")
    (place / "kept.toml").write_text(CONFIG + task("good", "nothing", "every = 1", "isolate = true"))
    words = ["kept.toml", "--quiet", "--out", "kept", "--overwrite"]

    done = subprocess.run(
        ["mpirun", "-n", str(RANKS), "env", "PATH=/nowhere", str(PROGRAM), *words],
        cwd=place,
        env=mpi_environment(os.environ, RANKS),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )

    assert done.returncode != 0
    assert "to start a job of its own with\n  --> key `task.good.isolate`" in done.stderr
    assert results(place / "kept", "good") == before


@pytest.mark.usefixtures("nothing_is_left")
def test_a_job_has_the_cores_of_the_machine_whatever_its_run_was_bound_to(place: Path) -> None:
    mine = os.sched_getaffinity(0)
    tasks = task("bound", "cores", "at_end = true") + task("free", "cores", "at_end = true", "isolate = true")

    done = run(place, "cores", tasks, before=["taskset", "--cpu-list", str(min(mine))])

    assert done.returncode == 0, done.stderr
    assert Run(place / "cores").result("bound", STEPS)["value"].item() == 1
    assert Run(place / "cores").result("free", STEPS)["value"].item() == len(mine)


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize(("transport", "status"), [("in-situ", "interrupted"), ("async", "incomplete")])
def test_who_interrupts_a_run_does_not_wait_for_its_job(place: Path, transport: str, status: str) -> None:
    out = f"interrupted_{transport}"
    bad = task("bad", "loop", "every = 1", "isolate = true", f'transport = "{transport}"', f"from = {HARM}")
    (place / f"{out}.toml").write_text(CONFIG + bad)
    process = start(place, out)
    deadline = time.monotonic() + LIMIT_S
    while not any(event["step"] == HARM for event in begun(place / out)) and time.monotonic() < deadline:
        time.sleep(0.1)

    interrupted = time.monotonic()
    for pid in descendants(process.pid):
        if is_rank_of_run(pid):
            os.kill(pid, signal.SIGINT)
    _, said = process.communicate(timeout=LIMIT_S)

    assert time.monotonic() - interrupted < 60, "the deadline of a job is an hour"
    assert f"task `bad`, step {HARM}: its job was ended: the run is interrupted" in said
    assert Run(place / out).events.last("run_end")["status"] == status
    again = run(
        place, out, task("bad", "nothing", "every = 1"), "--restart" if checkpoints(place / out) else "--overwrite"
    )
    assert again.returncode == 0, again.stderr
    assert list(results(place / out, "bad").values()) == list(results(place / "whole", "good").values())
    expect_the_state_of_an_undisturbed_run(place, out)


def begun(folder: Path) -> list[dict[str, Any]]:
    return list(Run(folder).events.of("analysis_begun")) if (folder / "events.jsonl").exists() else []


def is_rank_of_run(pid: int) -> bool:
    try:
        words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0] == os.fsencode(PROGRAM) and not {b"--job", b"--keep-job"} & set(words)


@pytest.mark.usefixtures("nothing_is_left")
def test_a_job_ends_with_its_run_however_that_ends(place: Path) -> None:
    bad = task("bad", "chatter", "every = 1", "isolate = true", f"from = {HARM}")
    (place / "killed.toml").write_text(CONFIG + bad)
    process = start(place, "killed")
    deadline = time.monotonic() + 60
    while len(jobs_alive()) < 2 + RANKS and time.monotonic() < deadline:  # keeper, launcher, ranks
        time.sleep(0.1)
    assert len(jobs_alive()) >= 2 + RANKS
    assert in_memory()

    process.send_signal(signal.SIGKILL)

    process.communicate()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['transport = "in-transit"'], 'a task with the transport "in-transit" is no job of its own'),
        (['transport = "file"'], 'a task with the transport "file" is no job of its own'),
        (['deadline = "0 s"'], "key `task.bad.deadline`"),
        (["isolate = false", 'memory_limit = "1 GiB"'], "a limit of memory is for a job of its own"),
    ],
)
def test_what_cannot_be_isolated_is_refused_before_the_run(place: Path, lines: list[str], message: str) -> None:
    isolated = () if "isolate = false" in lines else ("isolate = true",)
    (place / "refused.toml").write_text(CONFIG + task("bad", "loop", "every = 1", *isolated, *lines))

    done = command(place, "check", "refused.toml", SIDESTREAM_RUN=str(PROGRAM))

    assert done.returncode == 2
    assert message in done.stderr
