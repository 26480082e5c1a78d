"""Sessions that go on, and what files keep of them: meshes, numbers of their own, and units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream
from calls import command
from tiers import slow

CHECKPOINT = '[output]\ncheckpoint = { format = "raw", every = 1 }\n'
WHOLE, FINE = np.s_[0:8, 0:8, 0:8], np.s_[4:12, 4:12, 4:12]


def opened(folder: Path, text: str = CHECKPOINT) -> sidestream.Session:
    (folder / "tasks.toml").write_text(text)
    return sidestream.session(folder / "tasks.toml", folder / "run", quiet=True, existing="resume")


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run" / "events.jsonl").read_text().splitlines()]


def shape_of(block: tuple[slice, ...]) -> tuple[int, ...]:
    return tuple(part.stop - part.start for part in block)


def say_mesh(run: sidestream.Session, blocks: list[Any], levels: list[int]) -> None:
    run.mesh((8, 8, 8), blocks=blocks, levels=levels)
    run.field("height", [np.ones(shape_of(block)) for block in blocks])


def test_a_run_whose_newest_checkpoint_has_another_mesh_does_not_go_on_from_an_older_one(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        say_mesh(run, [WHOLE], [0])
        run.begin()
        run.step(1, 1.0)
        say_mesh(run, [WHOLE, FINE], [0, 1])
        run.step(2, 2.0)
    for blocks, levels in (([WHOLE], [0]), ([WHOLE, FINE], [0, 1])):
        with opened(tmp_path) as run:
            say_mesh(run, blocks, levels)
            if levels == [0]:
                with pytest.raises(sidestream.Error, match="the checkpoint has another mesh") as refused:
                    run.begin()
                assert refused.value.hint == "give the blocks that it has, and change them after `begin`"
            else:
                assert run.begin() == (2, 2.0)


def test_a_level_that_finer_ones_cover_whole_is_another_mesh_too(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        say_mesh(run, [WHOLE], [0])
        run.begin()
        run.step(1, 1.0)
    with opened(tmp_path) as run:
        say_mesh(run, [WHOLE, FINE, np.s_[8:24, 8:24, 8:24]], [0, 1, 2])
        with pytest.raises(sidestream.Error, match="the checkpoint has another mesh: .* of level 1 it has not all"):
            run.begin()


def test_levels_without_one_between_are_analysed_and_not_written(tmp_path: Path) -> None:
    fourfold = [WHOLE, np.s_[8:24, 8:24, 8:24]]
    analysis = (
        '[task.sums]\nanalysis = "pdf"\nfields = ["height"]\nevery = 1\nin_means = false\nlow = 0.5\nhigh = 2.0\n'
    )
    with opened(tmp_path, analysis) as run:
        say_mesh(run, fourfold, [0, 2])
        run.begin()
        run.step(1, 1.0)
    assert sidestream.Run(tmp_path / "run").steps("sums") == [0, 1]
    (tmp_path / "files").mkdir()
    with opened(tmp_path / "files") as run:
        say_mesh(run, fourfold, [0, 2])
        run.begin()
        run.step(1, 1.0)
    failed = [event for event in events(tmp_path / "files") if event["event"] == "checkpoint_failed"]
    assert "level 1 has no block, and files have blocks of each level" in failed[0]["message"]


@pytest.mark.parametrize("form", ["raw", "nyx"])
def test_an_axis_as_long_as_sessions_take_is_restored(form: str, tmp_path: Path) -> None:
    shape = (1, 1, 1 << 21)
    heights = np.random.default_rng(3).uniform(1.0, 2.0, shape)
    for array in (heights.copy(), np.zeros(shape)):
        with opened(tmp_path, CHECKPOINT.replace("raw", form)) as run:
            run.mesh(shape)
            run.field("height", array)
            if run.begin() == (0, 0.0):
                run.step(1, 1.0)
            assert (array == heights).all()


IMPOSSIBLE = {
    "hubble": (lambda run: run.number("hubble", 70.0), "the Hubble constant, in 100 km/s/Mpc, is 70"),
    "omega_m": (lambda run: run.number("omega_m", 30.0), "Omega of matter is 30"),
    "scale factor": (lambda run: run.scale_factor(1e-7), "the scale factor is 1e-07"),
    "time": (lambda run: run.begin(0, 1e101), "step 0 is at the time 1e+101"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_numbers_that_no_checkpoint_may_have_are_refused_when_they_are_given(case: str, tmp_path: Path) -> None:
    give, message = IMPOSSIBLE[case]
    with opened(tmp_path) as run:
        say_mesh(run, [WHOLE], [0])
        with pytest.raises(sidestream.Error) as refused:
            give(run)
        assert message in str(refused.value)
        run.number("hubble", 0.7)
        run.scale_factor(0.5)
        run.begin()
        run.step(1, 1.0)
    with opened(tmp_path) as run:
        say_mesh(run, [WHOLE], [0])
        run.scale_factor(0.5)
        assert run.begin() == (1, 1.0)


NUMBERS = """
import sidestream

