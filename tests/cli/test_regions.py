"""Regions of a turbulent flow and of a blast wave through the program, against SciPy and VTK; what cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage

import sidestream
from calls import command, program, unreported
from tiers import slow

N, MARGIN, FASTEST = 24, 2, 6.5
FLOW = f"""simulation = "turbulence"
[mesh]
cells = [{N}, {N}, {N}]
block = 12
[turbulence]
viscosity = 0.1
dt = 0.02
end = 0.08
[initial]
flow = "random"
peak = 3.0
[task.fast]
analysis = "regions"
grid = "space"
condition = "velocity_x * velocity_x + velocity_y * velocity_y > {FASTEST}"
extreme = "velocity_x"
measure = ["velocity_z"]
save = ["velocity_x", "velocity_y"]
margin = {MARGIN}
connectivity = 6
every = 2
[task.vortices]
analysis = "regions"
grid = "space"
condition = "q_criterion > 0 and vorticity_magnitude > 2"
save = ["q_criterion"]
every = 2
[task.plot]
write = "plotfile"
format = "raw"
grid = "space"
variables = ["velocity_x", "velocity_y", "velocity_z"]
precision = "double"
at_end = true
"""
BLAST = """simulation = "sedov"
[mesh]
cells = [8, 8, 8]
block = 8
[amr]
max_level = 2
[refine.shock]
criterion = "loehner"
fields = ["pressure"]
refine_above = 0.8
coarsen_below = 0.2
[sedov]
end = 0.01
[run]
max_steps = 6
[task.shell]
analysis = "regions"
condition = "gas_density > 1.2"
measure = ["gas_density"]
save = ["gas_density", "pressure"]
margin = 1
every = 3
"""


def run(folder: Path, ranks: int, out: str, *more: str, config: str = FLOW) -> sidestream.Run:
    (folder / "run.toml").write_text(config, encoding="utf-8")
    done = program(folder, ranks, "run.toml", "--quiet", "--out", out, *more)
    assert done.returncode == 0, done.stderr
    return sidestream.open(folder / out)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run `one` of the flow on one rank."""
    folder = tmp_path_factory.mktemp("regions")
    run(folder, 1, "one")
    return folder


@pytest.fixture(scope="module")
def flow(place: Path) -> sidestream.Run:
    return sidestream.open(place / "one")


@pytest.fixture(scope="module")
def velocity(place: Path) -> dict[str, np.ndarray]:
    """The velocities of the last step, from a plot file."""
    (path,) = (place / "one" / "plot").glob("plt*")
    plot = sidestream.open(path)
    return {axis: plot[f"velocity_{axis}"].values for axis in "xyz"}


def labelled(mask: np.ndarray) -> np.ndarray:
    """The components of a periodic box by faces, numbered from 1: SciPy's, joined across the faces of the box."""
    labels, count = scipy.ndimage.label(mask)
    parent = list(range(count + 1))

    def root(label: int) -> int:
        while parent[label] != label:
            label = parent[label]
        return label

    for axis in range(3):
        first, last = np.take(labels, 0, axis), np.take(labels, -1, axis)
        for a, b in zip(first[(first > 0) & (last > 0)], last[(first > 0) & (last > 0)], strict=True):
            parent[max(root(a), root(b))] = min(root(a), root(b))
    return np.array([root(label) for label in range(count + 1)])[labels]


def results(of: sidestream.Run, task: str) -> dict[str, bytes]:
    """Every column of a task's results and the bytes of every cut-out."""
    found = {}
    for step in of.steps(task):
        for name, values in of.result(task, step).variables.items():
            found[f"{step} {name}"] = values.values.tobytes()
        cut_out = of.result_path(task, step).with_suffix(".vtkhdf")
        found[f"{step} cut-out"] = cut_out.read_bytes() if cut_out.exists() else b""
    assert any(name.endswith("cut-out") and values for name, values in found.items())
    return found


