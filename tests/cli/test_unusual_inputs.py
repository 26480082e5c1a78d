"""Pipes, devices, folders, loops and names that no file has, given to commands: a sentence, and no waiting."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import calls
from sidestream.launch.launcher import find_program, mpi_environment
from tiers import slow

LIMIT_BYTES = 5 << 20  # MPI needs files of 4.1 MiB itself
SOD = 'simulation = "sod"\n[mesh]\ncells = [32, 1, 1]\nblock = 8\n'


def pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return "pipe"


def loop(folder: Path) -> str:
    (folder / "loop").symlink_to("loop")
    return "loop"


def empty_folder(folder: Path) -> str:
    (folder / "folder").mkdir()
    return "folder"


def two_lines(folder: Path) -> str:
    (folder / "two\nlines").write_text("nothing\n")
    return "two\nlines"


INPUTS: dict[str, Callable[[Path], str]] = {
    "pipe": pipe,
    "loop": loop,
    "folder": empty_folder,
    "device": lambda _: "/dev/zero",
    "two lines": two_lines,
    "4000 characters": lambda _: "x" * 4000,
    "nowhere": lambda _: "nowhere/at/all",
}
COMMANDS = (
    ("info",),
    ("verify", "-n", 1),
    ("bill",),
    ("report",),
    ("plot",),
    ("analyze", "-n", 1),
    ("analyze", "-n", 1, "--task", "slice"),
    ("halos", "find"),
    ("halos", "query"),
    ("convert", "--format", "nyx", "-n", 1, "out"),
)


QUICK = ["pipe", "folder", "device", "two lines"]


@pytest.mark.parametrize("kind", [*QUICK, *slow(*(kind for kind in INPUTS if kind not in QUICK))])
def test_what_is_no_file_is_told_at_once(tmp_path: Path, kind: str) -> None:
    name = INPUTS[kind](tmp_path)
    for words in COMMANDS:
        place = words.index("out") if "out" in words else len(words)
        done = calls.command(tmp_path, *words[:place], name, *words[place:])

        assert done.returncode in (1, 2), (words, done.stdout, done.stderr)
        assert done.stderr.count("error: ") == 1 and "Traceback" not in done.stderr, (words, done.stderr)


@pytest.mark.parametrize("kind", ["loop", "folder", "4000 characters", "nowhere"])
def test_a_configuration_that_is_no_file_is_told(tmp_path: Path, kind: str) -> None:
    name = INPUTS[kind](tmp_path)
    for words in (("check",), ("run", "-n", 1)):
        done = calls.command(tmp_path, *words, name)

        assert done.returncode in (1, 2), (words, done.stdout, done.stderr)
        assert done.stderr.count("error: ") == 1 and "Traceback" not in done.stderr, (words, done.stderr)


@pytest.mark.parametrize("out", ["/proc/run", "/proc/self/run", "sod.toml/run", "x" * 4000])
def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, out: str) -> None:
    (tmp_path / "sod.toml").write_text(SOD)
    done = calls.program(tmp_path, 1, "sod.toml", "--quiet", "--out", out)

    assert done.returncode != 0
    assert "error: " in done.stderr, done.stderr
    assert "--> " in done.stderr


def test_a_quiet_run_that_is_interrupted_says_so(tmp_path: Path) -> None:
    (tmp_path / "sod.toml").write_text(SOD + "[run]\nmax_steps = 100000000\n[sod]\nend = 1e9\n")
    line = [str(find_program()), "sod.toml", "--quiet", "--out", "run"]
    with subprocess.Popen(
        line, cwd=tmp_path, env=mpi_environment(os.environ, 1), stderr=subprocess.PIPE, text=True
    ) as process:
        log = tmp_path / "run" / "events.jsonl"
        while process.poll() is None and not (log.is_file() and '"step"' in log.read_text()):
            pass
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=calls.LIMIT_S)

    assert process.returncode == 1, errors
    assert "the run is interrupted after step" in errors


def test_a_quiet_run_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "sod.toml").write_text(SOD)
    done = calls.program(tmp_path, 1, "sod.toml", "--quiet", "--from", "sod.toml", "--out", "run")

    assert done.returncode != 0
    assert "error: " in done.stderr


def test_a_limit_of_file_sizes_is_a_full_disk(tmp_path: Path) -> None:
    """No rank is killed by the signal: what cannot be written is told, with the limit as the reason."""
    large = SOD.replace("[32, 1, 1]\nblock = 8", "[512, 512, 1]\nblock = 64")
    (tmp_path / "sod.toml").write_text(large + "[output]\nplotfile = { every = 1 }\n")
    line = [str(find_program()), "sod.toml", "--quiet", "--set", "run.max_steps=2", "--out", "run"]
    done = subprocess.run(
        line,
        cwd=tmp_path,
        env=mpi_environment(os.environ, 1),
        capture_output=True,
        text=True,
        timeout=calls.LIMIT_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES)),
    )

    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "File too large" in done.stderr or "ulimit -f" in done.stderr, done.stderr


def test_a_folder_that_has_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd gone && rmdir ../gone && exec "$@"'
    line = ["sh", "-c", script, "sh", sys.executable, "-m", "sidestream", "info", "plt00010"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=calls.LIMIT_S)

    assert done.returncode == 1, done.stderr
    assert "error: " in done.stderr and "Traceback" not in done.stderr


def written_into(pipe: Path, text: str) -> threading.Thread:
    """Writes once a command reads."""
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[text], daemon=True)
    writer.start()
    return writer


TASKS = '[task.density]\nanalysis = "slice"\nfields = ["gas_density"]\n'


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("check", "pipe"), SOD),
        (("run", "pipe", "-n", 1, "--out", "run", "--set", "run.max_steps=1"), SOD),
        (("analyze", "plt00000", "--config", "pipe", "-n", 1, "--out", "of_files", "--overwrite"), TASKS),
    ],
)
def test_a_configuration_may_come_through_a_pipe(tmp_path: Path, words: tuple[object, ...], text: str) -> None:
    if "analyze" in words:
        (tmp_path / "sod.toml").write_text(SOD + '[output]\nplotfile = { every = 1, format = "nyx" }\n')
        assert (
            calls.program(tmp_path, 1, "sod.toml", "--quiet", "--out", ".", "--set", "run.max_steps=0").returncode == 0
        )
    writer = written_into(tmp_path / "pipe", text)
    done = calls.command(tmp_path, *words)
    writer.join(60)

    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob(".sidestream*"))
    (tmp_path / "pipe").unlink()
    writer = written_into(tmp_path / "pipe", f"tusk = 1\n{text}")
    refused = calls.command(tmp_path, *words)
    assert refused.returncode == 2
    assert "--> pipe:1:" in refused.stderr, refused.stderr


def test_a_pipe_that_cannot_be_the_configuration_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for words, reason in (
        (("run", "pipe"), "no name for its run"),
        (("check", "pipe"), "nobody has written into the pipe"),
        (("sweep", "pipe", "--seeds", 2), "a pipe is read once"),
        (("launch", "pipe", "--slurm"), "a pipe is gone then"),
    ):
        done = calls.command(tmp_path, *words)
        assert done.returncode == 2, (words, done.stderr)
        assert reason in done.stderr, (words, done.stderr)
        assert "--> pipe" in done.stderr, (words, done.stderr)


@pytest.mark.parametrize(
    ("option", "count"), [("--files", "-1"), ("--files", "0"), ("--files", "two"), ("--block", "0")]
)
def test_counts_of_a_conversion_begin_with_one(tmp_path: Path, option: str, count: str) -> None:
    done = calls.command(tmp_path, "convert", "plt00000", "new", "--format", "nyx", option, count)

    assert done.returncode == 2
    assert f"invalid value for `{option}`: " in done.stderr
    assert count in done.stderr
