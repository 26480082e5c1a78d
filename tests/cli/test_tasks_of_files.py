"""Tasks with files, as `sidestream analyze DATA...` and `sidestream halos find FILE` do them: the run's own results."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import calls
import sidestream as ss
from fixtures import CommandLine
from sidestream.launch.launcher import find_program
from tiers import slow

OTHER = Path(__file__).parents[1] / "data" / "nyx_plt00002"
BOX = """simulation = "cosmology"

[mesh]
cells = [16, 16, 16]
block = 8

[cosmology]
box = "10 Mpc"
z_start = 50
z_end = 25
{refinement}
[task.halos]
analysis = "halos"
t_boundary = "1.1 mean"
t_halo = "1.15 mean"
connectivity = 6
kinematics = true
transport = "in-transit"
at_redshift = [30, 25]

[task.spectra]
analysis = "power_spectrum"
at_redshift = [30, 25]

[coupling]
sidecars = 1

[output]
plotfile = {{ format = "nyx", at_redshift = [30, 25], particle_precision = "double" }}
checkpoint = {{ format = "sidestream", at_end = true }}
"""
REFINED = """
[amr]
max_level = 1

[refine.dense]
criterion = "threshold"
field = "dark_matter_overdensity"
refine_above = 1.2
coarsen_below = 0.5

"""


GROUPS = """
[task.groups]
analysis = "halos"
finder = "fof"
linking_length = 0.9
min_particles = 2
kinematics = true
at_end = true

[task.exact]
write = "plotfile"
format = "raw"
particle_precision = "double"
at_end = true

