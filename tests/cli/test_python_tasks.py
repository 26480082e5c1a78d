"""Tasks whose analysis is a function in Python, through the programs: every transport, ranks, faults."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import sidestream
from calls import Done, command, program, running, unreported
from configs import universe
from tiers import slow
from waiting import until

BLAST = """simulation = "sedov"

[run]
max_steps = 8

[mesh]
cells = [16, 16, 1]
block = 8

[amr]
max_level = 2
regrid_every = 2

[refine.blast]
criterion = "loehner"
fields = ["pressure"]

[task.slices]
analysis = "slice"
fields = ["gas_density", "pressure"]
every = 4
"""

TASK = """
[task.mine]
analysis = "python"
file = "mine.py"
every = 4
"""

MINE = """
import numpy as np
import sidestream

@sidestream.analysis(fields=["gas_density", "pressure"])
def mine(snapshot, above=1.0, bins=8):
    density, volumes, reach = [], [], []
    for level, (block,) in snapshot.each_block("gas_density"):
        z, y, x = snapshot.centres(block, level)
        density.append(block.cells)
        volumes.append(np.full(block.cells.shape, snapshot.cell_volume(level)))
        reach.append(np.where(block.cells > above, x + 0 * y + 0 * z, -np.inf))
    mass = snapshot.sum(*[d * v for d, v in zip(density, volumes)])
    volume = snapshot.sum(*volumes)
    edges = np.linspace(0.0, 6.0, bins + 1)
    counts = snapshot.histogram(density, edges)
    weighted = snapshot.histogram(density, edges, volumes)
    peaks = snapshot.gather(cells=[float(sum(d.size for d in density))])
    furthest, least = snapshot.max(*reach), snapshot.min(*density)
    if snapshot.rank > 0:  # and libraries that take long to load are loaded once
        return None
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import xarray as xr
    figure, axes = plt.subplots()
    axes.stairs(counts, edges)
    table = xr.Dataset(
        {"counts": ("bin", counts), "weighted": ("bin", weighted, {"units": "1", "long_name": "volume of each bin"})},
        coords={"bin": 0.5 * (edges[1:] + edges[:-1])},
    )
    scalars = {"mass": (mass, "g"), "volume": volume, "reach": furthest, "least": least,
               "cells": float(np.sum(peaks["cells"])), "kind": "blast"}
    return scalars, table, figure
"""
# The same in less than half the time: without what draws, and without tables.
LEAN = (
    MINE[: MINE.index("    import matplotlib")]
    + """
    return {"mass": (mass, "g"), "volume": volume, "reach": furthest, "least": least, "counts": counts,
            "weighted": weighted, "cells": float(np.sum(peaks["cells"]))}
