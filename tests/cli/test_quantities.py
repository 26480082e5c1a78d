"""Quantities by name, through the program: derived ones in tasks, triggers and files; their names in files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yt

import sidestream
from calls import Done, command, program
from configs import universe
from sidestream.files.formats import formats
from sidestream.launch.launcher import find_program

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

TAKEN = ["pressure", "total_density", "gas_density", "redshift", "step", "id", "x", "and", "or", "not", "sqrt", "min"]
WORDS = {"density": "gas_density", "Temp": "temperature", "Density": "gas_density", "Temperature": "temperature"}


def run(folder: Path, ranks: int, *words: str) -> Done:
    return program(folder, ranks, "blast.toml", "--quiet", *words)


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


# Of any length, beside words that FLASH has for other quantities, and alike in their first four letters.
NAMES = {
    "q": "2 * pressure",
    "gid": "pressure",
    "vel": "velocity_x",
    "dens": "3 * pressure",
    "machine": "4 * pressure",
    "mach": "5 * pressure",
    "temperature_ratio": "6 * pressure",
}


FORMATS = [name for name in formats() if name != "enzo-hdf5"]  # which is read only
SHOWN = [*NAMES, "pressure", "gas_density", "total_density", "velocity_x"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of all formats with these names, by format."""
    folder = tmp_path_factory.mktemp("names")
    tables = "".join(f'[quantity.{name}]\nexpression = "{text}"\n' for name, text in NAMES.items())
    for form in FORMATS:
        tables += f'[task.{form}]\nwrite = "plotfile"\nformat = "{form}"\nvariables = {SHOWN}\nat_end = true\n'
    head = BLAST[: BLAST.index("[amr]")].replace("max_steps = 12", "max_steps = 2")
    (folder / "blast.toml").write_text(head + tables.replace("'", '"'))
    done = run(folder, 2, "--out", "o")
    assert done.returncode == 0, done.stderr
    return {form: path for form in FORMATS for path in (folder / "o" / form).iterdir()}


@pytest.mark.parametrize("format", FORMATS)
def test_names_of_any_length_are_read_again_in_every_format(format: str, named: dict[str, Path]) -> None:
    path = named[format]
    checked = command(path.parent, "verify", path, "-n", 1)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    opened = sidestream.open(path)
    assert len(set(opened.fields)) == len(opened.fields) == len(SHOWN)
    pressure, density = opened.covering_grid("pressure"), opened.covering_grid("density")
    for name, text in NAMES.items():
        factor, quantity = text.split(" * ") if "*" in text else ("1", text)
        wanted = pressure if quantity == "pressure" else opened.covering_grid("x_velocity")
        np.testing.assert_array_equal(opened.covering_grid(name), float(factor) * wanted, err_msg=name)
    np.testing.assert_array_equal(opened.covering_grid("total_density"), density)


def test_readers_of_flash_do_not_take_one_quantity_for_another(tmp_path: Path) -> None:
    (tmp_path / "blast.toml").write_text(
        BLAST[: BLAST.index("[amr]")].replace("max_steps = 12", "max_steps = 2")
        + '[quantity.dens]\nexpression = "3 * pressure"\n[output]\n'
        + 'plotfile = { format = "flash", at_end = true, variables = ["dens", "pressure"] }\n'
    )
    assert run(tmp_path, 1, "--out", "o").returncode == 0

    dataset = yt.load(str(tmp_path / "o" / "sidestream_hdf5_plt_cnt_0002"))
    assert {name for kind, name in dataset.field_list if kind == "flash"} == {"den0", "pres"}


BOX = (
    universe(steps=4, box="14.2 Mpc", z_end=2)
    + """[coupling]
sidecars = 1
[quantity.share]
expression = "gas_density / total_density"
[task.there]
analysis = "slice"
fields = ["total_density", "gas_density", "dark_matter_density", "share"]
transport = "in-transit"
every = 2
[task.total]
analysis = "projection"
transport = "in-transit"
every = 2
[task.here]
analysis = "slice"
fields = ["total_density"]
when = "max(total_density) > mean(dark_matter_density)"
[output]
plotfile = { format = "nyx", at_end = true, variables = ["total_density", "gas_density", "dark_matter_density"] }
"""
)


def test_the_total_density_can_be_named_wherever_a_quantity_can(tmp_path: Path) -> None:
    (tmp_path / "blast.toml").write_text(BOX)
    done = run(tmp_path, 3, "--out", "o")
    assert done.returncode == 0, done.stderr

    opened = sidestream.open(tmp_path / "o")
    there, here = opened.result("there", 0), opened.result("here", 0)
    total = there["gas_density"].values + there["dark_matter_density"].values
    np.testing.assert_array_equal(there["total_density"], total)
    np.testing.assert_array_equal(here["total_density"], total)
    np.testing.assert_array_equal(there["share"], there["gas_density"].values / total)
    plotfile = sidestream.open(tmp_path / "o" / "plt00004")
    parts = plotfile.covering_grid("density") + plotfile.covering_grid("particle_mass_density")
    np.testing.assert_array_equal(plotfile.covering_grid("total_density"), parts)
    field = 8 * 16**3
    sent = {event["task"]: event["bytes"] for event in opened.events.of("publish") if event["step"] == 2}
    assert sent == {"there": 3 * field, "total": 0}  # its parts, once for both tasks


def test_the_total_density_is_listed() -> None:
    listed = subprocess.run([str(find_program()), "--list", "quantities", "--json"], capture_output=True, text=True)

    assert "sedov" in json.loads(listed.stdout)["quantities"]["total_density"]


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
    pressure, total, internal = (np.asarray(cells["flash", name]) for name in ("pres", "rhoe", "rhei"))
    np.testing.assert_allclose(pressure, (dataset.gamma - 1.0) * density * eint, rtol=1e-14)
    np.testing.assert_allclose(density * ener, total, rtol=1e-14)
    np.testing.assert_allclose(density * eint, internal, rtol=1e-14)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('quantity.speed.expression="sqrt(twice)"', ["there is no quantity `twice`", "column 6"]),
        *[(f'quantity.{name}.expression="1"', [f"`{name}` is there already"]) for name in TAKEN],
        *[(f'quantity.{name}.expression="1"', [f"files call `{of}` so: `{name}`"]) for name, of in WORDS.items()],
        ('output.plotfile.variables=["gas_density", "speed", "gas_density"]', ["`gas_density` is named twice"]),
        ('output.plotfile.variables=["density", "gas_density"]', ["`gas_density` is named twice"]),
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