def test_regions_are_those_that_scipy_labels(flow: sidestream.Run, velocity: dict[str, np.ndarray]) -> None:
    labels = labelled(velocity["x"] ** 2 + velocity["y"] ** 2 > FASTEST)

    table = flow.result("fast", 4, ("region",))

    numbers = np.unique(labels[labels > 0])
    assert 3 <= numbers.size == table.sizes["region"]
    for row in range(numbers.size):
        cell = np.unravel_index(int(table["id"][row]), labels.shape)
        mask = labels == labels[cell]
        assert labels[cell] > 0
        assert int(table["cells"][row]) == mask.sum()
        assert float(table["extreme"][row]) == velocity["x"][cell]
        assert np.abs(velocity["x"][mask]).max() == abs(velocity["x"][cell])
        assert float(table["velocity_z_mean"][row]) == pytest.approx(velocity["z"][mask].mean(), rel=1e-12, abs=1e-14)
        assert float(table["velocity_z_max"][row]) == velocity["z"][mask].max()
    assert np.all(np.diff(table["volume"]) <= 0)


def test_saved_cells_are_those_of_the_state_and_reach_as_far_as_the_margin(
    flow: sidestream.Run, velocity: dict[str, np.ndarray]
) -> None:
    mask = velocity["x"] ** 2 + velocity["y"] ** 2 > FASTEST
    near = scipy.ndimage.maximum_filter(mask, size=2 * MARGIN + 1, mode="wrap")

    part = sidestream.open(flow.result_path("fast", 4).with_suffix(".vtkhdf"))

    assert part.is_sparse
    saved = ~np.isnan(part["velocity_x"].values)
    assert np.all(saved[near])
    assert np.array_equal(part["velocity_x"].values[saved], velocity["x"][saved])
    assert np.array_equal(part["velocity_y"].values[saved], velocity["y"][saved])
    attributes = flow.result("fast", 4).attrs
    assert attributes["saved_cells"] == saved.sum() < N**3
    assert attributes["saved_bytes"] == 2 * 8 * saved.sum()
    assert attributes["saved_share"] == saved.sum() / N**3


def test_regions_as_arrays_go_on_beyond_the_faces_of_the_box(
    flow: sidestream.Run, velocity: dict[str, np.ndarray]
) -> None:
    labels = labelled(velocity["x"] ** 2 + velocity["y"] ** 2 > FASTEST)
    found = list(sidestream.regions(flow, "fast", step=-1))

    assert len(found) == flow.result("fast", 4).sizes["region"]
    assert any(min(region.origin) < 0 or max(np.add(region.origin, region.shape)) > N for region in found)
    for region in found:
        index = np.ix_(*(np.arange(low, low + n) % N for low, n in zip(region.origin, region.shape, strict=True)))
        whole = labels[index] == labels[np.unravel_index(region.properties["id"], labels.shape)]
        if not region.properties["spans_box"]:
            assert region.inside.sum() == region.properties["cells"]
            assert np.array_equal(region.inside, whole)
        assert np.array_equal(region["velocity_x"][region.inside], velocity["x"][index][region.inside])
        assert set(region) == {"velocity_x", "velocity_y"}


@pytest.mark.parametrize(
    ("ranks", "transport", "sidecars"),
    [(2, "async", 0), (3, "in-transit", 1), *slow((2, "in-situ", 0), (4, "in-situ", 0))],
)
def test_results_are_the_same_on_any_ranks_and_by_any_transport(
    place: Path, flow: sidestream.Run, ranks: int, transport: str, sidecars: int
) -> None:
    settings = [f"coupling.sidecars={sidecars}"]
    settings += [f"task.{task}.transport={transport}" for task in ("fast", "vortices")]
    other = run(place, ranks, f"{transport}-{ranks}", *(word for setting in settings for word in ("--set", setting)))

    for task in ("fast", "vortices"):
        assert results(other, task) == results(flow, task)


def test_stored_snapshots_and_a_job_of_its_own_give_the_same(place: Path, flow: sidestream.Run) -> None:
    later = run(place, 2, "later", "--set", "task.fast.transport=file", "--set", "task.vortices.isolate=true")
    done = unreported(place, "analyze", "later", "-n", 2)
    assert done.returncode == 0, done.stderr

    for task in ("fast", "vortices"):
        assert results(later, task) == results(flow, task)