"""
)


def write(folder: Path, *parts: str, script: str = MINE) -> None:
    (folder / "box.toml").write_text("".join(parts))
    (folder / "mine.py").write_text(script)


def run(folder: Path, ranks: int = 1, *words: object, out: str = "run") -> Done:
    return program(folder, ranks, "box.toml", "--quiet", "--out", out, *words, name="sidestream-run-python")


def results(folder: Path, task: str = "mine") -> dict[str, xr.Dataset]:
    return {p.name: xr.load_dataset(p, engine="h5netcdf") for p in sorted((folder / "results" / task).glob("*.nc"))}


def events(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = [line for file in folder.glob("events*.jsonl") for line in file.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["event"] == name]


def expect_same(found: dict[str, xr.Dataset], expected: dict[str, xr.Dataset]) -> None:
    assert found.keys() == expected.keys()
    for name, data in expected.items():
        xr.testing.assert_identical(found[name].drop_attrs(), data.drop_attrs())
        assert {k: v for k, v in found[name].attrs.items() if k != "parameters"} == {
            k: v for k, v in data.attrs.items() if k != "parameters"
        }


@pytest.fixture(scope="module")
def blast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run on one rank, in situ."""
    folder = tmp_path_factory.mktemp("python")
    write(folder, BLAST, TASK)
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a function that draws nothing."""
    folder = tmp_path_factory.mktemp("lean")
    write(folder, BLAST, TASK, script=LEAN)
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert len(results(folder / "run")["00008.nc"].variables) == 7
    return folder


def test_what_a_function_finds_is_what_files_hold(blast: Path) -> None:
    found = results(blast / "run")
    assert list(found) == ["00000.nc", "00004.nc", "00008.nc"]
    last = found["00008.nc"]
    assert last.mass.attrs["units"] == "g" and last.attrs["kind"] == "blast" and last.attrs["step"] == 8
    assert last["weighted"].attrs == {"units": "1", "long_name": "volume of each bin"}
    assert float(last.mass) == pytest.approx(1.0, rel=1e-12) and float(last.volume) == pytest.approx(1.0, rel=1e-12)
    slices = sidestream.open(blast / "run").result("slices", 8)  # pixels of the finest level
    density = slices["gas_density"].values
    assert float(last.least) == density.min()
    weights = np.full(density.shape, 1.0 / density.size)
    volumes = np.histogram(density, np.linspace(0.0, 6.0, 9), weights=weights)[0]
    np.testing.assert_allclose(last["weighted"], volumes, rtol=1e-12, atol=1e-15)
    assert int(last.counts.sum()) == int(last.cells) < density.size  # each leaf once
    x = slices["x"].values
    assert float(last.reach) == pytest.approx(x[np.any(density > 1.0, axis=0)].max(), abs=(x[1] - x[0]) * 2)


def test_the_example_of_the_guide_is_right_on_a_refined_mesh(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "own_analysis.md").read_text()
    (example,) = re.findall(r"```python\n(# dense.py.*?)```", guide, re.DOTALL)
    plotfile = '[output]\nplotfile = { format = "nyx", at_end = true }\n'
    write(tmp_path, BLAST, TASK, "parameters = { above = 1.5 }\n", plotfile, script=example)
    done = run(tmp_path, 2)
    assert done.returncode == 0, done.stderr
    found = results(tmp_path / "run")["00008.nc"]
    plot = sidestream.open(tmp_path / "run" / "plt00008")
    assert plot.levels == 3 and len(plot.boxes(0)) > 0
    finest = plot.covering_grid("gas_density", 2).values
    assert float(found.share) == pytest.approx((finest > 1.5 * finest.mean()).mean(), rel=1e-12)
    edges = np.append(found.edge.values, 1000.0)
    expected = np.histogram(finest / finest.mean(), edges)[0] / finest.size
    np.testing.assert_allclose(found["volume"], expected, rtol=1e-12)


def test_figures_lie_beside_results(blast: Path) -> None:
    for event in events(blast / "run", "analysis"):
        if event["task"] != "mine":
            continue
        (picture,) = event["attachments"]
        assert picture == event["result"].replace(".nc", ".png")
        assert (blast / "run" / picture).read_bytes().startswith(b"\x89PNG")
        assert event["summary"].startswith("mass 1 g, volume 1, ")


def test_the_report_shows_figures_and_numbers(blast: Path) -> None:
    done = command(blast, "report", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (blast / "run" / "report.html").read_text()
    assert "What mine drew" in page and "Numbers of mine" in page and "no picture could be drawn" not in page
    drawn = sidestream.open(blast / "run").plot("mine")
    assert [picture.name for picture in drawn] == ["mine-drawn", "mine-numbers"]
    assert [axes.get_ylabel() for axes in drawn[1].figure.axes] == ["mass [g]", "volume", "reach", "least", "cells"]


WAYS = {
    "in-situ on 3": (3, ()),
    "async": (2, ("transport=async",)),
    "in-transit": (3, ("transport=in-transit", "coupling.sidecars=1")),
    "a job of its own": (2, ("isolate=true",)),
    "a job of its own, async": (1, ("isolate=true", "transport=async")),
}
QUICK = ["async", "in-transit"]


@pytest.mark.parametrize("way", [*QUICK, *slow(*(way for way in WAYS if way not in QUICK))])
def test_every_transport_finds_the_same(way: str, blast: Path) -> None:
    ranks, settings = WAYS[way]
    out = way.replace(" ", "-")
    words = [w for s in settings for w in ("--set", s if "." in s.partition("=")[0] else f"task.mine.{s}")]
    done = run(blast, ranks, *words, out=out)
    assert done.returncode == 0, done.stderr
    expect_same(results(blast / out), results(blast / "run"))
    assert all(
        (blast / out / event["attachments"][0]).exists()
        for event in events(blast / out, "analysis")
        if "attachments" in event
    )
    expect_same(results(blast / out, "slices"), results(blast / "run", "slices"))


def test_later_and_streamed_it_finds_the_same(lean: Path) -> None:
    done = run(lean, 2, "--set", "task.mine.transport=file", out="stored")
    assert done.returncode == 0, done.stderr
    assert not (lean / "stored" / "results" / "mine").exists()
    done = unreported(lean, "analyze", "stored", "-n", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    expect_same(results(lean / "stored"), results(lean / "run"))

    words = ("--set", "task.mine.transport=stream", "--set", "stream.wait_for=1")
    with running(lean, 2, "streamed", "--task", "mine", "--patience", 60, name="sidestream-attach-python") as reader:
        done = run(lean, 1, *words, out="streamed")
        assert done.returncode == 0, done.stderr
        assert reader.wait(60) == 0, reader.stdout.read() if reader.stdout else ""
    expect_same(results(lean / "streamed"), results(lean / "run"))


def test_with_the_command_and_on_files_it_finds_the_same(lean: Path) -> None:
    plots = "output.plotfile={every = 4, variables = ['gas_density', 'pressure']}"
    done = unreported(lean, "run", "box.toml", "-n", 2, "--out", "plots", "--set", plots)
    assert done.returncode == 0, done.stdout + done.stderr
    expect_same(results(lean / "plots"), results(lean / "run"))
    (lean / "tasks.toml").write_text(TASK)
    files = sorted((lean / "plots").glob("plt*"))
    assert len(files) == 3
    done = command(lean, "analyze", *files, "--config", "tasks.toml", "--out", "from_files", "-n", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, data in results(lean / "from_files").items():
        expected = results(lean / "run")[name]
        for column in expected.variables:
            np.testing.assert_array_equal(data[column], expected[column], err_msg=f"{name} {column}")


def test_a_file_does_not_choose_the_code(lean: Path) -> None:
    done = unreported(lean, "run", "box.toml", "-n", 1, "--out", "kept", "--set", "output.plotfile={at_end = true}")
    assert done.returncode == 0, done.stdout + done.stderr
    (plot,) = (lean / "kept").glob("plt*")
    for words in ((), ("--task", "mine")):
        done = command(lean, "analyze", plot, *words, "--out", "refused")
        assert done.returncode == 2 and "is code in Python" in done.stderr, done.stdout + done.stderr
    done = command(lean, "analyze", plot, "--task", "slices", "--out", "other")
    assert done.returncode == 0, done.stdout + done.stderr


CHANGED = "the file of the task `mine` is not the one that the run was made with so far"


def test_a_restart_goes_on_with_it(lean: Path) -> None:
    words = ("--set", "output.checkpoint={every = 3}")
    done = run(lean, 1, *words, "--set", "run.max_steps=5", out="again")
    assert done.returncode == 0, done.stderr
    done = run(lean, 2, *words, "--restart", out="again")
    assert done.returncode == 0, done.stderr
    assert CHANGED not in done.stdout + done.stderr
    expect_same(results(lean / "again"), results(lean / "run"))


def test_a_file_that_changed_before_a_restart_is_told(lean: Path, tmp_path: Path) -> None:
    for name in ("box.toml", "mine.py"):
        shutil.copy(lean / name, tmp_path)
    done = run(tmp_path, 1, "--set", "output.checkpoint={every = 3}", "--set", "run.max_steps=5", out="changed")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "mine.py").open("a") as script:
        script.write("\n# another\n")

    done = run(tmp_path, 1, "--restart", out="changed")

    assert done.returncode == 0, done.stderr
    (told,) = [event for event in events(tmp_path / "changed", "warning") if CHANGED in event["message"]]
    assert told["where"].endswith("mine.py")
    assert (done.stdout + done.stderr).count(CHANGED) == 1


PARTICLES = """
import numpy as np
import sidestream

