"""Finding and starting the program, sorting the launcher's noise, following the log."""

from __future__ import annotations

import json
import os
import resource
import stat
from pathlib import Path

import pytest

import sidestream
from sidestream.error import Error
from sidestream.launch import launcher
from sidestream.launch.messages import MessageFilter
from sidestream.runs.progress import EventTail, Progress

RULE = "-" * 74
PRIMARY_JOB = [
    RULE,
    "Primary job  terminated normally, but 1 process returned",
    "a non-zero exit code. Per user-direction, the job has been aborted.",
    RULE,
]
EXITED = [
    RULE,
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "the job to be terminated. The first process to do so was:",
    "",
    "  Process name: [[27157,1],0]",
    "  Exit code:    1",
    RULE,
]
KILLED = [RULE, "mpirun noticed that process rank 3 with PID 0 on node delta exited on signal 9 (Killed).", RULE]


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole PATH, and no program beside the interpreter."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("SIDESTREAM_RUN", raising=False)
    monkeypatch.setattr("sys.executable", str(tmp_path / "venv" / "python"))
    return folder


def test_the_environment_names_the_program_before_all_else(only_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(only_path, launcher.PROGRAM)
    named = program(only_path.parent, "mine")
    monkeypatch.setenv("SIDESTREAM_RUN", str(named))

    assert launcher.find_program() == named


def test_the_program_beside_python_comes_before_the_path(only_path: Path) -> None:
    program(only_path, launcher.PROGRAM)
    beside = program(only_path.parent / "venv", launcher.PROGRAM)

    assert launcher.find_program() == beside


def test_a_program_that_is_nowhere_is_an_error_with_a_hint(only_path: Path) -> None:
    with pytest.raises(sidestream.Error, match="was not found") as caught:
        launcher.find_program()

    assert "pip install" in caught.value.hint


def test_a_limit_on_files_that_mpi_would_hang_at_is_refused(only_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(only_path, "mpirun")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100 * 1024, resource.RLIM_INFINITY))

    with pytest.raises(sidestream.Error, match="100 KiB here .ulimit -f., and MPI needs 4100 KiB") as caught:
        launcher.prepare(Path("/opt/sidestream-run"), [], ranks=2)

    assert "ulimit -f unlimited" in caught.value.hint


def test_mpirun_gets_the_ranks_and_the_program_its_arguments(only_path: Path) -> None:
    program(only_path, "mpirun")

    launch = launcher.prepare(Path("/opt/sidestream-run"), ["box.toml", "--out", "o"], ranks=3)

    assert launch.command == ["mpirun", "-n", "3", "/opt/sidestream-run", "box.toml", "--out", "o"]
    assert not launch.direct


def test_mpirun_beside_python_comes_before_the_path_and_is_there_for_the_ranks(only_path: Path) -> None:
    program(only_path, "mpirun")
    beside = program(only_path.parent / "venv", "mpirun")

    launch = launcher.prepare(Path("/opt/sidestream-run"), [], ranks=3)

    assert launch.command[0] == str(beside)
    assert launch.environment["PATH"].split(os.pathsep) == [str(beside.parent), str(only_path)]


def test_a_launcher_with_options_of_its_own_keeps_them(only_path: Path) -> None:
    program(only_path, "srun")

    launch = launcher.prepare(Path("/opt/sidestream-run"), ["box.toml"], 512, 'srun --exclusive --comment "a b"')

    expected = ["srun", "--exclusive", "--comment", "a b", "-n", "512", "/opt/sidestream-run", "box.toml"]
    assert launch.command == expected


def test_one_rank_runs_without_any_launcher(only_path: Path) -> None:
    launch = launcher.prepare(Path("/opt/sidestream-run"), ["box.toml"], ranks=1)

    assert launch.command == ["/opt/sidestream-run", "box.toml"]
    assert launch.direct
    assert launcher.default_ranks() == 1


def test_several_ranks_without_a_launcher_are_an_error_with_a_hint(only_path: Path) -> None:
    with pytest.raises(sidestream.Error, match="4 ranks need an MPI launcher") as caught:
        launcher.prepare(Path("/opt/sidestream-run"), [], ranks=4)

    assert "-n 1" in caught.value.hint


def test_an_unknown_launcher_is_an_error(only_path: Path) -> None:
    with pytest.raises(sidestream.Error, match="`flaunch` was not found"):
        launcher.prepare(Path("/opt/sidestream-run"), [], ranks=1, launcher="flaunch --fast")


def test_root_may_run_and_nobody_else_gets_the_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert launcher.mpi_environment({}, 1)["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in launcher.mpi_environment({}, 1)


def test_ranks_yield_only_where_they_share_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "available_cores", lambda: 4)

    assert "OMPI_MCA_mpi_yield_when_idle" not in launcher.mpi_environment({}, 4)
    assert launcher.mpi_environment({}, 5)["OMPI_MCA_mpi_yield_when_idle"] == "1"


def test_what_the_user_set_wins() -> None:
    assert launcher.mpi_environment({"OMPI_MCA_hwloc_base_binding_policy": "core"}, 1)[
        "OMPI_MCA_hwloc_base_binding_policy"
    ] == ("core")


def test_the_job_of_a_process_by_itself_is_not_that_of_what_it_starts() -> None:
    own = {"OMPI_MCA_ess": "singleton", "PMIX_RANK": "0", "PMIX_NAMESPACE": "7", "OMPI_MCA_orte_ess_num_procs": "1"}
    users = {"PMIX_MCA_psec": "native", "OMPI_MCA_btl": "self,tcp", "HOME": "/home/me"}

    found = launcher.mpi_environment(own | users, 1)

    assert not own.keys() & found.keys()
    assert users.items() <= found.items()


