"""`[cosmology] initial_conditions` through `sidestream run`: it begins with what independent writers wrote."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import initial_files as ic
import sidestream
from calls import command, program
from sidestream.launch.launcher import find_program
from tiers import slow

CONFIG = (
    ic.tables(0, initial_conditions="start")
    + f"""[output]
plotfile = {{ format = "nyx", at_redshift = [{ic.Z}] }}
checkpoint = {{ every = 1 }}
"""
)
SPLIT = ic.OMEGA_B / ic.OMEGA_M
DARK = (ic.OMEGA_M - ic.OMEGA_B) * ic.CRITICAL
MEAN_GAS = ic.OMEGA_B * ic.CRITICAL


def growing(some: ic.Matter) -> ic.Matter:
    """The particles displaced from their lattice as their velocities of first order say: x = q + u / (a H f)."""
    a = np.linspace(1e-6, ic.A, 200_001)
    expansion = np.sqrt(ic.OMEGA_M / a**3 + ic.OMEGA_L)  # E = H / H0; D is E times the integral of da / (a E)^3
    integral = np.trapezoid(1 / (a * expansion) ** 3, a)
    rate = -1.5 * ic.OMEGA_M / (ic.A**3 * expansion[-1] ** 2) + 1 / (ic.A**2 * expansion[-1] ** 3 * integral)
    speed = ic.A * 100 * ic.H * expansion[-1] * rate
    return replace(some, position=(ic.lattice() + some.velocity / speed) % ic.BOX)


def on_cells(contrast: ic.Array, velocity: ic.Array) -> ic.Matter:
    """Gas as parcels in the middle of the cells."""
    mass = (1 + contrast) * MEAN_GAS * ic.BOX**3 / ic.N**3
    return ic.Matter(np.arange(ic.N**3), ic.lattice(), velocity, mass, np.zeros(ic.N**3))


ALL = ic.matter(1)
ONLY_DARK = ic.matter(1, DARK)
GAS = ic.matter(2, MEAN_GAS)
GAS = replace(GAS, id=GAS.id + ic.N**3, mass=GAS.mass * (1 + 0.3 * np.cos(2 * np.pi * GAS.position[:, 0] / ic.BOX)))
GAS = replace(GAS, mass=GAS.mass * (MEAN_GAS * ic.BOX**3 / GAS.mass.sum()))
CONTRAST = 0.3 * np.sin(2 * np.pi * ic.lattice()[:, 1] / ic.BOX)
CELLS = on_cells(CONTRAST, GAS.velocity)


@dataclass(frozen=True)
class Case:
    """A file, and what a run must make of it; without `gas`, gas is split from the particles."""

    write: Callable[[Path], Path]
    particles: ic.Matter
    gas: ic.Matter | None = None
    precision: float = 1e-12  # of the numbers in the file, in units of the largest
    has_energies: bool = False


DOUBLE, SINGLE = 1e-12, 2e-7
UNEQUAL = replace(ALL, mass=np.where(ALL.id % 3 == 0, 1.2, 0.9) * ALL.mass)
UNEQUAL = replace(UNEQUAL, mass=UNEQUAL.mass * ALL.mass.sum() / UNEQUAL.mass.sum())
SECOND = [ic.part_of(UNEQUAL, UNEQUAL.id % 3 != 0), ic.part_of(UNEQUAL, UNEQUAL.id % 3 == 0)]  # types 1 and 2
CASES = {
    "nyx": Case(lambda path: ic.write_nyx(path, ALL), ALL),
    "nyx in single precision": Case(lambda path: ic.write_nyx(path, ALL, "<f4"), ALL, precision=SINGLE),
    "gadget": Case(lambda path: ic.write_gadget(path, {1: ALL}), ALL),
    "gadget in three files, in single precision, without units": Case(
        lambda path: ic.write_gadget(path, {1: ALL}, 3, "f4", "u4", units=False), ALL, precision=SINGLE
    ),
    "gadget in Mpc/h without units": Case(lambda path: ic.write_gadget(path, {1: ALL}, units=False, length=1.0), ALL),
    "gadget with gas, in two files": Case(
        lambda path: ic.write_gadget(path, {0: GAS, 1: ONLY_DARK}, 2), ONLY_DARK, GAS, has_energies=True
    ),
    "gadget with two masses": Case(lambda path: ic.write_gadget(path, {1: SECOND[0], 2: SECOND[1]}), UNEQUAL),
    "gadget with a table of masses": Case(lambda path: without_masses(ic.write_gadget(path, {1: ALL})), ALL),
    "swift": Case(lambda path: ic.write_swift(path, {0: GAS, 1: ONLY_DARK}), ONLY_DARK, GAS, has_energies=True),
    "grafic": Case(lambda path: ic.write_grafic(path, ALL), ALL, precision=SINGLE),
    "grafic without displacements, big endian": Case(
        lambda path: ic.write_grafic(path, ALL, ">", displaced=False), growing(ALL), precision=SINGLE
    ),
    "grafic with gas": Case(
        lambda path: ic.write_grafic(path, ONLY_DARK, "<", CONTRAST, GAS.velocity), ONLY_DARK, CELLS, SINGLE
    ),
    "monofonic": Case(lambda path: ic.write_monofonic(path, ALL), ALL),
    "monofonic of before 2020": Case(lambda path: without_omegas(ic.write_monofonic(path, ALL)), ALL),
    "monofonic with gas": Case(lambda path: ic.write_monofonic(path, ONLY_DARK, GAS), ONLY_DARK, GAS),
    "monofonic with gas on cells": Case(
        lambda path: ic.write_monofonic(path, ONLY_DARK, CELLS, gas_on_cells=True), ONLY_DARK, CELLS
    ),
}


def without_masses(path: Path) -> Path:
    """The masses of type 1 in the table of the header."""
    with h5py.File(path, "a") as file:
        file["Header"].attrs["MassTable"] = [0, file["PartType1/Masses"][0], 0, 0, 0, 0]
        del file["PartType1/Masses"]
    return path


def without_omegas(path: Path) -> Path:
    with h5py.File(path, "r+") as file:
        for name in ("Omega_b", "Omega_m", "Omega_L"):
            del file["Header"].attrs[name]
    return path


def started(folder: Path, path: Path, ranks: int, out: str, *changes: str) -> sidestream.SnapshotFile:
    """The checkpoint of step 0 of a run that begins with `path`."""
    (folder / "box.toml").write_text(CONFIG.replace('"start"', f'"{path.relative_to(folder)}"'))
    words = [part for change in changes for part in ("--set", change)]
    done = program(folder, ranks, "box.toml", "--quiet", "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(next((folder / out).glob("chk*")))


def close(found: object, expected: object, precision: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=precision * np.abs(expected).max())


@pytest.fixture(scope="module", params=list(CASES))
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Path]:
    """A case, and the folder of a run that began with its file and went no further."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("begun")
    started(folder, case.write(folder / "start.hdf5"), 2, "o")
    return case, folder / "o"