@sidestream.analysis(species=["dark_matter"], fields=["dark_matter_density"])
def count(snapshot):
    dark = snapshot.particles("dark_matter")
    mine = np.asarray(dark["id"])
    assert not mine.flags.writeable
    from mpi4py import MPI
    total = snapshot.comm.allreduce(mine.size, MPI.SUM)
    blocks = snapshot.blocks("dark_matter_density")
    mean = snapshot.sum(*[b.cells * snapshot.cell_volume() for b in blocks]) / snapshot.volume
    return {"particles": total, "ids": snapshot.sum(mine), "redshift": snapshot.attrs["redshift"], "mean": mean}
"""


def test_particles_and_a_communicator_are_there(tmp_path: Path) -> None:
    write(
        tmp_path,
        universe("nbody", steps=1, box="8 Mpc", z_start=30),
        TASK.replace("every = 4", "at_end = true"),
        script=PARTICLES,
    )
    done = run(tmp_path, 2)
    assert done.returncode == 0, done.stderr
    ((_, found),) = results(tmp_path / "run").items()
    assert int(found.particles) == 16**3 and float(found.ids) == sum(range(16**3))
    done = run(tmp_path, 2, "--set", "task.mine.transport=in-transit", "--set", "coupling.sidecars=1", out="sent")
    assert done.returncode == 0, done.stderr
    expect_same(results(tmp_path / "sent"), results(tmp_path / "run"))


PIPELINE = """
import vtk
import sidestream

