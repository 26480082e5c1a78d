"""`sidestream conformance`: good programs pass on any ranks, and each fault is named with its place."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from calls import command
from hosts import HOSTS, c_program, fortran_program
from interrupting import interrupted
from sidestream.launch.conformance import Finding, _once
from sidestream.launch.launcher import mpi_environment
from tiers import slow

TASKS = '[task.slice]\nanalysis = "slice"\nfields = ["{field}"]\nevery = 40\n'


def checked(
    folder: Path, ranks: int, *line: object, patience: float = 60.0
) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """The exit code, and the findings of each check."""
    words = ["conformance", "--json", "--patience", str(patience), "--", "mpirun", "-n", str(ranks), *map(str, line)]
    done = command(folder, *words, **mpi_environment(os.environ, ranks))
    assert done.stdout, done.stderr
    findings: dict[str, list[dict[str, str]]] = {}
    for one in json.loads(done.stdout)["checks"]:
        findings.setdefault(one["check"], []).append(one)
    return done.returncode, findings


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[object], str]]:
    folder = tmp_path_factory.mktemp("programs")
    return {
        "wave": ([c_program(folder, HOSTS / "wave.c")], "height"),
        "heat": ([fortran_program(folder, HOSTS / "heat.f90")], "temperature"),
        "pulse": ([sys.executable, HOSTS / "pulse.py"], "height"),
    }


@pytest.mark.parametrize(
    ("name", "ranks"),
    [("wave", 3), ("heat", 2), ("pulse", 1), ("pulse", 2), *slow(("wave", 1), ("heat", 4), ("pulse", 4))],
)
def test_a_good_program_passes(
    name: str, ranks: int, programs: dict[str, tuple[list[object], str]], tmp_path: Path
) -> None:
    line, field = programs[name]
    (tmp_path / "tasks.toml").write_text(TASKS.format(field=field) + "[run]\nmax_steps = 6\n")
    code, findings = checked(tmp_path, ranks, *line, "tasks.toml", "run")
    assert code == 0, findings
    assert set(findings) == {"mesh", "ghosts", "units", "order", "numbers", "particles", "memory", "calls"}
    assert not [one for of_check in findings.values() for one in of_check if one["verdict"] == "wrong"]
    good = {check for check, of_check in findings.items() if of_check[0]["verdict"] == "good"}
    assert good >= {"mesh", "units", "numbers", "memory", "calls"}
    assert ("order" in good) == ((name, ranks) != ("pulse", 1))  # a cube
    assert ("ghosts" in good) == (name != "pulse")  # which declares none


BAD = """
import sys, threading, time
import numpy as np
from mpi4py import MPI
import sidestream
fault, world = sys.argv[1], MPI.COMM_WORLD
N = 12
with sidestream.session("tasks.toml", "run", comm=world, quiet=True) as run:
    comm = run.comm
    rank, ranks = comm.rank, comm.size
    first, last = N * rank // ranks, N * (rank + 1) // ranks
    z, y, x = np.meshgrid(np.arange(first, last), np.arange(N), np.arange(N + 4), indexing="ij")
    u = np.zeros((last - first + 2, N + 2, N + 6))
    inside = u[1:-1, 1:-1, 1:-1]

    def advance(t):
        waves = [np.cos(2 * np.pi * (z + t) / N), np.cos(2 * np.pi * y / N), np.cos(2 * np.pi * x / (N + 4))]
        inside[:] = 2 + sum(waves)
        below, above = (rank - 1) % ranks, (rank + 1) % ranks
        if fault in ("ghosts", "rounded and ghosts") and rank == 1:
            inside[0, 3, 4] += 7.0  # as if it were sent before it was ready
        comm.Sendrecv(u[1].copy(), below, recvbuf=(top := np.empty_like(u[0])), source=above)
        comm.Sendrecv(u[-2].copy(), above, recvbuf=(bottom := np.empty_like(u[0])), source=below)
        u[-1], u[0] = top, bottom
        if fault in ("ghosts", "rounded and ghosts") and rank == 1:
            inside[0, 3, 4] -= 7.0
        u[:, 0], u[:, -1] = u[:, -2], u[:, 1]
        u[..., 0], u[..., -1] = u[..., -2], u[..., 1]
        if "rounded" in fault and rank == 0:  # as if the rim were computed here too, by other sums
            u[-1] = np.nextafter(u[-1], 9.0)

    advance(0)
    lo = first - 1 if fault == "overlap" and rank == 1 else first
    hi = last - 1 if fault == "hole" and rank == ranks - 1 else last
    try:
        length = {"unit": "furlong"} if fault == "length unit" else {}
        run.mesh((N, N, N + 4), blocks=np.s_[lo:hi, :, :], ghosts=1, **length)
    except sidestream.Error:
        sys.exit(0)
    shown = u
    if fault == "order":  # numbers of a Fortran-ordered array, said to be those of C
        shown = np.zeros_like(u)
    unit = {"unit": "Kelvins", "no unit": "", "cgs": "g/cm^3"}.get(fault, "K")
    run.field("height", shown, unit=unit)
    if fault == "cgs":
        run.field("other", shown.copy(), unit="m/s")
    if fault == "units of ranks":
        run.field("height", shown, unit="K" if rank == 0 else "J")

    def put():
        if fault == "order":
            shown.reshape(-1)[:] = u.ravel(order="F")

    put()
    try:
        run.begin()
    except sidestream.Error:
        sys.exit(0)
    is_over = False

    def scribble():
        while not is_over:
            shown[1, 2, 3] += 1.0

    if fault == "thread" and rank == 1:
        threading.Thread(target=scribble, daemon=True).start()
    if fault == "freed" and rank == 1:
        import ctypes, mmap
        size = shown.nbytes
        memory = mmap.mmap(-1, size)
        moved = np.frombuffer(memory, count=shown.size).reshape(shown.shape)
        moved[:] = shown
        run.field("height", moved, unit=unit)
        libc = ctypes.CDLL(None)
        libc.munmap(ctypes.c_void_p(moved.ctypes.data), ctypes.c_size_t(size))
    for step in range(1, 5):
        advance(step)
        if fault != "freed" or rank != 1:
            put()
        if fault == "skips" and rank == 1 and step == 3:
            comm.Barrier()
        try:
            run.step(step, float(step) if fault != "times" or rank != 1 else step + 0.5)
        except sidestream.Error:
            break
    is_over = True
    import os
    if fault == "freed":
        sys.stdout.flush()
        os._exit(0)
