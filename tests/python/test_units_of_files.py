"""Files whose units are spelled as other programs spell them are read as those in our spelling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sidestream
from sidestream.core import extension

CELLS = 8
SPELLINGS = {  # of lengths and densities: ours, and another
    "cm": (("cm", "g/cm^3"), ("centimeter", "g cm^-3")),
    "Mpc": (("Mpc", "Msun/Mpc^3"), ("megaparsec", "M_sun/Mpc3")),
    "kpc": (("kpc", "Msun/kpc^3"), ("Kpc", "Msun kpc^-3")),
}


def written(path: Path, length: str, density: str, lump: str = "", hubble: float = 0.7) -> sidestream.SnapshotFile:
    """A universe in a plot file, with a peak; with a field `lump` where it has a unit, without h where that is 0."""
    values = np.ones((CELLS,) * 3)
    values[2, 3, 4:6] = 1e4
    arrays, units = {"gas_density": values, "velocity_x": values}, {"gas_density": density, "velocity_x": "cm s^-1"}
    if lump:
        arrays, units = arrays | {"lump": values}, units | {"lump": lump}
    about = {"hubble": hubble, "omega_m": 0.3, "omega_lambda": 0.7} if hubble else {}
    extension().write_arrays(str(path), "raw", arrays, units, (2.0,) * 3, length, 3, 0.25, about, CELLS)
    opened = sidestream.open(path)
    assert isinstance(opened, sidestream.SnapshotFile)
    return opened


@pytest.fixture(params=SPELLINGS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> list[sidestream.SnapshotFile]:
    """The same numbers in our spelling and in another."""
    return [written(tmp_path / f"plt{n}.raw", *units) for n, units in enumerate(SPELLINGS[request.param])]


def test_analyses_and_attributes_are_the_same(files: list[sidestream.SnapshotFile]) -> None:
    ours, other = files

    assert (other.length_unit, other.units) == (ours.length_unit, ours.units)
    for field in ours.fields:
        assert other[field].attrs == ours[field].attrs
    assert other.halos().sizes["halo"] == 1
    assert other.halos().identical(ours.halos())
    hot = [
        file.derive("hot", "gas_density * 2", unit).units["hot"]
        for file, unit in zip(files, ("K^2", "K2"), strict=True)
    ]
    assert hot == ["K^2", "K^2"]


def test_yt_has_the_same_mass(files: list[sidestream.SnapshotFile]) -> None:
    pytest.importorskip("yt").set_log_level("error")
    mass, speed = zip(
        *(
            (float(cells.sum(("gas", "cell_mass")).to("Msun")), float(cells["gas", "velocity_x"].max().to("km/s")))
            for cells in (file.to_yt().all_data() for file in files)
        ),
        strict=True,
    )

    assert mass[0] == pytest.approx(mass[1], rel=1e-12, abs=0.0)
    assert speed[0] == pytest.approx(speed[1], rel=1e-12, abs=0.0)


@pytest.mark.parametrize("length", ["Mpc", ""])
def test_yt_has_the_h_of_the_file_in_units_and_none_of_its_own(length: str, tmp_path: Path) -> None:
    pytest.importorskip("yt").set_log_level("error")
    told = written(tmp_path / "told.raw", length, "Msun/Mpc^3", "Msun/h")
    untold = written(tmp_path / "untold.raw", length, "Msun/Mpc^3", "Msun/h", hubble=0.0)

    assert float(told.to_yt().all_data()["stream", "lump"].min().to("Msun")) == pytest.approx(1.0 / 0.7, rel=1e-12)
    with pytest.raises(sidestream.Error, match=r"the unit `Msun/h` needs h(.*\n)+hint: .*other `fields`"):
        untold.to_yt()
    assert ("stream", "lump") not in untold.to_yt(["gas_density"]).field_list


def test_masses_of_particles_are_known_in_other_spellings(tmp_path: Path) -> None:
    (tmp_path / "session.toml").write_text('[output]\nplotfile = { format = "nyx", every = 1 }\n')
    grams = 2e33 * np.ones(20)
    random = np.random.default_rng(3)
    found = {}
    for unit in ("g", "gram"):
        with sidestream.session(tmp_path / "session.toml", tmp_path / unit, quiet=True) as run:
            run.mesh((CELLS,) * 3, lengths=(1.0,) * 3, unit="Mpc")
            run.field("gas_density", np.ones((CELLS,) * 3), unit="Msun/Mpc^3")
            positions = list(0.3 + 1e-4 * random.random((3, 20)))
            run.particles("stars", np.arange(20), positions, attributes={"mass": grams}, units={"mass": unit})
            run.begin()
        file = sidestream.open(tmp_path / unit / "plt00000")
        assert file.particles("stars")["mass"].attrs["units"] == "g"
        found[unit] = float(file.friends_of_friends(0.2, "gas_density", species="stars")["mass"].sum())

    assert found["gram"] == pytest.approx(found["g"])
    assert found["g"] == pytest.approx(20 * 2e33 / 1.988e33, rel=1e-3)