@sidestream.analysis(fields=[])
def numbers(snapshot):
    return {"viscosity": snapshot.moment["viscosity"]}
"""


def test_a_number_that_the_program_has_said_is_there_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(NUMBERS)
    task = '[task.seen]\nanalysis = "python"\nfile = "tasks.py"\nfunction = "numbers"\nevery = 1\n'
    for step in (1, 2):
        with opened(tmp_path, CHECKPOINT + task) as run:
            say_mesh(run, [WHOLE], [0])
            run.number("viscosity", 0.1 * step)
            run.begin()
            run.step(step, float(step))
    seen = sidestream.Run(tmp_path / "run")
    assert seen.steps("seen") == [0, 1, 2]
    assert [float(seen.result("seen", step)["viscosity"]) for step in (1, 2)] == [0.1, 0.2]


UNITS = {
    "ours": ("Msun/Mpc^3", "km/s", 1.0),
    "other spellings": ("M_sun Mpc^-3", "km s^-1", 1.0),
    "metres": ("Msun/Mpc**3", "m/s", 1e-3),
    "centimetres": ("Msun Mpc-3", "cm s^-1", 1e-5),
}
NUMBERS_OF_FIELDS = """
import sidestream

FIELDS = ["gas_density", "velocity_x", "temperature"]

@sidestream.analysis(fields=FIELDS)
def numbers(snapshot):
    return {name: snapshot.max(*(block.cells for _, (block,) in snapshot.each_block(name))) for name in FIELDS}
