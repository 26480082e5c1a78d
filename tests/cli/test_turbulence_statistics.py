"""Statistics of turbulence through the program, against NumPy on fields that it has not seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import numpy_turbulence as twin
import sidestream
from calls import program
from numpy_turbulence import Box
from nyx_files import State, write

SIDES = (3.0, 5.0, 4.0)  # Mpc
CELLS = (18, 20, 16)  # z, y, x
VISCOSITY = 2.5  # km/s Mpc
TASKS = f"""
[task.flow]
analysis = "turbulence"
viscosity = {VISCOSITY}
scalars = ["gas_density"]

[task.pairs]
analysis = "structure_functions"
separations = [1, 3, 8]

[task.vortices]
analysis = "halos"
field = "q_criterion"
t_boundary = "1000"
t_halo = "3000"

[task.curl]
analysis = "slice"
fields = ["vorticity_magnitude"]
axis = "z"
"""


def random_box(seed: int = 4711) -> Box:
    """Noise with long waves, so that every wave of the grid has a part."""
    random = np.random.default_rng(seed)
    velocity = 30.0 * random.normal(size=(3, *CELLS))
    for axis in (1, 2, 3):
        velocity = 0.6 * velocity + 0.4 * np.roll(velocity, 1, axis=axis)
    return Box(velocity + np.array([5.0, -2.0, 0.0])[:, None, None, None], SIDES)


def density() -> np.ndarray:
    """One that differs from cell to cell."""
    return 1e10 * np.random.default_rng(1).uniform(0.5, 1.5, CELLS)


def plot_file(folder: Path, velocity: np.ndarray) -> Path:
    momenta = {f"{axis}mom": density() * v for axis, v in zip("xyz", velocity, strict=True)}
    state = State(0.25, SIDES, {"density": density(), **momenta}, np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
    return write(folder, state)


def analyse(folder: Path, plot: Path, ranks: int, tasks: str = TASKS) -> sidestream.Run:
    (folder / "tasks.toml").write_text(tasks, encoding="utf-8")
    out = folder / f"on{ranks}"
    done = program(folder, ranks, "tasks.toml", "--analyze", "--from", str(plot), "--out", str(out))
    assert done.returncode == 0, done.stderr
    return sidestream.open(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flow")
    plot_file(folder / "plt00000", random_box().velocity)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> sidestream.Run:
    return analyse(folder, folder / "plt00000", 2)


def result(run: sidestream.Run, task: str) -> object:
    return run.result(task, run.steps(task)[-1])


def test_spectra_and_scales_are_those_of_numpy(run: sidestream.Run) -> None:
    box, flow = random_box(), result(run, "flow")

    energy, k2_energy = twin.energy_spectrum(box)
    fundamental = 2 * np.pi / max(SIDES)
    fluctuation = box.velocity - box.velocity.mean(axis=(1, 2, 3), keepdims=True)
    rms = np.sqrt(np.mean(fluctuation**2))
    dissipation = 2 * VISCOSITY * k2_energy.sum() * fundamental
    np.testing.assert_allclose(flow["energy_spectrum"], energy, rtol=1e-12)
    np.testing.assert_allclose(flow["dissipation_spectrum"], 2 * VISCOSITY * k2_energy, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(flow["k"], fundamental * np.arange(len(energy)), rtol=1e-14)
    wanted = {
        "kinetic_energy": 0.5 * np.sum(np.mean(box.velocity**2, axis=(1, 2, 3))),
        "dissipation": dissipation,
        "rms_velocity": rms,
        "integral_scale": twin.integral_scale(box),
        "taylor_scale": rms * np.sqrt(15 * VISCOSITY / dissipation),
        "kolmogorov_scale": (VISCOSITY**3 / dissipation) ** 0.25,
        "taylor_reynolds_number": rms**2 * np.sqrt(15 / VISCOSITY / dissipation),
        "normalized_dissipation": dissipation * twin.integral_scale(box) / rms**3,
        "enstrophy": 0.5 * np.mean(np.sum(twin.vorticity(box) ** 2, axis=0)),
        "helicity": np.mean(np.sum(twin.vorticity(box) * box.velocity, axis=0)),
    }
    for name, value in wanted.items():
        assert flow.attrs[name] == pytest.approx(value, rel=1e-11, abs=1e-9), name


def test_parseval_holds(run: sidestream.Run) -> None:
    flow = result(run, "flow")

    total = float(flow["energy_spectrum"].sum()) * 2 * np.pi / max(SIDES)

    assert total == pytest.approx(flow.attrs["kinetic_energy"], rel=1e-14)


def test_gradients_are_those_of_numpy(run: sidestream.Run) -> None:
    box, flow = random_box(), result(run, "flow")

    for component in range(3):
        for axis in range(3):
            gradient = box.gradient(component, axis)
            assert flow["gradient_variance"][component, axis] == pytest.approx(np.mean(gradient**2), rel=1e-12)
            assert flow["gradient_skewness"][component, axis] == pytest.approx(
                twin.moment_ratio(gradient, 3), abs=1e-12
            )
            assert flow["gradient_flatness"][component, axis] == pytest.approx(
                twin.moment_ratio(gradient, 4), rel=1e-12
            )
    curls = twin.vorticity(box)
    deviations = np.concatenate([(w / np.sqrt(np.mean(w**2))).ravel() for w in curls])
    counts, _ = np.histogram(deviations, 201, (-10, 10))
    np.testing.assert_allclose(flow["vorticity_pdf"] * (20 / 201) * deviations.size, counts, atol=2.01)


def test_the_flux_of_a_scalar_is_that_of_numpy(run: sidestream.Run) -> None:
    flow, velocity = result(run, "flow"), random_box().velocity

    flux = np.mean((density() - density().mean()) * velocity, axis=(1, 2, 3)) / density().mean()
    found = flow["gas_density_flux"] / flow.attrs["gas_density_mean"]
    np.testing.assert_allclose(found, flux, rtol=1e-9)


def test_structure_functions_are_those_of_numpy(run: sidestream.Run) -> None:
    box, pairs = random_box(), result(run, "pairs")

    for axis in range(3):
        for number, separation in enumerate((1, 3, 8)):
            for order in (2, 3, 4):
                values = [twin.structure_function(box, c, axis, separation, order) for c in range(3)]
                across = 0.5 * (sum(values) - values[axis])
                scale = 100.0**order
                assert pairs[f"longitudinal_{order}"][axis, number] == pytest.approx(values[axis], abs=1e-12 * scale)
                assert pairs[f"transverse_{order}"][axis, number] == pytest.approx(across, abs=1e-12 * scale)


def test_vortices_are_regions_and_pictures(run: sidestream.Run) -> None:
    box = random_box()
    gradients = [[box.gradient(i, j) for j in range(3)] for i in range(3)]
    q = -0.5 * sum(gradients[i][j] * gradients[j][i] for i in range(3) for j in range(3))

    vortices, curl = result(run, "vortices"), result(run, "curl")

    expected = sidestream.halos(q, box_size=SIDES, t_boundary=1000.0, t_halo=3000.0)
    assert len(vortices["id"]) > 3
    np.testing.assert_array_equal(np.sort(vortices["id"]), np.sort(expected["id"]))
    size = np.sqrt(np.sum(twin.vorticity(box) ** 2, axis=0))
    np.testing.assert_allclose(np.asarray(curl["vorticity_magnitude"]), size[CELLS[0] // 2], rtol=1e-10)


def test_results_are_the_same_bytes_on_any_ranks(folder: Path, run: sidestream.Run) -> None:
    for ranks in (1, 3):
        other = analyse(folder, folder / "plt00000", ranks)
        for task in ("flow", "pairs", "curl"):
            one, two = result(run, task), result(other, task)
            for name in one.variables:
                np.testing.assert_array_equal(one[name], two[name], err_msg=f"{task} {name} on {ranks}")
            assert {k: v for k, v in one.attrs.items() if isinstance(v, float)} == {
                k: v for k, v in two.attrs.items() if isinstance(v, float)
            }


def test_a_cell_without_a_number_is_named(tmp_path: Path) -> None:
    velocity = random_box().velocity
    velocity[1, 3, 2, 1] = np.nan
    plot_file(tmp_path / "plt00000", velocity)
    (tmp_path / "tasks.toml").write_text(TASKS, encoding="utf-8")

    done = program(tmp_path, 2, "tasks.toml", "--analyze", "--from", "plt00000", "--out", "out")

    assert done.returncode == 1
    assert "`ymom` is nan in a cell" in done.stderr and "cell (1, 2, 3)" in done.stderr


def test_what_has_no_velocity_is_refused(tmp_path: Path) -> None:
    density = np.full(CELLS, 1e10)
    state = State(0.25, SIDES, {"density": density}, np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
    write(tmp_path / "plt00000", state)
    (tmp_path / "tasks.toml").write_text(TASKS, encoding="utf-8")

    done = program(tmp_path, 2, "tasks.toml", "--analyze", "--from", "plt00000", "--out", "out")

    assert done.returncode != 0
    assert "velocity_x" in done.stderr


KELVIN_HELMHOLTZ = """
simulation = "kelvin_helmholtz"
[mesh]
cells = [32, 32, 1]
block = 16
[run]
max_steps = 4
[coupling]
sidecars = {sidecars}
[task.flow]
analysis = "turbulence"
every = 2
transport = "{transport}"
[task.pairs]
analysis = "structure_functions"
at_end = true
transport = "{transport}"
"""


def test_a_flat_simulation_gives_the_same_by_every_transport(tmp_path: Path) -> None:
    runs = []
    for transport, ranks in (("in-situ", 1), ("async", 2), ("in-transit", 3)):
        text = KELVIN_HELMHOLTZ.format(transport=transport, sidecars=int(transport == "in-transit"))
        (tmp_path / f"{transport}.toml").write_text(text, encoding="utf-8")
        done = program(tmp_path, ranks, f"{transport}.toml", "--quiet", "--out", transport)
        assert done.returncode == 0, done.stderr
        runs.append(sidestream.open(tmp_path / transport))

    for run in runs[1:]:
        for task in ("flow", "pairs"):
            assert run.steps(task) == runs[0].steps(task)
            one, two = result(runs[0], task), result(run, task)
            for name in one.variables:
                np.testing.assert_array_equal(one[name], two[name], err_msg=f"{task} {name}")
    flow = result(runs[0], "flow")
    assert "dissipation" not in flow.attrs
    assert flow.attrs["kinetic_energy"] > 0


TAYLOR_GREEN = """
simulation = "turbulence"
[mesh]
cells = [16, 16, 16]
block = 8
[run]
max_steps = 4
[turbulence]
viscosity = 6.25e-4
end = 10.0
[initial]
flow = "taylor-green"
[coupling]
sidecars = {sidecars}
[task.flow]
analysis = "turbulence"
grid = "space"
at_start = true
every = 2
transport = "{transport}"
[task.vortices]
analysis = "halos"
grid = "space"
field = "q_criterion"
t_boundary = "0.3"
t_halo = "0.6"
at_start = true
transport = "{transport}"
"""


def test_a_spectral_simulation_is_measured_on_its_cells(tmp_path: Path) -> None:
    runs = []
    for transport, ranks in (("in-situ", 2), ("in-transit", 3)):
        text = TAYLOR_GREEN.format(transport=transport, sidecars=int(transport == "in-transit"))
        (tmp_path / f"{transport}.toml").write_text(text, encoding="utf-8")
        done = program(tmp_path, ranks, f"{transport}.toml", "--quiet", "--out", transport)
        assert done.returncode == 0, done.stderr
        runs.append(sidestream.open(tmp_path / transport))

    here, there = runs
    energies = {event["step"]: float(event["energy"]) for event in here.events.of("step")}
    assert here.steps("flow") == there.steps("flow") == [0, 2, 4]
    for step in here.steps("flow"):
        flow = here.result("flow", step)
        assert flow.attrs["kinetic_energy"] == pytest.approx(energies.get(step, 0.125), rel=1e-13)
        assert flow.attrs["enstrophy_dissipation"] == pytest.approx(flow.attrs["dissipation"], rel=1e-13)
        assert flow.attrs["k_max"] == 5.0  # a third of 16 is kept
        for name, column in flow.variables.items():
            np.testing.assert_array_equal(column, there.result("flow", step)[name], err_msg=str(name))
    # sin^2 x sin^2 y - cos^2 x cos^2 y of cos^2 z: eight vortices of one size.
    vortices = here.result("vortices", 0)
    assert len(vortices["id"]) == 8
    np.testing.assert_allclose(vortices["volume"], vortices["volume"][0])