@pytest.mark.parametrize("sign", ["OMPI_COMM_WORLD_RANK", "SLURM_PROCID"])
def test_a_step_of_a_launcher_stays_one(sign: str) -> None:
    step = {sign: "0", "PMIX_RANK": "0", "PMIX_NAMESPACE": "7", "OMPI_MCA_ess": "^singleton"}

    assert step.items() <= launcher.mpi_environment(step, 1).items()


def test_the_only_rank_of_a_launcher_starts_a_job_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "OMPI_COMM_WORLD_SIZE": "1",
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_MCA_orte_hnp_uri": "1.0;tcp",
        "PMIX_ID": "1.0",
    }
    users = {"OMPI_MCA_btl": "self,vader", "PMIX_MCA_gds": "hash", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    for name, text in (told | users).items():
        monkeypatch.setenv(name, text)

    launch = launcher.prepare(Path("/bin/true"), [], 2)

    assert not told.keys() & launch.environment.keys()
    assert users.items() <= launch.environment.items()


def test_one_of_several_ranks_of_a_launcher_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")

    with pytest.raises(Error, match="a launcher has started this 4 times"):
        launcher.prepare(Path("/bin/true"), [], 2)


def passed(lines: list[str]) -> tuple[list[str], MessageFilter]:
    messages = MessageFilter()
    return [kept for kept in map(messages.feed, lines) if kept is not None], messages


def test_the_launcher_is_not_heard_and_the_program_is() -> None:
    own = ["error: the disk is full", "  --> rank 0", "hint: make room"]

    kept, messages = passed([*own, *PRIMARY_JOB, "[delta:4711] PMIX ERROR: UNREACHABLE", *EXITED])

    assert kept == own
    assert messages.errors == ["\n".join(own)]
    assert messages.diagnosis(1) is None


def test_an_error_that_every_rank_prints_is_shown_once() -> None:
    own = ["error: the disk is full", "  --> rank 0", "hint: make room"]

    kept, _ = passed([*own, "error: the disk is full", "  --> rank 1", "hint: make room", "warning: bye"])

    assert kept == [*own, "warning: bye"]


def test_an_error_inside_a_notice_is_not_lost() -> None:
    kept, _ = passed([RULE, "MPI_ABORT was invoked on rank 0", "error: the box is empty", RULE, "note: more"])

    assert kept == ["error: the box is empty", "note: more"]


def test_a_rank_that_was_killed_is_named() -> None:
    _, messages = passed(KILLED)

    diagnosis = messages.diagnosis(137)

    assert diagnosis is not None
    assert diagnosis.what == "rank 3 was ended by signal 9 (Killed)"
    assert "memory" in diagnosis.hint


def test_a_launcher_that_says_nothing_is_suspected() -> None:
    diagnosis = MessageFilter().diagnosis(1)

    assert diagnosis is not None
    assert "`mpirun -n 1 true`" in diagnosis.hint


def test_a_program_that_fails_silently_is_reported_with_its_exit_code() -> None:
    _, messages = passed(EXITED)

    diagnosis = messages.diagnosis(3)

    assert diagnosis is not None
    assert diagnosis.what == "the run ended with exit code 3"


def write(log: Path, *events: dict, mode: str = "a") -> None:
    with log.open(mode) as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def test_the_tail_gives_each_new_event_once(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    write(log, {"event": "step", "t": 0, "step": 1})
    tail = EventTail(tmp_path)

    assert tail.new_events() == []
    write(log, {"event": "step", "t": 1, "step": 2})
    write(tmp_path / "events.sidecar.jsonl", {"event": "analysis", "t": 1})
    assert [(e["event"], e["group"]) for e in tail.new_events()] == [("step", "compute"), ("analysis", "sidecar")]
    assert tail.new_events() == []


def test_the_tail_tells_the_line_that_is_damaged(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    write(log, *({"event": "step", "t": i} for i in range(3)))
    tail = EventTail(tmp_path)
    with log.open("a") as file:
        file.write('{"event": "step", "t": 3.0}\n{"event"\n')

    events = tail.new_events()

    assert [event["event"] for event in events] == ["step", "warning"]
    assert events[-1]["where"] == f"{log}:5"


def test_the_tail_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    tail = EventTail(tmp_path)
    log.write_text('{"event": "st')

    assert tail.new_events() == []
    with log.open("a") as file:
        file.write('ep", "t": 1}\n')
    assert [e["event"] for e in tail.new_events()] == ["step"]


def test_the_tail_follows_a_log_that_is_started_anew(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    write(log, *({"event": "step", "t": i} for i in range(9)))
    tail = EventTail(tmp_path)

    write(log, {"event": "run_start", "t": 0}, mode="w")

    assert [e["event"] for e in tail.new_events()] == ["run_start"]


def test_an_analysis_is_told_in_words() -> None:
    event = {"event": "analysis", "t": 1, "task": "halos", "redshift": 2.5, "compute_s": 0.8, "summary": "214 halos"}

    assert Progress().take(event) == "halos: 214 halos at z 2.5 (0.8 s)"


def test_more_ranks_than_cores_are_told_what_that_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launcher, "available_cores", lambda: 2)
    for queue in launcher.QUEUES:
        monkeypatch.delenv(queue, raising=False)
    launcher.warn_of_few_cores(2, "steps")
    assert capsys.readouterr().err == ""
    launcher.warn_of_few_cores(50, "steps")
    told = capsys.readouterr().err
    assert "50 ranks and threads share 2 cores" in told and "25 times as long" in told and "-n 2" in told
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    launcher.warn_of_few_cores(50, "steps")
    assert capsys.readouterr().err == ""
