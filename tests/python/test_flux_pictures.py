"""Pictures of the Lyman-alpha forest and of the gas that makes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from sidestream import measurements
from sidestream.figures import Picture, pictures, save_pictures
from sidestream.runs.run import Run
from synthetic_forest import forest, gas, lines, write_forest

REDSHIFTS = (12.0, 4.25, 3.0)  # the first before there is a forest


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(write_forest(tmp_path_factory.mktemp("forest"), REDSHIFTS))


def drawn(run: Run, task: str, name: str) -> Picture:
    (picture,) = [picture for picture in pictures(run, task) if picture.name == f"{task}-{name}"]
    return picture


def legend(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def measured(axes: Axes) -> dict[str, np.ndarray]:
    """The points with errors by their label: (2, points)."""
    bars = [container for container in axes.containers if isinstance(container, ErrorbarContainer)]
    return {str(bar.get_label()): np.array(bar.lines[0].get_data()) for bar in bars}


def test_the_distribution_of_the_flux_is_shown_at_each_moment(run: Run) -> None:
    pdf, _ = drawn(run, "forest", "flux").figure.axes

    assert len(pdf.lines) == len(REDSHIFTS)
    for line, redshift in zip(pdf.lines, REDSHIFTS, strict=True):
        np.testing.assert_allclose(line.get_ydata(), forest(redshift)["flux_pdf"].mean("axis"))
    assert "mean 0.67" in legend(pdf)[-1]


def test_the_mean_flux_is_shown_beside_the_fits_where_they_hold(run: Run) -> None:
    _, mean = drawn(run, "forest", "flux").figure.axes

    lines_of = {line.get_label(): line for line in mean.lines}
    simulated = lines_of["mean of the axes"]
    np.testing.assert_allclose(simulated.get_xdata(), REDSHIFTS[1:])
    np.testing.assert_allclose(simulated.get_ydata(), [forest(z)["mean_flux"].mean() for z in REDSHIFTS[1:]])
    assert {fit.label for fit in measurements.mean_flux().values()} < set(lines_of)
    fit = lines_of["Faucher-Giguère et al. 2008"]
    assert (min(fit.get_xdata()), max(fit.get_xdata())) == (2.5, 4.2)
    np.testing.assert_allclose(fit.get_ydata(), np.exp(-0.0018 * (1 + np.asarray(fit.get_xdata())) ** 3.92))


def test_power_is_shown_with_what_was_measured_at_the_nearest_redshift(run: Run) -> None:
    picture = drawn(run, "forest", "flux-power")

    assert len(picture.figure.axes) == 2  # nothing was measured at the first moment
    assert len(picture.figure.legends) == 1
    for axes, redshift in zip(picture.figure.axes, REDSHIFTS[1:], strict=True):
        table, points = forest(redshift), measured(axes)
        for row in range(3):
            np.testing.assert_allclose(axes.lines[row].get_ydata(), table["dimensionless_power"][row])
        np.testing.assert_allclose(axes.lines[3].get_ydata(), table["mean_dimensionless_power"])
        assert axes.get_title(loc="left").startswith(f"z = {redshift}".removesuffix(".0"))
        assert set(points) == {
            power.label for power in measurements.flux_power().values() if power.near(redshift) is not None
        }
    near = measurements.flux_power()["walther2018"].near(3.0)
    assert near is not None
    low, high = axes.get_xlim()
    inside = (near.k > low) & (near.k < high)
    assert 0 < inside.sum() < near.k.size
    np.testing.assert_allclose(points["Walther et al. 2018"], [near.k[inside], (near.k * near.power / np.pi)[inside]])


@pytest.mark.parametrize("redshifts", [(3.0,), (4.25, 3.0), REDSHIFTS])
def test_the_legend_of_the_power_lies_within_the_picture(tmp_path: Path, redshifts: tuple[float, ...]) -> None:
    figure = drawn(Run(write_forest(tmp_path / "run", redshifts)), "forest", "flux-power").figure

    figure.draw_without_rendering()

    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0


def test_moments_without_a_panel_are_told(run: Run, tmp_path: Path) -> None:
    assert "The moment z = 12 has no panel." in drawn(run, "forest", "flux-power").caption

    many = Run(write_forest(tmp_path / "many", (14.0, 12.0, 4.2, 4.0, 3.6, 3.2, 3.0)))
    assert "3 moments from z = 14 to 3.6 have no panel." in drawn(many, "forest", "flux-power").caption
    one = Run(write_forest(tmp_path / "one", (3.0,)))
    assert "no panel" not in drawn(one, "forest", "flux-power").caption


def test_a_mean_flux_that_was_asked_for_is_said_to_be(tmp_path: Path) -> None:
    run = Run(
        write_forest(
            tmp_path / "run", [3.0], forest=lambda redshift: forest(redshift).assign_attrs(wanted_mean_flux=0.67)
        )
    )
    light, power = drawn(run, "forest", "flux"), drawn(run, "forest", "flux-power")

    assert legend(light.figure.axes[0])[0].endswith("(rescaled)")
    assert "mean of the axes, rescaled" in legend(light.figure.axes[1])
    assert power.figure.axes[0].get_title(loc="left").endswith("(rescaled)")


def test_waves_that_the_box_or_the_cells_do_not_hold_are_shaded(run: Run) -> None:
    axes = drawn(run, "forest", "flux-power").figure.axes[-1]
    k = np.asarray(forest(REDSHIFTS[-1])["k_velocity"])

    below, above = (patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches)

    np.testing.assert_allclose(below.x1, k[0, 0])
    np.testing.assert_allclose(above.x0, k[0, -1] / 4)


def test_axes_of_other_lengths_and_ions_are_shown_without_measurements(tmp_path: Path) -> None:
    def helium(redshift: float) -> xr.Dataset:
        table = forest(redshift).drop_vars(["mean_dimensionless_power", "mu_power", "flux_slice"])
        table = table.drop_vars("flux_gas_density_cross_monopole").assign_attrs(ion="He II")
        for name in ("k_velocity", "dimensionless_power"):
            table[name][2, 20:] = 0.0  # a shorter axis
        return table

    run = Run(write_forest(tmp_path / "run", [3.0], forest=helium))
    light, power = pictures(run, "forest")

    assert "He II" in light.caption
    assert legend(light.figure.axes[1]) == ["mean of the axes"]
    assert [len(line.get_xdata()) for line in power.figure.axes[0].lines] == [32, 32, 20]
    assert not measured(power.figure.axes[0])
    names = [path.name for path in save_pictures(run, tmp_path / "png", "forest")]
    assert names == ["forest-flux.png", "forest-flux-power.png"]


def test_a_plane_of_the_flux_is_shown_with_its_axes(run: Run) -> None:
    axes, bar = drawn(run, "forest", "flux-slice").figure.axes

    (image,) = axes.images
    np.testing.assert_allclose(image.get_array(), forest(REDSHIFTS[-1])["flux_slice"])
    np.testing.assert_allclose(image.get_extent(), [0, 10 / 0.7, 0, 10 / 0.7], atol=1e-12)
    assert axes.get_xlabel().startswith("z [Mpc]")
    assert axes.get_ylabel() == "x [Mpc]"
    assert bar.get_ylabel() == "flux"
    assert axes.get_title(loc="left") == f"A plane of the flux, z = {REDSHIFTS[-1]:.3g}"


@pytest.mark.parametrize("spectrum", ["flux", "flux-gas-density-cross"])
def test_power_is_shown_by_the_angle_to_the_line_of_sight(run: Run, spectrum: str) -> None:
    angles, poles = drawn(run, "forest", f"{spectrum}-space").figure.axes
    table = forest(REDSHIFTS[-1])
    name = "mu_power" if spectrum == "flux" else "flux_gas_density_cross_mu"

    drawn_lines = angles.lines[0 if spectrum == "flux" else 1 :: 2]  # those of positive power, or of negative
    assert len(drawn_lines) == 4
    for index, line in enumerate(drawn_lines):
        np.testing.assert_allclose(line.get_ydata(), np.abs(table[name][0, :, index]))
        np.testing.assert_allclose(line.get_xdata(), table["shell_k"])
    assert legend(angles)[0] == "mu = 0.125"
    assert legend(poles) == ["monopole", "quadrupole", "hexadecapole"]
    k, power = table["shell_k"], table[f"{spectrum.replace('-', '_')}_quadrupole"][0]
    np.testing.assert_allclose(poles.lines[1].get_ydata(), k**3 * power / (2 * np.pi**2))


def test_the_line_with_the_median_flux_is_shown_with_its_gas(run: Run) -> None:
    picture, table = drawn(run, "lines", "line"), lines(REDSHIFTS[-1])

    names = ["neutral_hydrogen", "temperature", "peculiar_velocity", "flux"]
    assert len(picture.figure.axes) == len(names)
    for axes, name in zip(picture.figure.axes, names, strict=True):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), table[name][4])
        np.testing.assert_allclose(axes.lines[0].get_xdata(), table["velocity"])
    assert "4862.8" in picture.caption  # 4862.68 Angstrom at z = 3, and half a pixel


def test_mock_spectra_are_drawn_over_the_flux(tmp_path: Path) -> None:
    def mocked(redshift: float) -> xr.Dataset:
        table = lines(redshift)
        mock = table["flux"].coarsen(pixel=2).mean().rename(pixel="mock_pixel")
        velocity = table["velocity"].coarsen(pixel=2).mean().rename(pixel="mock_pixel")
        return table.assign(mock_flux=mock, mock_velocity=velocity)

    run = Run(write_forest(tmp_path / "run", [3.0], lines=mocked))
    axes = drawn(run, "lines", "line").figure.axes[-1]

    table = mocked(3.0)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), table["mock_flux"][4])
    np.testing.assert_allclose(axes.lines[1].get_xdata(), table["mock_velocity"])


def test_velocities_and_wavelengths_are_coordinates_and_the_gas_is_not(run: Run) -> None:
    table = run.result("lines", -1)

    assert {"velocity", "wavelength"} <= set(table.coords)
    assert {"temperature", "flux"} <= set(table.data_vars)
    assert {"shell_k", "mu", "slice_line"} <= set(run.result("forest", -1).coords)


def test_the_power_law_is_drawn_into_the_diagram(run: Run) -> None:
    axes = drawn(run, "gas", "phase").figure.axes[0]
    fit = gas(3.0).attrs

    (line,) = axes.lines
    density = np.asarray(line.get_xdata())
    expected = fit["mean_density_temperature"] * density ** (fit["temperature_slope"] - 1)
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert legend(axes) == ["$T_0$ = 12000 K, $\\gamma$ = 1.325"]


def test_the_thermal_history_is_shown_beside_measurements(run: Run) -> None:
    temperature, slope = drawn(run, "gas", "thermal-history").figure.axes

    for axes, name in ((temperature, "mean_density_temperature"), (slope, "temperature_slope")):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [gas(z).attrs[name] for z in REDSHIFTS[1:]])
        np.testing.assert_allclose(axes.lines[0].get_xdata(), REDSHIFTS[1:])
    state = measurements.thermal_state()["gaikwad2021"]
    late = state.redshift >= 2.5
    np.testing.assert_allclose(measured(temperature)[state.label], [state.redshift[late], state.temperature[late]])
    np.testing.assert_allclose(measured(slope)[state.label], [state.redshift[late], state.gamma[late]])


def test_gas_without_a_fit_has_no_thermal_history(tmp_path: Path) -> None:
    def unfitted(redshift: float) -> xr.Dataset:
        return gas(redshift).drop_attrs()

    run = Run(write_forest(tmp_path / "run", [3.0], gas=unfitted))

    (picture,) = pictures(run, "gas")
    assert picture.name == "gas-phase"
    assert not picture.figure.axes[0].lines