def test_a_check_takes_what_a_run_begins_with(begun: tuple[Case, Path]) -> None:
    _, out = begun

    assert command(out.parent, "check", "box.toml").returncode == 0


def test_a_run_begins_with_the_particles_of_the_file(begun: tuple[Case, Path]) -> None:
    case, out = begun

    found, order = sidestream.open(next(out.glob("chk*"))).particles(), np.argsort(case.particles.id)
    found = found.isel(particle=np.argsort(found["id"].values))
    assert (found["id"] == case.particles.id[order]).all()
    for axis, letter in enumerate("xyz"):
        apart = (found[letter] - case.particles.position[order, axis] + ic.BOX / 2) % ic.BOX - ic.BOX / 2
        assert abs(apart).max() < case.precision * ic.BOX
        close(found[f"momentum_{letter}"] / ic.A, case.particles.velocity[order, axis], case.precision)
    plot = sidestream.open(next(out.glob("plt*"))).particles()
    plot = plot.isel(particle=np.argsort(plot["id"].values))
    mass = case.particles.mass[order] * (1 if case.gas else 1 - SPLIT)
    close(plot["mass"], mass, max(case.precision, SINGLE))


def test_the_gas_of_a_run_is_that_of_the_file_or_split_from_its_particles(begun: tuple[Case, Path]) -> None:
    case, out = begun
    gas = case.gas or replace(case.particles, mass=SPLIT * case.particles.mass)
    density = ic.clouds(gas.position, gas.mass)

    state = sidestream.open(next(out.glob("chk*")))

    # An error in a position moves a share of a cloud: as many times the relative error as the box has cells, twice.
    precision = 2 * ic.N * case.precision
    close(state["density"], density, precision)
    assert float(state["density"].sum()) * (ic.BOX / ic.N) ** 3 == pytest.approx(gas.mass.sum(), rel=case.precision)
    for axis, letter in enumerate("xyz"):
        close(state[f"{letter}mom"] / ic.A, ic.clouds(gas.position, gas.mass * gas.velocity[:, axis]), precision)
    if case.has_energies:
        close(state["rho_e"] / ic.A**2, ic.clouds(gas.position, gas.mass * gas.energy), precision)
    else:
        adiabat = (state["density"] / MEAN_GAS) ** (5 / 3)
        ratio = state["rho_e"] / adiabat
        assert float(ratio.max() / ratio.min()) == pytest.approx(1, abs=1e-12)
    kinetic = sum(state[f"{letter}mom"] ** 2 for letter in "xyz") / (2 * state["density"])
    close(state["rho_E"], state["rho_e"] + kinetic, 1e-14)


