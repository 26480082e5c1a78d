"""Every analysis by a job of its own that reads the run's stream: the results are those of in situ to the bit."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from calls import attached, command, program
from configs import universe
from test_faults import results

COSMOLOGY = {
    "flux": 'analysis = "flux"\nmean_flux = "0.4"',
    "skewers": 'analysis = "flux_skewers"\nnumber = 4',
    "halos": """analysis = "halos"
field = "dark_matter_density"
t_boundary = "1.02 mean"
t_halo = "1.05 mean"
link = true""",
    "tree": 'analysis = "merge_tree"\nfield = "dark_matter_density"',
    "pdf": 'analysis = "pdf"',
    "phase": 'analysis = "phase"',
    "spectra": 'analysis = "power_spectrum"',
    "projection": 'analysis = "projection"',
    "regions": 'analysis = "regions"\ncondition = "gas_overdensity > 1.05"',
    "slice": 'analysis = "slice"\nfields = ["gas_density", "temperature"]',
}
TURBULENCE = {
    "increments": 'analysis = "structure_functions"\ngrid = "space"',
    "statistics": 'analysis = "turbulence"\ngrid = "space"',
}
UNIVERSE = universe(steps=2, box="10 Mpc", z_start=30, z_end=0, seed=3, power="eisenstein-hu")
HEATED = '[heating]\nuv_background = "onorbe17_middle"\n'
FLOW = """
simulation = "turbulence"
[mesh]
cells = [16, 16, 16]
block = 8
[turbulence]
viscosity = 0.02
end = 5.0
[initial]
flow = "random"
peak = 2.0
[run]
max_steps = 2
"""
# `readers` gives no result; pictures of `display` are compared where it is tested.
LEFT_OUT = {"readers", "display", "python"}
SIMULATIONS = {"cosmology": (UNIVERSE + HEATED, COSMOLOGY), "turbulence": (FLOW, TURBULENCE)}
FEW = ["pdf", "phase", "projection"]  # which no other test streams


def test_no_analysis_is_forgotten(tmp_path: Path) -> None:
    listed = {line.split()[0] for line in command(tmp_path, "list", "analyses").stdout.splitlines()[1:]}
    tried = {text.split('"')[1] for tasks in (COSMOLOGY, TURBULENCE) for text in tasks.values()}
    assert tried | LEFT_OUT == listed


ALL = pytest.param("cosmology", [*COSMOLOGY], marks=pytest.mark.slow)


@pytest.mark.parametrize(("simulation", "names"), [("cosmology", FEW), ("turbulence", [*TURBULENCE]), ALL])
def test_each_analysis_gives_the_results_of_in_situ(simulation: str, names: list[str], tmp_path: Path) -> None:
    text, all_tasks = SIMULATIONS[simulation]
    tasks = {name: all_tasks[name] for name in names}
    (tmp_path / "box.toml").write_text(
        text + "".join(f"[task.{name}]\n{task}\nevery = 1\n" for name, task in tasks.items())
    )
    alone = program(tmp_path, 1, "box.toml", "--quiet", "--out", "alone")
    assert alone.returncode == 0, alone.stderr
    expected = results(tmp_path / "alone")
    assert {name.split("/")[0] for name in expected} == set(tasks)

    words = [word for name in tasks for word in ("--set", f"task.{name}.transport=stream")]
    with ExitStack() as readers:
        jobs = [
            readers.enter_context(attached(tmp_path, "streamed", name, 1 + number % 3))
            for number, name in enumerate(tasks)
        ]
        done = program(
            tmp_path, 2, "box.toml", "--quiet", "--out", "streamed", "--set", f"stream.wait_for={len(tasks)}", *words
        )
        assert done.returncode == 0, done.stderr
        assert [job.wait(60) for job in jobs] == [0] * len(tasks)

    found = results(tmp_path / "streamed")
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        assert found[name] == numbers, name
