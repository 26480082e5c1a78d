"""Tasks of the transport `file` through the program: stored while a run goes on, analysed when it is over."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sidestream
from calls import analyze_later, command, program
from fixtures import environment
from sidestream.cli import main, run_command
from sidestream.launch.launcher import find_program
from test_faults import results

BOX = """simulation = "cosmology"

[run]
max_steps = 6

[mesh]
cells = [16, 16, 16]
block = 8

[amr]
max_level = 1

[refine.dense]
criterion = "threshold"
field = "dark_matter_overdensity"
refine_above = 1.3
coarsen_below = 1.1

[cosmology]
box = "4 Mpc"
z_start = 30
z_end = 0

[quantity.ratio]
expression = "gas_density / (gas_density + dark_matter_density)"

[task.halos]
analysis = "halos"
field = "dark_matter_density"
t_boundary = "1.02 mean"
t_halo = "1.05 mean"
link = true
every = 2
transport = "file"

[task.ratio]
analysis = "pdf"
fields = ["ratio"]
every = 3
transport = "file"

[task.clumps]
analysis = "halos"
finder = "fof"
every = 3
transport = "file"

[output]
checkpoint = { format = "sidestream", every = 2, keep = 0 }
"""
TASKS = ("halos", "ratio", "clumps")


def run(folder: Path, out: str, ranks: int, *words: str, code: int = 0) -> Path:
    done = program(folder, ranks, "box.toml", "--quiet", "--out", out, *words)
    assert done.returncode == code, done.stderr
    return folder / out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One that stored everything, and one that did everything at once."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "box.toml").write_text(BOX)
    at_once = [word for task in TASKS for word in ("--set", f"task.{task}.transport=in-situ")]
    return run(folder, "stored", 2), run(folder, "at_once", 1, *at_once)


@pytest.fixture
def stored(runs: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(runs[0], tmp_path / "stored"))


def test_results_are_those_of_in_situ_on_other_ranks(runs: tuple[Path, Path], stored: Path) -> None:
    assert not (stored / "results").exists()
    assert len(results(runs[1])) == 4 + 3 + 3

    assert analyze_later(stored, 3).returncode == 0

    assert results(stored) == results(runs[1])


FLOW = """simulation = "turbulence"
[mesh]
cells = [8, 8, 8]
block = 8
[run]
max_steps = 1
[task.plane]
analysis = "slice"
grid = "space"
fields = ["vorticity_magnitude"]
at_end = true
transport = "in-situ"
"""


def test_quantities_without_a_unit_have_none_in_the_results(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(FLOW)
    at_once = run(tmp_path, "at_once", 1)
    stored = run(tmp_path, "stored", 1, "--set", "task.plane.transport=file")

    assert analyze_later(stored, 1).returncode == 0

    assert len(results(at_once)) == 1
    assert results(stored) == results(at_once)


def test_what_is_read_of_a_snapshot_is_asked_of_the_next_one_ahead(stored: Path, tmp_path: Path) -> None:
    layer = {
        "LD_PRELOAD": str(find_program("sidestream-run").with_name("libsidestream_io_layer.so")),
        "SIDESTREAM_IO_PATH": str(stored),
        "SIDESTREAM_IO_COUNT": str(tmp_path / "count"),
    }

    done = program(stored.parent, 1, stored / "config.toml", "--analyze", "--out", stored, **layer)

    assert done.returncode == 0, done.stderr
    files = json.loads((tmp_path / "count.0.json").read_text())["files"]
    ahead = {Path(file["path"]).name: file["bytes_ahead"] for file in files if "/snapshots/" in file["path"]}
    first, *others = sorted(ahead)
    assert len(others) == 4
    assert ahead[first] == 0
    assert all(ahead[other] > 0 for other in others)


def test_the_report_and_the_bill_tell_of_it(stored: Path) -> None:
    told = command(stored.parent, "analyze", "stored", "-n", 1)
    assert told.returncode == 0, told.stderr
    assert "10 results were made, in stored/results" in told.stderr
    assert "halos" in told.stdout
    assert (stored / "report.html").is_file()
    opened = sidestream.open(stored)
    assert isinstance(opened, sidestream.Run)
    assert opened.steps("clumps") == [0, 3, 6]
    assert opened.events.of("analyze_start")[0]["t"] >= opened.events.last("run_end")["t"]
    groups = {group["group"]: group for group in json.loads(command(stored.parent, "bill", "stored", "--json").stdout)}
    later = groups["analyze"]
    assert sum(line["mean_s"] for line in later["lines"]) == pytest.approx(later["wall_s"], rel=0.01)
    assert {"reading snapshots", "analysis"} <= {line["line"] for line in later["lines"]}
    assert "storing snapshots" in {line["line"] for line in groups["compute"]["lines"]}


def test_what_is_missing_is_made_and_nothing_else(runs: tuple[Path, Path], stored: Path) -> None:
    assert analyze_later(stored, 2).returncode == 0
    (stored / "results" / "ratio" / "00003.nc").unlink()
    before = {path: path.stat().st_mtime_ns for path in (stored / "results").glob("*/*.nc")}

    assert analyze_later(stored, 2).returncode == 0

    assert results(stored) == results(runs[1])
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_damaged_snapshot_costs_its_own_results(runs: tuple[Path, Path], stored: Path) -> None:
    path = next((stored / "snapshots").glob("plt00003*"))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)

    assert run_command(["verify", str(stored)]) == 1
    done = analyze_later(stored, 2)

    assert done.returncode == 1
    assert "plt00003" in done.stderr + done.stdout
    whole, made = results(runs[1]), results(stored)
    missing = set(whole) - set(made)
    assert missing
    assert all("00003" in name for name in missing)
    assert all(whole[name] == found for name, found in made.items())


def test_a_run_that_stored_nothing_says_what_would(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["analyze", str(runs[1])]) == 1
    told = capsys.readouterr().err
    assert 'transport = "file"' in told
    assert "snapshots" in told


def test_before_it_a_task_says_how_to_get_its_results(stored: Path) -> None:
    opened = sidestream.open(stored)
    assert isinstance(opened, sidestream.Run)
    with pytest.raises(sidestream.Error, match="sidestream analyze"):
        opened["halos"]


def test_a_restart_stores_again_and_overwriting_removes(runs: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(BOX)
    folder = run(tmp_path, "part", 2, "--set", "run.max_steps=5")
    for path in (folder / "snapshots").glob("plt00004*"):
        path.unlink()  # of after the last checkpoint but one
    for path in [*folder.glob("chk00004*"), *folder.glob("chk00005*"), *(folder / "pending").glob("*")]:
        path.unlink()
    run(tmp_path, "part", 1, "--restart")
    assert analyze_later(folder, 1).returncode == 0
    assert results(folder) == results(runs[1])

    run(tmp_path, "part", 1, "--overwrite", "--set", "run.max_steps=0")
    assert [path.name[:8] for path in (folder / "snapshots").iterdir()] == ["plt00000"]


def test_a_snapshot_that_finds_no_place_holds_back_later_checkpoints(runs: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(BOX)
    folder = run(tmp_path, "full", 2, "--set", "run.max_steps=2")
    (folder / "snapshots").rename(tmp_path / "aside")
    (folder / "snapshots").write_text("in the way")

    run(tmp_path, "full", 2, "--restart", code=1)

    opened = sidestream.open(folder)
    assert isinstance(opened, sidestream.Run)
    assert opened.status == "incomplete"
    assert [path.name[:8] for path in sorted(folder.glob("chk*"))] == ["chk00002"]
    (folder / "snapshots").unlink()
    (tmp_path / "aside").rename(folder / "snapshots")
    run(tmp_path, "full", 1, "--restart")
    assert analyze_later(folder, 1).returncode == 0
    assert results(folder) == results(runs[1])


ONE_RESULT = """#!/bin/sh
for word in "$@"; do [ "$before" = --out ] && out=$word; before=$word; done
mkdir -p "$out/results/halos" && touch "$out/results/halos/000003.nc"
echo $$ > pid
exec sleep 60
"""


@pytest.mark.parametrize("of", ["a run", "files"])
def test_who_interrupts_an_analysis_is_told_what_was_done_and_how_to_go_on(
    of: str, stored: Path, tmp_path: Path
) -> None:
    """With a program that makes one result and then sleeps. Results that were deleted remain to be made."""
    sleeper = tmp_path / "bin" / "sidestream-run"
    sleeper.parent.mkdir()
    sleeper.write_text(ONE_RESULT)
    sleeper.chmod(0o755)
    with (stored / "events.jsonl").open("a") as log:
        log.write('{"event": "analysis", "task": "halos", "step": 6, "t": 1}\n')
    files = sorted(stored.glob("chk*"))[:2]
    words = [str(stored)] if of == "a run" else [*map(str, files), "--task", "halos", "--out", "of_files"]
    line = [sys.executable, "-m", "sidestream", "analyze", *words, "-n", "1"]
    surroundings = environment(SIDESTREAM_RUN=str(sleeper))
    with subprocess.Popen(line, cwd=tmp_path, env=surroundings, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=60)

    assert process.returncode == 130
    snapshots = len(list((stored / "snapshots").iterdir()))
    left, how_to_go_on = (
        (f"{snapshots - 1} of {snapshots} snapshots", "the same command goes on")
        if of == "a run"
        else ("1 of 2 files", "the same command with --overwrite does all again")
    )
    assert f"interrupted: 1 result was made; {left} have none yet: {how_to_go_on}" in messages


@pytest.mark.parametrize("where", ["cli.run_command", "files.opening.open_run"])
def test_who_interrupts_an_analysis_before_it_begins_is_told(
    where: str, stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"sidestream.{where}", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["analyze", str(stored), "-n", "1"])

    assert end.value.code == 130
    assert capsys.readouterr().err.splitlines() == ["interrupted: nothing was done"]
    assert not (stored / "results").exists()