@pytest.mark.parametrize(
    "name", ["nyx", "gadget with gas, in two files", *slow("grafic with gas", "monofonic with gas")]
)
def test_the_start_is_the_same_to_the_bit_on_any_ranks(name: str, tmp_path: Path) -> None:
    path = CASES[name].write(tmp_path / "start.hdf5")

    states = [started(tmp_path, path, ranks, f"on {ranks}") for ranks in (1, 3)]

    tables = [state.particles() for state in states]
    tables = [table.isel(particle=np.argsort(table["id"].values)) for table in tables]
    for other, table in zip(states[1:], tables[1:], strict=True):
        assert all(other[field].equals(states[0][field]) for field in states[0].fields)
        assert table.equals(tables[0])


def test_dark_matter_alone_takes_all_matter_of_the_file(tmp_path: Path) -> None:
    path = ic.write_nyx(tmp_path / "start", ALL)

    state = started(tmp_path, path, 1, "o", "simulation=nbody")

    plot = sidestream.open(next((tmp_path / "o").glob("plt*")))
    assert state.fields == []
    close(plot.particles()["mass"], ALL.mass, SINGLE)
    close(plot["particle_mass_density"], ic.clouds(ALL.position, ALL.mass), 1e-12)


def test_regions_of_a_given_start_can_be_refined(tmp_path: Path) -> None:
    path = CASES["gadget with two masses"].write(tmp_path / "start.hdf5")
    region = ["criterion=region", "center=[10,10,10]", "radius=2.0", "max_level=1"]

    state = started(tmp_path, path, 2, "o", "run.max_steps=1", "amr.max_level=1", *(f"refine.c.{r}" for r in region))

    plot, cell = sidestream.open(tmp_path / "o" / "plt00000"), (ic.BOX / ic.N) ** 3
    assert (state.levels, plot.levels) == (2, 2)
    assert float(plot["density"].sum()) * cell == pytest.approx(SPLIT * UNEQUAL.mass.sum(), rel=1e-12)
    dark = float(plot["particle_mass_density"].sum()) * cell
    assert dark == pytest.approx((1 - SPLIT) * UNEQUAL.mass.sum(), rel=1e-12)
    assert len(state.particles()["id"]) == ic.N**3


def test_the_temperature_at_the_start_can_be_said(tmp_path: Path) -> None:
    path = ic.write_nyx(tmp_path / "start", ALL)

    state = started(tmp_path, path, 1, "o", "cosmology.temperature_start=214 K")

    plot = sidestream.open(next((tmp_path / "o").glob("plt*")))
    close(plot["Temp"], 214 * (state["density"] / MEAN_GAS) ** (2 / 3), 1e-12)


def test_a_restart_needs_no_file(tmp_path: Path) -> None:
    path = ic.write_nyx(tmp_path / "start", ALL)
    whole = ["run.max_steps=2", "output.plotfile.at_redshift=[]", "output.plotfile.every=2"]
    started(tmp_path, path, 2, "whole", *whole)
    started(tmp_path, path, 2, "cut", *whole, "run.max_steps=1")
    path.unlink()
    words = [part for change in whole for part in ("--set", change)]

    done = program(tmp_path, 1, "box.toml", "--quiet", "--out", "cut", "--restart", *words)

    assert done.returncode == 0, done.stderr
    first, second = (sidestream.open(tmp_path / name / "plt00002") for name in ("whole", "cut"))
    assert all(first[field].equals(second[field]) for field in first.fields)


