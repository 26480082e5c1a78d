"""Statistics of the Lyman-alpha forest of files that hold no neutral hydrogen: it follows from ionisation equilibrium.

What a run knows of its gas to the last bit, a file tells by temperatures, which equilibria know to 1e-11 of ln T, or by
energies, to rounding. Neutral hydrogen changes by less than the twentieth power of the temperature.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, program
from configs import universe

LARGEST_ERROR = 1e-9
BACKGROUND = "onorbe17_early"
STATE = ["density", "xmom", "ymom", "zmom", "particle_mass_density"]
HEATING = f'[heating]\nuv_background = "{BACKGROUND}"\nionization_factor = 0.5\n'
BOX = (
    universe(box="10 Mpc", z_start=40, z_end=4)
    + f"""{HEATING}
[task.igm]
analysis = "gimlet"
at_end = true

[output]
plotfile = {{ format = "nyx", at_end = true, variables = ["density", "xmom", "ymom", "zmom", "rho_E", "rho_e", "Temp",
  "particle_mass_density", "x_velocity", "y_velocity", "z_velocity", "specific_internal_energy"] }}
checkpoint = {{ at_end = true }}
"""
)
LIGHT = ("--set", f"heating.uv_background={BACKGROUND}")
TASKS = '[task.igm]\nanalysis = "gimlet"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A heated run with the suite at its end, and a plot file of it."""
    folder = tmp_path_factory.mktemp("heated")
    (folder / "box.toml").write_text(BOX, encoding="utf-8")
    (folder / "tasks.toml").write_text(TASKS, encoding="utf-8")
    dim = f'[task.flux]\nanalysis = "flux"\n[heating]\nuv_background = "{BACKGROUND}"\nionization_factor = 0.1\n'
    (folder / "dim.toml").write_text(dim, encoding="utf-8")
    done = program(folder, 1, "box.toml", "--quiet", "--out", "run")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def plot(folder: Path) -> Path:
    return next((folder / "run").glob("plt*"))


def converted(plot: Path, to: Path, kind: str, *fields: str) -> Path:
    words = [word for field in fields for word in ("--fields", field)]
    done = command(to.parent, "convert", plot, to, "--format", kind, *words)
    assert done.returncode == 0, done.stderr
    return to


