"""Results are in the units that the simulation tells: a column of what it does not tell has no `units`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, program

TASKS = """
[task.power]
analysis = "power_spectrum"
fields = ["gas_density"]
every = {every}

[task.halos]
analysis = "halos"
t_boundary = "1.01 mean"
t_halo = "1.02 mean"
link = {link}
every = {every}

[task.cut]
analysis = "slice"
fields = ["gas_density"]
every = {every}

[task.column]
analysis = "projection"
fields = ["gas_density"]
combine = "integral"
every = {every}

[task.phase]
analysis = "phase"
temperature = "pressure"
temperature_low = 1e-9
every = {every}

[task.regions]
analysis = "regions"
condition = "gas_density > 2"
measure = ["gas_density"]
every = {every}

[task.tree]
analysis = "merge_tree"
field = "gas_density"
cut_off = "1.01 mean"
every = {every}
"""
FLOW = """
[task.turbulence]
analysis = "turbulence"
every = {every}

[task.increments]
analysis = "structure_functions"
every = {every}
"""  # in a periodic box
SEDOV = """simulation = "sedov"
[mesh]
cells = [16, 16, 16]
block = 8
[run]
max_steps = 4
"""
PLOT_FILE = '[output]\nplotfile = { format = "nyx", at_end = true }\n'
COSMOLOGICAL = re.compile(r"Mpc|Msun|\bh\b")
SHAPE = (8, 8, 8)


def units_of(run: Path) -> dict[str, dict[str, str | None]]:
    """By task and column; None where there is no attribute `units`."""
    opened = sidestream.open(run)
    tables = {task: opened.result(task, -1) for task in opened.tasks}
    return {
        task: {str(name): column.attrs.get("units") for name, column in table.variables.items()}
        for task, table in tables.items()
    }


def expect_none_of_a_universe(units: dict[str, dict[str, str | None]]) -> None:
    for task, columns in units.items():
        assert not [name for name, unit in columns.items() if unit and COSMOLOGICAL.search(unit)], task
    lengths = {"power": "k", "halos": "x", "cut": "x", "column": "y", "phase": "volume", "regions": "x"}
    for task, name in lengths.items():
        assert units[task][name] is None, (task, name)
    assert units["halos"]["mass"] is None
    assert units["halos"]["cells"] == "1"


def host(folder: Path, length: str, density: str, velocity: str) -> dict[str, dict[str, str | None]]:
    """What the results of a program with fields in these units say."""
    (folder / "tasks.toml").write_text((TASKS + FLOW).format(link="false", every=1))
    random = np.random.default_rng(5)
    with sidestream.session(folder / "tasks.toml", folder / "run", quiet=True) as run:
        run.mesh(SHAPE, unit=length)
        run.field("gas_density", random.lognormal(size=SHAPE), unit=density)
        run.field("pressure", np.ones(SHAPE))
        for axis in "xyz":
            run.field(f"velocity_{axis}", random.normal(size=SHAPE), unit=velocity)
        run.begin()
        run.step(1, 1.0)
    return units_of(folder / "run")


def test_a_program_that_tells_no_units_has_none_in_its_results(tmp_path: Path) -> None:
    units = host(tmp_path, "", "", "")

    expect_none_of_a_universe(units)
    assert units["turbulence"]["energy_spectrum"] is None
    assert units["increments"]["separation"] is None


def test_without_a_unit_of_length_those_of_fields_stay(tmp_path: Path) -> None:
    units = host(tmp_path, "", "g/cm^3", "km/s")

    expect_none_of_a_universe(units)
    assert (units["halos"]["peak"], units["cut"]["gas_density"], units["column"]["gas_density"]) == (
        "g/cm^3",
        "g/cm^3",
        None,
    )
    assert units["turbulence"]["mean_velocity"] == "km/s"


def test_a_program_has_the_units_that_it_tells(tmp_path: Path) -> None:
    units = host(tmp_path, "cm", "g/cm^3", "cm/s")

    assert (units["power"]["k"], units["power"]["gas_density_power"]) == ("1/cm", "cm^3")
    assert [units["halos"][name] for name in ("x", "mass", "volume", "m200m")] == ["cm", "g", "cm^3", "g"]
    assert (units["cut"]["x"], units["column"]["gas_density"]) == ("cm", "g/cm^3 cm")
    assert (units["phase"]["volume"], units["phase"]["mass"]) == ("cm^3", "g")
    assert (units["regions"]["volume"], units["turbulence"]["k"]) == ("cm^3", "cm^-1")


def test_a_simulation_without_units_has_none_in_a_run_and_later(tmp_path: Path) -> None:
    (tmp_path / "sedov.toml").write_text(SEDOV + TASKS.format(link="true", every=4) + PLOT_FILE)
    ran = program(tmp_path, 2, "sedov.toml", "--quiet", "--out", "run")
    assert ran.returncode == 0, ran.stderr
    done = command(tmp_path, "analyze", next((tmp_path / "run").glob("plt*")), "--out", "later")
    assert done.returncode == 0, done.stderr

    units = units_of(tmp_path / "run")
    expect_none_of_a_universe(units)
    assert units["halos"]["shared_mass"] is None
    assert units["halos"]["shared_volume"] is None
    assert units_of(tmp_path / "later") == units

    tree = sidestream.open(tmp_path / "run").result_path("tree", 4)
    printed = command(tmp_path, "halos", "query", tree, "--t-boundary", "1.01 mean", "--t-halo", "1.02 mean")
    assert printed.stdout.splitlines()[0].split() == ["id", "mass", "cells", "x", "y", "z", "peak"]


def array(folder: Path) -> Path:
    path = folder / "total_density.npy"
    values = np.random.default_rng(2).lognormal(size=(16, 16, 16))
    values[3, 4, 5] = 1e4
    np.save(path, values)
    return path


@pytest.mark.parametrize(
    ("words", "mass", "peak"),
    [
        (("--box", "4"), "cells", "peak"),
        (("--box", "4 Mpc", "--unit", "g/cm^3"), "[Msun]", "[Msun/Mpc^3]"),
        (("--box", "4 Mpc", "--unit", "kg/m^3"), "[Msun]", "[Msun/Mpc^3]"),
        (("--box", "4 Mpc", "--unit", "furlong", "--t-boundary", "2 mean", "--t-halo", "9 mean"), "cells", "[furlong]"),
    ],
)
def test_halos_of_an_array_are_in_what_is_told_of_it(
    tmp_path: Path, words: tuple[str, ...], mass: str, peak: str
) -> None:
    done = command(tmp_path, "halos", "find", array(tmp_path), *words, "-o", "halos.csv")

    assert done.returncode == 0, done.stderr
    head = done.stdout.splitlines()[0].split()
    assert head[head.index("mass") + 1] == mass
    assert head[-1] == peak
    assert ("[Mpc]" in head) == ("Mpc" in words[1])
    columns = (tmp_path / "halos.csv").read_text().splitlines()[0].split(",")
    assert f"mass {mass}".removesuffix(" cells") in columns
    assert ("volume [Mpc^3]" in columns) == ("Mpc" in words[1])


@pytest.mark.parametrize("unit", ["oz/in3", "furlong"])
def test_the_usual_thresholds_of_a_density_take_a_unit_that_is_known(tmp_path: Path, unit: str) -> None:
    done = command(tmp_path, "halos", "find", array(tmp_path), "--box", "4 Mpc", "--unit", unit)

    assert done.returncode == 1
    for told in (f"`total_density` is in `{unit}`", "Msun/Mpc^3, Msun/kpc^3, g/cm^3, kg/m^3", "`t_boundary`"):
        assert told in done.stderr, done.stderr
