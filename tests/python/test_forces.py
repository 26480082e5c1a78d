"""Drag, lift and the Strouhal number of the events of a run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sidestream
from sidestream.figures import pictures
from sidestream.runs.forces import barriers

SPEED, LENGTH, PERIOD = 0.1, 12.0, 727.3


def write_run(folder: Path, steps: int, *, painted_from: int | None = None) -> sidestream.Run:
    """A run whose cylinder has a drag of 1.5 and a lift of 0.4 that swings."""
    folder.mkdir()
    (folder / "config.toml").write_text('simulation = "lbm"\n', encoding="utf-8")
    pressure = 0.5 * SPEED**2 * LENGTH
    size = {"length": LENGTH, "area": LENGTH}
    lines = [{"event": "run_start", "t": 0.0, "group": "compute", "speed": SPEED, "barriers": {"cylinder": size}}]
    for step in range(steps):
        lift = 0.4 * math.sin(2.0 * math.pi * step / PERIOD)
        forces = {"cylinder": [1.5 * pressure, lift * pressure, 0.0]}
        if painted_from is not None and step >= painted_from:
            forces["painted"] = [0.0, 0.0, 0.0]
        lines.append(
            {"event": "step", "t": 1e-3 * step, "group": "compute", "step": step, "time": float(step), "forces": forces}
        )  # type: ignore[dict-item]
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return sidestream.Run(folder)


def test_coefficients_and_frequency_follow_from_the_forces(tmp_path: Path) -> None:
    table = write_run(tmp_path / "run", 8000).forces("cylinder")

    np.testing.assert_allclose(table["drag"], 1.5)
    assert table.attrs["lift_amplitude"] == pytest.approx(0.4, rel=1e-4)
    assert table.attrs["strouhal"] == pytest.approx(LENGTH / (PERIOD * SPEED), rel=1e-4)
    assert table.attrs["drag"] == pytest.approx(1.5)


def test_a_lift_that_does_not_swing_twice_has_no_frequency(tmp_path: Path) -> None:
    assert math.isnan(write_run(tmp_path / "run", 900).forces("cylinder").attrs["strouhal"])


def test_what_is_painted_later_is_a_barrier_too(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 40, painted_from=20)

    assert barriers(run.events) == ["cylinder", "painted"]
    assert list(run.forces("painted")["step"]) == list(range(20, 40))
    with pytest.raises(sidestream.Error, match="no forces on a barrier `wing`"):
        run.forces("wing")


def test_each_barrier_has_a_picture_with_its_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4000)

    (picture,) = [picture for picture in pictures(run) if picture.name == "forces-cylinder"]
    assert picture.numbers[1][0] == "cylinder"
    assert float(picture.numbers[1][5]) == pytest.approx(0.165, rel=1e-3)
    drag, lift = picture.figure.axes[0].lines
    np.testing.assert_allclose(drag.get_ydata(), 1.5)
    assert max(lift.get_ydata()) == pytest.approx(0.4, rel=1e-4)