def test_a_restart_goes_on_with_the_tracks(place: Path, flow: sidestream.Run) -> None:
    keep = ("--set", "output.checkpoint={every=2}")
    run(place, 2, "cut", *keep, "--set", "run.max_steps=2")
    again = run(place, 1, "cut", *keep, "--restart")

    assert results(again, "fast") == results(flow, "fast")


def test_events_and_the_report_tell_the_share(place: Path, flow: sidestream.Run) -> None:
    (event,) = [
        e for e in flow.events.where(lambda e: e["event"] == "analysis") if (e["task"], e["step"]) == ("fast", 4)
    ]

    share = flow.result("fast", 4).attrs["saved_share"]
    assert event["summary"].endswith(f"{100 * share:.3g} % of the bytes saved")
    assert event["cut_out"] == "results/fast/00004.vtkhdf"
    done = command(place, "report", "one")
    assert done.returncode == 0, done.stderr
    page = (place / "one" / "report.html").read_text(encoding="utf-8")
    assert "what of the bytes of the saved quantities was saved" in page
    assert "The largest regions" in page


def test_tracks_are_a_merger_tree(flow: sidestream.Run) -> None:
    tree = flow.merger_tree("fast")
    (largest,) = tree.heaviest()
    branch = tree.main_branch(largest)

    assert branch.sizes["region"] == 3
    assert np.unique(branch["track"]).size == 1
    assert tree.progenitors(largest)["progenitor_volume"][0] == branch["volume"][1]


def test_blocks_of_a_refined_mesh_are_cut_out_alike_on_any_ranks(tmp_path: Path) -> None:
    one = run(tmp_path, 1, "one", config=BLAST)
    three = run(tmp_path, 3, "three", config=BLAST)

    assert results(three, "shell") == results(one, "shell")
    table = one.result("shell", 6)
    assert table.sizes["region"] == 1
    assert table.attrs["finest_level"] == 2
    (shell,) = sidestream.regions(one, step=-1)
    density = shell["gas_density"][shell.inside]
    assert density.min() == table["gas_density_min"] > 1.2
    assert density.max() == table["gas_density_max"] == table["extreme"]
    assert density.mean() == pytest.approx(float(table["gas_density_mean"][0]), rel=1e-12)


def boxes_seen_by_vtk(path: Path, field: str) -> dict[tuple[int, ...], np.ndarray]:
    """Level and first cell of each box, and its cells, as ParaView reads them."""
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.SetMaximumLevelsToReadByDefaultForAMR(0)
    reader.Update()
    amr = reader.GetOutput()
    found = {}
    for level in range(amr.GetNumberOfLevels()):
        for block in range(amr.GetNumberOfBlocks(level)):
            grid = amr.GetDataSetAsImageData(level, block)
            cells = np.array(grid.GetDimensions())[::-1] - 1
            low = np.rint(np.array(grid.GetOrigin()) / np.array(grid.GetSpacing())).astype(int)
            found[(level, *low)] = vtk_to_numpy(grid.GetCellData().GetArray(field)).reshape(cells)
    return found


def test_vtk_sees_the_boxes_and_every_value(
    place: Path, flow: sidestream.Run, velocity: dict[str, np.ndarray], tmp_path: Path
) -> None:
    seen = boxes_seen_by_vtk(flow.result_path("fast", 4).with_suffix(".vtkhdf"), "x_velocity")
    assert sum(cells.size for cells in seen.values()) == flow.result("fast", 4).attrs["saved_cells"]
    for (_, x, y, z), cells in seen.items():
        nz, ny, nx = cells.shape
        assert np.array_equal(cells, velocity["x"][z : z + nz, y : y + ny, x : x + nx])

    blast = run(tmp_path, 2, "blast", config=BLAST)
    path = blast.result_path("shell", 6).with_suffix(".vtkhdf")
    part = sidestream.open(path)
    seen = boxes_seen_by_vtk(path, "density")
    assert {key[0] for key in seen} == set(range(part.levels))
    finest = part.covering_grid("density", level=part.levels - 1).values
    for (level, x, y, z), cells in seen.items():
        if level == part.levels - 1:
            nz, ny, nx = cells.shape
            assert np.array_equal(cells, finest[z : z + nz, y : y + ny, x : x + nx])