def test_a_path_begins_at_the_folder_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    ic.write_nyx(tmp_path / "deep" / "start", ALL)
    (tmp_path / "deep" / "box.toml").write_text(CONFIG)

    done = program(tmp_path, 2, "deep/box.toml", "--quiet", "--out", "o")
    again = program(tmp_path, 2, "o/config.toml", "--quiet", "--out", "again")

    assert done.returncode == 0, done.stderr
    assert again.returncode == 0, again.stderr


# --- what does not fit ------------------------------------------------------------------------------------------------


def shortened(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-8])
    return path


def with_bytes(path: Path, at: int, new: bytes) -> Path:
    data = bytearray(path.read_bytes())
    data[at : at + len(new)] = new
    path.write_bytes(data)
    return path


def changed(path: Path, change: Callable[[h5py.File], None]) -> Path:
    with h5py.File(path, "a") as file:
        change(file)
    return path


def delete(name: str) -> Callable[[h5py.File], None]:
    return lambda file: file.__delitem__(name)


def set_header(name: str, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file["Header"].attrs.__setitem__(name, value)


def set_rows(name: str, at: object, value: float) -> Callable[[h5py.File], None]:
    return lambda file: file[name].__setitem__(at, value)


def text(path: Path) -> Path:
    path.write_text("abc")
    return path


def set_seventh(file: h5py.File) -> None:
    counts = file["Header"].attrs["NumPart_Total"]
    counts[6] = 4
    file["Header"].attrs["NumPart_Total"] = counts


def linked(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def linked_to_itself(path: Path) -> Path:
    return linked(path, path.name)


def piped(path: Path) -> Path:
    os.mkfifo(path)
    return path


def without_file(path: Path) -> Path:
    ic.write_gadget(path, {1: ALL}, 3)
    path.with_suffix(".2.hdf5").unlink()
    return path.with_suffix(".0.hdf5")


def with_other_header(path: Path) -> Path:
    ic.write_grafic(path, ALL)
    ic.write_grafic_field(path / "ic_velcy", ALL.velocity[:, 1], "<", a=0.03)
    return path


def grafic_without(path: Path, name: str) -> Path:
    ic.write_grafic(path, ALL)
    (path / name).unlink()
    return path


ROWS = ic.N**3
HEADERS = {  # shown by `sidestream check`
    "missing": (lambda path: path, [], "does not exist"),
    "size": (
        lambda path: shortened(ic.write_nyx(path, ALL)),
        [],
        f"{16 + 56 * ROWS - 8} bytes; {ROWS} particles take {16 + 28 * ROWS} .* {16 + 56 * ROWS} in double",
    ),
    "dimension": (lambda path: with_bytes(ic.write_nyx(path, ALL), 8, b"\2"), [], "has dimension 2 and 4 further"),
    "count": (lambda path: with_bytes(ic.write_nyx(path, ALL), 0, b"\xff" * 8), [], "the header has -1 particles"),
    "short": (text, [], "has 3 bytes, less than"),
    "link that leads to itself": (linked_to_itself, [], "cannot be looked at: Too many levels of symbolic links"),
    "pipe": (piped, [], "neither a file nor a folder"),
    "grafic link that leads to itself": (
        lambda path: linked_to_itself(grafic_without(path, "ic_velcy") / "ic_velcy").parent,
        [],
        "cannot open the file: Too many levels of symbolic links --> .*/ic_velcy",
    ),
    "grafic link that leads nowhere": (
        lambda path: linked(grafic_without(path, "ic_poscx") / "ic_poscx", "nowhere").parent,
        [],
        "cannot open the file: No such file or directory --> .*/ic_poscx",
    ),
    "grafic pipe": (
        lambda path: piped(grafic_without(path, "ic_velcy") / "ic_velcy").parent,
        [],
        "this is a named pipe and no regular file --> .*/ic_velcy",
    ),
    "ids that are no integers": (
        lambda path: ic.write_gadget(path, {1: ALL}, integer="f8"),
        [],
        "the ids in `PartType1/ParticleIDs` are no integers",
    ),
    "time and redshift": (
        lambda path: changed(ic.write_gadget(path, {1: ALL}), set_header("Time", 0.5)),
        [],
        "contradicts itself: `Time`, the scale factor, is 0.5 and `Redshift` 49 ",
    ),
    "differences": (
        lambda path: ic.write_gadget(path, {1: ALL}),
        ["cosmology.omega_m=0.31", "cosmology.hubble=0.71", "cosmology.box=25 Mpc", "cosmology.z_start=50"],
        "z_start is 49 in the file, 50 in the configuration; omega_m is 0.3 in the file, 0.31 .*; "
        "omega_lambda is 0.7 in the file, 0.69 .*; hubble is 0.7 in the file, 0.71 .*; the box along x .* is 20 in",
    ),
    "hdf5": (lambda path: changed(path, lambda file: file.create_group("x")), [], "are of no known format"),
    "truncated hdf5": (lambda path: shortened(ic.write_gadget(path, {1: ALL})), [], "not a sound HDF5 file"),
    "no dataset": (
        lambda path: changed(ic.write_gadget(path, {1: ALL}), delete("PartType1/Velocities")),
        [],
        "no dataset `PartT",
    ),
    "rows": (
        lambda path: changed(ic.write_gadget(path, {1: ALL}), set_header("NumPart_ThisFile", [0, 5, 0, 0, 0, 0])),
        [],
        "does not hold 3 numbers for each of 5 particles",
    ),
    "total": (
        lambda path: changed(ic.write_gadget(path, {1: ALL}), set_header("NumPart_Total", [0, 5000, 0, 0, 0, 0])),
        [],
        f"the files hold {ROWS} particles of type 1, their headers speak of 5000",
    ),
    "missing file": (without_file, [], "file 2 of the 3 files .* is missing"),
    "gas without a simulation": (
        lambda path: ic.write_gadget(path, {0: GAS, 1: ONLY_DARK}),
        ["simulation=nbody"],
        "have gas, but the simulation",
    ),
    "neutrinos": (lambda path: changed(ic.write_swift(path, {1: ALL}), set_seventh), [], "type 6: neutrinos"),
    "grafic size": (
        lambda path: shortened(ic.write_grafic(path, ALL) / "ic_velcz").parent,
        [],
        "a lattice of 16 x 16 x 16 points",
    ),
    "grafic headers": (with_other_header, [], "the header differs from that of ic_velcx"),
    "grafic axis": (lambda path: grafic_without(path, "ic_poscy"), [], "a field of the initial conditions is missing"),
    "grafic mark": (
        lambda path: with_bytes(ic.write_grafic(path, ALL) / "ic_velcx", 0, b"\1").parent,
        [],
        "Fortran record of 44",
    ),
    "lattice of gas": (
        lambda path: ic.write_grafic(path, ONLY_DARK, "<", CONTRAST),
        ["mesh.cells=[32,32,32]"],
        "on 16 x 16 x 16 cells, the mesh has 32 x 32 x 32",
    ),
    "monofonic field": (
        lambda path: changed(ic.write_monofonic(path, ALL), delete("DM_vz")),
        [],
        "there is no field `DM_vz`",
    ),
    "monofonic header": (
        lambda path: changed(ic.write_monofonic(path, ALL), delete("Header")),
        [],
        "no attribute `Boxsize`",
    ),
    "monofonic densities": (
        lambda path: changed(ic.write_monofonic(path, ALL), delete("DM_dx")),
        [],
        "no displacements of the dark matter",
    ),
    "random field": (lambda path: ic.write_nyx(path, ALL), ["cosmology.seed=3"], "`seed` has no effect on initial"),
    "warm": (lambda path: ic.write_nyx(path, ALL), ["cosmology.wdm_mass=1 keV"], "`wdm_mass` has no effect on initial"),
    "temperature": (lambda path: ic.write_nyx(path, ALL), ["cosmology.temperature_start=0 K"], "no temperature"),
}
CONTENTS = {  # shown when the numbers are read: by `sidestream check`, and so before any rank starts
    "not finite": (
        lambda path: with_bytes(ic.write_nyx(path, ALL), 16 + 56 * 7 + 8, np.array(np.nan).tobytes()),
        [],
        "y of the particle with id 7 is nan",
    ),
    "outside": (
        lambda path: ic.write_nyx(path, replace(ALL, position=ALL.position * 1.05)),
        [],
        "outside of the box of 20 Mpc",
    ),
    "mass": (lambda path: ic.write_nyx(path, ALL), ["cosmology.hubble=0.71"], "all matter of the initial conditions"),
    "gas mass": (
        lambda path: ic.write_swift(
            path, {0: replace(GAS, mass=1.1 * GAS.mass), 1: replace(ONLY_DARK, mass=0.98 * ONLY_DARK.mass)}
        ),
        [],
        "the gas of the initial conditions",
    ),
    "ids": (
        lambda path: changed(ic.write_gadget(path, {1: ALL}), set_rows("PartType1/ParticleIDs", 5, 9)),
        [],
        "two particles have the id 9",
    ),
    "negative mass": (
        lambda path: changed(ic.write_gadget(path, {1: ALL}), set_rows("PartType1/Masses", 5, -1)),
        [],
        "mass of the particle with id 5 is -",
    ),
    "faster than light": (
        lambda path: ic.write_nyx(path, replace(ALL, velocity=ALL.velocity * 1e200)),
        [],
        "moves at .* km/s, faster than light",
    ),
    "faster than light by all axes together": (
        lambda path: ic.write_nyx(path, replace(ALL, velocity=np.where(ALL.id[:, None] == 7, 1.8e5, ALL.velocity))),
        [],
        "the particle with id 7 moves at 311769 km/s, faster than light",
    ),
    "ids that are too large": (
        lambda path: changed(
            ic.write_gadget(path, {1: ALL}), set_rows("PartType1/ParticleIDs", 5, np.uint64(2**63 + 5))
        ),
        [],
        r"the id of the particle in row 5 of `PartType1` is 2\^63 - 1 or above",
    ),
    "masses": (
        lambda path: ic.write_nyx(path, replace(ALL, mass=np.where(ALL.id == 0, ALL.mass.sum(), 1e-300))),
        [],
        "the masses of the particles go from 1e-300 to",
    ),
    "particles at one point": (
        lambda path: ic.write_nyx(path, replace(ALL, position=np.full_like(ALL.position, 4.1))),
        [],
        f"{ROWS - 8} cells of the mesh get no gas",
    ),
    "one particle": (
        lambda path: ic.write_nyx(path, replace(ic.part_of(ALL, slice(1)), mass=ALL.mass.sum(keepdims=True))),
        [],
        f"{ROWS - 8} cells of the mesh get no gas",
    ),
    "gas at one point": (
        lambda path: ic.write_gadget(path, {0: replace(GAS, position=np.full_like(GAS.position, 4.1)), 1: ONLY_DARK}),
        [],
        f"{ROWS - 8} cells of the mesh get no gas",
    ),
    "floor above the start": (
        lambda path: ic.write_nyx(path, ALL),
        ["hydro.temperature_floor=1e5 K"],
        "but the gas begins with",
    ),
    "grafic slab": (
        lambda path: with_bytes(ic.write_grafic(path, ALL) / "ic_velcx", 52 + 1032 * 3, b"\1").parent,
        [],
        "the record of the slab 3",
    ),
}


def refused(folder: Path, case: tuple[Callable[[Path], Path], list[str], str], *words: object) -> str:
    write, changes, _ = case
    path = write(folder / "start.hdf5")
    (folder / "box.toml").write_text(CONFIG.replace('"start"', f'"{path.name}"'))
    overrides = [part for change in changes for part in ("--set", change)]
    done = command(folder, words[0], "box.toml", *words[1:], *overrides)
    assert done.returncode in ((2,) if words[0] == "check" else (1, 2))
    assert done.stderr.count("error:") == 1
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("name", HEADERS)
def test_a_check_refuses_what_a_header_shows(name: str, tmp_path: Path) -> None:
    message = refused(tmp_path, HEADERS[name], "check")

    assert re.search(HEADERS[name][2], message), message


OTHER_UNIVERSE = ("omega_m=0.31", "omega_b=0.06", "omega_lambda=0.69", "hubble=0.71", "z_start=50", "box=25 Mpc")
EVERY = "z_start omega_m omega_lambda box"
TOLD = {  # by format: what its files tell of the universe
    "gadget": (lambda path: ic.write_gadget(path, {0: GAS, 1: ONLY_DARK}), f"{EVERY} omega_b hubble"),
    "swift": (lambda path: ic.write_swift(path, {0: GAS, 1: ONLY_DARK}), f"{EVERY} omega_b hubble"),
    "grafic": (lambda path: ic.write_grafic(path, ALL), f"{EVERY} hubble"),
    "monofonic": (lambda path: ic.write_monofonic(path, ALL), f"{EVERY} omega_b"),
}


@pytest.mark.parametrize("name", TOLD)
def test_each_number_in_which_the_universe_of_a_file_differs_is_named(name: str, tmp_path: Path) -> None:
    write, told = TOLD[name]

    message = refused(tmp_path, (write, [f"cosmology.{change}" for change in OTHER_UNIVERSE], ""), "check")

    for number in told.split():
        wanted = r"the box along x \[Mpc\] is [0-9.]+ in" if number == "box" else f"{number} is [0-9.]+ in the file"
        assert re.search(wanted, message), (number, message)


@pytest.mark.parametrize("name", ["missing", "differences"])
def test_a_run_refuses_it_before_anything_runs(name: str, tmp_path: Path) -> None:
    message = refused(tmp_path, HEADERS[name], "run", "-n", 2, "--out", "o")

    assert re.search(HEADERS[name][2], message), message
    assert not (tmp_path / "o").exists()


AT_ONCE = ["run", "-n", 2, "--out", "o"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, ["check"]) for name in CONTENTS),
        ("ids", AT_ONCE),
        *slow(*((n, AT_ONCE) for n in CONTENTS if n != "ids")),
    ],
)
def test_numbers_that_cannot_be_are_refused_before_a_rank_starts(
    name: str, words: list[object], tmp_path: Path
) -> None:
    message = refused(tmp_path, CONTENTS[name], *words)

    assert re.search(CONTENTS[name][2], message), message
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    "name", ["not finite", "mass", "ids", "masses", "particles at one point", "faster than light by all axes together"]
)
def test_the_ranks_refuse_them_as_well(name: str, tmp_path: Path) -> None:
    write, settings, _ = CONTENTS[name]
    write(tmp_path / "start.hdf5")
    (tmp_path / "box.toml").write_text(CONFIG.replace('"start"', '"start.hdf5"'))
    changes = [part for change in settings for part in ("--set", change)]

    done = program(tmp_path, 2, "box.toml", "--out", "o", *changes)

    assert done.returncode == 1
    assert re.search(CONTENTS[name][2], " ".join(done.stderr.split())), done.stderr
    assert not any((tmp_path / "o").glob("plt*"))


