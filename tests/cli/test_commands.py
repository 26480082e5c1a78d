"""Whole commands: what they print and with which code they end."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import snapshots
import synthetic
from fixtures import CommandLine, environment
from holding import held

HELP = [
    [],
    ["run"],
    ["check"],
    ["list"],
    ["info"],
    ["convert"],
    ["verify"],
    ["plot"],
    ["report"],
    ["bill"],
    ["zoom"],
    ["watch"],
    ["analyze"],
    ["bench", "io"],
    ["attack"],
    ["steer"],
    ["sweep"],
    ["compare"],
    ["new"],
    ["launch"],
]
HELP += [["halos"], ["halos", "query"], ["halos", "find"], ["halos", "mergers"]]
HELP += [["regions"], ["regions", "classify"]]
HELP += [["archive"], ["archive", "put"], ["archive", "list"], ["archive", "verify"], ["archive", "get"], ["doctor-io"]]
HELP += [["view"], ["movie"], ["display"]]
WRONG = {
    "unknown-command": ["rnu"],
    "unknown-option": ["info", "--jsn", "x"],
    "missing-argument": ["plot"],
    "no-ranks": ["run", "box.toml", "-n", "0"],
    "restart-and-overwrite": ["run", "box.toml", "--restart", "--overwrite"],
    "restart-and-from": ["run", "box.toml", "--restart", "--from", "plt00010"],
    "no-format": ["convert", "plt00010", "out"],
    "unknown-format": ["convert", "plt00010", "out", "--format", "nix"],
    "unknown-precision": ["convert", "plt00010", "out", "--format", "nyx", "--precision", "half"],
    "halos-unknown-finder": ["halos", "find", "plt00010", "--finder", "friends"],
    "halos-no-catalogue": ["halos", "query", "tree.nc", "-o", "halos.txt"],
    "halos-no-cells": ["halos", "query", "tree.nc", "--min-cells", "0"],
    "no-ranks-to-verify": ["verify", "plt00010", "-n", "0"],
}


@pytest.mark.parametrize("command", HELP, ids=lambda words: "-".join(words) or "main")
def test_help(command: list[str], sidestream: CommandLine) -> None:
    done = sidestream(*command, "--help", COLUMNS="100")

    assert done.returncode == 0
    done.stdout = done.stdout.split("\n", 1)[1]  # the line `Usage: ...` and the lists below are the parser's
    own_words, _, _ = done.stdout.partition("\nArguments:")
    done.stdout = own_words.partition("\nOptions:")[0]
    assert "xample" in own_words
    snapshots.check_snapshot("help-" + ("-".join(command) or "main"), done, {})


OPTIONS = {
    "run": ["-n", "--set", "--out", "--restart", "--overwrite", "--from", "--launcher"],
    "check": ["-n", "--set", "--out", "--json"],
    "list": ["--json"],
    "info": ["--json"],
    "convert": [
        *("--format", "--fields", "--precision", "--block", "--method", "--overwrite", "-n", "--launcher", "--json")
    ],
    "verify": ["-n", "--launcher", "--json"],
    "plot": ["--task", "--out"],
    "bill": ["--json"],
    "watch": ["--once"],
    "halos query": ["--t-boundary", "--t-halo", "--min-cells", "-o", "-n", "--launcher", "--json"],
    "halos find": [
        *(
            "--finder",
            "--field",
            "--task",
            "--t-boundary",
            "--t-halo",
            "--connectivity",
            "--linking-length",
            "-o",
            "-n",
            "--launcher",
            "--json",
        )
    ],
    "halos mergers": ["--task", "-o"],
    "bench io": [
        "-n",
        "--folder",
        "--repetitions",
        "--contents",
        "--formats",
        "--methods",
        "--model",
        "--case",
        "--most-ranks",
        "--out",
        "--buffers",
        "--aggregators",
        "--json",
    ],
    "bench transfer": ["-n", "--cells", "--block", "--components", "--sidecars", "--model", "--most-ranks", "--out"],
    "bench fft": [
        "-n",
        "--cells",
        "--block",
        "--repetitions",
        "--components",
        "--kept",
        "--from",
        "--threads",
        "--thread-mode",
        "--strategies",
        "--wisdom",
        "--json",
    ],
    "bench move": ["-n", "--cells", "--block", "--repetitions", "--strategies", "--wisdom", "--json"],
}


@pytest.mark.parametrize("command", OPTIONS)
def test_the_help_lists_every_option(command: str, sidestream: CommandLine) -> None:
    words = sidestream(*command.split(), "--help").stdout.replace(",", "").split()

    assert set(OPTIONS[command]) <= set(words)


def test_no_command_shows_the_help(sidestream: CommandLine) -> None:
    assert sidestream(COLUMNS="100").stdout == sidestream("--help", COLUMNS="100").stdout


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_ends_with_2_and_says_what_to_do(name: str, sidestream: CommandLine) -> None:
    done = sidestream(*WRONG[name])

    assert done.returncode == 2
    assert done.stdout == ""
    snapshots.check_snapshot(f"wrong-{name}", done, {})


def test_the_bill_of_each_group_adds_up(finished_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("bill", finished_run)

    assert done.returncode == 0, done.stderr
    snapshots.check_snapshot("bill", done, {})
    for bill in json.loads(sidestream("bill", finished_run, "--json").stdout):
        assert sum(line["mean_s"] for line in bill["lines"]) == pytest.approx(bill["wall_s"])


def test_a_run_without_an_end_has_no_bill(tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream("bill", synthetic.write_run(tmp_path / "run", status=None))

    assert done.returncode == 1
    assert "no bill" in done.stderr


KINDS = {".": "run", "plt00060": "plotfile", "chk00050.hdf5_chk": "checkpoint", "results/spectra/000060.nc": "result"}


@pytest.mark.parametrize("path", KINDS)
def test_info(path: str, finished_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("info", finished_run / path)

    assert done.returncode == 0, done.stderr
    snapshots.check_snapshot("info-" + KINDS[path], done, {"RUN": finished_run})


@pytest.mark.parametrize("path", [".", "plt00060", "chk00050.hdf5_chk", "results/halos/000060.nc"])
def test_info_for_programs_is_json(path: str, finished_run: Path, sidestream: CommandLine) -> None:
    description = json.loads(sidestream("info", finished_run / path, "--json").stdout)

    assert description["kind"] in ("run", "plot file", "checkpoint", "result")
    assert description["path"] == str(finished_run / path)


def test_info_of_a_folder_of_runs_is_a_table_of_them(tmp_path: Path, sidestream: CommandLine) -> None:
    synthetic.write_run(tmp_path / "runs" / "two", steps=20)
    synthetic.write_run(tmp_path / "runs" / "one", steps=10, status="interrupted")
    (tmp_path / "runs" / "notes").mkdir()

    done, listed = sidestream("info", "runs"), json.loads(sidestream("info", "runs", "--json").stdout)

    assert done.returncode == 0, done.stderr
    assert re.search(r"^one +interrupted +cosmology +10 +[\d.]+ m?s\ntwo +finished +cosmology +20 ", done.stdout, re.M)
    assert [run["name"] for run in listed["runs"]] == ["one", "two"]


@pytest.mark.parametrize("command", ["info", "verify", "plot", "report", "watch"])
def test_a_missing_run(command: str, tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream(command, tmp_path / "nowhere")

    assert done.returncode == 1
    snapshots.check_snapshot(f"missing-{command}", done, {"TMP": tmp_path})


def test_a_torn_result(own_run: Path, sidestream: CommandLine) -> None:
    path = own_run / "results" / "halos" / "000020.nc"
    whole = path.read_bytes()
    path.write_bytes(whole[:2000])

    done = sidestream("info", path)

    assert done.returncode == 1
    snapshots.check_snapshot("torn-result", done, {"RUN": own_run, "SIZE": Path(str(len(whole)))})


def test_a_torn_checkpoint(own_run: Path, sidestream: CommandLine) -> None:
    path = own_run / "chk00050.hdf5_chk"
    path.write_bytes(path.read_bytes()[:9000])

    done = sidestream("info", path)

    assert done.returncode == 1
    snapshots.check_snapshot("torn-checkpoint", done, {"RUN": own_run})


def test_plot_prints_the_paths_of_the_pictures(own_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("plot", own_run, "--task", "phase")

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(own_run / "pictures" / "phase-phase.png")]
    assert Path(done.stdout.strip()).stat().st_size > 1000


def test_plot_of_a_mistyped_task(finished_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("plot", finished_run, "--task", "fase")

    assert done.returncode == 1
    snapshots.check_snapshot("plot-mistyped-task", done, {"RUN": finished_run})


def test_info_tells_the_levels_of_a_refined_plot_file(sidestream: CommandLine) -> None:
    path = Path(__file__).parents[1] / "data" / "refined_plt00007"

    done = sidestream("info", path)

    assert done.returncode == 0, done.stderr
    snapshots.check_snapshot("info-refined-plotfile", done, {"PLOTFILE": path})


def test_watch_prints_the_path_of_the_page_and_ends_with_a_finished_run(own_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("watch", own_run)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(own_run / "live.html")]
    assert "<img " in Path(done.stdout.strip()).read_text()


def test_ctrl_c_ends_the_watching_without_a_word(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path / "demo", steps=20, status=None)
    for task in set(synthetic.TASKS) - {"phase"}:
        shutil.rmtree(folder / "results" / task)
    command = [sys.executable, "-m", "sidestream", "watch", str(folder)]
    with (
        held(folder),
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching,
    ):
        deadline = time.monotonic() + 300
        while not (folder / "live.html").exists() and time.monotonic() < deadline:
            time.sleep(0.1)

        watching.send_signal(signal.SIGINT)
        _, stderr = watching.communicate(timeout=60)

    assert watching.returncode == 0
    assert stderr == b""
    assert "<img " in (folder / "live.html").read_text()


def test_check_passes_on_what_the_program_says(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("check", config, "-n", 3)

    assert (done.returncode, done.stdout) == (0, "ranks: 3\nmemory: 120 MiB\n")


def test_check_for_programs_is_json(config: Path, sidestream: CommandLine) -> None:
    assert json.loads(sidestream("check", config, "-n", 3, "--json").stdout) == {"ranks": 3}


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_wrong_configuration_is_refused_with_the_program_s_own_words(
    command: str, config: Path, sidestream: CommandLine
) -> None:
    config.write_text("[mesh]\ncells = [64, 64, 64]\ncels = 3\n")

    done = sidestream(command, config, "-n", 2)

    assert done.returncode == 2
    snapshots.check_snapshot("wrong-configuration", done, {"TMP": config.parent})


def test_without_the_program_the_message_says_how_to_get_it(config: Path, sidestream: CommandLine) -> None:
    done = sidestream("check", config, SIDESTREAM_RUN="/nowhere/sidestream-run")

    assert done.returncode == 1
    snapshots.check_snapshot("no-program", done, {})


def test_no_colour_where_none_is_wanted(sidestream: CommandLine, tmp_path: Path) -> None:
    done = sidestream("info", tmp_path / "nowhere", FORCE_COLOR="1")

    assert "\x1b[3" not in done.stderr


def test_the_version_is_one_line(sidestream: CommandLine) -> None:
    assert re.fullmatch(r"sidestream \S+\n", sidestream("--version").stdout)
