"""Checkpoints and plot files in parts: what one file holds, for h5py, yt and restarts, and one file to all commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from calls import Done, program
from fixtures import CommandLine
from sidestream.attack.subjects import state_in

CONFIG = """simulation = "sedov"

[mesh]
cells = [16, 16, 16]
block = 8

[run]
max_steps = 2

[output]
checkpoint = { every = 1, keep = 1 }
plotfile = { format = "flash", every = 2 }
"""
CHECKPOINT, PLOT = "chk00002.hdf5_chk", "sidestream_hdf5_plt_cnt_0002"
IN_PARTS = ("--set", "output.checkpoint.files=3", "--set", "output.plotfile.files=2")


def run(folder: Path, ranks: int, out: str, *words: str) -> Done:
    return program(folder, ranks, "sedov.toml", "--quiet", "--out", out, *words)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `whole`, of one file each, and the same run `parts`, of several."""
    folder = tmp_path_factory.mktemp("split")
    (folder / "sedov.toml").write_text(CONFIG)
    for out, words in (("whole", ()), ("parts", IN_PARTS)):
        done = run(folder, 3, out, *words)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copy(runs: Path, tmp_path: Path) -> Path:
    """The folder `runs` to do harm to."""
    return Path(shutil.copytree(runs, tmp_path / "copy"))


def test_h5py_reads_to_the_bit_what_one_file_holds(runs: Path) -> None:
    for name in (CHECKPOINT, PLOT):
        whole, parts = runs / "whole" / name, runs / "parts" / name / "master.hdf5_chk"
        assert state_in(parts) == state_in(whole)
        with h5py.File(parts) as file:
            assert file["dens"].is_virtual
            sources = [source.file_name for source in file["dens"].virtual_sources()]
        assert sources == [f"part{p}.h5" for p in range(3 if name == CHECKPOINT else 2)]


def test_a_run_keeps_so_many_files_in_parts_as_others(runs: Path) -> None:
    assert [path.name for path in (runs / "parts").glob("chk*")] == [CHECKPOINT]
    assert sorted(path.name for path in (runs / "parts" / CHECKPOINT).iterdir()) == [
        "master.hdf5_chk",
        "part0.h5",
        "part1.h5",
        "part2.h5",
    ]
    assert not list((runs / "parts").glob(".*chk*"))


def test_a_part_whose_ranks_have_no_blocks_is_whole(tmp_path: Path) -> None:
    one_block = CONFIG.replace("[16, 16, 16]", "[8, 8, 8]")
    (tmp_path / "sedov.toml").write_text(one_block)

    first = run(tmp_path, 3, "parts", *IN_PARTS, "--set", "run.max_steps=1")
    again = run(tmp_path, 3, "parts", *IN_PARTS, "--restart")
    whole = run(tmp_path, 1, "whole")

    assert first.returncode == again.returncode == whole.returncode == 0, again.stderr
    assert "passed over" not in again.stderr
    found = state_in(tmp_path / "parts" / CHECKPOINT / "master.hdf5_chk")
    assert found == state_in(tmp_path / "whole" / CHECKPOINT)


def test_yt_opens_the_master(runs: Path) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    whole, parts = (yt.load(str(path)) for path in (runs / "whole" / PLOT, runs / "parts" / PLOT / "master.hdf5_chk"))

    assert type(parts).__name__ == "FLASHDataset"
    np.testing.assert_array_equal(parts.all_data()["flash", "dens"].d, whole.all_data()["flash", "dens"].d)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_restart_on_other_ranks_goes_on_to_the_bit(copy: Path, ranks: int) -> None:
    for out, words in (("whole", ()), ("parts", IN_PARTS)):
        (copy / out / PLOT).rename(copy / out / "earlier")
        done = run(copy, ranks, out, *words, "--restart", "--set", "run.max_steps=3")
        assert done.returncode == 0, done.stderr
    parts = copy / "parts" / "chk00003.hdf5_chk"
    assert parts.is_dir() == (ranks > 1)
    found, expected = state_in(parts / "master.hdf5_chk" if ranks > 1 else parts), state_in(copy / "whole" / parts.name)
    assert {key: found[key] for key in expected} == expected


def test_a_part_that_is_missing_is_refused_by_name(copy: Path) -> None:
    (copy / "parts" / CHECKPOINT / "part1.h5").unlink()

    done = run(copy, 2, "again", "--from", f"parts/{CHECKPOINT}")

    assert done.returncode == 2
    assert "a part of the file is missing" in done.stderr
    assert f"{CHECKPOINT}/part1.h5" in done.stderr
    assert "bring the part back into the folder of its file" in done.stderr
    with h5py.File(copy / "parts" / CHECKPOINT / "master.hdf5_chk") as file:
        assert np.isnan(file["dens"][:]).any()


def test_a_part_of_another_step_is_refused_by_name(copy: Path) -> None:
    done = run(copy, 3, "shorter", *IN_PARTS, "--set", "run.max_steps=1")
    assert done.returncode == 0, done.stderr
    shutil.copy(copy / "shorter/chk00001.hdf5_chk/part2.h5", copy / "parts" / CHECKPOINT / "part2.h5")

    done = program(copy, 1, "verify", f"parts/{CHECKPOINT}", name="sidestream-files")

    assert done.returncode == 1
    assert f"{CHECKPOINT}/part2.h5" in done.stdout + done.stderr


def test_verify_names_the_part_that_is_damaged(copy: Path) -> None:
    path = copy / "parts" / CHECKPOINT / "part1.h5"
    with h5py.File(path) as file:
        place = file["dens"].id.get_offset()
    content = bytearray(path.read_bytes())
    content[place + 40] ^= 1
    path.write_bytes(content)

    done = program(copy, 2, "verify", f"parts/{CHECKPOINT}", name="sidestream-files")

    assert done.returncode == 1
    assert "the checksum of `dens`" in done.stdout + done.stderr
    assert f"{CHECKPOINT}/part1.h5" in done.stdout + done.stderr


def test_a_folder_that_was_moved_is_the_same_file(copy: Path) -> None:
    moved = (copy / "parts" / CHECKPOINT).rename(copy / "moved.hdf5_chk")

    done = program(
        copy, 2, "convert", "moved.hdf5_chk", "one.hdf5_chk", "--format", "sidestream", name="sidestream-files"
    )
    assert done.returncode == 0, done.stderr
    split = program(
        copy,
        2,
        "convert",
        "one.hdf5_chk",
        "two.hdf5_chk",
        "--format",
        "sidestream",
        "--files",
        "2",
        name="sidestream-files",
    )

    assert split.returncode == 0, split.stderr
    expected = state_in(copy / "one.hdf5_chk")
    for path in (moved, copy / "two.hdf5_chk"):
        found = state_in(path / "master.hdf5_chk")
        assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("form", ["raw", "flash-netcdf"])
def test_other_formats_are_refused_before_the_run_begins(runs: Path, form: str) -> None:
    done = run(runs, 1, "refused", "--set", f"output.checkpoint.format={form}", "--set", "output.checkpoint.files=2")

    assert done.returncode == 2
    assert f"`files` has no effect in the format `{form}`" in done.stderr
    assert not (runs / "refused").exists()


def test_verify_takes_the_folders_of_a_run(copy: Path, real_sidestream: CommandLine) -> None:
    good = real_sidestream("verify", copy / "parts")
    assert good.returncode == 0, good.stderr
    (copy / "parts" / CHECKPOINT / "part2.h5").unlink()

    bad = real_sidestream("verify", copy / "parts")

    assert bad.returncode == 1
    assert "a part of the file is missing" in bad.stdout + bad.stderr
