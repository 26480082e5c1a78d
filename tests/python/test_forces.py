"""Drag, lift and the Strouhal number of the events of a run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sidestream
from sidestream.figures import pictures, save_pictures
from sidestream.runs.forces import _frequency, barriers, strouhal_numbers

SPEED, LENGTH, PERIOD = 0.1, 12.0, 727.3


def write_run(folder: Path, steps: int, *, painted_from: int | None = None, ringing_until: int = 0) -> sidestream.Run:
    """A run whose cylinder has a drag of 1.5 and a lift of 0.4 that swings, at first from step to step."""
    folder.mkdir()
    (folder / "config.toml").write_text('simulation = "lbm"\n', encoding="utf-8")
    pressure = 0.5 * SPEED**2 * LENGTH
    size = {"length": LENGTH, "area": LENGTH}
    lines = [{"event": "run_start", "t": 0.0, "group": "compute", "speed": SPEED, "barriers": {"cylinder": size}}]
    for step in range(steps):
        lift = 0.4 * math.sin(2.0 * math.pi * step / PERIOD) + (0.5 * (-1) ** step if step < ringing_until else 0.0)
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
    assert table.attrs["strouhal"] == pytest.approx(LENGTH / (PERIOD * SPEED), rel=3e-4)
    assert table.attrs["drag"] == pytest.approx(1.5)
    assert table.attrs["strouhal_error"] < 0.1 * table.attrs["strouhal"]


def test_the_frequency_is_that_of_the_spectrum_whatever_else_is_in_the_lift() -> None:
    time = np.arange(6000.0)
    rng = np.random.default_rng(5)
    phase = 2.0 * math.pi * time / 401.0
    swings = np.sin(phase) + 0.3 * np.sin(3.0 * phase) + 0.3 * rng.normal(size=6000)

    found, error = _frequency(time, swings)

    assert found == pytest.approx(1.0 / 401.0, rel=2e-3)
    assert abs(found - 1.0 / 401.0) < 3.0 * error + 1e-7 < 1e-4


def test_a_frequency_that_changes_is_as_uncertain_as_that() -> None:
    time = np.arange(8000.0)
    slower = np.where(time < 4000.0, time / 400.0, 10.0 + (time - 4000.0) / 500.0)

    found, error = _frequency(time, np.sin(2.0 * math.pi * slower))

    assert error == pytest.approx(0.5 * (1.0 / 400.0 - 1.0 / 500.0), rel=0.1)
    assert 1.0 / 500.0 <= found <= 1.0 / 400.0


def test_few_periods_tell_it_to_a_bin_of_the_spectrum(tmp_path: Path) -> None:
    table = write_run(tmp_path / "run", 6000).forces("cylinder")

    assert table.attrs["strouhal_error"] == pytest.approx(0.5 / 3000.0 * LENGTH / SPEED, rel=1e-2)
    assert table.attrs["strouhal"] == pytest.approx(LENGTH / (PERIOD * SPEED), rel=2e-2)


def test_each_period_has_a_strouhal_number(tmp_path: Path) -> None:
    numbers, ends = strouhal_numbers(write_run(tmp_path / "run", 4000).forces("cylinder"))

    np.testing.assert_allclose(numbers, LENGTH / (PERIOD * SPEED), rtol=1e-3)
    np.testing.assert_allclose(np.diff(ends), PERIOD, rtol=1e-3)
    assert len(numbers) == 5


def test_a_lift_that_does_not_swing_twice_has_no_frequency(tmp_path: Path) -> None:
    assert math.isnan(write_run(tmp_path / "run", 900).forces("cylinder").attrs["strouhal"])


def test_what_is_painted_later_is_a_barrier_too(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 40, painted_from=20)

    assert barriers(run.events) == ["cylinder", "painted"]
    assert list(run.forces("painted")["step"]) == list(range(20, 40))
    with pytest.raises(sidestream.Error, match="no forces on a barrier `wing`"):
        run.forces("wing")


def test_the_axis_of_strouhal_numbers_is_that_of_the_flow_when_it_has_settled(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4000, ringing_until=30)

    (picture,) = [picture for picture in pictures(run) if picture.name == "forces-cylinder"]

    below = picture.figure.axes[1]
    assert below.lines[0].get_ydata().max() > 10.0
    assert below.get_ylim() == pytest.approx((0.0, 1.5 * LENGTH / (PERIOD * SPEED)), rel=1e-3)


def test_each_barrier_has_a_picture_with_its_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4000)

    (picture,) = [picture for picture in pictures(run) if picture.name == "forces-cylinder"]
    assert picture.numbers[1][0] == "cylinder"
    assert float(picture.numbers[1][5]) == pytest.approx(0.165, rel=1e-3)
    (path,) = (path for path in save_pictures(run, tmp_path / "drawn") if path.stem == picture.name)
    rows = path.with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "step,time [steps],drag coefficient,lift coefficient,lift_z coefficient"
    assert len(rows) == 1 + 4000
    assert float(rows[1000].split(",")[2]) == pytest.approx(1.5)
    drag, lift = picture.figure.axes[0].lines
    np.testing.assert_allclose(drag.get_ydata(), 1.5)
    assert max(lift.get_ydata()) == pytest.approx(0.4, rel=1e-4)
