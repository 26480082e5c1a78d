"""Quantities by name, through the program: derived ones in tasks, triggers and files; their names in files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yt

import sidestream
from sidestream.launch.launcher import find_program, mpi_environment

BLAST = """simulation = "sedov"

[run]
max_steps = 12

[mesh]
cells = [32, 32, 1]
block = 8

[amr]
max_level = 1

[refine.blast]
criterion = "loehner"
fields = ["pressure"]

[coupling]
sidecars = 1

[quantity.speed]
expression = "sqrt(twice_kinetic)"
meaning = "of the gas"

[quantity.twice_kinetic]
expression = "velocity_x * velocity_x + velocity_y * velocity_y"

[task.here]
analysis = "slice"
fields = ["speed", "velocity_x", "velocity_y", "specific_total_energy"]
every = 4

[task.there]
analysis = "slice"
fields = ["speed"]
transport = "in-transit"
every = 4

[task.fast]
analysis = "slice"
fields = ["speed"]
when = "max(speed) > 0.1"

[output]
plotfile = { format = "nyx", every = 4, variables = ["gas_density", "x_velocity", "speed"] }
checkpoint = { format = "flash", every = 8 }
"""


def run(folder: Path, ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    line = ["mpirun", "-n", str(ranks), str(find_program()), "blast.toml", "--quiet", *words]
    return subprocess.run(
        line, cwd=folder, env=mpi_environment(os.environ, ranks), capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def blast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quantities")
    (folder / "blast.toml").write_text(BLAST)
    done = run(folder, 3, "--out", "o")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_derived_quantity_is_what_its_expression_says(blast: Path) -> None:
    result = sidestream.open(blast / "o").result("here", 8)

    speed = np.sqrt(result["velocity_x"] * result["velocity_x"] + result["velocity_y"] * result["velocity_y"])
    assert float(np.max(speed)) > 0.1
    np.testing.assert_array_equal(result["speed"], speed)
    assert result["speed"].attrs["units"] == "1"


def test_it_is_the_same_in_transit_and_on_one_rank(blast: Path) -> None:
    done = run(blast, 1, "--out", "one", "--set", "coupling.sidecars=0", "--set", "task.there.transport=in-situ")
    assert done.returncode == 0, done.stderr
    three, one = sidestream.open(blast / "o"), sidestream.open(blast / "one")

    for step in (4, 8, 12):
        here = three.result("here", step)["speed"]
        np.testing.assert_array_equal(here, three.result("there", step)["speed"])
        np.testing.assert_array_equal(here, one.result("here", step)["speed"])


def test_a_trigger_may_ask_for_it(blast: Path) -> None:
    opened = sidestream.open(blast / "o")

    assert len(opened.steps("fast")) == 1
    assert float(np.max(opened.result("fast", opened.steps("fast")[0])["speed"])) > 0.1


def test_plot_files_take_both_names_and_hold_their_own(blast: Path) -> None:
    opened = sidestream.open(blast / "o" / "plt00008")

    assert {"density", "x_velocity", "speed"} == set(opened.fields)
    speed = sidestream.open(blast / "o").result("here", 8)["speed"]
    level = int(speed.shape[0]) // 32 // 2
    np.testing.assert_array_equal(np.squeeze(opened.covering_grid("speed", level)), speed)


def test_a_checkpoint_of_flash_has_what_its_readers_look_for(blast: Path) -> None:
    dataset = yt.load(str(blast / "o" / "sidestream_hdf5_chk_0008"))
    fields = {name for kind, name in dataset.field_list if kind == "flash"}
    assert {"dens", "velx", "vely", "velz", "pres", "ener", "eint"} <= fields

    cells = dataset.all_data()
    density, speed = np.asarray(cells["flash", "dens"]), np.asarray(cells["flash", "velx"])
    np.testing.assert_allclose(density * speed, np.asarray(cells["flash", "momx"]), rtol=1e-15, atol=1e-300)
    kinetic = 0.5 * sum(np.asarray(cells["flash", f"vel{axis}"]) ** 2 for axis in "xyz")
    ener, eint = (np.asarray(cells["flash", name]) for name in ("ener", "eint"))
    np.testing.assert_allclose(ener, eint + kinetic, rtol=1e-6)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('quantity.speed.expression="sqrt(twice)"', ["there is no quantity `twice`", "column 6"]),
        ('quantity.pressure.expression="1"', ["`pressure` is there already"]),
        ('quantity.twice_kinetic.expression="speed"', ["follows from itself"]),
        ('quantity.speed.expression="redshift"', ["no redshift"]),
        ('quantity.speed.units="km"', ["did you mean `unit`?"]),
        ('output.plotfile.variables=["spead"]', ["there is no quantity `spead`", "speed"]),
        ('task.here.fields=["speeed"]', ["speeed", "speed"]),
    ],
)
def test_wrong_names_are_told_before_the_run(blast: Path, key: str, words: list[str]) -> None:
    done = run(blast, 1, "--out", "never", "--set", key)

    assert done.returncode == 2, done.stdout
    assert not (blast / "never").exists()
    for word in words:
        assert word in done.stderr