def test_cells_without_gas_are_refused_before_a_rank_starts(tmp_path: Path) -> None:
    case = (lambda path: ic.write_nyx(path, ALL), ["mesh.cells=[64,64,64]"], "")
    message = refused(tmp_path, case, "check")

    assert "cells of the mesh get no gas" in message


READ_AT_THE_START = ["nyx", "gadget in three files, in single precision, without units", "grafic", "monofonic"]


@pytest.mark.parametrize("name", READ_AT_THE_START)
def test_what_a_run_begins_with_is_read_once_and_what_is_small_by_the_first_rank(name: str, tmp_path: Path) -> None:
    path = CASES[name].write(tmp_path / "start")
    (tmp_path / "box.toml").write_text(CONFIG.replace('"start"', f'"{path.relative_to(tmp_path)}"'))
    layer = {
        "LD_PRELOAD": str(find_program().with_name("libsidestream_io_layer.so")),
        "SIDESTREAM_IO_PATH": str(tmp_path),
        "SIDESTREAM_IO_COUNT": str(tmp_path / "count"),
    }

    done = program(tmp_path, 3, "box.toml", "--quiet", "--out", "out", **layer)

    assert done.returncode == 0, done.stderr
    opened: dict[Path, list[int]] = {}
    read: dict[Path, list[int]] = {}
    for rank in range(3):
        for file in json.loads((tmp_path / f"count.{rank}.json").read_text())["files"]:
            counted = Path(file["path"])
            opened.setdefault(counted, [0] * 3)[rank] = file["opens_for_reading"]
            read.setdefault(counted, [0] * 3)[rank] = file["bytes_read"]
    config = tmp_path / "box.toml"
    assert (opened.pop(config), read.pop(config)) == ([1, 0, 0], [config.stat().st_size, 0, 0])
    starts = [file for file in read if file.relative_to(tmp_path).parts[0].startswith("start")]
    assert starts
    for file in starts:
        assert sum(read[file]) < 1.6 * file.stat().st_size, "heads of small files are much of them"
        assert max(opened[file][1:]) <= 5
    assert any(max(read[file][1:]) > 0 for file in starts), "others read their share"
