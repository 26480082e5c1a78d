"""Tasks that write files of the state, through the program: their own triggers, quantities and particles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import Done, command, program
from configs import universe

BOX = (
    universe(steps=8, box="8 Mpc", z_start=40, z_end=10)
    + """[quantity.ratio]
expression = "gas_density / dark_matter_density"

[task.density]
write = "plotfile"
format = "nyx"
every = 4
variables = ["gas_density", "ratio"]
precision = "single"
particle_share = 0

[task.sample]
write = "particles"
format = "FORMAT"
every = 2
particle_share = 0.25
particle_numbers = ["yvel"]

[task.saved]
write = "checkpoint"
every = 4

[output]
plotfile = { format = "nyx", every = 8 }
"""
)
# Of a run, or of plot files and checkpoints of one format or another.
OWN = ["results", "pending", "snapshots", "plt00002", "chk00002", "sidestream_hdf5_chk_0002"]
FORMATS = ["sidestream", "flash-netcdf", "enzo", "raw", "files"]


def run(folder: Path, ranks: int, *words: str) -> Done:
    return program(folder, ranks, "box.toml", "--quiet", *words)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writing")
    (folder / "box.toml").write_text(BOX.replace("FORMAT", "sidestream"))
    done = run(folder, 2, "--out", "o")
    assert done.returncode == 0, done.stderr
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_each_task_has_its_files_in_a_folder_of_its_own(box: Path) -> None:
    assert names(box / "o" / "density") == ["plt00000", "plt00004", "plt00008"]
    assert names(box / "o" / "sample") == [f"plt0000{step}.hdf5_plt_cnt" for step in (0, 2, 4, 6, 8)]
    assert [path.name for path in sorted((box / "o").glob("plt*"))] == ["plt00000", "plt00008"]
    assert (box / "o" / "chk00008.hdf5_chk").exists()


def test_all_that_was_written_is_told_of_and_whole(box: Path) -> None:
    told = command(box, "info", "o")
    checked = command(box, "verify", "o")

    assert told.returncode == checked.returncode == 0, told.stderr + checked.stderr
    for path in ("o/plt00008", "o/chk00008.hdf5_chk", "o/density/plt00008", "o/sample/plt00008.hdf5_plt_cnt"):
        assert command(box, "verify", path).returncode == 0, path
    written = {event["path"] for event in sidestream.open(box / "o").events.of("plotfile")}
    assert len(written) == 2 + 3 + 5
    assert all((box / path).exists() for path in written)


def test_a_plot_file_has_what_was_asked_for_and_no_particles(box: Path) -> None:
    small = sidestream.open(box / "o" / "density" / "plt00008")
    whole = sidestream.open(box / "o" / "plt00008")

    assert set(small.fields) == {"density", "ratio"}
    assert small.describe()["particles"] is None
    gas, dark = whole.covering_grid("density"), whole.covering_grid("particle_mass_density")
    np.testing.assert_array_equal(small.covering_grid("ratio"), (gas / dark).astype(np.float32))


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a task for each format, named like it."""
    folder = tmp_path_factory.mktemp("samples")
    begin, end = BOX.index("[task.sample]"), BOX.index("[task.saved]")
    tasks = [BOX[begin:end].replace("task.sample", f"task.{form}").replace("FORMAT", form) for form in FORMATS]
    (folder / "box.toml").write_text(BOX[:begin] + "".join(tasks) + BOX[end:])
    done = run(folder, 3, "--out", "o")
    assert done.returncode == 0, done.stderr
    return folder / "o"


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_of_the_particles_is_always_the_same(samples: Path, format: str) -> None:
    files = sorted((samples / format).iterdir())
    first, last = (sidestream.open(path).particles() for path in (files[0], files[-1]))
    all_of_last = sidestream.open(samples / "plt00008").particles()
    ids = np.sort(np.asarray(last["id"]))
    assert 0.2 < len(ids) / len(all_of_last["id"]) < 0.3
    np.testing.assert_array_equal(np.sort(np.asarray(first["id"])), ids)
    of_all = {int(i): x for i, x in zip(np.asarray(all_of_last["id"]), np.asarray(all_of_last["x"]), strict=True)}
    ratio = np.asarray(last["x"]) / [of_all[int(i)] for i in np.asarray(last["id"])]  # formats have units of their own
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


def test_a_checkpoint_that_a_task_wrote_is_gone_on_from(box: Path) -> None:
    cut = run(box, 2, "--out", "cut", "--set", "run.max_steps=6")
    assert cut.returncode == 0, cut.stderr
    rest = run(box, 1, "--out", "cut", "--restart")
    assert rest.returncode == 0, rest.stderr

    for step in (6, 8):
        name = Path("sample") / f"plt{step:05}.hdf5_plt_cnt"
        one, other = (sidestream.open(box / folder / name).particles() for folder in ("o", "cut"))
        order, other_order = np.argsort(one["id"]), np.argsort(other["id"])
        np.testing.assert_array_equal(np.asarray(one["x"])[order], np.asarray(other["x"])[other_order])


def test_a_new_run_removes_the_files_of_the_one_before(box: Path) -> None:
    assert run(box, 2, "--out", "again").returncode == 0
    mine = box / "again" / "mine"
    mine.mkdir()
    (mine / "plt00000.raw").write_text("mine")

    done = run(box, 2, "--out", "again", "--overwrite", "--set", "run.max_steps=2")

    assert done.returncode == 0, done.stderr
    assert names(box / "again" / "sample") == ["plt00000.hdf5_plt_cnt", "plt00002.hdf5_plt_cnt"]
    assert names(box / "again" / "density") == ["plt00000"]
    assert (mine / "plt00000.raw").read_text() == "mine"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('task.density.write="plotfil"', ["there is no kind of file `plotfil`", "did you mean `plotfile`?"]),
        ('task.density.analysis="halos"', ["the task `density` writes files"]),
        ('task.sample.format="nyx"', ["task.sample.format", "sidestream"]),
        *[(f'task.{name}.write="particles"', [f"called `{name}` of its own", "folder of that name"]) for name in OWN],
        ('task.sample.particle_numbers=["yvel", "yvel"]', ["`yvel` is named twice"]),
        ("task.sample.particle_share=1.5", ["particle_share"]),
        ('task.sample.particle_numbers=["xvell"]', ["there is no number of the particles `xvell`", "`xvel`"]),
        ('task.sample.species=["stars"]', ["there is no species `stars`", "dark_matter"]),
        ('task.sample.variables=["gas_density"]', ["variables"]),
        ('task.density.variables=["Temperature"]', ["there is no quantity `Temperature`"]),
        ("output.checkpoint.every=3", ["the run has checkpoints already"]),
    ],
)
def test_wrong_keys_are_told_before_the_run(box: Path, key: str, words: list[str]) -> None:
    done = run(box, 1, "--out", "never", "--set", key)

    assert done.returncode == 2, done.stdout
    assert not (box / "never").exists()
    for word in words:
        assert word in done.stderr


def test_a_simulation_without_particles_writes_none(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text('simulation = "sod"\n[task.p]\nwrite = "particles"\nevery = 1\n')
    done = run(tmp_path, 1, "--out", "never")

    assert done.returncode == 2
    assert "this simulation has no particles" in done.stderr
