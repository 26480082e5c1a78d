"""Sessions of Python programs: meshes, arrays of any kind, particles, knobs, and what is refused."""

from __future__ import annotations

import itertools
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yt

import sidestream
from calls import command
from hosts import launch
from test_faults import results
from tiers import slow
from waiting import until

SLICE = """
[task.slice]
analysis = "slice"
fields = ["height"]
every = 1
"""
SHAPE = (8, 12, 16)


def opened(folder: Path, text: str = SLICE, name: str = "run", **options: Any) -> sidestream.Session:
    (folder / "tasks.toml").write_text(text)
    return sidestream.session(folder / "tasks.toml", folder / name, quiet=True, **options)


def heights() -> np.ndarray:
    return np.random.default_rng(7).uniform(1.0, 2.0, SHAPE)


def heights_of(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(1.0, 2.0, shape)


def run_with(folder: Path, array: Any, name: str, text: str = SLICE, **mesh: Any) -> dict[str, dict[str, bytes]]:
    with opened(folder, text, name) as run:
        run.mesh(SHAPE, **mesh)
        run.field("height", array)
        run.begin()
        run.step(1, 1.0)
    assert run.status == "finished"
    return results(folder / name)


FILE = '[output]\nplotfile = { format = "raw", every = 1, precision = "double" }\n'


@pytest.mark.parametrize("transport", ["in-situ", "async"])
def test_arrays_of_any_order_type_and_rim_are_the_same_numbers(transport: str, tmp_path: Path) -> None:
    text = SLICE + f'position = 0.4\ntransport = "{transport}"\n' + FILE
    values = np.round(64.0 * heights())
    expected = run_with(tmp_path, values, "plain", text)
    assert len(expected) == 2
    rim = np.full(tuple(n + 4 for n in SHAPE), np.nan)
    rim[2:-2, 2:-2, 2:-2] = values
    wide = np.zeros((*SHAPE, 3))
    wide[..., 1] = values
    arrays: dict[str, tuple[Any, dict[str, Any]]] = {
        "fortran": (np.asfortranarray(values), {}),
        "float32": (values.astype(np.float32), {}),
        "int16": (values.astype(np.int16), {}),
        "interleaved": (wide[..., 1], {}),
        "backwards": (values[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1], {}),
        "rim": (rim, {"ghosts": 2}),
        "blocks": (
            [values[:3], values[3:, :5].copy(), values[3:, 5:].copy()],
            {"blocks": [np.s_[0:3, :, :], np.s_[3:, 0:5, :], np.s_[3:, 5:, :]]},
        ),
    }
    for name, (array, mesh) in arrays.items():
        assert run_with(tmp_path, array, name, text, **mesh) == expected, name
        written = sidestream.open(tmp_path / name / "plt00001.raw").covering_grid("height")
        np.testing.assert_array_equal(written, values, err_msg=name)


def test_the_configuration_of_a_session_analyses_its_files(tmp_path: Path) -> None:
    run_with(tmp_path, heights(), "run", SLICE + FILE)
    plots = sorted((tmp_path / "run").glob("plt*"))

    done = command(tmp_path, "analyze", *plots, "--config", "tasks.toml", "--out", "again", "-n", 1)

    assert done.returncode == 0, done.stderr
    for step in (0, 1):
        again, own = (sidestream.open(tmp_path / folder).result("slice", step)["height"] for folder in ("again", "run"))
        np.testing.assert_array_equal(again, own)
    assert not list((tmp_path / "again").glob("plt*"))


def test_finer_blocks_hide_what_they_cover_and_yt_sees_the_same_cells(tmp_path: Path) -> None:
    coarse, fine = np.ones((8, 8, 8)), np.full((4, 8, 6), 5.0)
    output = '[output]\nplotfile = { format = "nyx", every = 1, variables = ["gas_density"] }\n'
    with opened(tmp_path, output) as run:
        blocks = [np.s_[0:4, :, :], np.s_[4:8, :, :], np.s_[6:10, 2:10, 4:10]]
        run.mesh((8, 8, 8), blocks=blocks, levels=[0, 0, 1], periodic=(False, True, True))
        run.field("gas_density", [coarse[:4], coarse[4:], fine], unit="Msun/Mpc3")
        run.begin()
    dataset = yt.load(str(tmp_path / "run" / "plt00000"))
    assert dataset.periodicity == (True, True, False)
    data = dataset.all_data()
    density, volume = (data["boxlib", name] for name in ("density", "cell_volume"))
    share = volume / volume.sum()
    assert float((share * density / density.min()).sum()) == pytest.approx(
        1.0 + 4.0 * fine.size / 8.0 / 512.0, rel=1e-12
    )
    assert np.count_nonzero(density > 2.0 * density.min()) == fine.size


def test_particles_go_to_where_their_cells_are_and_come_back_from_a_checkpoint(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    ids, positions = np.arange(500), [rng.uniform(0.0, 8.0, 500) for _ in range(3)]
    output = '[output]\ncheckpoint = { format = "raw", every = 1 }\n'

    def given(run: sidestream.Session) -> tuple[int, float]:
        run.mesh((8, 8, 8))
        run.field("height", np.ones((8, 8, 8)))
        run.particles("tracers", ids, positions, attributes={"age": ids / 7.0}, units={"age": "Myr"})
        return run.begin()

    with opened(tmp_path, output) as run:
        given(run)
        run.step(1, 0.5)
    with opened(tmp_path, output, existing="resume") as run:
        assert given(run) == (1, 0.5)
        assert run.is_restarted
        back = run.restored_particles("tracers")
    order = np.argsort(back["id"])
    assert np.array_equal(back["id"][order], ids)
    assert np.array_equal(back["age"][order], ids / 7.0)
    for word, along in zip("xyz", positions, strict=True):
        assert np.array_equal(back[word][order], along)


def test_a_particle_that_is_nowhere_is_told_with_its_kind(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ids, positions = 10 * np.arange(5), [np.ones(5), np.ones(5), np.array([1.0, 2.0, 3.0, np.nan, 5.0])]
    with opened(tmp_path, '[output]\ncheckpoint = { format = "raw", every = 1 }\n') as run:
        run.mesh((8, 8, 8))
        run.field("height", np.ones((8, 8, 8)))
        run.particles("tracers", ids, positions)
        run.begin()
        run.step(1, 0.5)
    told = capfd.readouterr().out
    assert "error: particle 3, of the id 30, is at z = nan\n  --> species `tracers`\nhint: look at the step" in told


def test_units_are_those_that_are_told_and_no_others(tmp_path: Path) -> None:
    text = '[task.slice]\nanalysis = "slice"\nfields = ["gas_density", "temperature"]\nevery = 1\n'
    with opened(tmp_path, text) as run:
        run.mesh(SHAPE)
        run.field("gas_density", heights())
        run.field("temperature", heights(), unit="eV")
        run.begin()
    found = sidestream.open(tmp_path / "run")["slice"]
    assert found["gas_density"].attrs.get("units", "") == ""
    assert found["temperature"].attrs["units"] == "eV"


def test_what_is_wanted_and_when_is_told_before_the_step(tmp_path: Path) -> None:
    text = SLICE.replace("every = 1", "every = 3\nat_time = [0.25]")
    with opened(tmp_path, text) as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        run.begin()
        assert run.next_time(0.0) == 0.25
        assert run.next_time(0.3) is None
        wanted = []
        for step in range(1, 7):
            wanted.append(run.wants("height"))
            run.step(step, 0.1 * step)
    assert wanted == [False, False, True, False, False, True]
    assert [int(Path(name).stem) for name in results(tmp_path / "run")] == [0, 3, 6]


def test_a_run_ends_where_its_configuration_or_its_program_says(tmp_path: Path) -> None:
    with opened(tmp_path, "[run]\nmax_steps = 3\n" + SLICE) as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        step, time = run.begin()
        while run.goes_on:
            step += 1
            run.step(step, time)
    assert step == 3
    with opened(tmp_path, SLICE.replace("every = 1", "at_end = true"), "ended") as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        run.begin()
        run.done(1.0)
        run.step(1, 1.0)
        assert not run.goes_on
    assert [int(Path(name).stem) for name in results(tmp_path / "ended")] == [1]


def test_a_number_of_the_program_is_steered(tmp_path: Path) -> None:
    with opened(tmp_path, "[run]\nsteering = true\n" + SLICE) as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        run.add_knob("conductivity", 0.5, 0.0, 2.0, "of heat")
        run.begin()
        steered = command(tmp_path, "steer", "run", "set", "host.conductivity", 0.75)
        assert steered.returncode == 0, steered.stderr
        beyond = command(tmp_path, "steer", "run", "set", "host.conductivity", 7)
        assert beyond.returncode != 0
        for step in range(1, 4):
            run.step(step, step)
        assert run.knob("conductivity") == 0.75


def test_a_run_in_the_folder_is_refused_replaced_or_gone_on_with(tmp_path: Path) -> None:
    run_with(tmp_path, heights(), "run")
    with pytest.raises(sidestream.Error, match="holds an earlier run"):
        run_with(tmp_path, heights(), "run")
    with pytest.raises(sidestream.Error, match="no way `anew`"):
        opened(tmp_path, existing="anew")
    with opened(tmp_path, existing="overwrite") as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        assert run.begin() == (0, 0.0)


def read_only(kind: str, values: np.ndarray, folder: Path) -> np.ndarray:
    if kind == "bytes":
        return np.frombuffer(values.tobytes()).reshape(values.shape)
    if kind == "memmap":
        values.tofile(folder / "values.bin")
        return np.memmap(folder / "values.bin", dtype="f8", mode="r", shape=values.shape)
    if kind == "broadcast":
        return np.broadcast_to(values[:1, :1], values.shape)
    if kind == "one number for many cells":
        one = values[:1, :1].copy()
        return np.lib.stride_tricks.as_strided(one, values.shape, (0, 0, one.strides[2]))
    copy = values.copy()
    copy.flags.writeable = False
    return copy


CHECKPOINT = '[output]\ncheckpoint = { format = "raw", every = 1 }\n'


@pytest.mark.parametrize("form", ["raw", "sidestream", "nyx", *slow("enzo-hdf5", "flash", "files")])
def test_fields_that_have_the_names_of_files_are_filled_by_a_restart(form: str, tmp_path: Path) -> None:
    text = CHECKPOINT.replace("raw", form)
    names = ("density", "x_velocity", "Temp", "Density", "height")
    expected = {name: (n + 1) * heights() for n, name in enumerate(names) if name != "Density" or form != "enzo-hdf5"}
    filled = {name: np.zeros(SHAPE) for name in expected}
    for arrays in (expected, filled):
        with opened(tmp_path, text, existing="resume") as run:
            run.mesh(SHAPE)
            for name, array in arrays.items():
                run.field(name, array)
            step, time = run.begin()
            if arrays is expected:
                run.step(1, 1.0)

    assert (step, time) == (1, 1.0)
    for name, array in expected.items():
        np.testing.assert_array_equal(filled[name], array, err_msg=name)


@pytest.mark.parametrize("word", ["größe", "Ünïcode", "€"])
def test_what_files_cannot_hold_is_refused_before_it_is_lost(word: str, tmp_path: Path) -> None:
    ids, places = np.arange(2), [np.full(2, 0.5)] * 3
    with opened(tmp_path, CHECKPOINT) as run:
        run.mesh(SHAPE)
        for call in (
            lambda: run.field(word, heights()),
            lambda: run.field("height", heights(), unit=f"{word}m"),
            lambda: run.particles("dust", ids, places, attributes={word: np.ones(2)}),
            lambda: run.particles("dust", ids, places, attributes={"a": np.ones(2)}, units={"a": word}),
        ):
            with pytest.raises(sidestream.Error, match="that files cannot hold"):
                call()
        for name in ("id", "x"):
            with pytest.raises(sidestream.Error, match=f"particles have two numbers `{name}`"):
                run.particles("dust", ids, places, attributes={name: np.ones(2)})
        with pytest.raises(sidestream.Error, match="the domain has the length 1e[+]?70"):
            run.mesh(SHAPE, lengths=(1e70, 1.0, 1.0))
        run.field("height", heights())
        run.begin()
        with pytest.raises(sidestream.Error, match="whole number up to 10"):
            run.step(10**18, 1.0)


LOST = """
import numpy as np, sidestream
from mpi4py import MPI
world = MPI.COMM_WORLD
lo = 8 * world.rank
blocks, levels = [np.s_[0:8, 0:8, lo:lo + 8]], [0]
if world.rank == 0:
    blocks, levels = blocks + [np.s_[4:12, 4:12, 20:28]], [0, 1]
rng = np.random.default_rng(world.rank)
places = [rng.uniform(0.0, side, 500) for side in (16.0, 8.0, 8.0)]
ids = np.arange(500) + 500 * world.rank
for turn in range(2):
    with sidestream.session("tasks.toml", "run", comm=world, existing="resume", quiet=True) as run:
        run.mesh((8, 8, 16), blocks=blocks, levels=levels)
        run.field("height", [np.ones((8, 8, 8)) for _ in blocks])
        run.particles("dust", ids, places, attributes={"heat": places[0] + ids})
        step, _ = run.begin()
        if turn == 0:
            run.step(1, 1.0)
        else:
            found = run.restored_particles("dust")
            for name, expected in (("x", 0), ("y", 1), ("z", 2)):
                assert np.isin(found[name], np.concatenate(world.allgather(places[expected]))).all()
            assert (found["heat"] == found["x"] + found["id"]).all()
            all_ids = np.sort(np.concatenate(world.allgather(found["id"])))
            assert step == 1 and (all_ids == np.arange(500 * world.size)).all(), (step, len(all_ids))
"""


@pytest.mark.parametrize("form", ["nyx", *slow("raw", "enzo-hdf5")])
def test_particles_of_a_refined_mesh_are_brought_to_the_ranks_of_their_cells(form: str, tmp_path: Path) -> None:
    text = CHECKPOINT.replace("raw", form)
    (tmp_path / "tasks.toml").write_text(text)
    (tmp_path / "lost.py").write_text(LOST)

    done = launch(tmp_path, 2, sys.executable, "lost.py", timeout_s=90)

    assert done.returncode == 0, done.stderr


def test_a_checkpoint_of_another_mesh_is_refused_with_what_differs(tmp_path: Path) -> None:
    fine = np.s_[4:12, 4:12, 4:12]

    def begun(blocks: list[Any], levels: list[int], **mesh: Any) -> tuple[int, float]:
        with opened(tmp_path, CHECKPOINT, existing="resume") as run:
            run.mesh((8, 8, 8), blocks=blocks, levels=levels, **mesh)
            run.field("height", [heights_of(tuple(part.stop - part.start for part in block), 1) for block in blocks])
            moment = run.begin()
            if moment == (0, 0.0):
                run.step(1, 1.0)
        return moment

    whole, other = np.s_[0:8, 0:8, 0:8], np.s_[6:14, 4:12, 4:12]
    assert begun([whole, fine], [0, 1]) == (0, 0.0)
    for blocks, levels in (
        ([whole], [0]),
        ([whole, other], [0, 1]),
        ([whole, fine, np.s_[12:20, 12:20, 12:20]], [0, 1, 2]),
    ):
        with pytest.raises(sidestream.Error, match="give the blocks that it has, and change them after"):
            begun(list(blocks), levels)
    with pytest.raises(sidestream.Error, match="say the lengths that the domain had then"):
        begun([whole, fine], [0, 1], lengths=(8.0, 8.0, 3.0))
    halves = [np.s_[0:4, 0:8, 0:8], np.s_[4:8, 0:8, 0:8]]
    assert begun([*halves, fine], [0, 0, 1]) == (1, 1.0)


FORKED = """
import atexit, os, numpy as np, sidestream
from mpi4py import MPI
run = sidestream.session("tasks.toml", "run", comm=MPI.COMM_WORLD, quiet=True)
run.mesh((4, 4, 4 * run.comm.size), blocks=np.s_[:, :, 4 * run.comm.rank:4 * run.comm.rank + 4])
run.field("height", np.ones((4, 4, 4)))
run.begin()
child = os.fork() if run.comm.rank == 0 else None
if child == 0:
    atexit._run_exitfuncs()
    os._exit(0)  # Open MPI does not outlive a child that finalizes it
os.waitpid(child, 0) if child else None
run.step(1, 1.0)
run.close()
ends = MPI.COMM_WORLD.gather((run.status, run.goes_on))
if ends:
    print(ends)
more = [sidestream.session(None, f"run{n}", comm=MPI.COMM_WORLD, quiet=True) for n in range(4)]
"""


def test_a_child_that_ends_leaves_the_session_alone_and_forgotten_ones_close_in_one_order(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(SLICE)
    (tmp_path / "forks.py").write_text(FORKED)

    done = launch(tmp_path, 2, sys.executable, "forks.py", timeout_s=60)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == str([("finished", False)] * 2), done.stdout
    assert "ends with the session open, and not all" not in done.stderr


def test_two_fields_that_files_know_by_one_name_are_refused_before_the_run_begins(tmp_path: Path) -> None:
    with opened(tmp_path, CHECKPOINT) as run:
        run.mesh(SHAPE)
        for one, other in (("gas_density", "density"), ("x_velocity", "velocity_x"), ("temperature", "Temp")):
            run.field(one, heights())
            with pytest.raises(
                sidestream.Error, match=f"two fields of one quantity\n  --> field `{other}` and `{one}`"
            ):
                run.field(other, heights())
            run.field(one, heights())
        run.begin()


@pytest.mark.parametrize("form", ["sidestream", "flash-5d"])
def test_equal_blocks_of_two_levels_are_written_in_formats_of_equal_blocks(form: str, tmp_path: Path) -> None:
    corners = list(itertools.product((0, 8), repeat=3))
    blocks = [tuple(np.s_[lo : lo + 8] for lo in corner) for corner in (*corners, *corners)]
    arrays = [heights_of((8, 8, 8), n) for n in range(16)]
    filled = [np.zeros((8, 8, 8)) for _ in arrays]
    for values in (arrays, filled):
        with opened(tmp_path, CHECKPOINT.replace("raw", form), existing="resume") as run:
            run.mesh((16, 16, 16), blocks=blocks, levels=[0] * 8 + [1] * 8)
            run.field("height", values)
            run.begin()
            if values is arrays:
                run.step(1, 1.0)

    for n, (one, other) in enumerate(zip(arrays, filled, strict=True)):
        if n != 0:  # which finer ones cover
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["flag", "bytes", "memmap", "broadcast", "one number for many cells"])
def test_an_array_that_cannot_be_written_is_refused_where_a_checkpoint_would_fill_it(kind: str, tmp_path: Path) -> None:
    array = read_only(kind, heights(), tmp_path)
    with opened(tmp_path, CHECKPOINT, existing="resume") as run:
        run.mesh(SHAPE)
        run.field("height", array)
        run.begin()  # from nothing: it is read alone
        run.step(1, 1.0)
    before, filled = heights() + 1.0, np.zeros(SHAPE)
    array = read_only(kind, before, tmp_path)
    expected = array.copy()
    with opened(tmp_path, CHECKPOINT, existing="resume") as run:
        run.mesh(SHAPE)
        run.field("height", array)
        with pytest.raises(sidestream.Error, match=r"cannot be written\n  --> field `height`"):
            run.begin()
        assert np.array_equal(array, expected)
        run.field("height", filled)
        assert run.begin() == (1, 1.0)
    assert np.array_equal(filled, read_only(kind, heights(), tmp_path))


ONE_READS = """
from mpi4py import MPI
import numpy as np
import sidestream

world = MPI.COMM_WORLD
array = np.ones((4, 4, 4))
for go in range(2):
    with sidestream.session("tasks.toml", "run", comm=world, existing="resume", quiet=True) as run:
        run.mesh((4, 4, 8), blocks=np.s_[:, :, 4 * world.rank : 4 * world.rank + 4])
        run.field("height", array)
        try:
            run.begin()
            run.step(1, 1.0)
        except sidestream.Error as error:
            print(f"refused {error.where} {array.max()}", flush=True)
    if go == 0:
        array[:] = 2.0
        array.flags.writeable = world.rank == 0
"""


def test_an_array_that_one_rank_cannot_write_is_refused_on_all_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(CHECKPOINT)
    (tmp_path / "reads.py").write_text(ONE_READS)

    done = launch(tmp_path, 2, sys.executable, "reads.py")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused field `height` 2.0") == 2, done.stdout


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a hole": ({"blocks": [np.s_[0:3, :, :]]}, "960 of 1536 cells of level 0 belong to no block"),
    "an overlap": ({"blocks": [np.s_[0:5, :, :], np.s_[4:8, :, :]]}, "two blocks have cells in common"),
    "beyond": ({"blocks": [np.s_[0:9, :, :]]}, "reaches beyond the domain"),
    "no cells": ({"blocks": [np.s_[0:8, :, :], np.s_[3:3, :, :]]}, "a block has no cells"),
    "odd": ({"blocks": [np.s_[0:8, :, :], np.s_[3:5, 0:4, 0:4]], "levels": [0, 1]}, "cuts a cell of the coarser one"),
    "level": ({"levels": [-1]}, "has the level -1"),
    "levels": ({"levels": [0, 0]}, "2 levels for 1 blocks"),
    "lengths": ({"lengths": [1.0, -1.0, 1.0]}, "`lengths` is"),
    "ghosts": ({"ghosts": -1}, "`ghosts` is -1"),
    "step": ({"blocks": np.s_[::2, :, :]}, "slices without a step"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mesh_that_cannot_be_is_refused(case: str, tmp_path: Path) -> None:
    mesh, message = WRONG[case]
    with opened(tmp_path) as run, pytest.raises(sidestream.Error, match=message):
        run.mesh(SHAPE, **mesh)


def test_fields_steps_and_calls_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        with pytest.raises(sidestream.Error, match="1 arrays for 0 blocks"):
            run.field("height", heights())
        with pytest.raises(sidestream.Error, match="begins without a mesh"):
            run.begin()
        run.mesh(SHAPE)
        with pytest.raises(sidestream.Error, match="has the shape"):
            run.field("height", heights()[1:])
        for array, advice in (
            (heights() + 1j, r"of complex numbers give `np.abs\(array\)`"),
            (heights().astype(np.float16), r"give `array.astype\(np.float32\)`"),
            (heights().astype(np.longdouble), r"give `array.astype\(float\)`"),
            (heights() > 1.5, r"give `array.astype\(np.float32\)`"),
        ):
            with pytest.raises(sidestream.Error, match=array.dtype.name + r"\n(.*\n)*hint: " + advice):
                run.field("height", array)
        with pytest.raises(sidestream.Error, match="2 arrays for 1 blocks"):
            run.field("height", [heights(), heights()])
        run.field("height", heights())
        run.begin()
        run.step(1, 1.0)
        with pytest.raises(sidestream.Error, match="step 1 comes after step 1"):
            run.step(1, 1.0)
    with pytest.raises(sidestream.Error, match="cannot be opened"):
        sidestream.session(tmp_path / "lost.toml", tmp_path / "other")
    assert results(tmp_path / "run")


def test_arrays_whose_numbers_would_be_read_wrongly_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.mesh(SHAPE)
        for array, message in (
            (np.ma.masked_greater(heights(), 1.5), "masked cells have no number"),
            (heights().astype(">f8"), "bytes lie the other way"),
            (heights().tolist(), "a field that is no array"),
            (3.0, "a field that is no array"),
        ):
            with pytest.raises(sidestream.Error, match=message):
                run.field("height", array)
        run.field("height", heights())
        run.begin()
    assert len(results(tmp_path / "run")) == 1


ODD: dict[str, Any] = {
    "shape": lambda run: run.mesh("abc"),
    "too many": lambda run: run.mesh((2**31, 8, 8)),
    "axes": lambda run: run.mesh((8, 8), blocks=np.s_[:, :, :]),
    "unit of length": lambda run: run.mesh(SHAPE, unit=float("nan")),
    "unit": lambda run: run.field("height", heights(), unit=float("nan")),
    "name": lambda run: run.field("a/b", heights()),
    "axis": lambda run: run.field("x", heights()),
    "surrogate": lambda run: run.field("\ud800", heights()),
    "particles": lambda run: run.particles("dark_matter", None, None),
    "attribute": lambda run: run.particles("a", np.arange(1), [np.ones(1)] * 3, attributes={"a/b": np.ones(1)}),
    "number": lambda run: run.number("time", 1.0),
    "text": lambda run: run.number("viscosity", "much"),
    "scale factor": lambda run: run.scale_factor(-1.0),
    "progress": lambda run: run.done(float("nan")),
    "knob": lambda run: run.add_knob("k", 3.0, 0.0, 1.0),
    "step": lambda run: run.begin(1.5, 0.0),
    "negative": lambda run: run.begin(-5, 0.0),
    "level": lambda run: run.mesh(SHAPE, blocks=[np.s_[:, :, :]], levels=[2**40]),
    "time": lambda run: run.begin(0, float("nan")),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_arguments_are_refused_in_a_sentence_and_the_session_goes_on(case: str, tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        with pytest.raises(sidestream.Error, match="\nhint: "):
            ODD[case](run)
        if case != "too many":
            run.mesh(SHAPE)
        run.field("height", heights())
        assert run.begin() == (0, 0.0)
        with pytest.raises(sidestream.Error, match="has not begun with"):
            run.field("width", heights())
        with pytest.raises(sidestream.Error, match="has not begun with"):
            run.add_knob("late", 0.5, 0.0, 1.0)
        run.step(1, 1.0)
        with pytest.raises(sidestream.Error, match="time goes back from 1 to 0.5"):
            run.step(2, 0.5)
        run.step(2, 1.0)
    assert len(results(tmp_path / "run")) == 3


ONE_IS_WRONG = """
import sys
from mpi4py import MPI
import numpy as np
import sidestream

world = MPI.COMM_WORLD
with sidestream.session("tasks.toml", "run", comm=world, quiet=True) as run:
    run.mesh((4, 4, 8), blocks=np.s_[:, :, 4 * world.rank : 4 * world.rank + 4])
    run.field("height", np.ones((4, 4, 4)))
    for call in (run.begin, run.step):
        for wrong in (("one", 1.0), (1, None)):
            try:
                call(*(wrong if world.rank else (1, 1.0)))
            except sidestream.Error as error:
                print("refused", error.what, flush=True)
        call(0 if call == run.begin else 1, 1.0)
"""


def test_steps_that_are_no_numbers_on_one_rank_are_refused_on_all(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(SLICE)
    (tmp_path / "wrong.py").write_text(ONE_IS_WRONG)

    done = launch(tmp_path, 2, sys.executable, "wrong.py")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 8
    assert done.stdout.count("`step` is 'one'") == done.stdout.count("`time` is None") == 4, "on both ranks"
    assert len(results(tmp_path / "run")) == 2


WRONG_CALLS = {
    "session": 'sidestream.session("tasks.toml", comm=world)',
    "mesh": "run.mesh()",
    "field": 'run.field("height")',
    "type of a field": 'run.field("height", "high")',
    "number": "run.number(1, 2, 3)",
    "begin": "run.begin(1, 2.0, 3)",
    "step": "run.step()",
    "number in a step": 'run.number("half", "a half")',
}
ONE_CALLS_WRONGLY = """
import sys
import numpy as np
from mpi4py import MPI
import sidestream

world = MPI.COMM_WORLD
def wrongly(name):
    if name == sys.argv[1] and world.rank == 1:
        CALL
try:
    wrongly("session")
    with sidestream.session("tasks.toml", "run", comm=world, quiet=True) as run:
        wrongly("mesh")
        run.mesh((4, 4, 8), blocks=np.s_[:, :, 4 * world.rank : 4 * world.rank + 4])
        run.field("height", np.ones((4, 4, 4)))
        for name in ("field", "type of a field", "number", "begin"):
            wrongly(name)
        run.begin()
        for name in ("step", "number in a step"):
            wrongly(name)
        run.step(1, 1.0)
except sidestream.Error as error:
    sys.stdout.write(f"refused {error.what}\\n")  # at once, as the other rank does
"""


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_arguments_on_one_rank_are_refused_on_all(name: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(SLICE)
    (tmp_path / "wrong.py").write_text(ONE_CALLS_WRONGLY.replace("CALL", WRONG_CALLS[name]))

    done = launch(tmp_path, 2, sys.executable, "wrong.py", name)

    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("refused")]
    assert len(told) == 2 and told[0] == told[1], done.stdout


def ended(run: sidestream.Run) -> str:
    """How it ended, once its last rank has gone: `mpirun` may be gone before the ranks of a job that it ends."""
    until(lambda: run.status != "running")
    return run.status


LEAVES = """
import sys
import time
import numpy as np
from mpi4py import MPI
import sidestream
import sidestream.sessions.run

sidestream.sessions.run.PATIENCE_S = float(sys.argv[2])
how, world = sys.argv[1], MPI.COMM_WORLD
run = None
try:
    with sidestream.session("tasks.toml", "run", comm=world, quiet=True) as run:
        if run.comm is not None:
            rank, ranks = run.comm.rank, run.comm.size
            run.mesh((4, 4, 4 * ranks), blocks=np.s_[:, :, 4 * rank : 4 * rank + 4])
            run.field("height", np.ones((4, 4, 4)))
            if how == "one before":
                assert rank == 0, "wrong on the last rank"
            run.begin()
            run.step(1, 1.0)
            if how == "all":
                raise ValueError("wrong on all ranks")
            if how == "one":
                assert rank == 0, "wrong on the last rank"
            if how == "one while others compute":
                assert rank == 0, "wrong on the last rank"
                time.sleep(120.0)
            if how == "one in an exchange":
                assert rank == 0, "wrong on the last rank"
                run.comm.Barrier()
            run.step(1 if how == "refused" else 2, 2.0)
except (ValueError, AssertionError, sidestream.Error) as error:
    print("caught", run.status, error, flush=True)
    raise
"""
SIDECAR = SLICE + 'transport = "in-transit"\n[coupling]\nsidecars = 1\n'


@pytest.mark.parametrize(
    ("how", "ranks", "text"),
    [("all", 3, SIDECAR), ("refused", 2, SIDECAR), *slow(("all", 2, SLICE), ("refused", 3, SIDECAR))],
)
def test_an_exception_on_all_ranks_ends_the_run_and_may_be_caught(
    how: str, ranks: int, text: str, tmp_path: Path
) -> None:
    (tmp_path / "tasks.toml").write_text(text)
    (tmp_path / "leaves.py").write_text(LEAVES)

    done = launch(tmp_path, ranks, sys.executable, "leaves.py", how, 60.0)

    assert done.returncode not in (0, None), done.stderr
    word = "wrong on all ranks" if how == "all" else "step 1 comes after step 1"
    computing = ranks - (text == SIDECAR)
    assert done.stdout.count(f"caught stopped {word}") == computing, done.stdout + done.stderr
    assert done.stderr.count(f"Error: {word}") >= 1
    assert len(results(tmp_path / "run")) == 2, "what was published is there"
    run = sidestream.Run(tmp_path / "run")
    kind = "ValueError" if how == "all" else "Error"
    assert run.status == "stopped"
    assert run.reason.startswith(f"the program ended by {kind}: {word}")


@pytest.mark.parametrize(
    ("how", "ranks", "text"),
    [
        ("one", 3, SIDECAR),
        ("one before", 2, SLICE),
        ("one while others compute", 3, SIDECAR),
        *slow(("one", 2, SLICE), ("one in an exchange", 2, SLICE)),
    ],
)
def test_an_exception_on_one_rank_ends_the_job_with_its_traceback(
    how: str, ranks: int, text: str, tmp_path: Path
) -> None:
    (tmp_path / "tasks.toml").write_text(text)
    (tmp_path / "leaves.py").write_text(LEAVES)

    done = launch(tmp_path, ranks, sys.executable, "leaves.py", how, 1.0)

    assert done.returncode == 1, done.stderr
    assert "AssertionError: wrong on the last rank" in done.stderr
    last = ranks - 1 - (text == SIDECAR)
    assert f"error: rank {last} has left the session by an exception, and not all others did" in done.stderr
    assert "caught" not in done.stdout
    assert how == "one before" or ended(sidestream.Run(tmp_path / "run")) == "aborted"


FORGETS = """
import sys
import numpy as np
from mpi4py import MPI
import sidestream
import sidestream.sessions.run

sidestream.sessions.run.PATIENCE_S = float(sys.argv[2])
how, world = sys.argv[1], MPI.COMM_WORLD


def steps():
    run = sidestream.session("tasks.toml", "run", comm=world, quiet=True)
    if run.comm is None:
        return run
    rank, ranks = run.comm.rank, run.comm.size
    run.mesh((4, 4, 4 * ranks), blocks=np.s_[:, :, 4 * rank : 4 * rank + 4])
    run.field("height", np.ones((4, 4, 4)))
    run.begin()
    run.step(1, 1.0)
    if how == "all":
        raise ValueError("wrong on all ranks")
    if how == "one":
        assert rank == 0, "wrong on the last rank"
        run.comm.Barrier()
    if how == "exit" and rank > 0:
        sys.exit("enough on one rank")
    if how == "exit":
        run.step(9, 9.0)  # which waits for the others
    return run


if how == "dropped":
    steps()
elif how == "inside":
    kept = steps()
    if kept.comm is not None:
        with sidestream.session(None, "other", comm=kept.comm, quiet=True) as inner:
            inner.mesh((4, 4, 4 * inner.comm.size))
        print("the one inside is over", flush=True)
elif how == "again":
    kept = steps()
    if kept.comm is not None:
        try:
            sidestream.session("tasks.toml", "other", comm=MPI.COMM_WORLD)
        except sidestream.Error as error:
            print(error, flush=True)
else:
    kept = steps()
if how == "finalized":
    MPI.Finalize()
    if kept.comm is not None:
        for call in (lambda: kept.step(2, 2.0), lambda: kept.mesh(), kept.progress):
            try:
                call()
            except sidestream.Error as error:
                print(error, flush=True)
        kept.close()
        print(kept.status, flush=True)
"""


@pytest.mark.parametrize(
    ("how", "ranks", "text"),
    [
        ("kept", 2, SIDECAR),
        ("dropped", 2, SIDECAR),
        ("finalized", 2, SIDECAR),
        ("all", 3, SIDECAR),
        ("one", 3, SIDECAR),
        ("again", 2, SIDECAR),
        ("inside", 2, SIDECAR),
        ("exit", 2, SLICE),
        ("dropped", 1, SLICE),
        *slow(("kept", 1, SLICE), ("kept", 3, SIDECAR), ("all", 1, SLICE), ("one", 2, SLICE)),
    ],
)
def test_a_session_that_nobody_closes_ends_with_the_program(how: str, ranks: int, text: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(text)
    (tmp_path / "forgets.py").write_text(FORGETS)

    done = launch(tmp_path, ranks, sys.executable, "forgets.py", how, 1.0 if how in ("one", "exit") else 60.0)

    run = sidestream.Run(tmp_path / "run")
    assert (done.returncode == 0) == (how not in ("all", "one", "exit")), done.stderr
    assert ("a session open, which is closed here" in done.stderr) == (done.returncode == 0), done.stderr
    assert ended(run) == {"all": "stopped", "one": "aborted", "exit": "aborted"}.get(how, "finished")
    if how == "one":
        last = ranks - 1 - (text == SIDECAR)
        assert f"error: rank {last} has left the session by an exception, and not all others did" in done.stderr
        return
    if how == "exit":
        assert "error: rank 1 ends with the session open, and not all others do" in done.stderr
        return
    assert ("the session before has sidecars and is still open" in done.stdout) == (how == "again")
    assert len(results(tmp_path / "run")) == 2, "what was published is there"
    assert ("finished" in done.stdout.split()) == (how == "finalized"), done.stdout
    assert done.stdout.count("the run has ended") == (3 if how == "finalized" else 0), done.stdout
    assert ("the one inside is over" in done.stdout) == (how == "inside"), done.stdout


def test_a_session_that_was_closed_does_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        run.begin()
    assert not run.goes_on
    run.close()
    for call in (
        lambda: run.mesh(SHAPE),
        lambda: run.field("height", heights()),
        lambda: run.begin(),
        lambda: run.step(1, 1.0),
        lambda: run.progress(),
        lambda: run.wants("height"),
        lambda: run.restored_particles("a"),
    ):
        with pytest.raises(sidestream.Error, match="the run has ended"):
            call()


def test_what_was_lost_is_told_in_words_of_the_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = SLICE.replace("height", "a_field")
    with opened(tmp_path, text) as run:
        run.mesh(SHAPE)
        run.field("a_field", heights())
        run.begin()
        shutil.rmtree(tmp_path / "run" / "results" / "slice")
        (tmp_path / "run" / "results" / "slice").write_text("no folder")
        run.step(1, 1.0)
    assert run.status == "incomplete"
    told = capfd.readouterr().out
    assert "run again with `existing` = overwrite" in told
    assert "--" not in told.replace("-->", "")


def test_lines_that_nobody_reads_do_not_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", broken)
    (tmp_path / "tasks.toml").write_text(SLICE)
    with sidestream.session(tmp_path / "tasks.toml", tmp_path / "run") as run:
        run.mesh(SHAPE)
        run.field("height", heights())
        run.begin()
        run.step(1, 1.0)
    assert run.status == "finished"
