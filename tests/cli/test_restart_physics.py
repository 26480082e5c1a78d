"""A restart goes on with what defines its run: the problem, the universe, and where it began."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import Done, program
from configs import universe

SOD = """simulation = "sod"
[mesh]
cells = [64, 1, 1]
block = 16
[run]
max_steps = 4
[output]
checkpoint = { every = 2 }
"""
BOX = (
    universe("nbody", steps=4, box="10 Mpc", z_start=50, z_end=20, seed=5)
    + """[output]
checkpoint = { every = 2 }
"""
)


FLOW = """simulation = "turbulence"
[mesh]
cells = [8, 8, 8]
block = 8
[turbulence]
viscosity = 0.05
rotation = 0.5
[initial]
flow = "random"
peak = 2.0
[forcing]
kind = "power"
power = 0.1
highest = 1.5
[run]
max_steps = 4
[output]
checkpoint = { every = 2 }
"""


SAME_BUT_LONGER = [
    word
    for setting in ("sod.density_left=1", "sod.end=0.1", "run.max_steps=5", "hydro.cfl=0.2")
    for word in ("--set", setting)
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `sod`, `nbody` and `flow`, of four steps each."""
    folder = tmp_path_factory.mktemp("restart")
    for name, text in (("sod", SOD), ("nbody", BOX), ("flow", FLOW)):
        (folder / f"{name}.toml").write_text(text)
        done = program(folder, 1, f"{name}.toml", "--out", name)
        assert done.returncode == 0, done.stderr
    return folder


def restart(place: Path, config: str, out: str, *words: str) -> Done:
    return program(place, 1, f"{config}.toml", "--out", out, "--restart", *words)


@pytest.mark.parametrize(
    ("name", "setting", "told"),
    [
        ("sod", "sod.density_left=3", "`sod.density_left` is 1 in the checkpoint, 3 in the configuration"),
        ("sod", "hydro.gamma=1.3", "`hydro.gamma` is 1.6666666666666667 in the checkpoint, 1.3 in the configuration"),
        ("nbody", "cosmology.seed=6", "`cosmology.seed` is 5 in the checkpoint, 6 in the configuration"),
        ("nbody", "cosmology.box=11 Mpc", "`cosmology.box` is 10 Mpc in the checkpoint, 11 Mpc in the configuration"),
        ("nbody", "cosmology.sigma8=0.7", "`cosmology.sigma8` is"),
        ("flow", "turbulence.viscosity=0.06", "`turbulence.viscosity` is 0.05 in the checkpoint, 0.06 in the"),
        ("flow", "turbulence.rotation=0.6", "`turbulence.rotation` is 0.5 in the checkpoint, 0.6 in the"),
        ("flow", "forcing.kind=frozen", "`forcing.kind` is power in the checkpoint, frozen in the"),
    ],
)
def test_a_restart_into_another_run_is_refused_with_both_values(
    place: Path, name: str, setting: str, told: str
) -> None:
    before = sorted(place.rglob("*"))

    done = restart(place, name, name, "--set", setting)

    assert done.returncode != 0
    assert told in done.stderr
    assert sorted(place.rglob("*")) == before


def test_a_restart_into_another_problem_is_refused(place: Path) -> None:
    (place / "sedov.toml").write_text(SOD.replace('"sod"', '"sedov"').replace("[64, 1, 1]", "[64, 64, 1]"))

    done = restart(place, "sedov", "sod")

    assert done.returncode != 0
    assert "`simulation` is sod in the checkpoint, sedov in the configuration" in done.stderr


def test_what_does_not_define_a_run_may_change(place: Path) -> None:
    done = restart(place, "sod", "sod", *SAME_BUT_LONGER)

    assert done.returncode == 0, done.stderr


def test_a_change_that_is_allowed_goes_on_and_is_kept(place: Path) -> None:
    change = ("--set", "cosmology.sigma8=0.7", "--set", "run.max_steps=6")

    allowed = restart(place, "nbody", "nbody", *change, "--allow-change", "cosmology.sigma8")
    again = restart(place, "nbody", "nbody", "--set", "run.max_steps=7")

    assert allowed.returncode == 0, allowed.stderr
    assert "`cosmology.sigma8` is 0.7 in the checkpoint" in again.stderr


KEPT = Path(__file__).parents[1] / "data" / "chk00050.hdf5_chk"


def test_a_checkpoint_of_long_ago_is_gone_on_from(tmp_path: Path) -> None:
    """It was written by a version that kept fewer numbers of the state."""
    (tmp_path / "old").mkdir()
    shutil.copy(KEPT, tmp_path / "old")
    text = SOD.replace("[64, 1, 1]", "[16, 8, 1]").replace("block = 16", "block = 8").replace("= 4", "= 52")
    (tmp_path / "old.toml").write_text(text + "[sod]\nend = 2.0\n")

    done = restart(tmp_path, "old", "old")

    assert done.returncode == 0, done.stderr
    before, after = (sidestream.open(path) for path in (KEPT, tmp_path / "old" / "chk00052.hdf5_chk"))
    assert after.attrs["step"] == 52
    assert after.attrs["time"] > before.attrs["time"]
    for start in ("mass_start", "energy_start"):
        assert after.describe()["attributes"][start] == before.describe()["attributes"][start]
    for name in ("density", "rho_E"):
        assert float(after[name].sum()) == pytest.approx(float(before[name].sum()), rel=0.02)
        assert not np.array_equal(after[name], before[name])


def test_an_allowed_change_of_nothing_is_refused_with_the_keys_there_are(place: Path) -> None:
    wrong = restart(place, "sod", "sod", "--allow-change", "sod.densty_left")
    alone = program(place, 1, "sod.toml", "--out", "other", "--allow-change", "sod.density_left")

    assert wrong.returncode != 0
    assert "`sod.densty_left`" in wrong.stderr
    assert "sod.density_left" in wrong.stderr.split("hint")[1]
    assert alone.returncode == 2


def test_a_start_with_the_state_of_another_box_is_refused_unless_it_is_allowed(place: Path) -> None:
    (state,) = place.glob("nbody/chk00004*")
    words = ("--from", str(state), "--set", "cosmology.box=11 Mpc", "--set", "run.max_steps=5")

    refused = program(place, 1, "nbody.toml", "--out", "moved", *words)
    left = (place / "moved").exists()
    allowed = program(place, 1, "nbody.toml", "--out", "moved", *words, "--allow-change", "cosmology.box")

    assert refused.returncode == 2
    assert "`cosmology.box` is 10 Mpc in the file, 11 Mpc in the configuration" in refused.stderr
    assert not left
    assert allowed.returncode == 0, allowed.stderr