def analysed(file: Path, out: Path, *words: object) -> sidestream.Run:
    done = command(out.parent, "analyze", file, "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(out)


def assert_same(run: sidestream.Run, later: sidestream.Run, tasks: Sequence[str] = ()) -> None:
    assert len(run.tasks) == 7
    for task in tasks or run.tasks:
        (step,) = run.steps(task)
        ours, theirs = run.result(task, step), later.result(task, step)
        for name, column in ours.data_vars.items():
            np.testing.assert_allclose(
                theirs[name], column, rtol=LARGEST_ERROR, atol=1e-12 * np.abs(column).max(), err_msg=f"{task} {name}"
            )


def test_a_file_of_a_heated_run_says_how_it_is_ionised(folder: Path, plot: Path, tmp_path: Path) -> None:
    assert "neutral_hydrogen" not in sidestream.open(plot).fields
    assert_same(sidestream.open(folder / "run"), analysed(plot, tmp_path / "later", "--task", folder / "tasks.toml"))


def test_results_say_what_ionised_the_gas(folder: Path, plot: Path, tmp_path: Path) -> None:
    later = analysed(plot, tmp_path / "later", "--task", "flux", "--set", "heating.uv_background=hm2012")
    run = sidestream.open(folder / "run")

    ours, theirs = (one.result(task, *one.steps(task)).attrs for one, task in ((run, "igm_flux"), (later, "flux")))
    assert (ours["uv_background"], ours["rates"], ours["ionization_factor"]) == (BACKGROUND, "lukic2015", 0.5)
    assert (ours["heating_factor"], ours["heating_exponent"], ours["self_shielding"]) == (1.0, 0.0, "false")
    assert (theirs["uv_background"], theirs["ionization_factor"]) == ("hm2012", 1.0)


def test_temperatures_follow_from_energies(folder: Path, plot: Path, tmp_path: Path) -> None:
    file = converted(plot, tmp_path / "plt00001", "nyx", *STATE, "rho_e")

    assert_same(sidestream.open(folder / "run"), analysed(file, tmp_path / "later", "--task", folder / "tasks.toml"))


@pytest.mark.parametrize(("kind", "name"), [("enzo", "RD00001"), ("flash", "sidestream_hdf5_plt_cnt_0001")])
def test_files_of_other_codes_have_units_of_their_own(
    folder: Path, plot: Path, tmp_path: Path, kind: str, name: str
) -> None:
    file = converted(plot, tmp_path / name, kind, *STATE, "Temp")

    assert_same(sidestream.open(folder / "run"), analysed(file, tmp_path / "later", "--task", folder / "tasks.toml"))


def test_files_that_are_not_of_sidestream_need_the_background(folder: Path, plot: Path, tmp_path: Path) -> None:
    fields = ("density", "x_velocity", "y_velocity", "z_velocity", "specific_internal_energy", "particle_mass_density")
    file = converted(plot, tmp_path / "RD00001", "enzo", *fields)
    (file / "sidestream.json").unlink()
    parameters = file / "RD00001"
    parameters.write_text(parameters.read_text().replace("SidestreamMetadata", "# "), encoding="utf-8")
    heating = ("--set", f"heating.uv_background={BACKGROUND}", "--set", "heating.ionization_factor=0.5")

    assert "neutral_hydrogen" in command(tmp_path, "analyze", file, "--task", "flux", "--out", "none").stderr
    later = analysed(file, tmp_path / "later", "--task", folder / "tasks.toml", *heating)
    assert_same(sidestream.open(folder / "run"), later)


def test_files_of_refined_meshes_have_the_shielding_of_the_run(tmp_path: Path) -> None:
    refined = """[amr]
max_level = 1
[refine.corner]
criterion = "region"
center = [2.5, 2.5, 2.5]
radius = 1.0
max_level = 1
"""
    (tmp_path / "tasks.toml").write_text(TASKS, encoding="utf-8")
    (tmp_path / "box.toml").write_text(BOX.replace('format = "nyx"', 'format = "enzo"') + refined, encoding="utf-8")
    words = ("--set", "heating.self_shielding=true", "--out", "run")
    assert program(tmp_path, 1, "box.toml", "--quiet", *words).returncode == 0
    run = sidestream.open(tmp_path / "run")
    assert run.events.last("run_end")["blocks"][1] > 0
    (file,) = (tmp_path / "run").glob("RD*")

    later = analysed(file, tmp_path / "later", "--task", "tasks.toml", "-n", 2)

    assert_same(run, later)
    assert later.result("igm_flux", *later.steps("igm_flux")).attrs["self_shielding"] == "true"


def test_checkpoints_are_in_the_units_of_the_run(folder: Path, tmp_path: Path) -> None:
    (checkpoint,) = (folder / "run").glob("chk*")
    (tmp_path / "tasks.toml").write_text('[task.igm_flux]\nanalysis = "flux"\nslice = true\n', encoding="utf-8")

    later = analysed(checkpoint, tmp_path / "later", "--task", "tasks.toml")

    assert_same(sidestream.open(folder / "run"), later, ["igm_flux"])


def test_tasks_say_another_background(folder: Path, plot: Path, tmp_path: Path) -> None:
    bright = analysed(plot, tmp_path / "bright", "--task", "flux", "--set", f"heating.uv_background={BACKGROUND}")
    dim = analysed(plot, tmp_path / "dim", "--task", folder / "dim.toml")

    (step,) = bright.steps("flux")
    means = [run.result("flux", step)["mean_flux"].to_numpy() for run in (bright, dim)]
    assert (means[0] > means[1]).all()


def test_without_a_background_it_is_asked_for(folder: Path, plot: Path, tmp_path: Path) -> None:
    (tmp_path / "cold.toml").write_text(BOX.replace(HEATING, "").replace("gimlet", "phase"), encoding="utf-8")
    assert program(tmp_path, 1, "cold.toml", "--quiet", "--out", "run", "--set", "cosmology.z_end=30").returncode == 0
    (file,) = (tmp_path / "run").glob("plt*")

    done = command(tmp_path, "analyze", file, "--task", "gimlet")

    assert done.returncode != 0
    assert "`neutral_hydrogen`" in done.stderr and "--set heating.uv_background=" in done.stderr
    done = command(tmp_path, "analyze", file, "--task", "gimlet", "--set", "heating.uv_background=hm12")
    assert done.returncode != 0 and "hm2012" in done.stderr and "heating.uv_background`" in done.stderr


@pytest.fixture(scope="module")
def with_atoms(folder: Path, plot: Path) -> Path:
    """The same state with the neutral hydrogen of the run, which tells of no run: so of another code."""
    held = folder / "held"
    held.mkdir()
    text = BOX[: BOX.index("[output]")].replace("[task.igm]", '[task.held]\nwrite = "plotfile"\nformat = "nyx"')
    text = text.replace('analysis = "gimlet"\n', f"variables = {[*STATE, 'Temp', 'neutral_hydrogen']}\n")
    (held / "box.toml").write_text(text.replace("'", '"'), encoding="utf-8")
    assert program(held, 1, "box.toml", "--quiet", "--out", "run").returncode == 0
    (file,) = held.glob("run/held/plt*")
    return file


def test_results_name_no_heating_that_is_not_theirs(folder: Path, with_atoms: Path, plot: Path, tmp_path: Path) -> None:
    other = ("--set", "heating.uv_background=hm2012", "-n", 1)
    both = (
        '[task.h]\nanalysis = "flux"\n[task.he]\nanalysis = "flux"\nion = "He II"\n[task.phase]\nanalysis = "phase"\n'
    )
    (tmp_path / "both.toml").write_text(both, encoding="utf-8")
    (tmp_path / "he.toml").write_text(both[both.index("[task.he]") :], encoding="utf-8")

    for task in ("flux", "both.toml"):
        done = command(tmp_path, "analyze", with_atoms, "--task", task, *other, "--out", "none")
        assert done.returncode == 2 and "holds `neutral_hydrogen` itself" in done.stderr, done.stderr
    done = command(tmp_path, "analyze", plot, "--task", "phase", *other, "--out", "none")
    assert done.returncode == 2 and "would do nothing" in done.stderr

    later = analysed(with_atoms, tmp_path / "he", "--task", tmp_path / "he.toml", *other)
    labels = {task: later.result(task, *later.steps(task)).attrs["uv_background"] for task in later.tasks}
    assert labels == {"he": "hm2012", "phase": BACKGROUND}


def test_a_background_has_to_be_named_and_to_reach_the_file(plot: Path, tmp_path: Path) -> None:
    (tmp_path / "late.txt").write_text("0.0 1e-12 1e-12 1e-14 1e-24 1e-24 1e-25\n0.6 0 0 0 0 0 0\n", encoding="utf-8")

    for key in ("rates=katz1996", "self_shielding=true"):
        done = command(tmp_path, "analyze", plot, "--task", "flux", "--set", f"heating.{key}", "--out", "none")
        assert done.returncode == 2 and "`uv_background` is missing" in done.stderr
    done = command(tmp_path, "analyze", plot, "--task", "flux", "--set", "heating.uv_background=late.txt")
    assert done.returncode == 2
    assert "the background ends at z = 2.981, and the file is of z = 4" in done.stderr


def damaged(plot: Path, to: Path, field: str, factor: float) -> Path:
    """A copy in which the first cell of a field of the first box is another."""
    shutil.copytree(plot, to)
    header = (to / "Header").read_text(encoding="ascii").split("\n")
    names = header[2 : 2 + int(header[1])]
    file = sorted((to / "Level_0").glob("Cell_D_*"))[0]
    data = bytearray(file.read_bytes())
    begin = data.index(b"\n") + 1
    cells = 8**3
    assert len(data) >= begin + 8 * cells * len(names)
    place = begin + 8 * cells * names.index(field)
    value = np.frombuffer(data, "<f8", 1, place)[0]
    data[place : place + 8] = np.array(value * factor, "<f8").tobytes()
    file.write_bytes(bytes(data))
    for known in ("sidestream.json", "sidestream.commit", "Level_0/checksums"):  # as another code left it
        (to / known).unlink()
    return to


@pytest.mark.parametrize(
    ("fields", "field", "factor", "said"),
    [
        (["Temp"], "Temp", -1.0, r"`Temp` is -\d.* in a cell, (.|\n)*cell \(0, 0, 0\)"),
        (["Temp"], "Temp", np.nan, r"`Temp` is nan in a cell, (.|\n)*cell \(0, 0, 0\)"),
        (["Temp"], "density", 0.0, r"`gas_density` is 0 Msun/Mpc\^3 at the cell"),
        (["rho_E"], "rho_E", 1e-3, r"`specific_internal_energy` is -.* because its total energy is .* kinetic energy"),
    ],
)
def test_what_is_no_gas_is_named(  # noqa: PLR0913
    plot: Path, tmp_path: Path, fields: list[str], field: str, factor: float, said: str
) -> None:
    file = damaged(converted(plot, tmp_path / "plt00001", "nyx", *STATE, *fields), tmp_path / "plt00002", field, factor)

    done = command(tmp_path, "analyze", file, "--task", "flux", *LIGHT, "-n", 2, "--out", "none")

    assert done.returncode == 2
    assert re.search(said, done.stderr), done.stderr
    assert "mend the file" in done.stderr


def test_gas_colder_than_the_rates_is_told(plot: Path, tmp_path: Path) -> None:
    file = damaged(converted(plot, tmp_path / "plt00001", "nyx", *STATE, "Temp"), tmp_path / "plt00002", "Temp", 1e-6)

    done = command(tmp_path, "analyze", file, "--task", "flux", *LIGHT, "--out", "out")

    assert done.returncode == 0, done.stderr
    assert "1 cell is colder than 1 K, down to 0." in done.stderr


def test_results_of_a_file_are_made_anew_but_runs_and_files_stay(folder: Path, plot: Path, tmp_path: Path) -> None:
    analysed(plot, tmp_path / "out", "--task", "phase")

    again = command(tmp_path, "analyze", plot, "--task", "phase", "--out", "out")
    assert again.returncode == 2
    assert "`--overwrite`" in again.stderr and "--restart" not in again.stderr
    analysed(plot, tmp_path / "out", "--task", "phase", "--overwrite")
    for out in (folder / "run", plot.parent):
        done = command(tmp_path, "analyze", plot, "--task", "phase", "--out", out, "--overwrite")
        assert done.returncode == 2 and "--out" in done.stderr
    assert plot.is_dir()
    assert command(tmp_path, "analyze", plot, "--task", "phase", "--set", "task.phase.bin=2").returncode == 2
