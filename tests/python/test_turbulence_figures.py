"""Pictures of the statistics of turbulence, and the tables beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestream.figures import Picture, pictures, save_pictures
from sidestream.measurements import turbulence as measured
from sidestream.report.drawing import Shown
from sidestream.report.page import gallery
from sidestream.runs.run import Run
from synthetic_turbulence import SEPARATIONS, flow, write_turbulence

TIMES = (0.0, 4.0, 9.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(write_turbulence(tmp_path_factory.mktemp("decay"), TIMES))


def drawn(run: Run, task: str, name: str) -> Picture:
    (picture,) = [picture for picture in pictures(run, task) if picture.name == f"{task}-{name}"]
    return picture


def line(axes: object, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = [line for line in axes.lines if str(line.get_label()).startswith(label)]  # type: ignore[attr-defined]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)


def test_spectra_are_drawn_in_kolmogorovs_units_beside_what_was_measured(run: Run) -> None:
    plain, compensated = drawn(run, "flow", "energy-spectrum").figure.axes

    table = flow(9.0)
    eta, nu, dissipation = (table.attrs[name] for name in ("kolmogorov_scale", "viscosity", "dissipation"))
    k_eta, energy = line(plain, "t = 9")
    np.testing.assert_allclose(k_eta, table["k"][1:] * eta)
    np.testing.assert_allclose(energy, table["energy_spectrum"][1:] / (dissipation * nu**5) ** 0.25)
    # The made up spectrum has the constant 1.6 where waves are long.
    assert compensated.lines[len(measured.energy_spectra()) + 2].get_ydata()[0] == pytest.approx(1.6, rel=0.02)
    for spectrum in measured.energy_spectra():
        np.testing.assert_allclose(line(plain, spectrum.label)[0], spectrum.in_kolmogorov_units()[0])


def test_without_a_viscosity_spectra_have_their_own_units(tmp_path: Path) -> None:
    run = Run(write_turbulence(tmp_path, TIMES[:2], viscosity=None))

    (axes,) = drawn(run, "flow", "energy-spectrum").figure.axes

    np.testing.assert_allclose(line(axes, "t = 4")[1], flow(4.0)["energy_spectrum"][1:])
    assert len(axes.lines) == 2


def test_the_decay_of_taylor_and_green_has_the_reference_beside_it(run: Run, tmp_path: Path) -> None:
    other = Run(write_turbulence(tmp_path, TIMES, viscosity=1e-3))

    energy, dissipation = drawn(run, "flow", "decay").figure.axes

    np.testing.assert_allclose(line(energy, r"$\langle")[1], [flow(t).attrs["kinetic_energy"] for t in TIMES])
    reference = measured.taylor_green()
    time, values = line(dissipation, reference.label)
    np.testing.assert_allclose(values, reference.dissipation[: len(time)])
    assert 9.0 < time[-1] < 9.5
    assert not drawn(other, "flow", "decay").numbers
    for axes in drawn(other, "flow", "decay").figure.axes:
        assert reference.label not in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_table_has_the_decay_of_taylor_and_green_beside_the_reference(run: Run) -> None:
    picture = drawn(run, "flow", "decay")

    head, *rows = picture.numbers
    assert [row[0] for row in rows] == ["0.000", "4.000", "9.000"]
    assert rows[1] == ["4.000", "0.121508", "+0.0e+00", "0.002066", "1.0000"]
    page = gallery([Shown.of(picture)])
    assert all(f"<th>{word}</th>" in page for word in head)
    assert "0.121508" in page


def test_histograms_of_gradients_say_skewness_and_flatness(run: Run) -> None:
    along, across, _ = drawn(run, "flow", "gradients").figure.axes

    np.testing.assert_allclose(line(along, "t = 9: S -0.50, F 4.20")[1], flow(9.0)["longitudinal_gradient_pdf"])
    assert line(across, "t = 9: F 5.50")[0].size
    assert line(along, "normal")[1].max() == pytest.approx(1 / np.sqrt(2 * np.pi))


def test_legends_of_gradients_lie_beside_the_curves(run: Run) -> None:
    figure = drawn(run, "flow", "gradients").figure
    figure.draw_without_rendering()

    for axes in figure.axes:
        assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0
        assert axes.get_legend().get_window_extent().y0 >= 0


def test_the_decay_has_a_mark_at_each_output(run: Run) -> None:
    energy, dissipation = drawn(run, "flow", "decay").figure.axes

    for axes, labels in ((energy, [r"$\langle"]), (dissipation, [r"$\epsilon$", r"$2\nu"])):
        for label in labels:
            (curve,) = [found for found in axes.lines if str(found.get_label()).startswith(label)]
            assert curve.get_marker() in ("o", "s")
            assert curve.get_markersize() >= 4 * curve.get_linewidth()


def test_the_third_order_is_drawn_over_separation_and_dissipation(run: Run) -> None:
    even, third = drawn(run, "pairs", "structure-functions").figure.axes

    np.testing.assert_allclose(line(even, "longitudinal, 2")[1], 2.0 * SEPARATIONS ** (2 / 3))
    np.testing.assert_allclose(third.lines[0].get_ydata(), 0.008 / flow(9.0).attrs["dissipation"])
    assert "4/5" in [text.get_text() for text in third.get_legend().get_texts()]


def test_all_pictures_are_saved_with_titles_and_labels(run: Run, tmp_path: Path) -> None:
    for task, count in {"flow": 3, "pairs": 2}.items():
        assert len(save_pictures(run, tmp_path, task)) == count
        for picture in pictures(run, task):
            assert picture.title and picture.caption
            assert all(axes.get_xlabel() for axes in picture.figure.axes)


def test_the_tables_of_turbulence_are_those_of_the_papers() -> None:
    reference = measured.taylor_green()
    at_nine = np.flatnonzero(np.isclose(reference.time, 9.0))
    assert reference.energy[at_nine] == pytest.approx(0.08640386, rel=1e-6)
    # -dE/dt = 2 nu enstrophy, to the differences in time that the table was made by.
    np.testing.assert_allclose(2 * reference.viscosity * reference.enstrophy, reference.dissipation, rtol=2e-3)

    for spectrum in measured.energy_spectra():
        k_eta, energy = spectrum.in_kolmogorov_units()
        assert (np.diff(k_eta) > 0).all()
        middle = (k_eta > 0.05) & (k_eta < 0.2)
        np.testing.assert_allclose((energy * k_eta ** (5 / 3))[middle], 1.6, rtol=0.45)
