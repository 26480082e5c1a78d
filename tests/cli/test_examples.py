"""Every example is valid, and runs: those that take longer than seconds on a smaller grid or for a shorter time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

import sidestream
from calls import command, program
from sidestream.launch.launcher import find_program
from sidestream.runs.bill import GroupBill, group_bills
from tiers import slow
from waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples"
LIKE_OTHERS = {
    "lya_128",
    "lya_wdm",
    "sod_refined",
    "hydrostatic_sphere",
}  # which run a simulation and tasks that others do
SMALLER = {  # by name, what is changed
    "cavity": ["lbm.end=200", "task.flow.every=100"],
    "channel": ["lbm.end=200", "task.profile.every=100"],
    "cosmology": ["mesh.cells=[32,32,32]", "mesh.block=16", "run.max_steps=3", "cosmology.box=28.4 Mpc"],
    "cluster": ["mesh.cells=[16,16,16]", "amr.max_level=1", "run.max_steps=4"],
    "cylinder": ["lbm.end=300", "task.wake.every=100"],
    "forced_turbulence": ["mesh.cells=[16,16,16]", "mesh.block=8", "turbulence.viscosity=0.1"],
    "lya": [
        "mesh.cells=[16,16,16]",
        "mesh.block=8",
        "cosmology.z_start=40",
        "cosmology.z_end=4",
        "task.gimlet.at_redshift=[5, 4]",
        "task.halos.at_redshift=[4]",
        "task.projection.at_redshift=[4]",
        "output.plotfile.at_redshift=[4]",
    ],
    "lya_128": ["mesh.cells=[16,16,16]", "mesh.block=8", "cosmology.z_start=40"],
    "lya_wdm": ["mesh.cells=[16,16,16]", "mesh.block=8", "cosmology.z_start=40"],
    "mergers": ["mesh.cells=[32,32,32]", "mesh.block=16", "cosmology.particles=[16,16,16]", "run.max_steps=3"],
    "nbody": ["mesh.cells=[32,32,32]", "mesh.block=16", "cosmology.particles=[16,16,16]", "run.max_steps=3"],
    "nyx_lya": ["run.max_steps=3"],
    "sod": [],
    "sphere": ["lbm.end=20", "task.middle.every=10"],
    "sod_refined": [],
    "sedov": ["amr.max_level=3", "sedov.end=0.005"],
    "sedov_2d": ["amr.max_level=4", "sedov.end=0.01"],
    "double_mach": ["amr.max_level=2", "double_mach.end=0.02"],
    "kelvin_helmholtz": ["kelvin_helmholtz.end=0.1"],
    "taylor_green": ["mesh.cells=[16,16,16]", "mesh.block=8"],
    "vortex": ["vortex.end=0.5"],
    "hydrostatic_sphere": ["hydrostatic_sphere.end=0.1"],
    "wind_tunnel": ["lbm.end=200", "task.wake.every=100", "task.vorticity.every=100", "task.vortices.every=100"],
    "zoom": ["run.max_steps=2"],
}
# By the example whose report has the pictures that theirs would have, of the same analyses.
REPORTED_BY_ANOTHER = {
    **dict.fromkeys(("sod_refined", "double_mach", "kelvin_helmholtz", "vortex", "hydrostatic_sphere"), "sod"),
    **dict.fromkeys(("nbody", "nyx_lya"), "cosmology"),
    "forced_turbulence": "taylor_green",
    **dict.fromkeys(("lya_128", "lya_wdm"), "lya"),
    "sedov_2d": "sedov",
    **dict.fromkeys(("cavity", "channel", "sphere", "wind_tunnel"), "cylinder"),
    "zoom": "cluster",
}


# Stands for the program and writes down, by a clock of its own, from when to when each rank was a process.
WATCH = """#!/bin/sh
began=$(date +%s.%N)
"{program}" "$@"
code=$?
echo "$began $(date +%s.%N)" > "{folder}/life.${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}"
exit $code
"""
# Of a process's life before `main` and after the bill is written: libraries, the end of MPI; a tenth of a second on a
# machine that has nothing else to do.
OUTSIDE_S = 3.0


@pytest.mark.parametrize("name", [path.stem for path in sorted(EXAMPLES.glob("*.toml"))])
def test_each_example_is_valid_as_it_stands(name: str) -> None:
    result = command(EXAMPLES, "check", f"{name}.toml", "-n", 2)

    assert result.returncode == 0, result.stderr


def test_the_runs_of_which_the_help_shows_pictures_paint_some(tmp_path: Path) -> None:
    shown = re.findall(r"sidestream (?:view|movie) runs/(\w+)", command(tmp_path, "--help").stdout)
    assert len(shown) == 2
    for name in shown:
        tasks = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())["task"].values()
        assert "display" in {task["analysis"] for task in tasks}, name


def test_no_example_is_left_out() -> None:
    assert set(SMALLER) == {path.stem for path in EXAMPLES.glob("*.toml")}


@pytest.mark.parametrize("name", [*sorted(set(SMALLER) - LIKE_OTHERS), *slow(*sorted(LIKE_OTHERS))])
def test_each_example_runs_and_leaves_results(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = [part for assignment in SMALLER[name] for part in ("--set", assignment)]

    watch = tmp_path / "watch"
    watch.write_text(WATCH.format(program=find_program(), folder=tmp_path))
    watch.chmod(0o755)

    monkeypatch.setenv("SIDESTREAM_RUN", str(watch))
    line = [EXAMPLES / f"{name}.toml", "--out", "run", *overrides]
    is_reported = name not in REPORTED_BY_ANOTHER
    result = command(tmp_path, "run", "-n", 2, *line) if is_reported else program(tmp_path, 2, *line)

    assert result.returncode == 0, result.stderr
    run = sidestream.open(tmp_path / "run")
    assert run.tasks
    assert (tmp_path / "run" / "report.html").exists() == is_reported
    check_bills(group_bills(run.events), lives(tmp_path))
    end = [event for event in run.events if event["event"] == "run_end"][-1]
    assert all(task["failed"] == 0 for task in end["tasks"].values())


WATCHED = {  # what is made smaller, and what the scripts leave
    "stream": ("--set mesh.cells=[32,32,32] --set sedov.end=0.01", ["blast.png", "pictures/slice-gas-density.png"]),
    "wind_tunnel": (
        "--set lbm.end=200 --set task.vorticity.every=100 --set task.vortices.every=100",
        ["vorticity.mp4", "vortices.csv", "results/vorticity/00200.pictures/index.html"],
    ),
}


def watched(name: str, folder: Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Starts all jobs of an example; it must leave none of them."""
    environment = os.environ | {
        "SIDESTREAM": str(Path(sys.executable).with_name("sidestream")),
        "PYTHON": python,
        "MPLBACKEND": "Agg",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    line = [str(EXAMPLES / name / "watch.sh"), "the run", *WATCHED[name][0].split()]
    with subprocess.Popen(
        line, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as script:
        _, told = script.communicate(timeout=240)
        until(lambda: not list_group(script.pid))
    return subprocess.CompletedProcess(line, script.returncode, stderr=told)


def list_group(leader: int) -> list[str]:
    return subprocess.run(["pgrep", "-s", str(leader)], capture_output=True, text=True, check=False).stdout.split()


@pytest.mark.parametrize("name", ["stream", *slow(*sorted(set(WATCHED) - {"stream"}))])
def test_one_command_starts_a_run_and_its_readers(name: str, tmp_path: Path) -> None:
    of_somebody = tmp_path / "the run" / "thesis.txt"
    of_somebody.parent.mkdir()
    of_somebody.write_text("years of work")

    done = watched(name, tmp_path)

    assert done.returncode == 0, done.stderr
    assert of_somebody.read_text() == "years of work"
    for made in WATCHED[name][1]:
        assert (tmp_path / "the run" / made).stat().st_size > 0


def test_the_command_fails_with_one_of_its_jobs(tmp_path: Path) -> None:
    (tmp_path / "the run").write_text("no folder")
    assert watched("stream", tmp_path).returncode != 0
    (tmp_path / "the run").unlink()
    assert watched("stream", tmp_path, "/bin/false").returncode == 1


def lives(folder: Path) -> list[float]:
    """How long each rank was a process [s]."""
    moments = [(folder / f"life.{rank}").read_text().split() for rank in range(2)]
    return [float(end) - float(begin) for begin, end in moments]


# What other programs on the machine may take between two lines of a run: a hundred times what is there without them.
LOST_TO_OTHERS_S = 0.3


def check_bills(bills: list[GroupBill], lives: list[float]) -> None:
    """The lines of each group add up to the time by the program's clock, and this to the life of its processes."""
    assert bills[0].group == "compute"
    assert sum(bill.ranks for bill in bills) == len(lives)
    first = 0
    for bill in bills:
        assert sum(line.mean_s for line in bill.lines) == pytest.approx(bill.wall_s, rel=0.01)
        rest = {line.what: line.mean_s for line in bill.lines}.get("everything else", 0.0)
        assert rest < max(0.05 * bill.wall_s, LOST_TO_OTHERS_S), bill
        life = sum(lives[first : first + bill.ranks]) / bill.ranks  # sidecars are the last ranks
        assert 0.9 * (life - OUTSIDE_S) <= bill.wall_s <= life, bill.group
        first += bill.ranks