"""
FAULTS: dict[str, tuple[str, str, list[str]]] = {
    "hole": ("mesh", "cells of level 0 belong to no block", ["the cells [", "ranks 0-1"]),
    "overlap": ("mesh", "two blocks have cells in common", ["rank 1", "rank 0"]),
    "ghosts": ("ghosts", "a ghost cell is", ["field `height`", "block 0", "rank 0", "cell 4 3 6", "rank 1"]),
    "rounded and ghosts": ("ghosts", "a ghost cell is", ["block 0", "rank 0", "cell 4 3 6", "(1 such)"]),
    "unit": ("units", "there is no unit `Kelvins`", ["field `height`"]),
    "length unit": ("units", "there is no unit `furlong`", ["lengths"]),
    "order": ("order", "the other way around", ["field `height`"]),
    "thread": ("memory", "another thread writes", ["field `height`", "block 0", "rank 1", "cell 2 1 6"]),
    "freed": ("memory", "its memory is not there", ["field `height`", "block 0", "rank 1"]),
    "skips": ("calls", "it does not come to `step`, call 5 of the others", ["rank 1", "the 4th"]),
    "times": ("calls", "the time is 1.5 on rank 1, and 1 on rank 0", []),
    "units of ranks": ("calls", "field 1 is `height` [J]", ["[K]", "rank 1 of 2"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place(fault: str, tmp_path: Path) -> None:
    check, message, words = FAULTS[fault]
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "tasks.toml").write_text(TASKS.format(field="height").replace("40", "1"))
    code, findings = checked(tmp_path, 2, sys.executable, "bad.py", fault, patience=3.0 if fault == "skips" else 60.0)
    assert code == 1, findings
    wrong = [one for one in findings[check] if one["verdict"] == "wrong"]
    assert any(message in one["message"] for one in wrong), findings
    assert len({one["message"] for one in wrong}) == len(wrong), "each is told once, with its ranks"
    text = " ".join(one["message"] + " " + one["where"] for one in wrong)
    assert not [word for word in words if word not in text], text


@pytest.mark.parametrize(
    ("fault", "message"), [("no unit", "no unit is told"), ("cgs", "units of cgs beside those of SI")]
)
def test_what_may_be_meant_is_a_note(fault: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "tasks.toml").write_text(TASKS.format(field="height"))
    code, findings = checked(tmp_path, 2, sys.executable, "bad.py", fault)
    assert code == 0, findings
    (note,) = [one for one in findings["units"] if one["verdict"] == "note"]
    assert message in note["message"]


@pytest.mark.parametrize("fault", ["rounded", "rounded and ghosts"])
def test_ghost_cells_that_differ_by_rounding_are_a_note_in_which_the_difference_is_seen(
    fault: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "tasks.toml").write_text(TASKS.format(field="height"))
    code, findings = checked(tmp_path, 2, sys.executable, "bad.py", fault)
    assert code == ("ghosts" in fault), findings
    (note,) = [one for one in findings["ghosts"] if one["verdict"] == "note"]
    assert "they differ by no more than rounding does" in note["message"]
    assert "rank 0, cell -1 -1 6" in note["where"], "the plane above those of rank 0"
    numbers = re.search(r"a ghost cell is (\S+), and its neighbour on rank 1 (\S+)", note["message"])
    assert numbers is not None
    assert float(numbers[1]) == pytest.approx(float(numbers[2]), rel=1e-15)
    assert numbers[1] != numbers[2]


PARTICLES = """
import sys
import numpy as np
from mpi4py import MPI
import sidestream
fault, N = sys.argv[1], 8
with sidestream.session("tasks.toml", "run", comm=MPI.COMM_WORLD, quiet=True) as run:
    rank = run.comm.rank
    run.mesh((N, N, N * run.comm.size), blocks=np.s_[:, :, N * rank : N * rank + N])
    height = np.ones((N, N, N))
    if fault == "no number in a cell" and rank == 1:
        height[1, 2, 3] = height[1, 2, 4] = np.nan
    run.field("height", height, unit="m")
    ids = 100 * rank + np.arange(20)
    positions = [np.linspace(0.1, N - 0.1, 20) for _ in range(3)]
    speed = np.ones(20)
    if rank == 1:
        if fault == "negative":
            ids[[7, 9]] = -5, -6
        if fault == "twice":
            ids[[7, 9]] = 3, 4
        if fault == "lost":
            positions[1][[7, 8, 9]] = np.nan
        if fault == "no speed":
            speed[7] = np.inf
    run.particles("tracers", ids, positions, attributes={"speed": speed}, units={"speed": "m/s"})
    run.begin()
