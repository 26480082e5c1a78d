"""What cannot work is refused before the run, with the place in the configuration, and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calls import Done, program
from tiers import slow

BOX = """simulation = "cosmology"
[run]
max_steps = 2
[mesh]
cells = [16, 16, 16]
block = 8
[cosmology]
box = "14.2 Mpc"
z_start = 50
z_end = 2
"""
TASK = '[task.t]\nevery = 1\nanalysis = "{}"\n'
OUTPUT = "[output]\ncheckpoint = { every = 1, "
AWAY = 'transport = "in-transit"\n[coupling]\nsidecars = 1\n'


def run(folder: Path, *words: str, ranks: int = 1) -> Done:
    return program(folder, ranks, "box.toml", "--quiet", *words)


MISTAKES = [
    (TASK.format("pdf") + "low = 5\nhigh = 2\n", "task.t.low", ["from `low` = 5", "0 < low < high"]),
    (TASK.format("phase") + "temperature_low = -1\n", "task.t.temperature_low", ["-1"]),
    (
        TASK.format("halos") + 't_boundary = "300 mean"\n',
        "task.t.t_boundary",
        ["`t_halo` (200 mean, the default) is below"],
    ),
    (TASK.format("halos") + 't_halo = "81.66 means"\n', "task.t.t_halo", ["unknown unit `means`"]),
    (TASK.format("halos") + "connectivity = 8\n", "task.t.connectivity", ["connectivity 8", "6, 14 or 26"]),
    (TASK.format("halos") + "linking_length = 0\n", "task.t.linking_length", ["linking length is 0"]),
    (TASK.format("merge_tree") + "connectivity = 8\n", "task.t.connectivity", ["connectivity 8"]),
    (TASK.format("merge_tree") + 'cut_off = "high"\n', "task.t.cut_off", ["does not start with a number"]),
    (TASK.format("slice") + 'fields = ["pressure", "presure"]\n', "task.t.fields", ["`presure`", "it has: "]),
    (TASK.format("projection") + 'weight = "heat"\n', "task.t.weight", ["`heat`"]),
    (TASK.format("projection") + 'weight = "pressure"\ncombine = "max"\n', "task.t.weight", ["no meaning"]),
    (TASK.format("pdf") + 'fields = ["gas_density", "gas_density"]\n', "task.t.fields", ["named twice"]),
    (
        TASK.format("merge_tree") + 'store = ["value"]\n[quantity.value]\nexpression = "1"\n',
        "task.t.store",
        ["value"],
    ),
    (
        '[output]\nplotfile = { every = 1, format = "vtkhdf", particle_share = 0.5 }\n',
        "output.plotfile.particle_share",
        ["the format `vtkhdf` holds no particles"],
    ),
    (TASK.format("projection") + "level = 30\n", "task.t.level", ["picture of level 30", "lower `level`"]),
    (TASK.format("slice") + "level = 14\n", "task.t.level", ["picture of level 14"]),
    (TASK.format("power_spectrum") + "level = 12\n", "task.t.level", ["covering grid of level 12"]),
    (TASK.format("slice") + "at_redshift = [3, 60]\n", "task.t.at_redshift", ["begins at redshift 50", "60"]),
    (TASK.format("slice") + "at_redshift = [1]\n", "task.t.at_redshift", ["ends at redshift 2"]),
    (
        TASK.format("slice") + 'at_time = ["100 Gyr"]\n',
        "task.t.at_time",
        ["the time 3.", "before 100 Gyr"],
    ),
    (TASK.format("slice") + 'at_time = ["1 Myr"]\n', "task.t.at_time", ["the time 0.0", "after 0.001 Gyr"]),
    ('[task.t]\nevery = 99999999999999999999\nanalysis = "slice"\n', "task.t.every", ["too many digits"]),
    ("[output]\nplotfile = { at_redshift = [0] }\n", "output.plotfile.at_redshift", ["ends at redshift 2"]),
    (
        '[output]\nplotfile = { format = "nyx", every = 1, ranks_per_file = 2 }\n',
        "output.plotfile.ranks_per_file",
        ["`ranks_per_file` has no effect in the format `nyx`"],
    ),
    (
        '[output]\ncheckpoint = { every = 1, files = 2, format = "raw" }\n',
        "output.checkpoint.files",
        ["`files` has no effect in the format `raw`"],
    ),
    (
        '[output]\ncheckpoint = { every = 1, format = "files", aggregators = 2 }\n',
        "output.checkpoint.aggregators",
        ["`aggregators` has no effect in the format `files`"],
    ),
    (
        '[task.t]\nevery = 1\nwrite = "particles"\nparticle_share = 0\n',
        "task.t.particle_share",
        ["files of particles without any hold nothing"],
    ),
    (
        '[output]\nplotfile = { format = "nyx", every = 1, compress = "zstd" }\n',
        "output.plotfile.compress",
        ["the format `nyx` cannot hold compressed cells"],
    ),
    (
        '[output]\ncheckpoint = { every = 1, compress = { "*" = "zfp 1e-3 relative" } }\n',
        "output.checkpoint.compress.*",
        ["a checkpoint is exact"],
    ),
    (
        '[output]\nplotfile = { format = "raw", every = 1, compress = { gas_densty = "zstd" } }\n',
        "output.plotfile.compress.gas_densty",
        ["no quantity `gas_densty`", "did you mean `gas_density`?"],
    ),
    (OUTPUT + "stripes = -1 }\n", "output.checkpoint.stripes", ["between 0 and 2000"]),
    (OUTPUT + 'stripes = 8, stripe_size = "5 KiB" }\n', "output.checkpoint.stripe_size", ["multiple of 64 KiB"]),
    (OUTPUT + 'stripe_size = "4 MiB" }\n', "output.checkpoint.stripe_size", ["set `stripes` too"]),
    (OUTPUT + 'format = "nyx", stripes = 8 }\n', "output.checkpoint.stripes", ["no effect in the format `nyx`"]),
    ('[coupling]\ncompress = "zip"\n', "coupling.compress", ["no compressor `zip`", "none, zstd, zfp"]),
    ('[coupling]\ncompress = "zfp"\n', "coupling.compress", ["takes the largest error that a cell may have"]),
    ('[coupling]\ncompress = { heat = "zstd" }\n', "coupling.compress.heat", ["no quantity `heat`"]),
    (TASK.format("slice") + AWAY + 'queue = "1 B"\n', "coupling.queue", ["the queue holds 1 B", "128 KiB"]),
    (TASK.format("slice") + AWAY + 'when_full = "spill"\nspill = "/etc/passwd"\n', "coupling.spill", ["no folder"]),
    (TASK.format("slice") + AWAY + 'spill = "/etc/passwd/spill"\n', "coupling.spill", ['passwd" is no folder']),
    (TASK.format("slice") + AWAY + 'spill = "/proc/self/spill"\n', "coupling.spill", ["no file can be made in"]),
]


def expect_mistake(folder: Path, lines: str, key: str, words: list[str], *way: str, ranks: int) -> None:
    (folder / "box.toml").write_text(BOX + lines)

    done = run(folder, *way, ranks=ranks)

    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(rf"--> box\.toml:\d+:\d+, key `{re.escape(key)}`", done.stderr), done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(("lines", "key", "words"), MISTAKES)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, lines: str, key: str, words: list[str]) -> None:
    expect_mistake(tmp_path, lines, key, words, "--check", "--ranks", "2", ranks=1)


@pytest.mark.parametrize(("lines", "key", "words"), [*MISTAKES[:2], *slow(*MISTAKES[2:])])
def test_a_mistake_is_told_by_ranks_that_leave_nothing(tmp_path: Path, lines: str, key: str, words: list[str]) -> None:
    expect_mistake(tmp_path, lines, key, words, "--out", "never", ranks=2)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ("cells = [65536, 65536, 65536]\nblock = 8", ["5.5e+11 blocks of 8", "take `mesh.block = 256`"]),
        ("cells = [1048576, 1048576, 1048576]\nblock = 256", ["6.87e+10 blocks of 256"]),
    ],
)
def test_more_blocks_than_there_can_be(tmp_path: Path, mesh: str, words: list[str]) -> None:
    (tmp_path / "box.toml").write_text(BOX.replace("cells = [16, 16, 16]\nblock = 8", mesh))
    done = run(tmp_path, "--check")

    assert done.returncode == 2
    assert "box.toml:5:9, key `mesh.cells`" in done.stderr
    for word in words:
        assert word in done.stderr


def test_what_groups_of_particles_do_not_use_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(BOX + TASK.format("halos") + 'finder = "fof"\nt_boundary = "300 mean"\n')
    assert run(tmp_path, "--check").returncode == 0


def test_the_first_and_the_last_moment_are_in_reach(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(BOX + TASK.format("slice") + "at_redshift = [50, 2]\n")
    assert run(tmp_path, "--check").returncode == 0


def test_a_problem_in_time_ends_too(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text('simulation = "sod"\n[task.t]\nanalysis = "slice"\nat_time = [0.1, 1e3]\n')
    done = run(tmp_path, "--check")

    assert done.returncode == 2
    assert "box.toml:4:" in done.stderr and "before 1000" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--restart",), "there is no good checkpoint to restart from"),
        (("--from", "nofile"), "nofile"),
        (("--from", "box.toml"), "box.toml"),
    ],
)
def test_a_run_without_a_state_to_begin_with_leaves_nothing(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    (tmp_path / "box.toml").write_text(BOX)
    for way in (("--check", "--ranks", "2"), ()):
        done = run(tmp_path, "--out", "new", *words, *way, ranks=1 if way else 2)

        assert done.returncode == 2, done.stderr
        assert told in done.stderr
        assert not (tmp_path / "new").exists()
    right = run(tmp_path, "--out", "new", "--set", "run.max_steps=1")
    assert right.returncode == 0, right.stderr


def test_a_file_may_begin_before_the_initial_conditions(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(BOX + "[output]\nplotfile = { at_start = true }\n")
    assert run(tmp_path, "--out", "early").returncode == 0
    (tmp_path / "box.toml").write_text(BOX.replace("50", "20") + TASK.format("slice") + "at_redshift = [48]\n")

    done = run(tmp_path, "--from", "early/plt00000", "--check")

    assert done.returncode == 0, done.stderr
    assert run(tmp_path, "--check").returncode == 2
