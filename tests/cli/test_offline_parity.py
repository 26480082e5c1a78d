"""Every analysis, by `sidestream analyze`, of the plot files of a run: the results are those that it made in flight."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream
import tiers
from calls import command, program
from test_stream_parity import COSMOLOGY, FLOW, HEATED, TURBULENCE, UNIVERSE

MINE = """
import sidestream

@sidestream.analysis(fields=["gas_overdensity", "velocity_x"])
def mine(snapshot):
    density, velocity = snapshot.blocks("gas_overdensity"), snapshot.blocks("velocity_x")
    return {"flow": snapshot.sum(*(one.cells * other.cells**2 for one, other in zip(density, velocity)))}
"""
# Which the run has, and files have or lack.
QUANTITIES = [
    "dark_matter_density",
    "dark_matter_overdensity",
    "potential",
    "gas_density",
    "gas_momentum_x",
    "gas_momentum_y",
    "gas_momentum_z",
    "gas_total_energy",
    "gas_internal_energy",
    "velocity_x",
    "velocity_y",
    "velocity_z",
    "pressure",
    "specific_total_energy",
    "specific_internal_energy",
    "temperature",
    "electron_fraction",
    "neutral_hydrogen",
    "singly_ionized_helium",
    "total_density",
    "gas_overdensity",
]
OF_UNIVERSE = COSMOLOGY | {
    "look": 'analysis = "display"\nquantity = "gas_overdensity"\naxis = "z"\nposition = 0.5',
    "mine": 'analysis = "python"\nfile = "mine.py"',
    "others": f'analysis = "slice"\nfields = {json.dumps(QUANTITIES)}',
}
OF_FLOW = TURBULENCE | {
    "dye": 'analysis = "turbulence"\ngrid = "space"\nscalars = ["dye"]',
    "vortices": 'analysis = "slice"\ngrid = "space"\nfields = ["vorticity_x", "vorticity_magnitude", "q_criterion"]',
}
NOT_OFFLINE = {"readers"}  # gives no result
SCALAR = "[scalar.dye]\nschmidt = 0.7\nmean_gradient = [1.0, 0.0, 0.0]\n"
REFINED = """[amr]
max_level = 1
[refine.dense]
criterion = "threshold"
field = "dark_matter_overdensity"
refine_above = 1.1
coarsen_below = 0.5
"""
SIMULATIONS = {
    "cosmology": (UNIVERSE + HEATED, OF_UNIVERSE),
    "refined": (UNIVERSE + HEATED + REFINED, OF_UNIVERSE),
    "turbulence": (FLOW + SCALAR, OF_FLOW),
}
PLOTS = {
    "refined": 'particle_precision = "double"\n',
    "cosmology": 'particle_precision = "double"\n',
    "turbulence": 'grid = "space"\nvariables = ["velocity_x", "velocity_y", "velocity_z", "dye"]\n',
}
FORMATS = ["raw", *tiers.slow("nyx", "flash", "enzo", "sidestream")]
EXACT = ("raw", "nyx")  # the others are in cgs units, which round
ERROR = 2e-14  # of the largest number of a column
OTHER = Path(__file__).parents[1] / "data" / "nyx_plt00002"


def test_no_analysis_is_forgotten(tmp_path: Path) -> None:
    listed = {line.split()[0] for line in command(tmp_path, "list", "analyses").stdout.splitlines()[1:]}
    tried = {text.split('"')[1] for tasks in (OF_UNIVERSE, OF_FLOW) for text in tasks.values()}
    assert tried | NOT_OFFLINE == listed


def run_with_plots(simulation: str, form: str, folder: Path) -> list[Path]:
    """The plot files, of each step, of a run with all tasks in `folder / "run"`."""
    text, tasks = SIMULATIONS[simulation]
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    text += "".join(f"[task.{name}]\n{task}\nevery = 1\n" for name, task in tasks.items())
    text += f'[task.plots]\nwrite = "plotfile"\nformat = "{form}"\nevery = 1\n{PLOTS[simulation]}'
    (folder / "box.toml").write_text(text, encoding="utf-8")
    done = program(folder, 1, "box.toml", "--quiet", "--out", "run", name="sidestream-run-python")
    assert done.returncode == 0, done.stderr
    return [path for path in (folder / "run/plots").iterdir() if "metadata" not in path.name]


def require_near(ours: Mapping[Any, Any], theirs: Mapping[Any, Any], error: float, where: str) -> None:
    assert set(ours) == set(theirs), where
    for name, values in ours.items():
        mine, other = np.asarray(values), np.asarray(theirs[name])
        if mine.dtype.kind == "f":
            largest = np.abs(mine).max(initial=0.0, where=np.isfinite(mine))
            np.testing.assert_allclose(other, mine, rtol=0, atol=error * largest, err_msg=f"{where} {name}")
        else:
            np.testing.assert_array_equal(other, mine, err_msg=f"{where} {name}")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("simulation", ["cosmology", "turbulence", *tiers.slow("refined")])
def test_each_analysis_of_plot_files_gives_the_results_of_the_run(simulation: str, form: str, tmp_path: Path) -> None:
    files = run_with_plots(simulation, form, tmp_path)

    # Nothing is executed because a file says so.
    words = () if simulation == "turbulence" else ("--config", "box.toml")
    done = command(tmp_path, "analyze", *files, *words, "--out", "later", "-n", 2)

    assert done.returncode == 0, done.stderr
    run, later = sidestream.open(tmp_path / "run"), sidestream.open(tmp_path / "later")
    assert set(later.tasks) == set(SIMULATIONS[simulation][1])
    assert simulation != "refined" or run.result("others", 2).attrs["finest_level"] == 1
    error = 0.0 if form in EXACT and simulation != "turbulence" else ERROR  # its vortices follow from velocities
    for task in later.tasks:
        assert later.steps(task) == run.steps(task) == [0, 1, 2]
        for step in later.steps(task):
            mine, other = run.result(task, step), later.result(task, step)
            require_near(mine.variables, other.variables, error, task)
            require_near(mine.attrs, other.attrs, error, f"attributes of {task}")


def test_a_task_of_another_grid_than_that_of_the_file_is_refused(tmp_path: Path) -> None:
    tasks = '[task.increments]\nanalysis = "structure_functions"\ngrid = "space"\n'
    (tmp_path / "tasks.toml").write_text(tasks, encoding="utf-8")
    (tmp_path / "kept.toml").write_text(tasks.replace("space", "kept"), encoding="utf-8")
    flow = FLOW + '[output]\nplotfile = { format = "nyx", at_end = true, grid = "space" }\n'
    (tmp_path / "box.toml").write_text(flow, encoding="utf-8")
    assert program(tmp_path, 1, "box.toml", "--quiet", "--out", "run").returncode == 0
    (file,) = (tmp_path / "run").glob("plt*")
    copy = tmp_path / "copy.raw"
    assert command(tmp_path, "convert", file, copy, "--format", "raw").returncode == 0

    kept = command(tmp_path, "analyze", copy, "--config", "kept.toml", "--out", "none", "-n", 1)
    unknown = command(tmp_path, "analyze", OTHER, "--config", "tasks.toml", "--out", "none", "-n", 1)
    taken = command(tmp_path, "analyze", copy, "--config", "tasks.toml", "--out", "some", "-n", 1)

    assert kept.returncode == unknown.returncode == 2
    assert "the file is of the grid `space`, not `kept`" in kept.stderr
    assert "the file does not say that it is of the grid `space`" in unknown.stderr
    assert taken.returncode == 0, taken.stderr


def test_what_a_file_of_another_code_lacks_follows(tmp_path: Path) -> None:
    fields = ["gas_overdensity", "gas_density", "dark_matter_overdensity", "dark_matter_density"]
    task = f'[task.cut]\nanalysis = "slice"\naxis = "z"\nfields = {fields}\n'.replace("'", '"')
    (tmp_path / "tasks.toml").write_text(task, encoding="utf-8")

    done = command(tmp_path, "analyze", OTHER, "--config", "tasks.toml", "--out", "later", "-n", 2)

    assert done.returncode == 0, done.stderr
    cut, file = sidestream.open(tmp_path / "later").result("cut", -1), sidestream.open(OTHER)
    for kind, name in (("gas", "density"), ("dark_matter", "particle_mass_density")):
        mean = float(file.covering_grid(name).mean())
        np.testing.assert_allclose(cut[f"{kind}_overdensity"] * mean, cut[f"{kind}_density"], rtol=1e-12)