"""


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("negative", "the id is negative in 2 of 20 particles, first -5"),
        ("twice", "ids are repeated 2 times, first 3, that of particle 3 on rank 0 too"),
        ("lost", "the position along y is no number in 3 of 20 particles, first nan of the id 107"),
        ("no speed", "`speed` is no number in 1 of 20 particles, first inf of the id 107"),
        ("none", ""),
    ],
)
def test_particles_that_nothing_can_be_done_with_are_told_by_species_rank_and_number(
    fault: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "particles.py").write_text(PARTICLES)
    (tmp_path / "tasks.toml").write_text(TASKS.format(field="height"))
    code, findings = checked(tmp_path, 2, sys.executable, "particles.py", fault)
    wrong = [one for one in findings["particles"] if one["verdict"] == "wrong"]
    assert code == (fault != "none"), findings
    assert [one["message"].startswith(message) for one in wrong] == [True] * code
    assert [one["where"] for one in wrong] == ["species `tracers`, rank 1, particle 7, step 0"] * code
    assert findings["particles"][0]["verdict"] == ("wrong" if code else "good")


def test_cells_without_a_number_are_a_note(tmp_path: Path) -> None:
    (tmp_path / "particles.py").write_text(PARTICLES)
    (tmp_path / "tasks.toml").write_text(TASKS.format(field="height"))
    code, findings = checked(tmp_path, 2, sys.executable, "particles.py", "no number in a cell")
    assert code == 0, findings
    (note,) = [one for one in findings["numbers"] if one["verdict"] == "note"]
    assert note["message"].startswith("2 cells hold no number, first nan")
    assert note["where"] == "field `height`, block 0, rank 1, cell 11 2 1, step 0"


def test_what_several_ranks_say_of_a_field_is_told_by_the_first() -> None:
    ghost = Finding("ghosts", "wrong", "a ghost cell is 1.5", "field `u`, block 0, rank 1, cell 0 0 7, step 1")
    others = [replace(ghost, message=f"a ghost cell is {n}.5", where=f"field `u`, block 0, rank {n}") for n in (2, 5)]
    mesh = [Finding("mesh", "wrong", "a hole", f"rank {n}") for n in (0, 1, 3)]
    apart = Finding("calls", "wrong", "its last call was `step`, the 3th", "rank 2")

    told = _once([ghost, *others, *mesh, apart, replace(apart, message=apart.message.replace("3th", "4th"))])

    assert [one.where for one in told] == [f"{ghost.where}; also on ranks 2, 5", "ranks 0-1, 3", "rank 2", "rank 2"]


def test_a_program_without_a_session_and_one_that_is_not_there_are_told(tmp_path: Path) -> None:
    done = command(tmp_path, "conformance", "--", "true")
    assert done.returncode == 1
    assert "opened no session" in done.stderr
    lost = command(tmp_path, "conformance", "--", "./nothing_here")
    assert lost.returncode == 1
    assert "cannot start `./nothing_here`" in lost.stderr


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("exit 3", "ended with the exit code 3 before it opened", "it said nothing"),
        ("echo one; echo no input >&2; echo ----; exit 2", "ended with the exit code 2", "it said at last: no input"),
        ("echo one; kill -9 $$", "was ended by the signal 9", "it said at last: one"),
    ],
)
def test_a_program_that_fails_before_its_session_is_told_by_its_last_words(
    line: str, what: str, hint: str, tmp_path: Path
) -> None:
    done = command(tmp_path, "conformance", "--", "sh", "-c", line)

    assert done.returncode == 1
    assert f"error: the program {what}" in done.stderr
    assert f"hint: {hint}" in done.stderr
    assert ("one\n" in done.stderr) == ("one" in line), "what it prints goes beside the findings"


@pytest.mark.parametrize("number", [signal.SIGTERM, *slow(signal.SIGINT)])
def test_a_check_that_is_ended_leaves_no_rank(number: signal.Signals, tmp_path: Path) -> None:
    words = ["conformance", "--", "mpirun", "-n", "2", "sh", "-c", "echo $$ >> pids; sleep 300; sleep 300"]
    pids = tmp_path / "pids"
    with subprocess.Popen(
        [sys.executable, "-m", "sidestream", *words],
        cwd=tmp_path,
        env=mpi_environment(os.environ, 2),
        stderr=subprocess.PIPE,
    ) as process:
        interrupted(process, pids, number)


def test_the_table_is_for_reading(programs: dict[str, tuple[list[object], str]], tmp_path: Path) -> None:
    line, field = programs["wave"]
    (tmp_path / "tasks.toml").write_text(TASKS.format(field=field) + "[run]\nmax_steps = 2\n")
    words = ["conformance", "--", "mpirun", "-n", "2", *map(str, line), "tasks.toml", "run"]
    done = command(tmp_path, *words, **mpi_environment(os.environ, 2))
    assert done.returncode == 0
    assert "ok    mesh      each cell of the domain lies in one block" in done.stdout
