"""The suite of statistics on a plot file that Nyx itself wrote, against NumPy alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nyx_statistics
import sidestream
from calls import command
from nyx_statistics import PlotFile, contrast, counts, power

GENUINE = Path(__file__).parents[1] / "data" / "nyx_plt00002"
LARGEST_ERROR = 1e-6  # what rates are tabulated to, and more than rounding does to the rest
IONIZATION = (1.6e-4, 1.0e-4, 2.0e-6)  # of H I, He I, He II [1/s]: the mean flux is about a half at z = 156
FIELDS = {"gas_density": "density", "dark_matter_density": "particle_mass_density"}


@pytest.fixture(scope="module")
def file() -> PlotFile:
    return nyx_statistics.read(GENUINE)


@pytest.fixture(scope="module")
def atoms(file: PlotFile) -> nyx_statistics.Array:
    return nyx_statistics.neutral_hydrogen(file, IONIZATION)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sidestream.Run:
    """The suite, on two ranks."""
    folder = tmp_path_factory.mktemp("nyx")
    rates = "".join(f"{row} {' '.join(map(str, IONIZATION))} 1e-15 1e-15 1e-16\n" for row in (0.0, 2.0, 3.0))
    (folder / "flat.txt").write_text(rates, encoding="utf-8")
    words = ("--task", "gimlet", "--set", "heating.uv_background=flat.txt", "--out", "out", "-n", 2)
    done = command(folder, "analyze", GENUINE, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(folder / "out")


def result(run: sidestream.Run, part: str) -> sidestream.runs.results.Result:
    return run.result(f"gimlet_{part}", 2)


def test_histograms(run: sidestream.Run, file: PlotFile, atoms: nyx_statistics.Array) -> None:
    pdf = result(run, "pdf")
    for ours, theirs in FIELDS.items():
        density = file.fields[theirs]
        np.testing.assert_array_equal(pdf[f"{ours}_count"], counts(density / density.mean(), 1e-3, 1e5, 200))
        assert pdf.attrs[f"{ours}_mean"] == pytest.approx(density.mean(), rel=1e-12)
    warm = result(run, "temperature_pdf")
    np.testing.assert_array_equal(warm["temperature_count"], counts(file.fields["Temp"], 1.0, 1e9, 360))
    neutral = result(run, "hydrogen_pdf")
    np.testing.assert_array_equal(neutral["neutral_hydrogen_count"], counts(atoms, 1e-16, 1.0, 320))
    assert neutral.attrs["neutral_hydrogen_mean"] == pytest.approx(atoms.mean(), rel=LARGEST_ERROR)


def test_the_phase_diagram(run: sidestream.Run, file: PlotFile) -> None:
    np.testing.assert_array_equal(result(run, "phase")["count"], nyx_statistics.phase(file))


def test_power_spectra(run: sidestream.Run, file: PlotFile, atoms: nyx_statistics.Array) -> None:
    gas, dark = (file.fields[name] for name in FIELDS.values())
    share = gas.mean() / (gas.mean() + dark.mean())
    delta = {
        "gas_density": contrast(gas),
        "dark_matter_density": contrast(dark, clouds=True),
        "neutral_hydrogen": contrast(atoms),
    }
    delta["total_density"] = share * delta["gas_density"] + (1.0 - share) * delta["dark_matter_density"]
    spectra = result(run, "power")
    side = file.side * file.hubble
    for name, one in delta.items():
        np.testing.assert_allclose(spectra[f"{name}_power"], power(one, one, side), rtol=LARGEST_ERROR, err_msg=name)
    cross = power(delta["gas_density"], delta["neutral_hydrogen"], side)
    np.testing.assert_allclose(spectra["gas_density_neutral_hydrogen_cross"], cross, rtol=LARGEST_ERROR)


def test_the_flux(run: sidestream.Run, file: PlotFile, atoms: nyx_statistics.Array) -> None:
    flux = result(run, "flux")
    for axis, along in enumerate(nyx_statistics.flux(file, atoms)):
        assert 0.1 < along.mean() < 0.9
        assert flux["mean_flux"][axis] == pytest.approx(along.mean(), rel=LARGEST_ERROR)
        np.testing.assert_array_equal(flux["flux_count"][axis], np.histogram(along, 50, (0.0, 1.0))[0])
        expected = nyx_statistics.flux_power(along) * file.side * file.hubble
        np.testing.assert_allclose(flux["flux_power"][axis], expected, rtol=LARGEST_ERROR)
