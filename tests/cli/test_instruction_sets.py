"""One program, any processor: the bits are those of the kernels for the least, and of a C library without its own best.

The masks of the C library (GLIBC_TUNABLES, see docs/concepts/equal_results.md) hide instructions from the loader, which
chooses the kernels, and from the library's own choices.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from calls import program
from sidestream.launch.launcher import find_program, mpi_environment
from test_equal_results import STARTS, STEPS, TASKS
from test_faults import results, state_in

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
# What each hides, and the highest level that is left.
MASKS = {
    "-AVX512F": "x86-64-v3",
    "-AVX512F,-AVX2,-FMA,-FMA4": "x86-64-v2",
    "-FMA,-AVX2,-FMA4": "x86-64-v2",
}
GAS = f"""simulation = "sedov"

[run]
max_steps = {STEPS}

[mesh]
cells = [16, 16, 16]
block = 8

[amr]
max_level = 1

[refine.blast]
criterion = "loehner"
fields = ["gas_density", "pressure"]

[task.spectra]
analysis = "power_spectrum"
every = 1

[output]
checkpoint = {{ format = "sidestream", every = {STEPS} }}
"""
FLOW = f"""simulation = "turbulence"

[run]
max_steps = {STEPS}

[mesh]
cells = [24, 24, 24]
block = 12

[turbulence]
viscosity = 0.02
dt = 0.02
end = 1.0
dealiasing = "phase-shift"
precision = "{{}}"

[initial]
flow = "random"
peak = 3.0

[forcing]
kind = "stochastic"
power = 0.5
time = 0.5

[scalar.dye]
schmidt = 1.0
mean_gradient = [0.0, 0.0, 1.0]

[tracers.dust]
count = 100

[task.statistics]
analysis = "turbulence"
grid = "space"
every = 1
scalars = ["dye"]

[output]
checkpoint = {{{{ format = "sidestream", every = {STEPS} }}}}
"""
FOREST = """
[heating]
uv_background = "onorbe17_middle"

[task.flux]
analysis = "flux"
mean_flux = "0.4"
every = 1

[task.skewers]
analysis = "flux_skewers"
optical_depth = "voigt"
number = 9
every = 1
"""
AWKWARD = "cells = [34, 34, 34]\nblock = 17"  # transforms with a large prime factor


def run(folder: Path, out: str, mask: str) -> Path:
    tunables = f"glibc.cpu.hwcaps={mask}" if mask else ""
    done = program(folder, 1, "box.toml", "--quiet", "--out", out, GLIBC_TUNABLES=tunables)
    assert done.returncode == 0, done.stderr
    return folder / out


def instruction_set(run: Path) -> str:
    events = map(json.loads, (run / "events.jsonl").read_text().splitlines())
    return next(event["instruction_set"] for event in events if event["event"] == "run_start")


def universe(folder: Path) -> str:
    return STARTS["nested"](folder) + FOREST + TASKS


def awkward(folder: Path) -> str:
    text = STARTS["nested"](folder).split("[amr]")[0] + TASKS
    head, rest = text.split("cells = ", 1)
    return head + AWKWARD + rest[rest.index("block = 8") + len("block = 8") :]


def gas(_: Path) -> str:
    return GAS


def flow_of_doubles(_: Path) -> str:
    return FLOW.format("double")


def flow_of_floats(_: Path) -> str:
    return FLOW.format("single")


def test_the_loader_leaves_out_instruction_sets_as_well(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(GAS)
    whole, other = run(tmp_path, "whole", ""), tmp_path / "other"

    line = ["ld.so", "--glibc-hwcaps-mask", "x86-64-v3", str(find_program()), "box.toml", "--quiet", "--out", other]
    done = subprocess.run(line, cwd=tmp_path, env=mpi_environment(os.environ, 1), capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    if instruction_set(whole) in LEVELS:
        assert instruction_set(other) == min(instruction_set(whole), "x86-64-v3")
    assert results(other) == results(whole)


@pytest.mark.parametrize("start", [universe, awkward, gas, flow_of_doubles, flow_of_floats])
def test_results_are_the_same_to_the_bit_with_any_instruction_set(start, tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(start(tmp_path))
    whole = run(tmp_path, "whole", "")
    expected, state = results(whole), state_in(whole / f"chk{STEPS:05d}.hdf5_chk")
    own = instruction_set(whole)
    assert len(expected) > STEPS
    assert len(state) > 5

    for number, (mask, highest) in enumerate(MASKS.items()):
        other = run(tmp_path, f"masked-{number}", mask)

        if own in LEVELS:  # not where the program was built for one instruction set
            assert instruction_set(other) == min(own, highest), mask
        assert results(other) == expected, mask
        assert state_in(other / f"chk{STEPS:05d}.hdf5_chk") == state, mask
