"""Steps of ADIOS2 as snapshots, against what was written; the example as it stands, on ranks and beside its writer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sidestream
from sidestream.error import Error
from sidestream.launch.launcher import has_mpirun, prepare

adios2 = pytest.importorskip("adios2")
EXAMPLES = Path(__file__).parents[2] / "examples" / "adios"
SHAPE = (6, 5, 4)  # z, y, x


def values(step: int) -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1000.0 * step


def write(path: Path, name: str = "rho", steps: int = 2, dtype=np.float64, **attributes) -> Path:
    """A field in two blocks along z; attributes stand with the variable."""
    with adios2.Stream(str(path), "w") as stream:
        for step in stream.steps(steps):
            number = step.current_step()
            field = values(number).astype(dtype)
            for first, end in ((0, 2), (2, SHAPE[0])):
                step.write(
                    name, np.ascontiguousarray(field[first:end]), SHAPE, (first, 0, 0), (end - first, *SHAPE[1:])
                )
            step.write("time", 0.25 * number)
            step.write("counts", np.arange(4, dtype=np.int32), [4], [0], [4])
            if number == 0:
                for attribute, value in attributes.items():
                    step.write_attribute(attribute, value, name)
    return path


def test_a_file_opens_with_its_last_step(tmp_path: Path) -> None:
    snapshot = sidestream.open(
        write(tmp_path / "a.bp", spacing=[0.5, 1.0, 2.0], origin=[1.0, 2.0, 3.0], units="g/cm^3")
    )

    assert (snapshot.format, snapshot.seal, snapshot.fields) == ("adios", "none", ["rho"])
    assert snapshot.cells() == SHAPE[::-1]
    assert snapshot.box_size == (8.0, 5.0, 3.0)
    assert snapshot.origin == (3.0, 2.0, 1.0)
    assert snapshot.units == {"rho": "g/cm^3"}
    assert snapshot.attrs["time"] == 0.25
    assert np.array_equal(snapshot["rho"].values, values(1))
    assert snapshot["rho"].x.values[0] == 4.0


def test_a_file_draws_itself(tmp_path: Path) -> None:
    plot = sidestream.open(write(tmp_path / "plt.bp"))

    (mean,) = plot.plot("rho", axis="x")
    (cut,) = plot.plot("rho", at=float(plot.box_size[2]) / 2)

    image = mean.figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(np.sort(np.ravel(image)), np.sort(np.ravel(values(1).mean(axis=2))), rtol=1e-12)
    assert "Cut across z" in cut.caption
    with pytest.raises(sidestream.Error, match="no field `tea`"):
        plot.plot("tea")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_step_is_there_by_the_names_of_the_caller(tmp_path: Path, dtype) -> None:
    path = write(tmp_path / "a.bp", dtype=dtype)
    snapshots = list(
        sidestream.adios_steps(path, {"density": "rho"}, box_size=8.0, length_unit="cm", units={"density": "g/cm^3"})
    )

    assert [snapshot.attrs["time"] for snapshot in snapshots] == [0.0, 0.25]
    assert snapshots[0].box_size == (8.0, 10.0, 12.0)
    assert (snapshots[0].length_unit, snapshots[0].units) == ("cm", {"density": "g/cm^3"})
    for number, snapshot in enumerate(snapshots):
        assert np.array_equal(snapshot["density"].values, values(number))


@pytest.mark.parametrize("engine", ["BP4", "BP5"])
def test_a_step_has_its_own_variables_in_their_present_size(tmp_path: Path, engine: str) -> None:
    io = adios2.Adios().declare_io("writer")
    io.set_engine(engine)
    with adios2.Stream(io, str(tmp_path / "a.bp"), "w") as stream:
        for step in stream.steps(4):
            number = step.current_step()
            field = values(number)
            if number % 2 == 1:
                step.write("odd", field, SHAPE, (0, 0, 0), SHAPE)
            else:
                step.write(
                    "even", field[: number + 2].copy(), (number + 2, *SHAPE[1:]), (0, 0, 0), field[: number + 2].shape
                )
                step.write("time", float(number))

    snapshots = list(sidestream.adios_steps(tmp_path / "a.bp"))

    assert [snapshot.fields for snapshot in snapshots] == [["even"], ["odd"], ["even"], ["odd"]]
    for number, snapshot in enumerate(snapshots):
        expected = values(number)[: None if number % 2 else number + 2]
        assert np.array_equal(snapshot[snapshot.fields[0]].values, expected)
    assert [snapshot.attrs["time"] for snapshot in snapshots] == [0.0, 0.0, 2.0, 0.0]
    assert sidestream.open(tmp_path / "a.bp").fields == ["odd"]


def test_what_tells_nothing_is_passed_over(tmp_path: Path) -> None:
    with adios2.Stream(str(tmp_path / "a.bp"), "w") as stream:
        stream.write("rho", values(0), SHAPE, (0, 0, 0), SHAPE)
        for name, value in (("time", "late"), ("step", "first"), ("spacing", [1.0, -1.0, 1.0]), ("origin", "here")):
            stream.write_attribute(name, value)

    snapshot = sidestream.open(tmp_path / "a.bp")

    assert (snapshot.attrs["time"], snapshot.attrs["step"]) == (0.0, 0)
    assert (snapshot.box_size, snapshot.origin) == ((4.0, 5.0, 6.0), (0.0, 0.0, 0.0))


def test_openpmd_names_are_understood(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bp", "/data/40/meshes/B/x", steps=1, gridSpacing=[1.0, 2.0, 3.0])
    snapshot = sidestream.open(path)

    assert snapshot.fields == ["B_x"]
    assert snapshot.attrs["step"] == 40
    assert snapshot.box_size == (12.0, 10.0, 6.0)


def test_the_analyses_are_those_of_the_array(tmp_path: Path) -> None:
    snapshot = sidestream.open(write(tmp_path / "a.bp", spacing=[2.0, 2.0, 2.0]))

    expected = sidestream.power_spectrum(values(1), snapshot.box_size)

    assert np.array_equal(snapshot.power_spectrum("rho").power.values, expected.power.values)
    options = {"t_boundary": "1.02 mean", "t_halo": "1.03 mean"}
    halos = sidestream.halos(values(1), snapshot.box_size, **options)
    assert np.array_equal(snapshot.halos("rho", **options).mass.values, halos.mass.values) and halos.sizes["halo"] > 0
    snapshot.derive("twice", "2 * rho")
    assert np.array_equal(snapshot["twice"].values, 2 * values(1))


def test_each_rank_has_its_part(tmp_path: Path) -> None:
    class Rank:
        def __init__(self, rank: int, size: int) -> None:
            self.rank, self.size = rank, size

    snapshot = sidestream.open(write(tmp_path / "a.bp"))
    for size in (1, 2, 5, 7):
        parts = [snapshot.block("rho", Rank(rank, size)) for rank in range(size)]

        assert np.array_equal(np.concatenate([part for part, _ in parts]), values(1))
        assert [origin[0] for _, origin in parts] == [SHAPE[0] * rank // size for rank in range(size)]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bp")
    with pytest.raises(Error, match="no three-dimensional array `density`"):
        list(sidestream.adios_steps(path, {"density": "density"}))
    with pytest.raises(Error, match="`box_size`"):
        list(sidestream.adios_steps(path, box_size=-1.0))
    with pytest.raises(Error, match="no BP file"):
        list(sidestream.adios_steps(tmp_path))
    with pytest.raises(Error, match="there is no field `b`"):
        sidestream.open(path).covering_grid("b")
    with adios2.Stream(str(tmp_path / "flat.bp"), "w") as stream:
        stream.write("a", np.arange(4.0), [4], [0], [4])
    with pytest.raises(Error, match="no three-dimensional global array"):
        sidestream.open(tmp_path / "flat.bp")
    with adios2.Stream(str(tmp_path / "one.bp"), "w") as stream:
        for name in ("/data/1/meshes/a/b", "a_b"):
            stream.write(name, np.zeros(SHAPE), SHAPE, (0, 0, 0), SHAPE)
    with pytest.raises(Error, match="one name"):
        sidestream.open(tmp_path / "one.bp")
    with adios2.Stream(str(tmp_path / "two.bp"), "w") as stream:
        for name, n in (("a", 2), ("b", 3)):
            stream.write(name, np.zeros((n, n, n)), [n] * 3, [0] * 3, [n] * 3)
    with pytest.raises(Error, match="different sizes"):
        sidestream.open(tmp_path / "two.bp")
    with pytest.raises(Error, match="ADIOS2 cannot read it"):
        list(sidestream.adios_steps(tmp_path / "nobody", engine="SST", timeout=0.2))


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bp")
    (path / "md.idx").write_bytes((path / "md.idx").read_bytes()[:70])
    with pytest.raises(Error):
        sidestream.open(path)


def test_a_file_whose_writer_has_written_nothing_yet_is_an_error(tmp_path: Path) -> None:
    for engine in ("BP4", "BP5"):
        io = adios2.Adios().declare_io(engine)
        io.set_engine(engine)
        path = tmp_path / f"{engine}.bp"
        with adios2.Stream(io, str(path), "w") as stream:
            stream.write("rho", values(0), SHAPE, (0, 0, 0), SHAPE)
        (path / "md.idx").write_bytes(b"")
        with pytest.raises(Error, match="no step"):
            sidestream.open(path)


STREAM_WRITER = """
import sys, time, adios2, numpy
io = adios2.Adios().declare_io("writer")
io.set_engine("SST")
with adios2.Stream(io, sys.argv[1], "w") as stream:
    for step in stream.steps(5):
        stream.write("rho", numpy.ones((2, 2, 2)), [2, 2, 2], [0, 0, 0], [2, 2, 2])
        if step.current_step() == int(sys.argv[2]):
            time.sleep(60)
