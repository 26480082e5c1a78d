"""Programs in C, Fortran and Python that take their own steps: what is analysed, written and restarted beside them."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import analyze_later
from hosts import HOSTS, PREFIX, STUB, c_program, compiled, flags, fortran_program, launch
from test_faults import results
from tiers import slow

TASKS = """
[task.slice]
analysis = "slice"
fields = ["{field}"]
every = {every}
transport = "{transport}"
[task.values]
analysis = "pdf"
fields = ["{field}"]
every = {every}
transport = "{transport}"
in_means = false
low = 1e-3
high = 1e3
[output]
checkpoint = {{ every = {every} }}
"""
WAYS = {
    "in-situ": (3, ""),
    "async": (2, ""),
    "in-transit": (4, "[coupling]\nsidecars = 1\n"),
    "file": (2, ""),
}


Programs = dict[str, tuple[list[object], str, int]]


def configured(folder: Path, field: str, every: int, transport: str = "in-situ", rest: str = "") -> Path:
    path = folder / f"{transport}.toml"
    path.write_text(TASKS.format(field=field, every=every, transport=transport) + rest)
    return path


@pytest.fixture(scope="module")
def wave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return c_program(tmp_path_factory.mktemp("wave"), HOSTS / "wave.c")


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fortran_program(tmp_path_factory.mktemp("heat"), HOSTS / "heat.f90")


@pytest.fixture(scope="module")
def programs(wave: Path, heat: Path) -> Programs:
    """What is started, its field, and steps between moments."""
    return {
        "wave": ([wave], "height", 100),
        "heat": ([heat], "temperature", 200),
        "pulse": ([sys.executable, HOSTS / "pulse.py"], "height", 48),
    }


def waves() -> np.ndarray:
    """The wave after 100 steps, by NumPy."""
    k, j, i = np.mgrid[0:64, 0:64, 0:64].astype(float)
    u = np.exp(-0.02 * ((i - 20.0) ** 2 + (j - 30.0) ** 2 + (k - 40.0) ** 2))
    speed = np.zeros_like(u)
    for _ in range(100):
        speed += 0.16 * (sum(np.roll(u, s, axis) for s in (1, -1) for axis in range(3)) - 6.0 * u)
        u += speed
    return u


def plate() -> np.ndarray:
    """The plate after 200 steps, by NumPy."""
    j, i = np.mgrid[1:97, 1:97]
    t = np.zeros((98, 98))
    t[1:-1, 1:-1][(i - 30) ** 2 + (j - 40) ** 2 < 200] = 100.0
    for _ in range(200):
        t[1:-1, 1:-1] += 0.2 * (t[1:-1, :-2] + t[1:-1, 2:] + t[:-2, 1:-1] + t[2:, 1:-1] - 4.0 * t[1:-1, 1:-1])
    return t[np.newaxis, 1:-1, 1:-1]


def pulses() -> np.ndarray:
    """The pulse after 48 steps, by NumPy."""
    z, y, x = np.mgrid[0:48, 0:48, 0:48].astype(float)
    density = 1.0 + np.exp(-0.01 * ((z - 10.0) ** 2 + (y - 20.0) ** 2 + (x - 30.0) ** 2))
    for _ in range(48):
        density -= 0.5 * (density - np.roll(density, 1, 0))
    return density


EXACT: dict[str, Callable[[], np.ndarray]] = {"wave": waves, "heat": plate, "pulse": pulses}  # at the second moment


@pytest.fixture(scope="module")
def alone(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run of a program on one rank, in situ."""

    @cache
    def run_of(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        line, field, every = programs[name]
        done = launch(folder, 1, *line, configured(folder, field, every), "run")
        assert done.returncode == 0, done.stderr
        return folder / "run"

    return run_of


@pytest.mark.parametrize("name", EXACT)
def test_a_program_gets_its_own_numbers(name: str, programs: Programs, alone: Callable[[str], Path]) -> None:
    _, field, every = programs[name]
    picture = sidestream.open(alone(name))["slice"][field].sel(step=every).values
    values = EXACT[name]()
    np.testing.assert_allclose(picture, values[values.shape[0] // 2], rtol=1e-12, atol=1e-12 * values.max())


QUICK = [*(("wave", way) for way in WAYS), ("heat", "in-transit"), ("pulse", "async")]


@pytest.mark.parametrize(
    ("name", "way"), [*QUICK, *slow(*(case for case in itertools.product(EXACT, WAYS) if case not in QUICK))]
)
def test_the_bits_are_the_same_on_any_ranks_and_by_any_way(
    name: str, way: str, programs: Programs, alone: Callable[[str], Path], tmp_path: Path
) -> None:
    line, field, every = programs[name]
    ranks, rest = WAYS[way]
    done = launch(tmp_path, ranks, *line, configured(tmp_path, field, every, way, rest), "run")
    assert done.returncode == 0, done.stderr
    if way == "file":
        later = analyze_later(tmp_path / "run", 3)
        assert later.returncode == 0, later.stderr
    assert results(tmp_path / "run") == results(alone(name)) != {}


@pytest.mark.parametrize("name", ["wave", "pulse", *slow("heat")])
def test_a_program_goes_on_from_its_checkpoint_on_other_ranks_to_the_bit(
    name: str, programs: Programs, alone: Callable[[str], Path], tmp_path: Path
) -> None:
    line, field, every = programs[name]
    config = configured(tmp_path, field, every)
    short = tmp_path / "short.toml"
    short.write_text(f"[run]\nmax_steps = {every + 7}\n" + config.read_text())

    first = launch(tmp_path, 2, *line, short, "parts")
    assert first.returncode == 0, first.stderr
    assert len(results(tmp_path / "parts", "slice")) < len(results(alone(name), "slice"))
    then = launch(tmp_path, 3, *line, config, "parts")
    assert then.returncode == 0, then.stderr

    assert results(tmp_path / "parts") == results(alone(name))
    lines = [json.loads(one) for one in (tmp_path / "parts" / "events.jsonl").read_text().splitlines()]
    (restart,) = [one for one in lines if one["event"] == "restart"]
    assert restart["step"] == every + 7  # the last one of before, and not the start
    assert [one["step"] for one in lines if one["event"] == "step"][-1] == 2 * every


def stubbed_program(folder: Path, source: Path) -> Path:
    """A program with the stub in the place of the library."""
    if source.suffix == ".c":
        options = ("-std=c11", *flags("--cflags"))
        return compiled("mpicc", folder, "stubbed", source, STUB, "-ldl", "-lm", options=options)
    stub = compiled("mpicc", folder, "stub.o", STUB, options=("-c", *flags("--cflags")))
    module = PREFIX / "include" / "sidestream.f90"
    return compiled("mpif90", folder, "stubbed", module, source, stub, "-ldl", options=("-std=f2008",))


@pytest.mark.parametrize(("name", "source"), [("wave", "wave.c"), *slow(("heat", "heat.f90"))])
def test_a_program_with_the_stub_runs_without_the_library_and_uses_one_that_is_there(
    name: str, source: str, programs: Programs, alone: Callable[[str], Path], tmp_path: Path
) -> None:
    _, field, every = programs[name]
    stubbed = stubbed_program(tmp_path, HOSTS / source)
    config = configured(tmp_path, field, every)
    without = launch(tmp_path, 2, stubbed, config, "without", LD_LIBRARY_PATH="")
    assert without.returncode == 0, without.stdout + without.stderr
    assert not (tmp_path / "without").exists()

    library = PREFIX / "lib" / "libsidestream.so.1"
    there = launch(tmp_path, 2, stubbed, config, "there", SIDESTREAM_LIBRARY=str(library))
    assert there.returncode == 0, there.stdout + there.stderr
    found = launch(tmp_path, 2, stubbed, config, "found", LD_LIBRARY_PATH=str(library.parent))
    assert found.returncode == 0, found.stdout + found.stderr
    assert results(tmp_path / "there") == results(tmp_path / "found") == results(alone(name)) != {}

    lost = launch(tmp_path, 1, stubbed, config, "lost", SIDESTREAM_LIBRARY="/nowhere.so")
    assert lost.returncode != 0
    assert "SIDESTREAM_LIBRARY cannot be loaded" in lost.stdout + lost.stderr


@pytest.mark.parametrize("source", ["quadrants.f90", *slow("quadrants.c")])
def test_redistribution_with_the_stub_is_refused_without_the_library_and_done_with_one(
    source: str, tmp_path: Path
) -> None:
    stubbed = stubbed_program(tmp_path, HOSTS.parent / "redistribution" / source)
    alone = launch(tmp_path, 4, stubbed, LD_LIBRARY_PATH="")
    assert alone.returncode != 0
    assert "arrays are moved by the library, which is not there" in alone.stdout + alone.stderr
    there = launch(tmp_path, 4, stubbed, SIDESTREAM_LIBRARY=str(PREFIX / "lib" / "libsidestream.so.1"))
    assert there.returncode == 0, there.stdout + there.stderr


def test_the_stub_has_every_function_of_the_header() -> None:
    header = (PREFIX / "include" / "sidestream.h").read_text()
    declared = re.findall(r"^SIDESTREAM_PUBLIC [^;(]*?(\w+)\(", header, re.MULTILINE)
    defined = re.findall(r"^(?:int|const char) [*]?(sidestream_\w+)\(", STUB.read_text(), re.MULTILINE)
    assert "sidestream_free" in declared
    assert sorted(defined) == sorted(declared)


def test_a_library_of_another_mpi_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text('const char *sidestream_mpi(void) { return "Another MPI"; }\n')
    other = compiled("gcc", tmp_path, "other.so", "other.c", options=("-shared", "-fPIC"))
    options = ("-std=c11", *flags("--cflags"))
    stubbed = compiled("mpicc", tmp_path, "stubbed", HOSTS / "wave.c", STUB, "-ldl", "-lm", options=options)
    done = launch(tmp_path, 1, stubbed, "any.toml", "run", SIDESTREAM_LIBRARY=str(other))
    assert done.returncode != 0
    assert "the library was built for Another MPI, and the program runs" in done.stderr


STRUCTURES = """
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sidestream.h>
/* A header of later: one member more. */
typedef struct { sidestream_options known; void *later; } later_options;
static int opened(const void *options) {
  sidestream_session *run = NULL;
  MPI_Comm comm;
  const int status = sidestream_open(MPI_COMM_WORLD, options, &run, &comm);
  if (status != SIDESTREAM_OK) printf("%d %s\\n", status, sidestream_last_message());
  else sidestream_close(run);
  return status;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.folder = "none";
  options.size = offsetof(sidestream_options, tell); /* a header of before these members */
  assert(opened(&options) == SIDESTREAM_OK);
  later_options later = {SIDESTREAM_OPTIONS, NULL};
  later.known.folder = "none";
  later.known.size = sizeof later;
  assert(opened(&later) == SIDESTREAM_OK);
  later.later = &later; /* asks for something */
  assert(opened(&later) == SIDESTREAM_REFUSED);
  options.size = 8;
  assert(opened(&options) == SIDESTREAM_REFUSED);
  assert(opened(NULL) == SIDESTREAM_REFUSED);
  assert(sidestream_step(NULL, 1, 1.0) == SIDESTREAM_BAD_ARGUMENT);
  assert(sidestream_goes_on(NULL) == 0 && sidestream_close(NULL) == SIDESTREAM_OK);
  MPI_Finalize();
  return 0;
}
"""


def test_programs_of_older_and_newer_headers_are_served(tmp_path: Path) -> None:
    (tmp_path / "structures.c").write_text(STRUCTURES)
    done = launch(tmp_path, 1, c_program(tmp_path, tmp_path / "structures.c"))
    assert done.returncode == 0, done.stderr
    assert "asks for what this library does not know yet" in done.stdout
    assert "begin with `sidestream_options x = SIDESTREAM_OPTIONS;`" in done.stdout


WRONG = [
    ('[task.a]\nanalysis = "slice"\nfields = ["hight"]\nevery = 1\n', "hight"),
    ('simulation = "sedov"\n', "the program `wave` is the simulation"),
    ("[host]\ncells = [1, 1, 1]\n", "the program `wave` is the simulation"),
    (
        "[coupling]\nsidecars = 2\n" + TASKS.format(field="height", every=9, transport="in-transit"),
        "cannot be sidecars",
    ),
    (
        '[output]\ncheckpoint = { every = 9, format = "flash" }\n',
        "takes blocks of equal size, covered whole or not at all",
    ),
    ("[task", "wrong.toml"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_configuration_is_refused_on_all_ranks_with_the_reason(
    text: str, message: str, wave: Path, tmp_path: Path
) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    ranks = 2 if "sidecars" in text else 3
    done = launch(tmp_path, ranks, wave, "wrong.toml", "run")
    assert done.returncode != 0
    assert message in done.stderr
    assert "hint: " in done.stderr or "expected" in done.stderr
    assert not (tmp_path / "run" / "results").exists()


EMPTY_RANK = """
import sys
import numpy as np
from mpi4py import MPI
import sidestream
world, folder, kinds = MPI.COMM_WORLD, sys.argv[2], sys.argv[3:]
for kind in kinds:
    with sidestream.session(sys.argv[1], f"{folder}/{kind}", comm=world, quiet=True) as run:
        rank, workers = run.comm.rank, max(1, run.comm.size - 1)  # the last of several ranks has no block
        first, last = 12 * rank // workers, 12 * (rank + 1) // workers
        values = (np.arange(12 * 8 * 8).reshape(12, 8, 8) % 7 + 1).astype(kind)
        run.mesh((12, 8, 8), blocks=[np.s_[first:last, :, :]] if rank < workers else [])
        run.field("height", [values[first:last].copy()] if rank < workers else [])
        run.begin()
        run.step(1, 1.0)
"""


def test_a_rank_without_blocks_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text(EMPTY_RANK)
    config = configured(tmp_path, "height", 1)
    kinds = ["float64", "float32", "int16"]
    for ranks in (1, 3):
        (tmp_path / f"on{ranks}").mkdir()
        done = launch(tmp_path, ranks, sys.executable, "empty.py", config, f"on{ranks}", *kinds)
        assert done.returncode == 0, done.stderr
    for kind in kinds:
        assert len(results(tmp_path / "on1" / kind)) == 4, kind
        assert results(tmp_path / "on3" / kind) == results(tmp_path / "on1" / kind), kind


def test_what_is_told_of_one_kind_of_restored_particles_stays_when_another_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text('[output]\ncheckpoint = { format = "raw", every = 1 }\n')
    program = c_program(tmp_path, Path(__file__).parents[1] / "c" / "restored_kinds.c")
    for _ in range(2):
        done = launch(tmp_path, 1, program, "tasks.toml", "run")
        assert done.returncode == 0, done.stderr
