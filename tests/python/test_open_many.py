"""`sidestream.open_many`: results of made-up runs over the keys that were varied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import sidestream
import synthetic
from sidestream.runs.family import family, write_family

KEYS = {"cosmology.omega_m": ["0.28", "0.32"], "cosmology.seed": ["1", "2"]}
NAMES = [f"omega_m={omega},seed={seed}" for omega in ("0.28", "0.32") for seed in (1, 2)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A family whose third run has no results, and whose last has half of the steps and halos."""
    folder = tmp_path_factory.mktemp("family") / "box"
    made = family(folder, KEYS)
    write_family(made, "")
    for member in made.members:
        synthetic.write_run(folder / member.name, steps=30 if member.name == NAMES[3] else 60)
    shutil.rmtree(folder / NAMES[2] / "results")
    return folder


def test_results_are_one_dataset_over_the_varied_keys(runs: Path) -> None:
    many = sidestream.open_many(runs, "spectra")

    power = many["gas_density_power"]
    assert power.dims == ("omega_m", "seed", "k_bin")
    assert list(many["omega_m"].values) == [0.28, 0.32]
    assert list(many["seed"].values) == [1, 2]
    assert many["omega_m"].attrs["key"] == "cosmology.omega_m"
    assert power.attrs["units"] == "(Mpc/h)^3"
    for name in (NAMES[0], NAMES[1], NAMES[3]):
        omega, seed = (float(word.split("=")[1]) for word in name.split(","))
        single = sidestream.open(runs / name).result("spectra", -1)
        here = many.sel(omega_m=omega, seed=int(seed))
        np.testing.assert_array_equal(here["gas_density_power"], single["gas_density_power"])
        assert here["redshift"] == single.attrs["redshift"]
        assert here["step"] == single.attrs["step"]


def test_a_run_that_is_missing_is_nan(runs: Path) -> None:
    power = sidestream.open_many(runs, "spectra")["gas_density_power"]

    assert np.isnan(power).all("k_bin").values.tolist() == [[False, False], [True, False]]


def test_moments_are_chosen_by_step_or_redshift(runs: Path) -> None:
    last = sidestream.open(runs / NAMES[0]).result("spectra", -1).attrs["redshift"]

    assert np.nanmax(sidestream.open_many(runs, "spectra", step=20)["step"]) == 20
    late = sidestream.open_many(runs, "spectra", step=60)["step"]
    assert np.isnan(late).values.tolist() == [[False, False], [True, True]]
    near = sidestream.open_many(runs, "spectra", redshift=last + 0.01)["redshift"]
    assert np.nanmin(near) == np.nanmax(near) == last
    with pytest.raises(sidestream.Error, match="near redshift 900"):
        sidestream.open_many(runs, "spectra", redshift=900)


def test_shorter_tables_end_in_nan(runs: Path) -> None:
    halos = sidestream.open_many(runs, "halos", step=30)

    first = sidestream.open(runs / NAMES[0]).result("halos", 30, "halo")["mass"]
    mass = halos["mass"].sel(omega_m=0.28, seed=1)
    np.testing.assert_array_equal(mass[: len(first)], first)
    assert np.isnan(mass[len(first) :]).all()


def test_families_say_what_is_missing(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(sidestream.Error, match="name the task"):
        sidestream.open_many(runs)
    with pytest.raises(sidestream.Error, match="no task `spectr`"):
        sidestream.open_many(runs, "spectr")
    with pytest.raises(sidestream.Error, match="no family"):
        sidestream.open_many(tmp_path)
    (tmp_path / "sweep.json").write_text(json.dumps({"keys": 3}))
    with pytest.raises(sidestream.Error, match="damaged"):
        sidestream.open_many(tmp_path)


def test_names_of_folders_are_readable_and_differ() -> None:
    made = family(Path("box"), {"mesh.cells": ["[8,8,8]", "[16, 16, 16]"], "a.seed": ["-1"], "b.seed": ["14.2 Mpc"]})

    assert [member.name for member in made.members] == [
        "cells=8-8-8,a.seed=-1,b.seed=14.2-Mpc",
        "cells=16-16-16,a.seed=-1,b.seed=14.2-Mpc",
    ]
    with pytest.raises(sidestream.Error, match="there twice"):
        family(Path("box"), {"a.b": ["x y", "x/y"]})
