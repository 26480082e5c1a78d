"""Fourier transforms of arrays: those of NumPy, and derivatives of waves that are known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sidestream as ss
from sidestream.launch.launcher import has_mpirun, prepare

SIDES = (2.0, 3.0, 1.5)  # x, y, z
SHAPE = (10, 12, 16)  # z, y, x
ROUND_OFF = 1e-12  # of derivatives of waves of order ten
WAVE = 2 * np.pi * np.array([3, -2, 1]) / SIDES


@pytest.fixture(scope="module")
def plan() -> ss.fft.Transform:
    return ss.fft.Transform(SHAPE, box_size=SIDES)


def places() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z, y, x = (side * np.arange(n) / n for side, n in zip(SIDES[::-1], SHAPE, strict=True))
    return x[None, None, :], y[None, :, None], z[:, None, None]


def phase() -> np.ndarray:
    x, y, z = places()
    return WAVE[0] * x + WAVE[1] * y + WAVE[2] * z


@pytest.mark.parametrize("shape", [(8, 8, 8), (7, 5, 9), (1, 16, 12), (1, 1, 17), (34, 2, 3)])
def test_modes_are_those_of_numpy(shape: tuple[int, int, int]) -> None:
    field = np.random.default_rng(1).normal(size=shape)
    plan = ss.fft.Transform(shape)

    modes = plan.forward(field)

    assert np.allclose(modes, np.fft.rfftn(field), atol=1e-12)
    assert np.allclose(plan.backward(modes), field, atol=1e-14)


def test_kept_modes_are_the_long_waves_of_all() -> None:
    field = np.random.default_rng(2).normal(size=SHAPE)
    kept = (2, 5, 4)  # z, y, x
    plan = ss.fft.Transform(SHAPE, kept=kept)

    modes = plan.forward(field)

    z, y = (np.r_[0 : k + 1, -k:0] for k in kept[:2])
    assert np.array_equal(modes, ss.fft.Transform(SHAPE).forward(field)[np.ix_(z, y, range(kept[2] + 1))])


def test_gradient_of_a_wave_is_its_wave_vector(plan: ss.fft.Transform) -> None:
    assert np.allclose(plan.gradient(np.sin(phase())), WAVE[:, None, None, None] * np.cos(phase()), atol=ROUND_OFF)


def test_poisson_undoes_the_divergence_of_a_gradient(plan: ss.fft.Transform) -> None:
    field = np.sin(phase())

    assert np.allclose(plan.poisson(plan.divergence(plan.gradient(field))), field, atol=ROUND_OFF)


def test_curl_of_a_beltrami_flow_is_the_flow_times_its_wavenumber(plan: ss.fft.Transform) -> None:
    k = 2 * np.pi * 2 / SIDES[2]
    z = np.broadcast_to(places()[2], SHAPE)
    flow = np.stack([np.sin(k * z), np.cos(k * z), 0 * z])

    assert np.allclose(plan.curl(flow), k * flow, atol=10 * ROUND_OFF)


def test_projection_leaves_no_divergence(plan: ss.fft.Transform) -> None:
    flow = np.random.default_rng(4).normal(size=(3, *SHAPE))

    projected = plan.project(flow)

    assert np.allclose(plan.divergence(projected), 0, atol=100 * ROUND_OFF)
    assert np.allclose(plan.project(projected), projected, atol=ROUND_OFF)
    assert np.allclose(plan.curl(projected), plan.curl(flow), atol=100 * ROUND_OFF)


def test_low_pass_keeps_the_long_waves(plan: ss.fft.Transform) -> None:
    slow = np.broadcast_to(np.cos(2 * np.pi / SIDES[1] * places()[1]), SHAPE)

    assert np.allclose(plan.low_pass(slow + np.sin(phase()), 0.9 * float(np.linalg.norm(WAVE))), slow, atol=ROUND_OFF)


def test_what_does_not_fit_is_named(plan: ss.fft.Transform) -> None:
    with pytest.raises(ss.Error, match="shape"):
        plan.forward(np.zeros((3, 3, 3)))
    with pytest.raises(ss.Error, match="vector"):
        plan.curl(np.zeros(SHAPE))
    with pytest.raises(ss.Error, match="wavenumbers"):
        ss.fft.Transform((8, 8, 8), kept=4)
    with pytest.raises(ss.Error, match="belong together"):
        ss.fft.Transform((8, 8, 8), origin=(0, 0, 0))


def read_only(field: np.ndarray) -> np.ndarray:
    field.setflags(write=False)
    return field


def misaligned(field: np.ndarray) -> np.ndarray:
    bytes_ = np.zeros(field.nbytes + 1, np.uint8)
    moved = bytes_[1:].view(np.float64).reshape(field.shape)
    moved[...] = field
    return moved


@pytest.mark.parametrize(
    "given",
    [
        read_only,
        np.asfortranarray,
        misaligned,
        lambda field: field.astype(">f8"),
        lambda field: field[::-1, :, ::-1][::-1, :, ::-1],
        lambda field: np.repeat(field, 2, axis=2)[:, :, ::2],
        lambda field: np.ma.masked_array(field, mask=False),
        lambda field: field.tolist(),
    ],
    ids=["read-only", "Fortran", "misaligned", "big-endian", "reversed", "strided", "unmasked", "lists"],
)
def test_arrays_of_any_order_in_memory_have_the_same_modes(
    given: Callable[[np.ndarray], object], plan: ss.fft.Transform
) -> None:
    field = np.random.default_rng(3).normal(size=SHAPE)
    expected = plan.forward(field)

    assert np.array_equal(plan.forward(given(field.copy())), expected)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32, np.uint8, bool])
def test_other_numbers_are_computed_in_doubles(kind: type, plan: ss.fft.Transform) -> None:
    field = (10 * np.random.default_rng(3).random(SHAPE)).astype(kind)

    assert np.array_equal(plan.forward(field), plan.forward(field.astype(np.float64)))


def test_modes_of_any_order_in_memory_have_the_same_field(plan: ss.fft.Transform) -> None:
    modes = plan.forward(np.random.default_rng(3).normal(size=SHAPE))
    expected = plan.backward(modes)

    for given in (read_only(modes.copy()), np.asfortranarray(modes), modes.astype(">c16")):
        assert np.array_equal(plan.backward(given), expected)
    assert np.array_equal(plan.backward(modes.real), plan.backward(modes.real + 0j))


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (np.ones(SHAPE, complex), "real"),
        (np.ma.masked_array(np.ones(SHAPE), mask=True), "masked"),
        (np.ones(SHAPE, object), "`object`"),
        (np.full(SHAPE, "1.0"), "`<U3`"),
        ([[[1.0, 2.0], [3.0]]], "no array of numbers"),
        (None, "`object`"),
        (1.0, "shape"),
        (np.zeros((0, 12, 16)), "shape"),
        (np.zeros((0,)), "shape"),
    ],
    ids=["complex", "masked", "objects", "text", "ragged", "None", "number", "empty", "empty line"],
)
def test_what_has_no_transform_is_told_in_a_sentence(field: object, said: str, plan: ss.fft.Transform) -> None:
    for method in (plan.forward, plan.gradient, plan.poisson, lambda values: plan.low_pass(values, 1.0)):
        with pytest.raises(ss.Error, match=said):
            method(field)
    with pytest.raises(ss.Error):
        plan.curl(field)


@pytest.mark.parametrize("limit", [-1, float("nan"), -1e-300, "long", None, 1j])
def test_a_low_pass_has_a_limit(limit: object, plan: ss.fft.Transform) -> None:
    with pytest.raises(ss.Error, match="largest_k"):
        plan.low_pass(np.zeros(SHAPE), limit)


def test_a_low_pass_beyond_all_waves_keeps_the_field(plan: ss.fft.Transform) -> None:
    field = np.random.default_rng(5).normal(size=SHAPE)

    for limit in (1e200, float("inf"), np.float32(1e20)):
        assert np.array_equal(plan.low_pass(field, limit), plan.backward(plan.forward(field)))
    assert np.allclose(plan.low_pass(field, 0), field.mean())


@pytest.mark.parametrize(
    "box_size", [0, -1, float("nan"), float("inf"), 5e-324, 1e300, "wide", None, (1, 2), (1, 2, 3, 4), (1, 0, 1), 1j]
)
def test_a_box_has_sides(box_size: object) -> None:
    with pytest.raises(ss.Error, match="box_size"):
        ss.fft.Transform((4, 4, 4), box_size=box_size)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((0, 4, 4), "below 1"),
        ((-4, 4, 4), "below 1"),
        ((4, 4), "three whole numbers"),
        ((4.5, 4, 4), "three whole numbers"),
        ("444", "three whole numbers"),
        (None, "three whole numbers"),
        (4, "three whole numbers"),
        ((2**31, 1, 1), "no array"),
        ((2**64, 1, 1), "no array"),
        ((10**6, 10**6, 10**6), "GiB"),
        ((2**31 - 1, 2**31 - 1, 2**31 - 1), "GiB"),
    ],
    ids=str,
)
def test_absurd_shapes_are_refused(shape: object, said: str) -> None:
    with pytest.raises(ss.Error, match=said):
        ss.fft.Transform(shape)


def test_absurd_blocks_and_modes_are_refused() -> None:
    for kept in (-1, 4, 1.5, 2**40, "all", (1, 2)):
        with pytest.raises(ss.Error, match=r"kept|wavenumbers"):
            ss.fft.Transform((8, 8, 8), kept=kept)
    assert ss.fft.Transform((8, 8, 8), kept=np.int64(2)).forward(np.zeros((8, 8, 8))).shape == (5, 5, 3)
    for block in ((4, 8, 8), (8, 8, 16), (2**31, 8, 8)):
        with pytest.raises(ss.Error):
            ss.fft.Transform((8, 8, 8), origin=(0, 0, 0), block=block)
    with pytest.raises(ss.Error, match="comm"):
        ss.fft.Transform((8, 8, 8), comm="world")


@pytest.mark.skipif(not has_mpirun(), reason="needs mpirun")
def test_an_exchange_that_there_is_not_is_told_with_those_there_are() -> None:
    for wrong in ("p2q", 3):
        with pytest.raises(ss.Error, match=f"no exchange strategy `{wrong}`") as caught:
            ss.fft.Transform(SHAPE, exchange=wrong)  # type: ignore[arg-type]
        assert "alltoallv" in caught.value.hint


def test_threads_that_cannot_be_are_refused() -> None:
    with pytest.raises(ss.Error, match="no mode of threads `many`"):
        ss.fft.Transform(SHAPE, threads=2, thread_mode="many")
    for wrong in (0, 2.5, True, 10**6):
        with pytest.raises(ss.Error, match="threads"):
            ss.fft.Transform(SHAPE, threads=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_blocks_on_ranks_have_the_modes_of_the_whole(ranks: int, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    script = Path(__file__).with_name("mpi_fft.py")
    launch = prepare(Path(sys.executable), [str(script)], ranks)
    package = Path(ss.__file__).parents[1]
    path = os.pathsep.join([str(package), launch.environment.get("PYTHONPATH", "")])

    done = subprocess.run(
        launch.command,
        env=launch.environment | {"PYTHONPATH": path, "SIDESTREAM_WISDOM": str(tmp_path / "wisdom.json")},
        capture_output=True,
        text=True,
        timeout=180,
    )

    assert done.returncode == 0, done.stderr