def contour(image, value):
    surface = vtk.vtkContourFilter()
    surface.SetInputData(image)
    surface.SetValue(0, value)
    surface.Update()
    return surface.GetOutput()

@sidestream.analysis(fields=["pressure"])
def mine(snapshot, level=0):
    image = snapshot.vtk_image("pressure", level=level)
    surface = snapshot.vtk_gather(contour(image, 0.05))
    whole = snapshot.vtk_image("pressure", level=level, whole=True)
    if snapshot.rank > 0:
        return None
    clean = vtk.vtkCleanPolyData()
    clean.SetInputData(surface)
    clean.SetTolerance(1e-6)
    measures = vtk.vtkMassProperties()
    measures.SetInputConnection(clean.GetOutputPort())
    open_edges = vtk.vtkFeatureEdges()
    open_edges.SetInputConnection(clean.GetOutputPort())
    open_edges.FeatureEdgesOff(); open_edges.NonManifoldEdgesOff(); open_edges.ManifoldEdgesOff()
    open_edges.Update()
    alone = vtk.vtkMassProperties()
    alone.SetInputData(contour(whole, 0.05))
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputData(surface)
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    renderer = vtk.vtkRenderer()
    renderer.AddActor(actor)
    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetSize(200, 150)
    window.AddRenderer(renderer)
    edges = open_edges.GetOutput().GetNumberOfCells()
    found = {"volume": measures.GetVolume(), "alone": alone.GetVolume(), "edges": edges}
    return found | {"cells": whole.GetNumberOfPoints()}, window, surface
"""
VTK_WAYS = WAYS | {"in-situ": (1, ()), "in-transit on 2": (3, ("transport=in-transit", "coupling.sidecars=2"))}
VTK_QUICK = ["in-transit on 2"]


@pytest.mark.parametrize("way", [*VTK_QUICK, *slow(*(way for way in VTK_WAYS if way not in VTK_QUICK))])
def test_a_pipeline_of_vtk_draws_surfaces_without_seams(way: str, tmp_path: Path) -> None:
    ranks, settings = VTK_WAYS[way]
    config = BLAST.replace("[16, 16, 1]", "[16, 16, 16]").replace("max_level = 2", "max_level = 1")
    config = config.replace("max_steps = 8", "max_steps = 4")
    write(tmp_path, config, TASK, "parameters = { level = 1 }\n", script=PIPELINE)
    words = [w for s in settings for w in ("--set", s if "." in s.partition("=")[0] else f"task.mine.{s}")]
    done = run(tmp_path, ranks, *words)
    assert done.returncode == 0, done.stderr
    last = results(tmp_path / "run")["00004.nc"]
    assert int(last.cells) == 32**3 and int(last.edges) == 0
    assert float(last["volume"]) == pytest.approx(float(last["alone"]), rel=1e-5) and float(last["volume"]) > 0
    folder = tmp_path / "run" / "results" / "mine"
    assert (folder / "00004.png").read_bytes().startswith(b"\x89PNG")
    assert b"PolyData" in (folder / "00004.vtp").read_bytes()[:200]
    (event,) = [e for e in events(tmp_path / "run", "analysis") if e["task"] == "mine" and e["step"] == 4]
    assert event["attachments"] == ["results/mine/00004.png", "results/mine/00004.vtp"]


SAME_MEMORY = """
import sidestream