CLASSIFIER = """
def kind(region):
    return "to the right" if region["velocity_x"][region.inside].mean() > 0 else "to the left"

def broken(region):
    return region["nothing"]
"""


def test_a_function_of_ones_own_sorts_the_regions(place: Path, flow: sidestream.Run) -> None:
    (place / "shapes.py").write_text(CLASSIFIER, encoding="utf-8")
    done = command(place, "regions", "classify", "one", "shapes:kind", "--task", "fast", "-o", "kinds.csv")

    assert done.returncode == 0, done.stderr
    lines = (place / "kinds.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "step,id,track,class"
    table = flow["fast"]
    rows = {(int(step), int(region)) for step, region in zip(table["step"], table["id"], strict=True)}
    assert {tuple(map(int, line.split(",")[:2])) for line in lines[1:]} == rows
    means = [region["velocity_x"][region.inside].mean() for region in sidestream.regions(flow, "fast")]
    kinds = ["to the right" if mean > 0 else "to the left" for mean in means]
    assert [line.split(",")[3] for line in lines[1:]] == kinds
    assert f"{kinds.count('to the left')}  to the left" in done.stdout


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        ("shapes", 2, "names no function"),
        ("shapes:missing", 2, "has no function `missing`"),
        ("nowhere:kind", 1, "the module `nowhere` cannot be imported"),
        ("shapes:broken", 1, "`shapes:broken` failed: KeyError: 'nothing'"),
    ],
)
def test_a_function_that_cannot_be_is_told(place: Path, function: str, code: int, said: str) -> None:
    (place / "shapes.py").write_text(CLASSIFIER, encoding="utf-8")
    done = command(place, "regions", "classify", "one", function, "--task", "fast")

    assert done.returncode == code
    assert said in done.stderr


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("task.fast.condition=velocity_q > 1", "velocity_q"),
        ("task.fast.condition=velocity_x + 1", "a number is neither true nor false"),
        ("task.fast.condition=velocity_x >", "column"),
        ("task.fast.condition=1 > 0", "names no quantity"),
        ('task.fast.save=["nothing"]', "nothing"),
        ("task.fast.margin=-1", "margin"),
        (f"task.fast.margin={N + 1}", f"a margin of {N + 1} cells is wider than the box"),
        ("task.fast.min_cells=0", "min_cells"),
    ],
)
def test_wrong_words_are_refused_before_the_run_begins(setting: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(FLOW, encoding="utf-8")
    done = program(tmp_path, 2, "run.toml", "--out", "out", "--set", setting)

    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_no_region_and_one_that_is_everything(tmp_path: Path) -> None:
    config = FLOW.replace(f"> {FASTEST}", "> 1e9").replace(
        "q_criterion > 0 and vorticity_magnitude > 2", "q_criterion > -1e9"
    )
    flow = run(tmp_path, 2, "out", config=config)

    nothing, everything = flow.result("fast", -1), flow.result("vortices", -1)
    assert nothing.sizes["region"] == 0
    assert nothing.attrs["saved_bytes"] == 0
    assert not list((tmp_path / "out" / "results" / "fast").glob("*.vtkhdf"))
    assert everything["cells"].values.tolist() == [N**3]
    assert everything.attrs["saved_share"] == 1
    assert list(sidestream.regions(flow, "fast")) == []
    done = command(tmp_path, "regions", "classify", "out", "os:getcwd", "--task", "fast")
    assert done.returncode == 1
    assert "the task `fast` has found no region at any step" in done.stderr


def test_a_part_of_the_domain_is_nothing_to_go_on_from(place: Path) -> None:
    part = place / "one" / "results" / "fast" / "00004.vtkhdf"
    done = program(place, 1, "run.toml", "--analyze", "--from", part, "--out", "onwards")

    assert done.returncode != 0
    assert "the file holds a part of the domain only" in done.stderr
    told = command(place, "info", part)
    assert told.returncode == 0, told.stderr
