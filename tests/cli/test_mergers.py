"""Halos linked in time by real runs: the same tree in any way of running, and through a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sidestream
from calls import command, program
from configs import universe

CONFIG = (
    universe("nbody", cells=32, block=16, box="16 Mpc/h", particles=[16, 16, 16], z_start=24, z_end=0, seed=5)
    + """[coupling]
sidecars = 0

[task.halos]
analysis = "halos"
link = true
t_boundary = "20 mean"
t_halo = "40 mean"
at_redshift = [4, 3, 2, 1, 0.5, 0]

[output]
checkpoint = { format = "sidestream", every = 5, keep = 1 }
"""
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and a finished run `o` of it, in situ on two ranks."""
    folder = tmp_path_factory.mktemp("mergers")
    (folder / "box.toml").write_text(CONFIG)
    done = command(folder, "run", "box.toml", "-n", 2, "--out", "o")
    assert done.returncode == 0, done.stderr
    assert "merger tree       o/mergers.halos.nc" in done.stdout
    return folder


def arrays_of(run: sidestream.Run, step: int) -> dict[str, bytes]:
    """Every number of a result, in the order of the rows."""
    result = run.result("halos", step)
    return {str(name): values.values.tobytes() for name, values in result.variables.items()}


def test_the_links_at_the_end_of_a_run_are_a_tree_back_to_its_first_halos(place: Path) -> None:
    run = sidestream.open(place / "o")
    tree = run.merger_tree("halos")
    (heaviest,) = tree.heaviest()
    branch = tree.main_branch(heaviest)

    assert tree.links.sizes["link"] > 0
    assert branch.sizes["halo"] > 3
    assert branch["mass"][0] > branch["mass"][-1]
    assert np.all(np.diff(branch["redshift"]) > 0)
    assert np.all(tree.links["shared_mass"] <= tree.links["descendant_mass"] * (1 + 1e-12))
    assert tree.links["shared_particles"].sum() > 0
    with xr.open_dataset(place / "o" / "mergers.halos.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), tree.links)
    assert "Merger tree of the heaviest halo" in (place / "o" / "report.html").read_text()


def test_particles_in_halos_are_those_in_their_cells(place: Path) -> None:
    run = sidestream.open(place / "o")
    last = run.result("halos", -1)

    ids = last["member_particle_id"].values
    assert np.unique(ids).size == ids.size
    assert set(last["member_particle_halo"].values) <= set(last["id"].values)
    cells = {halo: int(last["member_run_cells"][last["member_run_halo"] == halo].sum()) for halo in last["id"].values}
    assert list(cells.values()) == last["cells"].values.tolist()


def test_a_restart_in_the_middle_on_other_ranks_and_in_transit_gives_the_same_results(place: Path) -> None:
    steps = sidestream.open(place / "o").steps("halos")
    in_transit = ("--set", "coupling.sidecars=1", "--set", "task.halos.transport=in-transit")

    cut = program(place, 2, "box.toml", "--quiet", "--out", "cut", "--set", f"run.max_steps={steps[3] + 1}")
    went_on = program(place, 3, "box.toml", "--quiet", "--out", "cut", "--restart", *in_transit)

    assert (cut.returncode, went_on.returncode) == (0, 0), cut.stderr + went_on.stderr
    first, second = sidestream.open(place / "o"), sidestream.open(place / "cut")
    assert first.steps("halos") == second.steps("halos")
    xr.testing.assert_identical(first.merger_tree("halos").links, second.merger_tree("halos").links)
    for step in first.steps("halos"):
        assert arrays_of(first, step) == arrays_of(second, step)
