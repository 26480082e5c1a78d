"""One rank, two, three, in situ, on threads, in transit and later: the same bits, however the universe began."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import initial_files as ic
from calls import analyze_later, attached, program
from configs import ZONE
from test_faults import results, state_in
from tiers import slow

STEPS = 3
UNIVERSE = ic.tables(STEPS, seed=3, power="eisenstein-hu")
TASKS = """
[task.spectra]
analysis = "power_spectrum"
every = 1

[task.halos]
analysis = "halos"
field = "dark_matter_density"
t_boundary = "1.02 mean"
t_halo = "1.05 mean"
link = true
every = 1

[output]
checkpoint = { format = "sidestream", every = 3 }
"""


def given(folder: Path) -> str:
    """A start from a file of gas and dark matter in two pieces."""
    ic.write_gadget(folder / "start.hdf5", {0: ic.matter(2, GAS), 1: dark_matter()}, 2)
    return UNIVERSE.replace('seed = 3\npower = "eisenstein-hu"', 'initial_conditions = "start.0.hdf5"')


def given_and_refined(folder: Path) -> str:
    return given(folder) + ZONE


def nested(folder: Path) -> str:
    return UNIVERSE + ZONE


def zoom(folder: Path) -> str:
    """A region across a side of the box, in two levels, of dark matter alone."""
    region = ZONE.replace("[9.2, 1.5, 1.5]", "[14.0, 4.0, 4.0]").replace("[17.1, 7.6, 7.6]", "[26.0, 16.0, 16.0]")
    region = region.replace("regrid_every = 1", "regrid_every = 1000\nbuffer = 3")
    return UNIVERSE.replace("cosmology", "nbody", 1) + region


GAS = ic.OMEGA_B * ic.CRITICAL


def dark_matter() -> ic.Matter:
    matter = ic.matter(1, (ic.OMEGA_M - ic.OMEGA_B) * ic.CRITICAL)
    matter.id += ic.N**3
    return matter


STARTS: dict[str, Callable[[Path], str]] = {
    "given": given,
    "given and refined": given_and_refined,
    "nested": nested,
    "zoom": zoom,
}
# By name: ranks, of them sidecars, the transport (and whether its tasks are jobs of their own), and whether sidecars
# read where the others have written.
PLACES = {
    "2": (2, 0, "in-situ", True),
    "3": (3, 0, "in-situ", True),
    "1 with a thread": (1, 0, "async", True),
    "3 with a thread each": (3, 0, "async", True),
    "2 with a sidecar": (2, 1, "in-transit", True),
    "3 with a sidecar": (3, 1, "in-transit", True),
    "3 with two": (3, 2, "in-transit", True),
    "3 with two by messages": (3, 2, "in-transit", False),
    "2 and later 3": (2, 0, "file", True),
    "2 streamed to 3": (2, 0, "stream", True),
    "1 with a job": (1, 0, "in-situ isolated", True),
    "3 with jobs behind": (3, 0, "async isolated", True),
    "3 with jobs on another node": (3, 0, "async isolated", False),
}


def run(
    folder: Path, out: str, ranks: int, sidecars: int, transport: str = "in-situ", shares_memory: bool = True
) -> Path:
    words = ["--set", f"coupling.sidecars={sidecars}", "--set", f"coupling.shared_memory={str(shares_memory).lower()}"]
    transport, *isolated = transport.split()
    for task in ("spectra", "halos"):
        words += ["--set", f"task.{task}.transport={transport}"]
        words += ["--set", f"task.{task}.isolate={str(bool(isolated)).lower()}"]
    with ExitStack() as readers:
        if transport == "stream":
            words += ["--set", "stream.wait_for=2"]
            others = [readers.enter_context(attached(folder, out, task, 3)) for task in ("spectra", "halos")]
        done = program(folder, ranks, "box.toml", "--quiet", "--out", out, *words)
        assert done.returncode == 0, done.stderr
        if transport == "stream":
            assert [other.wait(60) for other in others] == [0, 0]
    if transport == "file":
        later = analyze_later(folder / out, 3)
        assert later.returncode == 0, later.stderr
    return folder / out


FEW = ["3", "3 with two"]
SOME = [*FEW, "1 with a thread", "2 and later 3", "2 streamed to 3", "1 with a job"]
CASES = [("given and refined", SOME), ("zoom", FEW), ("given", ["3 with two"])]
LONG = slow(*((start, [*PLACES]) for start in STARTS))


@pytest.mark.parametrize(("start", "places"), CASES + LONG)
def test_results_are_the_same_to_the_bit_on_any_ranks_and_by_any_way(
    start: str, places: list[str], tmp_path: Path
) -> None:
    (tmp_path / "box.toml").write_text(STARTS[start](tmp_path) + TASKS)
    alone = run(tmp_path, "alone", 1, 0)
    expected = results(alone)
    state = state_in(alone / f"chk{STEPS:05d}.hdf5_chk")
    assert len(expected) == 2 * (STEPS + 1)
    assert len(state) > 8

    for name in places:
        other = run(tmp_path, name, *PLACES[name])

        assert results(other) == expected, name
        assert state_in(other / f"chk{STEPS:05d}.hdf5_chk") == state, name
