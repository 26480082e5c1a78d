"""Forms of a turbulence run's checkpoints: what NumPy finds in them, what a restart makes of them, what they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sidestream
from calls import program
from tiers import slow

Array = NDArray[np.complex128]

VELOCITY = ("velocity_x", "velocity_y", "velocity_z")
RELAY = 'format = "files", files = 1, ranks_per_file = 2'
ROUNDING = {"double": 1e-13, "single": 1e-6}


@dataclass(frozen=True)
class Flow:
    """Random waves with a mean flow and a scalar."""

    cells: tuple[int, int, int] = (24, 16, 8)
    length: tuple[float, float, float] = (6.0, 5.0, 4.0)
    dealiasing: str = "two-thirds"

    def config(self, steps: int, output: str) -> str:
        return f"""simulation = "turbulence"
[mesh]
cells = {list(self.cells)}
block = 8
[run]
max_steps = {steps}
[turbulence]
length = {list(self.length)}
viscosity = 0.02
dt = 0.01
end = 10.0
dealiasing = "{self.dealiasing}"
[initial]
flow = "random"
peak = 2.0
mean = [0.3, -0.2, 0.7]
[scalar.dye]
mean_gradient = [0.0, 1.0, 0.0]
[output]
checkpoint = {{ {output} }}
"""

    @property
    def highest(self) -> NDArray[np.int64]:
        """The most whole waves along x, y and z."""
        cells = np.array(self.cells)
        if self.dealiasing == "two-thirds":
            return (cells - 1) // 3
        return np.array([max(n for n in range(c) if 4.5 * (n / c) ** 2 <= 1) for c in self.cells])

    def waves(self) -> NDArray[np.int64]:
        """Whole waves (axis, z, y, x) of the modes that are stored in planes."""
        high = self.highest
        signed = [np.r_[0 : high[a] + 1, -high[a] : 0] for a in (1, 2)]
        z, y, x = np.meshgrid(signed[1], signed[0], np.arange(high[0] + 1), indexing="ij")
        return np.stack([x, y, z])

    def kept(self) -> NDArray[np.bool_]:
        if self.dealiasing == "two-thirds":
            return np.ones(self.waves().shape[1:], bool)
        share = 4.5 * (self.waves() / np.array(self.cells)[:, None, None, None]) ** 2
        return share[0] + (share[1] + share[2]) <= 1


def amplitudes(file: sidestream.SnapshotFile, name: str) -> Array:
    return file[f"{name}_real"].values + 1j * file[f"{name}_imag"].values


def in_planes(file: sidestream.SnapshotFile, name: str, flow: Flow) -> Array:
    """Waves of any form where they lie in planes."""
    rows = amplitudes(file, name)
    if "kept_cells_x" not in file.state_numbers:
        return rows
    planes = np.zeros(flow.waves().shape[1:], complex)
    planes[flow.kept()] = rows.ravel()[: flow.kept().sum()]
    return planes


def state(run: sidestream.Run, flow: Flow, which: int = -1) -> Array:
    """Velocity and scalar (component, z, y, x) of a checkpoint of any form."""
    file = sidestream.SnapshotFile(sorted(run.folder.glob("chk*"))[which])
    if "velocity_first_real" not in file.fields:
        return np.array([in_planes(file, name, flow) for name in (*VELOCITY, "dye")])
    first, second, dye = (in_planes(file, name, flow) for name in ("velocity_first", "velocity_second", "dye"))
    wave = 2 * np.pi * flow.waves() / np.array(flow.length)[:, None, None, None]
    x, y, z = np.abs(wave)
    left_out = np.where((x > y) & (x > z), 0, np.where(y > z, 1, 2))
    zero = 0 * first
    u = np.select(
        [left_out == 0, left_out == 1],
        [np.array([zero, first, second]), np.array([first, zero, second])],
        np.array([first, second, zero]),
    )
    rest = -np.sum(wave * u, axis=0)
    for axis in range(3):
        here = left_out == axis
        u[axis][here] = rest[here] / np.where(wave[axis] == 0, 1, wave[axis])[here]
    u[2, 0, 0, 0] = file.state_numbers["mean_velocity_z"]
    return np.array([*u, dye])


def run(folder: Path, name: str, ranks: int, text: str, *words: str) -> sidestream.Run:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    done = program(folder, ranks, f"{name}.toml", "--quiet", "--out", name, *words)
    assert done.returncode == 0, done.stderr
    return sidestream.open(folder / name)


def difference(one: Array, other: Array) -> float:
    """The largest of an amplitude, over the root mean square of the velocity's."""
    return float(np.max(np.abs(one - other)) / np.sqrt(np.mean(np.abs(other[:3]) ** 2)))


def last(run: sidestream.Run) -> dict[str, object]:
    return run.events.of("run_end")[-1]


def output(form: str = "", precision: str = "double", more: str = 'format = "raw"', every: int = 10) -> str:
    return f'state = "{form}", precision = "{precision}", {more}, every = {every}, keep = 9'