"""


def test_a_stream_ends_where_its_writer_says_so_and_not_where_it_dies(tmp_path: Path) -> None:
    for last, steps in ((2, 2), (99, 5)):
        name = tmp_path / f"stream{last}"
        writer = subprocess.Popen([sys.executable, "-c", STREAM_WRITER, str(name), str(last)], stderr=subprocess.PIPE)
        came = []
        try:
            for snapshot in sidestream.adios_steps(name, engine="SST", timeout=60):
                came.append(snapshot.attrs["step"])
                if len(came) == last:
                    writer.kill()
            assert last == 99
        except Error as error:
            assert last == 2 and "the writer has gone" in str(error)
        finally:
            writer.kill()
            writer.communicate()
        assert came == list(range(steps))


def run(script: str, *words: object, ranks: int = 1) -> subprocess.Popen[str]:
    package = Path(sidestream.__file__).parents[1]
    launch = prepare(Path(sys.executable), [str(EXAMPLES / script), *map(str, words)], ranks)
    path = os.pathsep.join([str(package), launch.environment.get("PYTHONPATH", "")])
    return subprocess.Popen(
        launch.command,
        env=launch.environment | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out


@pytest.mark.skipif(not has_mpirun(), reason="needs mpirun")
def test_the_example_finds_the_clumps_of_each_step_on_any_ranks(tmp_path: Path) -> None:
    output_of(run("writer.py", tmp_path / "clumps.bp"))

    alone, together = (output_of(run("halos.py", tmp_path / "clumps.bp", ranks=ranks)) for ranks in (1, 3))

    assert alone == together
    assert [line.split("  ")[2].split()[0] for line in alone.splitlines()] == ["2", "2", "2"]
    assert [line.split()[1] for line in alone.splitlines()] == ["0", "1", "2"]


@pytest.mark.skipif(not has_mpirun(), reason="needs mpirun")
def test_the_example_runs_beside_its_writer(tmp_path: Path) -> None:
    output_of(run("writer.py", tmp_path / "clumps.bp"))
    from_file = output_of(run("halos.py", tmp_path / "clumps.bp"))

    writer = run("writer.py", tmp_path / "stream", "SST")
    from_stream = output_of(run("halos.py", tmp_path / "stream", "SST"))
    output_of(writer)

    assert from_stream == from_file