[task.rounded]
write = "plotfile"
format = "nyx"
at_end = true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on a uniform and a refined mesh, in `uniform` and `refined`, with plot files and a checkpoint."""
    folder = tmp_path_factory.mktemp("runs")
    for name, refinement in (("uniform", ""), ("refined", REFINED)):
        (folder / f"{name}.toml").write_text(BOX.format(refinement=refinement), encoding="utf-8")
        done = calls.program(folder, 2, f"{name}.toml", "--quiet", "--out", name)
        assert done.returncode == 0, done.stderr
    return folder


def last_plot(run: Path) -> Path:
    return sorted(run.glob("plt*"))[-1]


def require_equal(ours: xr.Dataset, theirs: xr.Dataset) -> None:
    assert set(ours.variables) == set(theirs.variables)
    for name, column in ours.variables.items():
        np.testing.assert_array_equal(column, theirs[name], err_msg=str(name))
        assert column.attrs.get("units") == theirs[name].attrs.get("units"), name


@pytest.mark.parametrize(("kind", "ranks"), [("uniform", 2), ("refined", 3), *slow(("uniform", 1))])
def test_halos_of_a_plot_file_are_those_of_the_run(
    kind: str, ranks: int, folder: Path, tmp_path: Path, real_sidestream: CommandLine
) -> None:
    done = real_sidestream("halos", "find", last_plot(folder / kind), "-n", ranks, "-o", "halos.nc")

    assert done.returncode == 0, done.stderr
    own = ss.open(folder / kind).result("halos", -1, "halo")
    assert own.sizes["halo"] > 2
    require_equal(own, xr.load_dataset(tmp_path / "halos.nc"))


@pytest.mark.parametrize(("kind", "ranks"), [("uniform", 2), ("refined", 3), *slow(("refined", 2))])
def test_halos_of_a_checkpoint_are_those_of_the_run(
    kind: str, ranks: int, folder: Path, tmp_path: Path, real_sidestream: CommandLine
) -> None:
    (checkpoint,) = (folder / kind).glob("chk*")

    done = real_sidestream("halos", "find", checkpoint, "-n", ranks, "-o", "halos.nc")

    assert done.returncode == 0, done.stderr
    require_equal(ss.open(folder / kind).result("halos", -1, "halo"), xr.load_dataset(tmp_path / "halos.nc"))


def test_groups_of_a_plot_file_are_those_of_the_run_where_it_holds_double_precision(
    tmp_path: Path, real_sidestream: CommandLine
) -> None:
    text = BOX.format(refinement="").split("[task.halos]")[0] + GROUPS
    (tmp_path / "groups.toml").write_text(text, encoding="utf-8")
    assert calls.program(tmp_path, 2, "groups.toml", "--quiet", "--out", "run").returncode == 0
    own = ss.open(tmp_path / "run").result("groups", -1, "halo")
    assert own.sizes["halo"] > 2

    for name in ("exact", "rounded"):
        (plot,) = (tmp_path / "run" / name).iterdir()
        done = real_sidestream("halos", "find", plot, "-n", 1, "-o", f"{name}.nc")
        assert done.returncode == 0, done.stderr

    require_equal(own, xr.load_dataset(tmp_path / "exact.nc"))
    rounded = xr.load_dataset(tmp_path / "rounded.nc")
    np.testing.assert_array_equal(own["particles"], rounded["particles"])
    assert np.any(own["mass"] != rounded["mass"])
    for name in ("mass", "velocity_x", "velocity_dispersion"):
        np.testing.assert_allclose(rounded[name], own[name], rtol=1e-5)


def test_options_count_more_than_those_of_the_run(folder: Path, real_sidestream: CommandLine) -> None:
    plot = last_plot(folder / "uniform")

    done = real_sidestream("halos", "find", plot, "-n", 1, "--t-halo", "1.2 mean", "--json")

    own = ss.open(folder / "uniform").result("halos", -1, "halo")
    peaks = own["peak"].values[own["peak"] >= 1.2 * own.attrs["mean_density"]]
    assert sorted(json.loads(done.stdout)["columns"]["peak"]) == sorted(peaks)
    assert 0 < len(peaks) < own.sizes["halo"]


def test_a_series_of_files_has_all_results_of_its_run(
    folder: Path, tmp_path: Path, real_sidestream: CommandLine
) -> None:
    plots = sorted((folder / "refined").glob("plt*"), reverse=True)

    done = real_sidestream("analyze", *plots, "--out", "series", "-n", 2)

    assert done.returncode == 0, done.stderr
    assert "4 results were made" in done.stderr
    run, series = ss.open(folder / "refined"), ss.open(tmp_path / "series")
    for task in ("halos", "spectra"):
        assert series.steps(task) == run.steps(task)
        for step in run.steps(task):
            require_equal(run.result(task, step), series.result(task, step))


SERIES = """simulation = "cosmology"
run.max_steps = 5
mesh = { cells = [16, 16, 16], block = 8 }
cosmology = { box = "10 Mpc", z_start = 50, z_end = 25 }
[output]
plotfile = { format = "nyx", every = 1 }
"""
DEALT = """
[task.pdf]
analysis = "pdf"
[task.halos]
analysis = "halos"
t_boundary = "1.1 mean"
t_halo = "1.15 mean"
kinematics = true
"""


@pytest.fixture(scope="module")
def plots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Six small plot files of a run, and the tasks to do with them beside them."""
    folder = tmp_path_factory.mktemp("series")
    (folder / "box.toml").write_text(SERIES, encoding="utf-8")
    (folder / "tasks.toml").write_text(DEALT, encoding="utf-8")
    (folder / "linked.toml").write_text(DEALT + "link = true\n", encoding="utf-8")
    done = calls.program(folder, 1, "box.toml", "--quiet", "--out", "run")
    assert done.returncode == 0, done.stderr
    return sorted((folder / "run").glob("plt*"))


def analyzed(plots: list[Path], ranks: int, out: Path, tasks: str = "tasks.toml", **extra: str) -> calls.Done:
    more = [word for plot in plots[1:] for word in ("--and", plot)]
    config = plots[0].parents[1] / tasks
    return calls.program(out.parent, ranks, config, "--analyze", "--from", plots[0], *more, "--out", out, **extra)