FLOWS = {
    "cuboid": Flow(),
    "ellipsoid": Flow(cells=(8, 16, 24), dealiasing="phase-shift"),
    "plane": Flow(cells=(16, 16, 1)),
    "slender": Flow(cells=(8, 8, 64), length=(1.0, 1.0, 40.0)),
}


@pytest.fixture(scope="module")
def whole_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Flow], sidestream.Run]:
    """Twenty steps of a flow, on two ranks, with checkpoints of all bits after ten."""

    @cache
    def made(flow: Flow) -> sidestream.Run:
        return run(tmp_path_factory.mktemp("whole"), "whole", 2, flow.config(20, output()))

    return made


# Each form and each precision of one flow, and of the others what their waves are stored as; the rest is slow.
FORMS = [
    ("cuboid", "", "double"),
    ("cuboid", "", "single"),
    ("cuboid", "two-components", "double"),
    ("ellipsoid", "kept", "double"),
    ("ellipsoid", "two-components", "double"),
    ("plane", "", "double"),
    ("plane", "two-components", "double"),
]
MORE_FORMS = [
    case for case in product(FLOWS, ("", "kept", "two-components"), ("double", "single")) if case not in FORMS
]


@pytest.mark.parametrize(("name", "form", "precision"), [*FORMS, *slow(*MORE_FORMS)])
def test_a_run_goes_on_from_every_form_of_its_state(
    tmp_path: Path, whole_of: Callable[[Flow], sidestream.Run], name: str, form: str, precision: str
) -> None:
    flow = FLOWS[name]
    whole = whole_of(flow)
    parts = run(tmp_path, "parts", 3, flow.config(10, output(form, precision)))
    written = state(parts, flow)
    assert difference(written, state(whole, flow, 0)) <= (
        0 if not form and precision == "double" else ROUNDING[precision]
    )

    run(tmp_path, "parts", 1, flow.config(20, output()), "--restart")

    wanted, found = state(whole, flow), state(parts, flow)
    assert difference(found, wanted) < ROUNDING[precision]
    if precision == "double" and form != "two-components":
        np.testing.assert_array_equal(found, wanted)
    assert float(last(parts)["divergence"]) < 1e-14
    assert float(last(parts)["energy"]) == pytest.approx(float(last(whole)["energy"]), rel=ROUNDING[precision])
    np.testing.assert_allclose(found[:3, 0, 0, 0], [0.3, -0.2, 0.7], rtol=ROUNDING[precision])


@pytest.mark.parametrize("name", ["ellipsoid", *slow("cuboid", "plane", "slender")])
def test_two_components_are_those_of_the_whole(
    tmp_path: Path, whole_of: Callable[[Flow], sidestream.Run], name: str
) -> None:
    flow = FLOWS[name]
    whole = whole_of(flow)
    for ranks in (1, 4):
        two = run(tmp_path, f"on{ranks}", ranks, flow.config(10, output("two-components")))
        assert difference(state(two, flow), state(whole, flow, 0)) < ROUNDING["double"]


def test_a_run_with_other_cells_begins_with_the_waves_that_both_have(tmp_path: Path) -> None:
    coarse, fine = Flow(cells=(16, 16, 16)), Flow(cells=(32, 24, 40))
    for start, end in ((coarse, fine), (fine, coarse)):
        name = f"from{start.cells[0]}"
        first = run(tmp_path, name, 2, start.config(4, output("two-components", "single", every=4)))
        file = next(first.folder.glob("chk*"))

        there = run(
            tmp_path, f"{name}_on", 3, end.config(4, output(every=4) + ", at_start = true"), "--from", str(file)
        )

        before, after = state(first, start), state(there, end, 0)
        waves = {tuple(w): n for n, w in enumerate(start.waves().reshape(3, -1).T)}
        both = [waves.get(tuple(w), -1) for w in end.waves().reshape(3, -1).T]
        wanted = np.where(np.array(both) < 0, 0, before.reshape(4, -1)[:, both])
        np.testing.assert_allclose(after.reshape(4, -1), wanted, atol=1e-15 * np.abs(wanted).max() * 10)


@pytest.fixture(scope="module")
def unshared(tmp_path_factory: pytest.TempPathFactory) -> sidestream.Run:
    return run(tmp_path_factory.mktemp("unshared"), "whole", 1, Flow().config(6, output(every=2)))


ONE_EACH = [f"data_00{rank // 2}/rank_00000{rank}" for rank in range(4)]
OF_TWO, OF_THREE = (["data_000/rank_000000", f"data_000/rank_00000{second}"] for second in (2, 3))
OF_ALL = ["data_000/rank_000000"]
SHARES = {1: ONE_EACH, 3: OF_THREE, 0: OF_TWO, 2: OF_TWO, 9: OF_ALL}