"""


@pytest.mark.parametrize("form", ["sidestream", "raw", *slow("flash", "flash-netcdf", "nyx", "enzo")])
@pytest.mark.parametrize("spelling", UNITS)
def test_plot_files_of_a_session_that_expands_have_the_numbers_of_the_run(
    spelling: str, form: str, tmp_path: Path
) -> None:
    """In km/s where the file converts units, else in that of the program."""
    density_unit, velocity_unit, km_per_s = UNITS[spelling]
    (tmp_path / "tasks.py").write_text(NUMBERS_OF_FIELDS)
    task = '[task.seen]\nanalysis = "python"\nfile = "tasks.py"\nfunction = "numbers"\nevery = 1\n'
    output = f'[output]\nplotfile = {{ format = "{form}", every = 1, precision = "double" }}\n'
    rng = np.random.default_rng(5)
    with opened(tmp_path, task + output) as run:
        run.mesh((8, 8, 8), lengths=(20.0, 20.0, 20.0), unit="Mpc")
        run.scale_factor(0.5)
        for name, unit in (("gas_density", density_unit), ("velocity_x", velocity_unit), ("temperature", "kelvin")):
            run.field(name, rng.uniform(100.0, 200.0, (8, 8, 8)), unit=unit)
        run.begin()
        run.step(1, 1.0)
    own = sidestream.Run(tmp_path / "run").result("seen", 1)
    (file,) = (tmp_path / "run").glob("RD00001" if form == "enzo" else "*plt*0001*")
    (tmp_path / "only.toml").write_text(task)

    done = command(tmp_path, "analyze", file, "--config", "only.toml", "--out", "again")

    assert done.returncode == 0, done.stderr
    found = sidestream.Run(tmp_path / "again").result("seen", 1)
    is_converted = sidestream.open(file).length_unit == "cm"
    factors = {"gas_density": 1.0, "velocity_x": km_per_s if is_converted else 1.0, "temperature": 1.0}
    for name, factor in factors.items():
        assert float(found[name]) == pytest.approx(factor * float(own[name]), rel=1e-12), name


def test_units_of_results_are_in_the_spelling_of_ours(tmp_path: Path) -> None:
    halos = '[task.halos]\nanalysis = "halos"\nfield = "gas_density"\nfinder = "iso-density"\nevery = 1\n'
    array = np.random.default_rng(2).lognormal(0.0, 2.0, (8, 8, 8))
    told = []
    for density, length in (("Msun kpc^-3", "kpc"), ("M_sun/kpc**3", "kiloparsec"), ("Msun/kpc^3", "kpc")):
        folder = tmp_path / str(len(told))
        folder.mkdir()
        with opened(folder, halos) as run:
            run.mesh((8, 8, 8), lengths=(20.0, 20.0, 20.0), unit=length)
            run.field("gas_density", array, unit=density)
            run.begin()
            run.step(1, 1.0)
        found = sidestream.Run(folder / "run").result("halos", 1)
        told.append({name: column.attrs.get("units") for name, column in found.variables.items()})
    assert told[0] == told[1] == told[2]
    assert told[0]["mass"] == "Msun" and told[0]["peak"] == "Msun/kpc^3"


def test_a_universe_with_lengths_in_cm_is_refused_before_the_run_begins(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.mesh((8, 8, 8), unit="centimeter")
        run.field("height", np.ones((8, 8, 8)))
        run.scale_factor(0.5)
        with pytest.raises(sidestream.Error, match="a universe that expands has its lengths in cm"):
            run.begin()
    assert not (tmp_path / "run").exists()


def test_a_restart_refuses_other_units_of_length_and_types_that_lack_its_numbers(tmp_path: Path) -> None:
    def begun(cells: np.ndarray, unit: str) -> tuple[int, float]:
        with opened(tmp_path) as run:
            run.mesh(cells.shape, lengths=(20.0, 20.0, 20.0), unit=unit)
            run.field("height", cells)
            moment = run.begin()
            if moment == (0, 0.0):
                run.step(1, 1.0)
        return moment

    heights = np.full((4, 4, 4), 256.75)
    assert begun(heights, "kpc") == (0, 0.0)
    with pytest.raises(sidestream.Error, match="lengths are in Mpc, and in kpc in the checkpoint"):
        begun(heights, "Mpc")
    for kind in ("uint8", "int32"):
        with pytest.raises(sidestream.Error) as refused:
            begun(np.zeros((4, 4, 4), kind), "kpc")
        assert refused.value.hint == "give an array of the type that it had then"
    restored = np.zeros((4, 4, 4))
    assert begun(restored, "kiloparsec") == (1, 1.0)
    assert (restored == heights).all()


COUNTS = """
import sidestream

@sidestream.analysis(fields=["height"])
def cells(snapshot):
    cells = sum(block.cells.size for _, (block,) in snapshot.each_block("height"))
    return {"cells": cells, "kinds": len(snapshot.species)}

@sidestream.analysis(species=["dust"])
def dust(snapshot):
    return {"particles": snapshot.particles("dust").sizes["particle"]}
"""


def test_particles_are_brought_for_tasks_that_name_them_alone(tmp_path: Path) -> None:
    """Those that are nowhere cannot be."""
    (tmp_path / "tasks.py").write_text(COUNTS)
    task = '[task.{0}]\nanalysis = "python"\nfile = "tasks.py"\nfunction = "{0}"\nevery = 1\n'
    nowhere = np.array([0.5, np.nan])
    with opened(tmp_path, task.format("cells") + task.format("dust")) as run:
        say_mesh(run, [WHOLE], [0])
        run.particles("dust", np.arange(2), [nowhere] * 3)
        run.begin()
        run.step(1, 1.0)
    seen = sidestream.Run(tmp_path / "run")
    assert seen.steps("cells") == [0, 1]
    assert int(seen.result("cells", 1)["cells"]) == 512 and int(seen.result("cells", 1)["kinds"]) == 0
    failed = [event for event in events(tmp_path) if event["event"] == "analysis_failed"]
    assert {event["task"] for event in failed} == {"dust"}
    assert "nan" in failed[0]["message"]
