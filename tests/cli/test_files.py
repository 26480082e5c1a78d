"""`sidestream convert` and `sidestream verify`, with the real program behind them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sample_file
import sidestream as ss
import snapshots
import synthetic
from fixtures import CommandLine, environment
from interrupting import interrupted
from sidestream.files.formats import formats
from tiers import slow

DATA = Path(__file__).parents[1] / "data"
REFINED = DATA / "refined_plt00007"


@pytest.mark.parametrize("ranks", [3, *slow(1, 2)])
def test_a_conversion_tells_what_was_written(ranks: int, tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream("convert", REFINED, "out", "--format", "nyx", "-n", ranks)

    assert done.returncode == 0, done.stderr
    assert all(line.startswith(("warning: 3 ranks", "hint: ")) for line in done.stderr.splitlines()), done.stderr
    told = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert told["wrote"].strip() == "out"
    assert told["kind"].strip() == "plot file of format nyx"
    assert (int(told["fields"]), int(told["levels"]), int(told["particles"])) == (2, 3, 29)
    assert told["speed"].strip().endswith("B/s")


def test_a_conversion_for_programs_is_json(tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream("convert", REFINED, "out", "--format", "flash", "-n", 1, "--json")

    report = json.loads(done.stdout)
    assert report["path"] == "out"
    assert report["bytes"] == (tmp_path / "out").stat().st_size
    assert report["io"]["writes"] > 0


def test_particles_that_a_format_cannot_hold_are_told_of(sidestream: CommandLine) -> None:
    done = sidestream("convert", REFINED, "out.vtkhdf", "--format", "vtkhdf", "-n", 1)

    assert done.returncode == 0
    assert done.stderr == "warning: vtkhdf files hold no particles: 29 were left out\n"


def test_more_parts_than_ranks_are_warned_of(sidestream: CommandLine) -> None:
    done = sidestream("convert", REFINED, "out.hdf5_chk", "--format", "sidestream", "--files", 3, "-n", 2)

    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == "warning: `--files 3` is more than the ranks that write"
    assert "hint: start on -n 3" in done.stderr.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        ("info", "plt00007"),
        ("convert", "plt00007", "out", "--format", "flash", "-n", 2),
        ("halos", "find", "plt00007", "-n", 1),
    ],
    ids=str,
)
def test_a_file_that_has_lost_its_checksums_is_read_with_a_warning(
    words: tuple[str, ...], tmp_path: Path, real_sidestream: CommandLine
) -> None:
    shutil.copytree(REFINED, tmp_path / "plt00007", ignore=shutil.ignore_patterns("sidestream.*"))

    done = real_sidestream(*words)

    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    (first,) = [i for i, line in enumerate(said) if "checksums are lost" in line]
    assert said[first].startswith("warning: the checksums are lost: Sidestream wrote the file, but")
    assert said[first + 1] == "  --> plt00007"
    assert said[first + 2].startswith("hint: copy it anew")
    assert "UserWarning" not in done.stderr


def test_opening_a_file_that_has_lost_its_checksums_warns(tmp_path: Path) -> None:
    shutil.copytree(REFINED, tmp_path / "plt00007", ignore=shutil.ignore_patterns("sidestream.*"))

    with pytest.warns(UserWarning, match="the checksums are lost: [^>]*\n  --> .*plt00007\nhint: copy it anew"):
        assert ss.open(tmp_path / "plt00007").seal == "lost"
    assert ss.open(REFINED).seal == "kept"


def test_chosen_fields_in_single_precision(tmp_path: Path, sidestream: CommandLine) -> None:
    words = ("--format", "flash", "--fields", "Temp", "--precision", "single", "-n", 2)

    done = sidestream("convert", REFINED, "out_hdf5_plt_cnt_0001", *words)

    assert done.returncode == 0, done.stderr
    small = ss.open(tmp_path / "out_hdf5_plt_cnt_0001")
    assert small.fields == ["Temp"]
    exact = ss.open(REFINED).covering_grid("Temp", 2)
    np.testing.assert_array_equal(small.covering_grid("Temp", 2), np.asarray(exact, dtype=np.float32))


def test_a_checkpoint_stays_one_only_as_a_whole(tmp_path: Path, sidestream: CommandLine) -> None:
    for name, words in {"whole": (), "part": ("--fields", "density"), "rounded": ("--precision", "single")}.items():
        done = sidestream("convert", synthetic.CHECKPOINT, name, "--format", "nyx", "-n", 2, *words)
        assert done.returncode == 0, done.stderr

    before, whole = ss.open(synthetic.CHECKPOINT), ss.open(tmp_path / "whole")
    assert [ss.open(tmp_path / name).kind for name in ("whole", "part", "rounded")] == [
        "checkpoint",
        "plot file",
        "plot file",
    ]
    assert whole.describe()["attributes"] == before.describe()["attributes"]
    for field in before.fields:
        np.testing.assert_array_equal(whole[field], before[field])


def test_blocks_of_another_size(tmp_path: Path, sidestream: CommandLine) -> None:
    done = sidestream("convert", REFINED, "out", "--format", "nyx", "--block", 2, "-n", 2)

    assert done.returncode == 0, done.stderr
    before, after = ss.open(REFINED), ss.open(tmp_path / "out")
    assert len(after.boxes(0)) == 64
    np.testing.assert_array_equal(after.covering_grid("density", 2), before.covering_grid("density", 2))


def test_there_and_back_in_every_format_keeps_every_bit(tmp_path: Path, sidestream: CommandLine) -> None:
    path = synthetic.CHECKPOINT
    for index, form in enumerate(formats()):
        done = sidestream("convert", path, f"{index}", "--format", form, "-n", 1 + index % 3)
        assert done.returncode == 0, f"{form}: {done.stderr}"
        path = tmp_path / str(index)

    before, after = ss.open(synthetic.CHECKPOINT), ss.open(path)
    assert after.describe()["attributes"] == before.describe()["attributes"]
    for field in before.fields:
        np.testing.assert_array_equal(after[field], before[field])


def test_nothing_is_replaced_unasked(tmp_path: Path, sidestream: CommandLine) -> None:
    (tmp_path / "out").write_text("precious")

    refused = sidestream("convert", REFINED, "out", "--format", "flash", "-n", 2)
    kept = (tmp_path / "out").read_text()
    done = sidestream("convert", REFINED, "out", "--format", "flash", "-n", 2, "--overwrite")

    assert kept == "precious"
    snapshots.check_snapshot("convert-refused", refused, {"TMP": tmp_path})
    assert done.returncode == 0, done.stderr
    assert ss.open(tmp_path / "out").levels == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fields", "metals"), "metals"),
        (("--block", "3"), "block"),
    ],
)
def test_what_cannot_be_done_is_one_clear_error(
    words: tuple[str, ...], said: str, tmp_path: Path, sidestream: CommandLine
) -> None:
    done = sidestream("convert", REFINED, "out", "--format", "flash", "-n", 2, *words)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("error: ") == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("form", "method", "hint"),
    [
        ("flash", "magic", "--method takes engine, aggregated, tuned, hdf5-independent"),
        ("nyx", "engine", "it has a way of its own: leave --method out"),
        ("files", "pnetcdf-blocking", "it has a way of its own: leave --method out"),
        ("raw", "hdf5-collective", "--method takes engine, aggregated, tuned, mpiio-independent"),
    ],
)
def test_a_method_that_does_not_write_the_format_is_refused(
    form: str, method: str, hint: str, tmp_path: Path, sidestream: CommandLine
) -> None:
    done = sidestream("convert", REFINED, "out", "--format", form, "--method", method)

    assert done.returncode == 2
    assert f"the format `{form}` cannot be written by `{method}`" in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "out").exists()


def test_only_the_species_that_are_named_are_taken_over(tmp_path: Path, sidestream: CommandLine) -> None:
    source = sample_file.write("raw", tmp_path / "chk00007.raw", "species")
    words = ("--format", "nyx", "-n", 2, "--species", "tracers,stars")

    done = sidestream("convert", source, "out", *words)

    assert done.returncode == 0, done.stderr
    out, whole = ss.open(tmp_path / "out"), ss.open(source)
    assert out.kind == "plot file"
    assert out.species == ["tracers", "stars"]
    assert out.fields == whole.fields
    stars = [file.particles("stars").sortby("id") for file in (out, whole)]
    np.testing.assert_array_equal(*(one["metallicity"] for one in stars))
    refused = sidestream("convert", source, "more", "--format", "nyx", "-n", 2, "--species", "star")
    assert refused.returncode == 1
    assert "dark_matter, stars, tracers, black_holes" in refused.stderr


def test_a_file_that_is_not_there_is_not_converted(sidestream: CommandLine) -> None:
    done = sidestream("convert", "nowhere", "out", "--format", "nyx")

    assert done.returncode == 1
    snapshots.check_snapshot("convert-missing", done, {})


def test_every_file_of_a_run_has_a_line(own_run: Path, sidestream: CommandLine) -> None:
    done = sidestream("verify", own_run, "-n", 2)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["good", "chk00050.hdf5_chk"], ["good", "plt00020"]]
    assert "checkpoint of format sidestream" in lines[0]
    assert "plot file of format nyx" in lines[1]


@pytest.mark.parametrize("damage", ["flipped bit", "cut short", "emptied"])
def test_a_damaged_file_is_named_and_the_others_are_read(damage: str, own_run: Path, sidestream: CommandLine) -> None:
    path = own_run / "chk00050.hdf5_chk"
    data = bytearray(path.read_bytes())
    data[15000] ^= 1
    path.write_bytes({"flipped bit": bytes(data), "cut short": bytes(data[:15000]), "emptied": b""}[damage])

    done = sidestream("verify", own_run, "-n", 2)

    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("damaged  chk00050.hdf5_chk  ")
    assert second.startswith("good     plt00020")
    assert done.stderr.startswith("error: 1 of 2 files cannot be trusted\n  --> chk00050.hdf5_chk\nhint: ")


def test_verdicts_for_programs_are_json(own_run: Path, sidestream: CommandLine) -> None:
    shutil.rmtree(own_run / "plt00020" / "Level_0")

    done = sidestream("verify", own_run, "-n", 1, "--json")

    assert done.returncode == 1
    verdicts = json.loads(done.stdout)
    assert [(Path(v["path"]).name, v["is_good"]) for v in verdicts] == [
        ("chk00050.hdf5_chk", True),
        ("plt00020", False),
    ]
    assert "Level_0" in verdicts[1]["message"]


def test_a_run_without_files_says_so(tmp_path: Path, sidestream: CommandLine) -> None:
    (tmp_path / "events.jsonl").write_text("")

    done = sidestream("verify", tmp_path)

    assert done.returncode == 1
    assert "neither plot files nor checkpoints" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, *slow(signal.SIGTERM)])
def test_an_interrupted_conversion_leaves_no_rank(number: signal.Signals, tmp_path: Path) -> None:
    """With a program that sleeps instead."""
    sleeper = tmp_path / "bin" / "sidestream-files"
    sleeper.parent.mkdir()
    sleeper.write_text('#!/bin/sh\necho $$ >> "$2.pids"\nsleep 300\n')
    sleeper.chmod(0o755)
    target, pids = tmp_path / "in", tmp_path / "in.pids"
    target.mkdir()
    command = [sys.executable, "-m", "sidestream", "convert", str(target), "out", "--format", "nyx", "-n", "2"]
    surroundings = environment(SIDESTREAM_RUN=str(sleeper.parent / "sidestream-run"))
    with subprocess.Popen(command, cwd=tmp_path, env=surroundings, stderr=subprocess.PIPE) as process:
        messages = interrupted(process, pids, number)

    assert b"Traceback" not in messages


def test_without_the_program_the_message_says_how_to_get_it(
    tmp_path: Path, sidestream: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sidestream.launch import launcher

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.delenv("SIDESTREAM_RUN", raising=False)

    with pytest.raises(ss.Error, match="`sidestream-files` was not found"):
        launcher.find_program("sidestream-files")


def test_a_pending_checkpoint_is_called_so(tmp_path: Path, sidestream: CommandLine) -> None:
    run = synthetic.write_run(tmp_path / "run")
    (run / "pending").mkdir()
    shutil.move(run / synthetic.CHECKPOINT.name, run / "pending")
    lines = sidestream("verify", run, "-n", 1).stdout.splitlines()
    info = sidestream("info", run / "pending" / synthetic.CHECKPOINT.name).stdout
    of_run = sidestream("info", run, "--json").stdout

    assert sum("pending, not committed" in line for line in lines) == 1
    assert "pending, not committed" in info
    assert json.loads(of_run)["checkpoints"] == []
    assert json.loads(of_run)["pending_checkpoints"] == [synthetic.CHECKPOINT.name]