@pytest.mark.parametrize("ranks_per_file", [1, 3, *slow(0, 2, 9)])
def test_ranks_share_data_files_in_turn(ranks_per_file: int, unshared: sidestream.Run, tmp_path: Path) -> None:
    flow = Flow()
    more = f'format = "files", files = 1, ranks_per_file = {ranks_per_file}'
    shared = run(tmp_path, "shared", 4, flow.config(4, output(more=more, every=4)))
    np.testing.assert_array_equal(state(shared, flow), state(unshared, flow, -2))
    run(tmp_path, "shared", 3, flow.config(6, output(every=6)), "--restart")
    np.testing.assert_array_equal(state(shared, flow), state(unshared, flow))
    folder = next(shared.folder.glob("chk*.files"))
    assert sorted(str(path.relative_to(folder)) for path in folder.glob("data*/*")) == SHARES[ranks_per_file]


@pytest.mark.parametrize("form", ["two-components", *slow("")])
def test_a_data_file_that_is_missing_is_named(tmp_path: Path, form: str) -> None:
    run(tmp_path, "flow", 4, Flow().config(8, output(form, more=RELAY, every=4)))
    (tmp_path / "flow/chk00008.files/data_000/rank_000002").unlink()

    begun = program(tmp_path, 2, "flow.toml", "--from", "flow/chk00008.files", "--out", "other")
    again = program(tmp_path, 4, "flow.toml", "--out", "flow", "--restart", "--set", "run.max_steps=6")

    assert begun.returncode == 1
    assert "chk00008.files/data_000/rank_000002" in begun.stderr
    assert again.returncode == 0, again.stderr
    assert "passed over the checkpoint flow/chk00008.files" in again.stderr
    assert "chk00008.files/data_000/rank_000002" in again.stderr
    assert "started from flow/chk00004.files" in again.stderr

    for path in (tmp_path / "flow").glob("chk*/data_000/rank_000002"):
        path.unlink()
    none = program(tmp_path, 3, "flow.toml", "--out", "flow", "--restart")
    assert none.returncode == 1
    assert "there is no good checkpoint" in none.stderr
    assert "data_000/rank_000002" in none.stderr


def size(path: Path) -> int:
    return sum(p.stat().st_size for p in ([path] if path.is_file() else path.rglob("*")) if p.is_file())


def test_bytes_are_those_of_the_docs(tmp_path: Path) -> None:
    """Of a cube without scalars, over three doubles a cell."""
    cells, sizes = 64, {}
    for dealiasing in ("two-thirds", "phase-shift"):
        for form, precision in (
            ("", "double"),
            ("kept", "double"),
            ("two-components", "double"),
            ("two-components", "single"),
        ):
            text = Flow((cells,) * 3, (6.0,) * 3, dealiasing).config(0, output(form, precision) + ", at_start = true")
            text = text.replace("[scalar.dye]\nmean_gradient = [0.0, 1.0, 0.0]\n", "").replace(
                "block = 8", "block = 32"
            )
            one = run(tmp_path, f"{dealiasing}_{form}_{precision}", 1, text)
            sizes[dealiasing, form, precision] = size(next(one.folder.glob("chk*"))) / (24 * cells**3)
    for dealiasing, whole, kept in (("two-thirds", 0.313, 0.313), ("phase-shift", 0.86, 0.45)):
        of = {key[1:]: value for key, value in sizes.items() if key[0] == dealiasing}
        assert of["", "double"] == pytest.approx(whole, rel=0.03)
        assert of["kept", "double"] == pytest.approx(kept, rel=0.03)
        assert of["two-components", "double"] == pytest.approx(of["kept", "double"] * 2 / 3, rel=0.02)
        assert of["two-components", "single"] == pytest.approx(of["kept", "double"] / 3, rel=0.03)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    def told(text: str) -> str:
        (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
        done = program(tmp_path, 1, "bad.toml", "--out", "bad")
        assert done.returncode == 2
        return done.stderr

    assert "two-components" in told(Flow().config(1, output("two-component")))
    sod = 'simulation = "sod"\n[mesh]\ncells = [64, 1, 1]\nblock = 16\n[output]\n'
    assert "has one form of its state" in told(sod + 'checkpoint = { every = 1, state = "kept" }\n')
    assert '"half" is no choice' in told(Flow().config(1, output(precision="half")))


def test_gas_goes_on_from_single_precision(tmp_path: Path) -> None:
    sod = """simulation = "sod"
[mesh]
cells = [64, 1, 1]
block = 16
[run]
max_steps = {}
[output]
checkpoint = {{ every = 10, precision = "{}", keep = 9 }}
"""
    whole = run(tmp_path, "whole", 2, sod.format(20, "double"))
    run(tmp_path, "parts", 2, sod.format(10, "single"))

    parts = run(tmp_path, "parts", 1, sod.format(20, "double"), "--restart")

    one, other = (sidestream.SnapshotFile(r.folder / "chk00020.hdf5_chk")["density"].values for r in (whole, parts))
    assert 0 < np.max(np.abs(one - other)) < 1e-6
