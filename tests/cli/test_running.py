"""`sidestream run` with a program that plays the simulation: progress, failures, Ctrl-C, restart."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from calls import Done, command
from fixtures import FAKE, CommandLine, environment, with_fake
from sidestream.runs.run import Run
from tiers import slow
from waiting import until

SUMMARY = r"task +results.*\nhalos +2 +0 +0 .*\nlost to analysis .* % of the wall time\nrun folder .*\nreport .*\n"


def processes_of(folder: Path) -> list[int]:
    """The processes that have this folder in their command line, ours excepted."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if entry.name.isdigit() and int(entry.name) != os.getpid() and os.fsencode(folder) in words:
            found.append(int(entry.name))
    return found


@pytest.fixture
def slow_run(config: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run on two ranks that would go on for hours, after its first step."""
    out = tmp_path / "slow"
    process = start(config, out, "slow")
    yield process, out
    process.kill()
    process.wait()


def start(config: Path, out: Path, mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sidestream", "run", str(config), "-n", "2", "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--set", f"fake.mode={mode}"],
        env=environment(OMPI_MCA_odls_base_sigkill_timeout="2"),  # time to end after a signal to all
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: (out / "events.jsonl").exists() and "step" in (out / "events.jsonl").read_text())
    return process


@pytest.mark.parametrize("ranks", [3, *slow(1, 2)])
def test_a_run_ends_with_a_summary_and_a_report(
    ranks: int, config: Path, tmp_path: Path, sidestream: CommandLine
) -> None:
    done = sidestream("run", config, "-n", ranks, "--out", "o")

    assert done.returncode == 0, done.stderr
    assert re.fullmatch(SUMMARY, done.stdout)
    assert f"cosmology: 8 x 8 x 8 cells, {ranks} rank" in done.stderr
    assert "halos: 3 halos at z 2 (0.004 s)" in done.stderr
    assert "step 10  z 2  100 %" in done.stderr
    assert "events of this run were lost" not in done.stderr
    assert "writing the report" in done.stderr
    assert (tmp_path / "o" / "report.html").is_file()


def test_where_colour_is_forced_on_no_line_is_drawn_over(config: Path, tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 1, "--out", "o", FORCE_COLOR="1", NO_COLOR="")  # as notebooks do

    assert done.returncode == 0, done.stderr
    assert "\x1b[?25l" not in done.stderr
    assert "step 10  z 2  100 %" in done.stderr


@pytest.fixture(scope="module")
def run_with_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A folder with a run without `--out`, and what was said of it."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "box.toml").write_text('simulation = "cosmology"\n')
    return folder, command(folder, "run", "box.toml", "-n", 1, "--set", "fake.mode=files", **with_fake())


def test_the_summary_tells_of_checkpoints_and_of_those_that_failed(run_with_files: tuple[Path, Done]) -> None:
    _, done = run_with_files

    assert done.returncode == 0, done.stderr
    assert "checkpoints       2 written, 0.5 s lost, 1 failed, the newest chk00010.hdf5_chk (21 MB)\n" in done.stdout
    assert "wrote chk00010.hdf5_chk (0.25 s)" in done.stderr


def test_the_run_folder_is_named_after_the_configuration(run_with_files: tuple[Path, Done]) -> None:
    folder, _ = run_with_files

    assert (folder / "runs" / "box" / "events.jsonl").is_file()


def test_sidecars_on_top_are_started_too(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 1, FAKE_EXTRA_SIDECARS="1")

    assert "8 x 8 x 8 cells, 2 ranks" in done.stderr


def test_a_failure_is_told_once_and_without_the_launcher_s_noise(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 2, "--set", "fake.mode=fail")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "error: the disk is full\n  --> rank 0\nhint: make room and use --restart\n"


def test_warnings_of_the_program_are_passed_on_and_notices_and_step_lines_are_not(
    config: Path, sidestream: CommandLine
) -> None:
    done = sidestream("run", config, "-n", 2, "--set", "fake.mode=noisy")

    assert done.returncode == 0
    assert "warning: the box is small" in done.stderr
    assert "notice" not in done.stderr
    assert "----" not in done.stderr
    assert "z 49.000" not in done.stderr


def test_a_rank_that_is_killed_is_named(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 2, "--set", "fake.mode=crash")

    assert done.returncode == 1
    assert re.match(r"error: rank \d was ended by signal 9 \(Killed\)\nhint: ", done.stderr)


def test_a_silent_failure_is_not_taken_for_success(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 2, "--set", "fake.mode=silent-fail")

    assert done.returncode == 1
    assert "error: the run ended with exit code 3" in done.stderr


def test_a_run_that_cannot_go_on_says_why_and_how_to_go_on(
    config: Path, tmp_path: Path, sidestream: CommandLine
) -> None:
    out = tmp_path / "full"

    done = sidestream("run", config, "-n", 2, "--out", out, "--set", "fake.mode=full")

    assert done.returncode == 1
    assert re.search(r"error: the run could not go on after step 5 .*: the mesh would grow too large", done.stderr)
    assert re.search(r"hint: .* --restart`", done.stderr)
    assert "exit code" not in done.stderr
    assert Run(out).status == "stopped"
    assert "the mesh would grow too large" in sidestream("info", out).stdout
    assert "the mesh would grow too large" in (out / "report.html").read_text()


def test_a_run_without_a_checkpoint_is_to_begin_again(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 2, "--out", "o", "--set", "fake.mode=full-at-once")

    assert done.returncode == 1
    assert re.search(r"hint: .* --out o --overwrite`", done.stderr)
    assert "--restart" not in done.stderr


def test_a_table_of_events_that_are_not_all_there_says_so(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "--out", "o", "--set", "fake.mode=torn")

    assert "warning: events of this run were lost: the table and the report tell of the others only" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, *slow(signal.SIGTERM, signal.SIGHUP)])
def test_an_interrupted_run_leaves_no_rank_and_a_folder_to_go_on_with(
    number: signal.Signals, slow_run: tuple[subprocess.Popen[str], Path], config: Path, sidestream: CommandLine
) -> None:
    process, out = slow_run

    process.send_signal(number)
    output, messages = process.communicate(timeout=60)

    assert process.returncode == 130
    until(lambda: processes_of(out) == [])
    assert Run(out).status == "interrupted"
    assert "stopping after this step" in messages
    assert re.search(r"stopped at step \d+ .* --restart`", messages)
    assert str(out) in output
    assert sidestream("run", config, "-n", 2, "--out", out, "--restart").returncode == 0
    assert Run(out).status == "finished"


def test_a_second_ctrl_c_ends_a_program_that_does_not_listen(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "deaf"
    process = start(config, out, "stubborn")

    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("press Ctrl-C again" in line for line in iter(process.stderr.readline, ""))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 130
    until(lambda: processes_of(out) == [])


def in_a_terminal(folder: Path, ignored: bool, *words: object) -> tuple[int, int]:
    """`sidestream run` as the foreground process of a terminal of its own: its id, and the other end."""
    process, controller = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ.update(environment(TERM="xterm", OMPI_MCA_odls_base_sigkill_timeout="2"))
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-m", "sidestream", "run", *map(str, words)])
    return process, controller


def test_a_terminal_that_closes_stops_the_run_with_a_last_checkpoint(config: Path, tmp_path: Path) -> None:
    process, terminal = in_a_terminal(tmp_path, False, config, "-n", 2, "--out", "o", "--set", "fake.mode=slow")
    log = tmp_path / "o" / "events.jsonl"
    until(lambda: log.exists() and '"step"' in log.read_text())

    os.close(terminal)
    os.kill(process, signal.SIGHUP)  # as the shell does too

    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
    assert Run(tmp_path / "o").status == "interrupted"
    assert '"checkpoint_committed"' in log.read_text()
    assert (tmp_path / "o" / "report.html").exists()


def test_where_hanging_up_is_ignored_the_run_outlives_its_terminal(config: Path, tmp_path: Path) -> None:
    process, terminal = in_a_terminal(tmp_path, True, config, "-n", 1, "--out", "o", "--set", "fake.mode=long")
    log = tmp_path / "o" / "events.jsonl"
    until(lambda: log.exists() and '"step"' in log.read_text())

    os.close(terminal)
    os.kill(process, signal.SIGHUP)

    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert Run(tmp_path / "o").status == "finished"


def test_a_run_outlives_whoever_reads_what_it_says(config: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sidestream", "run", str(config), "-n", "1", "--out", str(tmp_path / "o")]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()

    assert process.wait(timeout=60) == 0
    assert Run(tmp_path / "o").status == "finished"
    assert (tmp_path / "o" / "report.html").exists()


def test_a_terminal_shows_a_bar_with_what_each_analysis_did(config: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "sidestream", "run", str(config), "-n", "1"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(TERM="xterm"), stdout=subprocess.DEVNULL, stderr=terminal
    )
    os.close(terminal)

    shown = read_all(controller)

    assert process.wait(timeout=60) == 0
    assert re.search(r"step \d+  z [\d.]+", shown)
    assert "100 %" in shown
    assert re.search(r"[\d.]+ s( to [\d.]+ s)? a step", shown)
    assert "halos: 3 halos at z" in shown


def test_lines_tell_rate_what_is_left_and_what_sidecars_are_at(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("run", config, "-n", 1, "--set", "fake.mode=long", "--set", "fake.sidecars=1")

    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if re.match(r"step \d+  z ", line)]
    assert any(
        re.search(r" \d+ %  [\d.]+ s( to [\d.]+ s)? left  [\d.]+ s( to [\d.]+ s)? a step  sidecars: halos of", line)
        for line in lines
    ), lines
    assert any("steps behind" in line for line in lines)


def read_all(controller: int) -> str:
    data = b""
    try:
        while piece := os.read(controller, 4096):
            data += piece
    except OSError:  # the other side is closed
        pass
    os.close(controller)
    return data.decode(errors="replace")


def test_without_mpirun_one_rank_is_started_directly(config: Path, tmp_path: Path, sidestream: CommandLine) -> None:
    only = tmp_path / "bin"
    only.mkdir()
    (only / "python3").symlink_to(sys.executable)
    (only / "env").symlink_to("/usr/bin/env")

    assert sidestream("run", config, PATH=str(only)).returncode == 0
    refused = sidestream("run", config, "-n", 2, PATH=str(only))

    assert refused.returncode == 1
    assert "2 ranks need an MPI launcher" in refused.stderr


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a launcher was given to start for a run that begins with a file."""
    folder = tmp_path_factory.mktemp("launched")
    launcher = folder / "mylaunch"
    launcher.write_text('#!/bin/sh\nprintf "%s " "$@" > launched\nshift 2\nexec "$@"\n')
    launcher.chmod(0o755)
    (folder / "box.toml").write_text('simulation = "cosmology"\n')
    words = ("run", "box.toml", "-n", 1, "--from", "a/plt00010", "--launcher", launcher)
    done = command(folder, *words, **with_fake())
    assert done.returncode == 0, done.stderr
    return (folder / "launched").read_text()


def test_a_launcher_may_be_named(launched: str) -> None:
    assert launched.startswith(f"-n 1 {FAKE} box.toml")


def test_the_file_to_begin_with_is_handed_to_the_program(launched: str) -> None:
    assert "--from a/plt00010" in launched
