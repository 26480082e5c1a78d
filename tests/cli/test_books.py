"""What is done to the gas beside its equations stands in the events, in checkpoints and in the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sidestream
from calls import command, program
from configs import universe

# The floor acts in all cells.
CONFIG = (
    universe(steps=60, box="4 Mpc", z_start=49, z_end=0, largest_expansion=0.1)
    + """[hydro]
temperature_floor = "20 K"

[output]
checkpoint = { format = "sidestream", every = 30 }
"""
)
SENTENCE = (
    r"Given to the gas by floors and repairs: (\S+) Msun [^,]+, (\S+) Msun\. "
    r"Cells floored (\d+), of first order (\d+)\."
)


def run(folder: Path, ranks: int, name: str, *words: str) -> sidestream.Run:
    (folder / "box.toml").write_text(CONFIG)
    done = program(folder, ranks, "box.toml", "--quiet", "--out", name, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(folder / name)


def booked(run: sidestream.Run) -> dict[str, Any]:
    return dict(run.events.last("run_end")["booked"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> sidestream.Run:
    return run(tmp_path_factory.mktemp("books"), 1, "whole")


def test_the_books_are_the_same_on_any_ranks_and_after_a_restart(whole: sidestream.Run, tmp_path: Path) -> None:
    run(tmp_path, 3, "cut", "--set", "run.max_steps=30")

    assert booked(run(tmp_path, 2, "two")) == booked(whole)
    assert booked(run(tmp_path, 2, "cut", "--restart")) == booked(whole)


def test_they_grow_step_by_step_to_what_stands_at_the_end(whole: sidestream.Run) -> None:
    steps = [event["booked"] for event in whole.events.of("step")]

    for name, last in booked(whole).items():
        amounts = [float(step[name]) for step in steps]
        assert amounts == sorted(amounts), name
        assert amounts[0] == 0.0
        assert amounts[-1] == last
    assert booked(whole)["energy_floored_cells"] > 16**3
    assert booked(whole)["floor_energy"] > 0.0


def test_the_balance_of_energy_counts_them(whole: sidestream.Run) -> None:
    assert whole.events.last("run_end")["energy"]["booked"] == booked(whole)["floor_energy"]


def test_the_report_has_a_line_of_them(whole: sidestream.Run) -> None:
    assert command(whole.folder, "report", ".").returncode == 0
    line = re.search(SENTENCE, (whole.folder / "report.html").read_text(encoding="utf-8"))

    assert line is not None
    books = booked(whole)
    shown = [float(word) for word in line.groups()]
    assert shown[:2] == [float(f"{books[name]:.3g}") for name in ("floor_energy", "floor_mass")]
    assert shown[2:] == [books["energy_floored_cells"] + books["density_floored_cells"], books["first_order_cells"]]