@sidestream.analysis(fields=["gas_density"])
def mine(snapshot):
    level = snapshot.levels - 1
    one, again = snapshot.blocks("gas_density", level)[0], snapshot.blocks("gas_density", level)[0]
    assert not one.cells.flags.writeable and not one.cells.flags.owndata
    assert one.cells.ctypes.data == again.cells.ctypes.data
    before = one.cells[0, 0, 0]
    try:
        one.cells[...] = 0.0
    except ValueError:
        pass
    else:
        raise AssertionError("cells were changed")
    assert before == one.cells[0, 0, 0] > 0.0
    return {"cells": one.cells.shape[2], "row_bytes": one.cells.strides[1]}
"""


def test_cells_are_not_copied_and_cannot_be_changed(tmp_path: Path) -> None:
    """The rows of the simulation's own memory have ghost cells between them; those of a copy would not."""
    write(tmp_path, BLAST, TASK, script=SAME_MEMORY)
    done = run(tmp_path, 1)
    assert done.returncode == 0, done.stderr
    found = results(tmp_path / "run")
    assert list(found) == ["00000.nc", "00004.nc", "00008.nc"]
    assert [(int(one.cells), int(one.row_bytes)) for one in found.values()] == [(8, 8 * (8 + 2 * 4))] * 3


