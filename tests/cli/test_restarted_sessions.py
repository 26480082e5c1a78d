"""Sessions that go on: from a checkpoint that does not fit them, with numbers of their own, and from large meshes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream

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
