"""Turbulence in single precision, through the program: exact flows, and what double precision makes of the same.

A mode is rounded once by each of four stages of a step, by 2^-24 at most and by a root of three less in the mean, and
an energy is a square: after n steps it is off by a random walk of 4 n such errors.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import Done, program

EPSILON = 2.0**-24


def walk(steps: int) -> float:
    """Four standard errors of an energy whose modes all are rounded alike."""
    return 4.0 * 2.0 * EPSILON / np.sqrt(3.0) * np.sqrt(4.0 * steps)


def config(
    precision: str,
    flow: str,
    cells: list[int],
    end: float,
    output: str = 'format = "raw", at_end = true',
    more: str = "",
) -> str:
    return f"""simulation = "turbulence"
[mesh]
cells = {cells}
block = {max(cells) // 2 if min(cells) > 1 else max(cells)}
[turbulence]
viscosity = 0.05
dt = 0.02
end = {end}
precision = "{precision}"
[initial]
flow = "{flow}"
[output]
checkpoint = {{ {output} }}
{more}
"""


def start(folder: Path, name: str, text: str, *words: str) -> Done:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return program(folder, 1, f"{name}.toml", "--quiet", "--out", name, *words)


def run(folder: Path, name: str, text: str, *words: str) -> sidestream.Run:
    done = start(folder, name, text, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(folder / name)


def end_of(done: sidestream.Run) -> dict[str, float]:
    return done.events.of("run_end")[-1]


def checkpoint(done: sidestream.Run) -> Path:
    return max(done.folder.glob("chk*"))


@pytest.mark.parametrize(
    ("flow", "cells", "energy"),
    [("taylor-green-2d", [32, 32, 1], 0.25 * np.exp(-0.4)), ("abc", [16, 16, 16], 1.5 * np.exp(-0.2))],
)
def test_flows_that_only_decay_do_so_to_rounding(flow: str, cells: list[int], energy: float, tmp_path: Path) -> None:
    errors = {}
    for precision in ("single", "double"):
        end = end_of(run(tmp_path, precision, config(precision, flow, cells, 2.0)))
        errors[precision] = abs(end["energy"] / energy - 1.0)

    assert errors["single"] < walk(100)
    assert errors["double"] < 1e-12 < errors["single"]


def test_a_vortex_that_breaks_up_keeps_the_energy_of_double_precision(tmp_path: Path) -> None:
    ends = {p: end_of(run(tmp_path, p, config(p, "taylor-green", [32] * 3, 3.0))) for p in ("single", "double")}

    for name in ("energy", "dissipation", "energy_dissipated"):
        assert ends["single"][name] == pytest.approx(ends["double"][name], rel=1e-5)
        assert ends["single"][name] != ends["double"][name]
    assert abs(ends["single"]["energy_balance"]) < 1e-5


def test_divergence_does_not_grow_with_the_steps(tmp_path: Path) -> None:
    """One rounding of each component is left, not those of 400 steps."""
    done = run(tmp_path, "long", config("single", "random", [16] * 3, 8.0))

    assert 0.0 < end_of(done)["divergence"] < EPSILON


TASKS = """
[task.waves]
analysis = "turbulence"
grid = "space"
at_end = true
[task.pairs]
analysis = "structure_functions"
grid = "space"
separations = [1, 3]
at_end = true
[task.cut]
analysis = "slice"
grid = "space"
axis = "z"
fields = ["velocity_x", "vorticity_z", "pressure", "vorticity_magnitude", "q_criterion"]
at_end = true
[tracers.dust]
count = 50
"""


def test_what_is_made_of_a_flow_is_that_of_double_precision(tmp_path: Path) -> None:
    """Each number to rounding of the largest of its kind, in a flow whose speeds are about 1."""
    runs = {p: run(tmp_path, p, config(p, "random", [16] * 3, 0.4, more=TASKS)) for p in ("single", "double")}

    compared = 0
    for task in ("waves", "pairs", "cut"):
        one, other = (r.result(task, 20) for r in runs.values())
        for name, numbers in one.data_vars.items():
            wanted = other[name].values
            if wanted.dtype.kind != "f" or name.endswith("pdf"):
                continue
            scale = max(1.0, np.nanmax(np.abs(wanted)))
            np.testing.assert_allclose(numbers.values, wanted, rtol=0, atol=1e-5 * scale, err_msg=f"{task} {name}")
            compared += 1
    assert compared > 15
    one, other = (sidestream.open(checkpoint(r)).particles("dust").sortby("id") for r in runs.values())
    for axis in "xyz":
        np.testing.assert_allclose(one[f"velocity_{axis}"], other[f"velocity_{axis}"], rtol=0, atol=1e-5)
        np.testing.assert_allclose(one[axis], other[axis], rtol=0, atol=1e-5)


def test_checkpoints_are_of_floats_and_a_run_in_double_begins_with_them(tmp_path: Path) -> None:
    whole = config("single", "random", [16] * 3, 0.4, 'format = "raw", every = 10, keep = 9')
    one = run(tmp_path, "one", whole)
    other = run(tmp_path, "other", whole.replace("every", 'precision = "double", every'))
    files = [sidestream.SnapshotFile(checkpoint(r)) for r in (one, other)]
    page = 4096  # of the record, which is the same
    assert checkpoint(one).stat().st_size - page < 0.6 * (checkpoint(other).stat().st_size - page)
    for name in files[0].fields:
        np.testing.assert_array_equal(files[0][name].values, files[1][name].values)

    double = whole.replace('"single"', '"double"').replace("end = 0.4", "end = 0.6")
    refused = start(tmp_path, "one", double, "--restart")
    assert refused.returncode == 2
    assert "`turbulence.precision` is single in the checkpoint" in refused.stderr
    begun = run(tmp_path, "begun", double, "--from", str(checkpoint(one)))
    goes_on = run(tmp_path, "one", double, "--restart", "--allow-change", "turbulence.precision")
    for done in (begun, goes_on):
        assert end_of(done)["divergence"] < 1e-14
    assert end_of(begun)["energy"] == end_of(goes_on)["energy"]


def test_a_run_in_single_begins_with_a_state_of_doubles(tmp_path: Path) -> None:
    double = run(tmp_path, "double", config("double", "random", [16] * 3, 0.2))
    text = config("single", "random", [16] * 3, 0.4)

    refused = start(tmp_path, "double", text, "--restart")
    single = run(tmp_path, "single", text, "--from", str(checkpoint(double)))

    assert refused.returncode == 2
    assert "`turbulence.precision`" in refused.stderr
    before, after = end_of(double)["energy"], single.events.of("step")[0]["energy"]
    assert after == pytest.approx(before, rel=walk(1))
    assert after != before


def test_a_run_takes_half_of_the_memory(tmp_path: Path) -> None:
    memory = {}
    for precision in ("single", "double"):
        (tmp_path / "flow.toml").write_text(config(precision, "abc", [128] * 3, 1.0), encoding="utf-8")
        told = program(tmp_path, 1, "flow.toml", "--check").stdout
        memory[precision] = int(re.search(r"memory: (\d+) MiB for the simulation", told)[1])
    assert memory["double"] > 100
    assert memory["single"] == pytest.approx(memory["double"] / 2, abs=1)


def test_another_precision_is_refused(tmp_path: Path) -> None:
    done = start(tmp_path, "flow", config("half", "abc", [16] * 3, 1.0))

    assert done.returncode == 2
    for word in ('"half"', "turbulence.precision", "double", "single"):
        assert word in done.stderr


@pytest.mark.parametrize(("key", "value"), [("speed", "1e18"), ("speed", "1e-18"), ("mean", "[0.0, -1e18, 0.0]")])
def test_speeds_whose_squares_are_no_floats_are_refused(key: str, value: str, tmp_path: Path) -> None:
    """They would end a run after its start, or leave it without a nonlinear term."""
    setting = f"initial.{key}={value}"

    single = start(tmp_path, "flow", config("single", "abc", [16] * 3, 1.0), "--check", "--set", setting)
    double = start(tmp_path, "flow", config("double", "abc", [16] * 3, 1.0), "--check", "--set", setting)

    assert single.returncode == 2
    assert "is out of reach of single precision" in single.stderr
    assert double.returncode == 0