def faulty(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return (
        f'import os, sys\nimport sidestream\n@sidestream.analysis(fields=["pressure"])\ndef mine(snapshot):\n{lines}\n'
    )


FAULTS = {
    "an exception": (
        "x = 1\nreturn {'y': x / (snapshot.step - 4)}",
        "ZeroDivisionError: division by zero",
        "mine.py:6",
    ),
    "of one rank": (
        "if snapshot.rank == 1: raise KeyError('no such thing')\nreturn {'y': snapshot.sum([1.0])}",
        "KeyError: 'no such thing'",
        "mine.py:5",
    ),
    "that is caught by others": (
        "try:\n    if snapshot.rank == 1: raise OSError('mine')\n    snapshot.sum([1.0])\n"
        "except sidestream.Error:\n    snapshot.min([0.0])",
        "OSError: mine",
        "mine.py:6",
    ),
    "an end of the process": ("sys.exit(3)", "SystemExit: 3", "mine.py:5"),
    "ranks that go different ways": (
        "return {'y': snapshot.sum([1.0]) if snapshot.rank else snapshot.max([1.0])}",
        "the ranks are not together",
        "",
    ),
    "a rank that leaves": (
        "if snapshot.rank == 0: return None\nreturn {'y': snapshot.sum([1.0])}",
        "the ranks are not together",
        "",
    ),
    "no result": ("return object()", "an analysis cannot return what is of type object", "mine.py"),
    "words for numbers": ("return {'y': ['a', 'b']}", "`y` is no number and no array of numbers", "mine.py"),
    "a field that is not there": ("return {'y': snapshot.blocks('temper')}", "temper", "mine.py:5"),
    "arrays that stay": (
        "global kept\nkept = snapshot.blocks('pressure', snapshot.levels - 1)",
        "keeps arrays of the state",
        "mine.py",
    ),
    "edges that fall": ("return {'y': snapshot.histogram([1.0], [2.0, 1.0])}", "the edges of a histogram", "mine.py:5"),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run on two ranks with a task for each fault, and its exit code."""
    folder = tmp_path_factory.mktemp("faults")
    tasks = [TASK.replace("mine", f"fault{number}") for number in range(len(FAULTS))]
    write(folder, BLAST, *tasks)
    for number, (body, _, _) in enumerate(FAULTS.values()):
        (folder / f"fault{number}.py").write_text(faulty(body))
    return folder / "run", run(folder, 2).returncode


@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_names_its_line_and_ends_nothing(fault: str, faults: tuple[Path, int]) -> None:
    folder, code = faults
    _, message, place = FAULTS[fault]
    task = f"fault{list(FAULTS).index(fault)}"
    failed = [event for event in events(folder, "analysis_failed") if event["task"] == task]
    place = place.replace("mine", task)
    assert failed and all(message in event["message"] and place in event["message"] for event in failed), failed
    assert len(results(folder, "slices")) == 3
    assert events(folder, "run_end")[-1]["status"] == ("incomplete" if code else "finished")


UNDECLARED = """
import sidestream

@sidestream.analysis(fields=["gas_density"])
def mine(snapshot, field="pressure"):
    assert snapshot.fields == ["gas_density"] and "pressure" not in snapshot and not snapshot.species
    assert not snapshot.particles().variables
    return {"most": snapshot.max(*[block.cells for _, (block,) in snapshot.each_block(field)])}
"""


def test_only_declared_fields_are_there_whatever_the_transport(tmp_path: Path) -> None:
    ways = ("in-situ", "async", "in-transit")
    tasks = [TASK.replace("mine]", f"{way}]") + f'transport = "{way}"\n' for way in ways]
    write(tmp_path, BLAST, *tasks, "[coupling]\nsidecars = 1\n", script=UNDECLARED)
    done = run(tmp_path, 2, "--set", "run.max_steps=1")
    assert done.returncode != 0
    (told,) = {event["message"].partition(" (")[0] for event in events(tmp_path / "run", "analysis_failed")}
    assert told == "the analysis failed: `pressure` is not among the fields that the analysis names"
    assert "add it to `fields`" in done.stderr and "@sidestream.analysis(fields=[..., 'pressure'])" in done.stderr
    assert {event["task"] for event in events(tmp_path / "run", "analysis_failed")} == set(ways)

    declared = [word for way in ways for word in ("--set", f'task.{way}.fields=["gas_density", "pressure"]')]
    (tmp_path / "mine.py").write_text(
        UNDECLARED.replace('    assert snapshot.fields == ["gas_density"] and', "    assert True or")
    )
    done = run(tmp_path, 2, "--set", "run.max_steps=1", *declared, out="declared")
    assert done.returncode == 0, done.stderr
    most = [[float(found.most) for found in results(tmp_path / "declared", way).values()] for way in ways]
    assert most[0] == most[1] == most[2] and min(most[0]) > 0


def test_what_a_task_prints_is_seen(tmp_path: Path) -> None:
    write(tmp_path, BLAST, TASK, script=faulty("print('at', snapshot.step, 'seen')\nreturn {'y': 1.0}"))
    done = unreported(tmp_path, "run", "box.toml", "-n", 1, "--out", "run")
    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    assert all(printed.count(f"at {step} seen") == 1 for step in (0, 4, 8)), printed


def test_a_process_that_ends_is_survived_by_a_job_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, BLAST, TASK + "isolate = true\n", script=faulty("os._exit(7)"))
    run(tmp_path, 2, "--set", "run.max_steps=4")
    failed = events(tmp_path / "run", "analysis_failed")
    assert len(failed) == 2 and all(
        "its job ended without a result (exit code 7)" in event["message"] for event in failed
    )
    assert len(results(tmp_path / "run", "slices")) == 2


WRONG = {
    "no file": (TASK.replace("mine.py", "none.py"), MINE, "there is no file", "task.mine.file"),
    "no key": (TASK.replace('file = "mine.py"\n', ""), MINE, "the key `file` is missing", "task.mine"),
    "not Python": (TASK, "def mine(:\n", "mine.py cannot be loaded: SyntaxError", "task.mine.file"),
    "an error on import": (
        TASK,
        "import sidestreem\n",
        "ModuleNotFoundError: No module named 'sidestreem'",
        "task.mine.file",
    ),
    "no function": (TASK, "def mine(snapshot): pass\n", "no single function that is marked", "task.mine.file"),
    "two functions": (TASK, MINE + MINE.replace("def mine", "def other"), "there are 2: mine, other", "task.mine.file"),
    "another function": (TASK + 'function = "your"\n', MINE, "the file has no function `your`", "task.mine.function"),
    "another parameter": (
        TASK + "parameters = { below = 1.0 }\n",
        MINE,
        "does not take these parameters: got an unexpected keyword argument 'below'",
        "task.mine.parameters",
    ),
    "a parameter outside": (TASK + "above = 1.0\n", MINE, "above", "task.mine"),
    "fields as text": (
        TASK,
        MINE.replace('fields=["gas_density", "pressure"]', 'fields="pressure"'),
        "`fields` is a text",
        "task.mine.file",
    ),
}


def expect_refused(fault: str, folder: Path, *words: object) -> None:
    task, script, message, place = WRONG[fault]
    write(folder, BLAST, task, script=script)
    done = command(folder, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr and place in done.stderr, done.stderr


@pytest.mark.parametrize("fault", WRONG)
def test_a_check_refuses_what_cannot_be(fault: str, tmp_path: Path) -> None:
    expect_refused(fault, tmp_path, "check", "box.toml")


@pytest.mark.parametrize("fault", ["another parameter", *slow(*sorted(set(WRONG) - {"another parameter"}))])
def test_what_cannot_be_is_refused_before_the_run(fault: str, tmp_path: Path) -> None:
    expect_refused(fault, tmp_path, "run", "box.toml", "-n", 2)
    assert not (tmp_path / "runs").exists()


def test_parameters_reach_the_function(lean: Path) -> None:
    done = run(lean, 1, "--set", "task.mine.parameters={bins = 3}", "--set", "run.max_steps=1", out="three")
    assert done.returncode == 0, done.stderr
    assert results(lean / "three")["00000.nc"].sizes["row"] == 3


def test_a_program_without_python_says_who_has_it(tmp_path: Path) -> None:
    write(tmp_path, BLAST, TASK, script=LEAN)
    done = program(tmp_path, 1, "box.toml", "--out", "run")
    assert (
        done.returncode == 2
        and "this program has no Python to call" in done.stderr
        and "sidestream-run-python" in done.stderr
    )
    done = program(tmp_path, 1, "box.toml", "--out", "run", "--set", "task.mine.isolate=true")
    assert done.returncode == 2 and "what the function reads" in done.stderr
    words = ("--set", "task.mine.isolate=true", "--set", 'task.mine.fields=["gas_density", "pressure"]')
    done = program(tmp_path, 2, "box.toml", "--quiet", "--out", "run", "--set", "run.max_steps=4", *words)
    assert done.returncode == 0, done.stderr
    assert list(results(tmp_path / "run")) == ["00000.nc", "00004.nc"]


def test_a_run_at_an_address_does_not_choose_the_code(lean: Path) -> None:
    words = (
        "--set",
        "task.mine.transport=stream",
        "--set",
        "stream.listen=tcp://127.0.0.1:*",
        "--set",
        "stream.keys=none",
    )
    with running(
        lean, 1, "box.toml", "--out", "afar", *words, "--set", "stream.wait_for=1", name="sidestream-run-python"
    ):
        address = _address(lean / "afar")
        done = program(
            lean, 1, address, "--task", "mine", "--out", "here", "--patience", 60, name="sidestream-attach-python"
        )
        assert done.returncode == 2 and "names code in Python" in done.stderr, done.stderr
        mine = f"task.mine.file={lean / 'mine.py'}"
        done = program(
            lean, 1, address, "--task", "mine", "--out", "here", "--set", mine, name="sidestream-attach-python"
        )
        assert done.returncode == 0, done.stderr
    assert results(lean / "here")


def _address(folder: Path) -> str:
    until((folder / "stream.json").exists)
    return str(json.loads((folder / "stream.json").read_text())["address"])


def test_the_function_is_what_it_was_before() -> None:
    """The mark changes nothing of it: it is called on anything that has what it asks for."""

    @sidestream.analysis(fields=["pressure"])
    def twice(snapshot: int) -> int:
        return 2 * snapshot

    @sidestream.analysis
    def thrice(snapshot: int) -> int:
        return 3 * snapshot

    assert twice(2) == 4 and thrice(2) == 6