def results_in(folder: Path) -> dict[str, bytes]:
    files = folder.glob("results/*/*.nc")
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def test_ranks_share_out_a_series_of_small_files(plots: list[Path], tmp_path: Path) -> None:
    for ranks in (1, 2, 3):
        done = analyzed(plots, ranks, tmp_path / f"on{ranks}")
        assert done.returncode == 0, done.stderr
        assert sum(line.startswith("step ") for line in done.stderr.splitlines()) == 12

    one_by_one = results_in(tmp_path / "on1")
    assert len(one_by_one) == 12
    for ranks in (2, 3):
        folder = tmp_path / f"on{ranks}"
        assert results_in(folder) == one_by_one
        starts = ss.Events(event for event in ss.open(folder).events if event["event"] == "analyze_start")
        assert [event["ranks"] for event in starts].count(1) == 5
        assert {event["group"] for event in starts} == {"analyze"}


def test_what_is_read_of_a_file_is_asked_of_the_next_one_ahead(plots: list[Path], tmp_path: Path) -> None:
    layer = {
        "LD_PRELOAD": str(find_program("sidestream-run").with_name("libsidestream_io_layer.so")),
        "SIDESTREAM_IO_PATH": str(plots[0].parent),
        "SIDESTREAM_IO_COUNT": str(tmp_path / "count"),
    }

    done = analyzed(plots, 1, tmp_path / "out", **layer)

    assert done.returncode == 0, done.stderr
    counts = {file["path"]: file for file in json.loads((tmp_path / "count.0.json").read_text())["files"]}
    cells = [counts[str(plot / "Level_0" / "Cell_D_00000")] for plot in plots]
    assert all(file["bytes_read"] >= 16**3 * 8 for file in cells)
    assert cells[0]["bytes_ahead"] == 0
    for one, following in pairwise(cells):
        assert following["bytes_ahead"] == one["bytes_read"]


def test_files_are_not_shared_out_where_a_task_looks_back(plots: list[Path], tmp_path: Path) -> None:
    assert analyzed(plots, 1, tmp_path / "on1", "linked.toml").returncode == 0
    assert analyzed(plots, 3, tmp_path / "on3", "linked.toml").returncode == 0

    assert [event["ranks"] for event in ss.open(tmp_path / "on3").events.of("analyze_start")] == [3] * 6
    assert results_in(tmp_path / "on3") == results_in(tmp_path / "on1")


INTRUDER = """
import shutil
import sidestream

@sidestream.analysis
def intruder(snapshot):
    if snapshot.step == 0:
        shutil.rmtree("LATER")
        shutil.copytree("OTHER", "LATER")
    return {"found": 1.0}
"""


def test_a_file_that_is_another_one_by_the_time_it_is_read_is_refused(plots: list[Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(plot, tmp_path / "series" / plot.name)) for plot in plots[:3]]
    code = INTRUDER.replace("LATER", str(copies[2])).replace("OTHER", str(plots[5]))
    (tmp_path / "intruder.py").write_text(code, encoding="utf-8")
    (tmp_path / "tasks.toml").write_text('[task.i]\nanalysis = "python"\nfile = "intruder.py"\n', encoding="utf-8")

    done = analyzed(copies, 1, tmp_path / "out", name="sidestream-run-python")

    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1
    assert "the file was of step 2 when the series began, and is of step 5 now" in done.stderr
    assert ss.open(tmp_path / "out").steps("i") == [0, 1]


def test_a_damaged_file_of_a_series_is_named_and_what_others_took_is_done(plots: list[Path], tmp_path: Path) -> None:
    (damaged := tmp_path / "damaged").mkdir()
    copies = [Path(shutil.copytree(plot, damaged / plot.name)) for plot in plots]
    shutil.copy(plots[0].parents[1] / "tasks.toml", tmp_path)
    for file in copies[2].glob("Level_0/Cell_D*"):
        file.write_bytes(file.read_bytes()[:1000])

    done = analyzed(copies, 2, tmp_path / "out")

    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1
    assert copies[2].name in done.stderr
    assert ss.open(tmp_path / "out").steps("pdf") == [0, 1, 3, 4, 5]


def test_one_task_of_the_run_is_done_with_its_options(
    folder: Path, tmp_path: Path, real_sidestream: CommandLine
) -> None:
    done = real_sidestream("analyze", last_plot(folder / "uniform"), "--task", "halos", "--out", "later", "-n", 1)

    assert done.returncode == 0, done.stderr
    later = ss.open(tmp_path / "later")
    assert later.tasks == ["halos"]
    require_equal(ss.open(folder / "uniform").result("halos", -1), later.result("halos", -1))


@pytest.mark.parametrize("form", ["enzo", *slow("flash")])
def test_files_of_any_format_have_the_halos_of_the_run(
    form: str, folder: Path, tmp_path: Path, real_sidestream: CommandLine
) -> None:
    name = f"box_hdf5_plt_cnt_{form}"
    converted = real_sidestream("convert", last_plot(folder / "uniform"), name, "--format", form, "-n", 1)
    assert converted.returncode == 0, converted.stderr

    done = real_sidestream("analyze", name, "--config", folder / "uniform.toml", "--out", "later", "-n", 2)

    assert done.returncode == 0, done.stderr
    ours, theirs = ss.open(folder / "uniform"), ss.open(tmp_path / "later")
    halos, found = ours.result("halos", -1, "halo"), theirs.result("halos", -1, "halo")
    np.testing.assert_array_equal(halos["id"], found["id"])
    for task in ("halos", "spectra"):
        for column, values in ours.result(task, -1).data_vars.items():
            np.testing.assert_allclose(values, theirs.result(task, -1)[column], rtol=1e-12, err_msg=f"{task} {column}")


WRONG = {
    "one-step-twice": ["{plot}", "{checkpoint}", "--task", "halos"],
    "run-among-files": ["{plot}", "uniform"],
    "unknown-task": ["{plot}", "--config", "uniform.toml", "--task", "hallos"],
    "nothing-to-do": ["{other}"],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_with_files_is_said(name: str, folder: Path, real_sidestream: CommandLine) -> None:
    run = folder / "uniform"
    (checkpoint,) = run.glob("chk*")
    places = {"plot": last_plot(run), "checkpoint": checkpoint, "other": OTHER}
    words = [word.format(**places) for word in WRONG[name]]
    words = [str(folder / word) if (folder / word).exists() else word for word in words]

    done = real_sidestream("analyze", *words, "--out", "later", "-n", 1)

    assert done.returncode == 2, done.stderr
    assert done.stderr.count("error: ") == 1
    assert SAID[name] in done.stderr
    assert "hint: " in done.stderr


SAID = {
    "one-step-twice": "are both of step",
    "run-among-files": "a run is analysed alone",
    "unknown-task": "there is no task `hallos`",
    "nothing-to-do": "--task halos",
}


def test_a_slip_in_a_name_is_told_with_what_was_written(folder: Path, real_sidestream: CommandLine) -> None:
    plot = last_plot(folder / "uniform")

    task = real_sidestream("analyze", plot, "--task", "halso", "--out", "later", "-n", 1)
    field = real_sidestream(
        "analyze", plot, "--task", "pdf", "--out", "later", "-n", 1, "--set", 'task.pdf.fields=["velocity_xx"]'
    )

    assert (task.returncode, field.returncode) == (2, 2)
    assert "--> --task halso" in task.stderr
    assert "did you mean `halos`?" in task.stderr
    assert "tasks of the run that wrote the file: halos, spectra" in task.stderr
    assert "did you mean `velocity_x`?" in field.stderr
