"""Programs and libraries of different versions of the interface for C and Fortran, and what no version may change."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from hosts import HOSTS, PREFIX, STUB, c_program, compiled, flags, fortran_program, launch
from interface import (
    broken_promises,
    constants,
    fake_library,
    functions,
    handles,
    initializers,
    name_of,
    of_later,
    structures,
)
from test_faults import results
from tiers import slow

FIRST = Path(__file__).parents[1] / "data" / "interface_1"
HEADER = (FIRST / "sidestream.h").read_text()
TODAY = (PREFIX / "include" / "sidestream.h").read_text()
LIBRARY = PREFIX / "lib" / "libsidestream.so.1"
EVERY = FIRST / "every_function.c"
KEPT = {
    "sidestream.h": "f0292e3f8112b26c498fc852d5ef512c6c7ed86246f55aa2194ed350e46f9a09",
    "sidestream_stub.c": "18d0b155910dae279e35899b6bef37d63b0a0e3aa16a1bbb322d4989857115d0",
    "sidestream.f90": "b52b5dc21cd971deb4d533b129936f20f07648e4136f42fd6bedbd5b2ea866e6",
}
TASKS = """
[task.slice]
analysis = "slice"
fields = ["height"]
every = 1
[output]
checkpoint = { every = 2, format = "raw" }
"""
Answers = tuple[list[list[str]], dict[str, dict[str, bytes]]]
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def linked(folder: Path, include: Path) -> Path:
    """The program with a header, linked with the library of today."""
    return compiled("mpicc", folder, "linked", EVERY, *flags("--libs"), options=(*STRICT, f"-I{include}"))


def stubbed(folder: Path, include: Path, stub: Path) -> Path:
    """The program with a header and a stub."""
    return compiled("mpicc", folder, "stubbed", EVERY, stub, "-ldl", "-lm", options=("-std=c11", f"-I{include}"))


def told(folder: Path, program: Path, ranks: int = 2, **extra: str) -> list[list[str]]:
    """What calls answer on each rank; the run is the folder `run`."""
    folder.mkdir()
    (folder / "tasks.toml").write_text(TASKS)
    done = launch(folder, ranks, program, "tasks.toml", "run", **extra)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "stdout").write_text(done.stdout)
    return [(folder / f"told.{rank}").read_text().splitlines() for rank in range(ranks)]


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the program is told, and its results, where header and library are of today."""
    folder = tmp_path_factory.mktemp("today")
    answers = told(folder / "on2", linked(folder, PREFIX / "include"))
    return answers, results(folder / "on2" / "run")


def test_what_is_kept_of_the_first_version_is_never_edited() -> None:
    """Where this fails, give the present interface a folder of its own, and leave that of the first one as it was."""
    assert {name: hashlib.sha256((FIRST / name).read_bytes()).hexdigest() for name in KEPT} == KEPT


def test_the_program_uses_every_function_and_member_of_the_first_version(today: Answers) -> None:
    source = EVERY.read_text()
    for name in functions(HEADER):
        assert f"SAY({name.removeprefix('sidestream_')}(" in source or f"{name}(" in source, name
    for name, members in structures(HEADER).items():
        assert f"{name} " in source
        assert [m for m in members[1:] if not re.search(rf"\.{name_of(m)}\b", source)] == [], name
    (first, second), found = today
    refused = [
        "set_scale_factor(run, -1.0)",
        'restored_particles(run, "tracers", &back)',
        "set_scale_factor(run, -1.0)",
    ]
    for lines in (first, second):
        assert [line.removesuffix(": 2") for line in lines if line.endswith(": 2")] == refused
        begun = [line.split()[1:] for line in lines if line.startswith("begun: ")]
        assert [one[:2] for one in begun] == [["0", "0"], ["2", "2"]]
        assert float(begun[1][2]) == float(begun[0][2]) + 2 * 4**3, "the second run has what the first one wrote"
        assert lines.count("wanted: 1 inf") == 4
        assert lines.count("its size is as it was: 1") == 2
    assert [line for line in first if line.startswith("restored: ")] == [
        f"restored: {p} {0.5 + p % 3:g} {0.5 + p % 3:g} {10 + p % 3}" for p in range(6)
    ]
    rows = (300, 0, 100, 200)
    assert first.count(" ".join(str(row + column) for column in range(4) for row in rows)) == 2
    assert len(found) == 5


@pytest.mark.parametrize("way", ["linked", "stubbed"])
def test_programs_of_the_first_version_are_served_by_the_library_of_today(
    way: str, today: Answers, tmp_path: Path
) -> None:
    if way == "linked":
        answers = told(tmp_path / "run", linked(tmp_path, FIRST))
    else:
        program = stubbed(tmp_path, FIRST, FIRST / "sidestream_stub.c")
        answers = told(tmp_path / "run", program, SIDESTREAM_LIBRARY=str(LIBRARY))
    assert (answers, results(tmp_path / "run" / "run")) == today


def test_programs_of_a_later_version_are_served_by_the_library_of_today(today: Answers, tmp_path: Path) -> None:
    """Structures are longer then, and ask for nothing in what is new."""
    (tmp_path / "sidestream.h").write_text(of_later(TODAY))
    answers = told(tmp_path / "run", linked(tmp_path, tmp_path))
    assert (answers, results(tmp_path / "run" / "run")) == today


@pytest.mark.parametrize("name", slow("wave.c", "heat.f90"))
def test_the_examples_built_with_the_first_version_give_the_results_of_today(name: str, tmp_path: Path) -> None:
    source = HOSTS / name
    field, every = ("height", 100) if source.suffix == ".c" else ("temperature", 200)
    (tmp_path / "tasks.toml").write_text(TASKS.replace("height", field).replace("= 1", f"= {every}"))
    if source.suffix == ".c":
        old = compiled("mpicc", tmp_path, "old", source, *flags("--libs"), "-lm", options=(*STRICT, f"-I{FIRST}"))
        new = c_program(tmp_path, source)
    else:
        module = FIRST / "sidestream.f90"
        old = compiled("mpif90", tmp_path, "old", module, source, *flags("--libs"), options=("-std=f2008",))
        new = fortran_program(tmp_path, source)
    for program in (old, new):
        done = launch(tmp_path, 2, program, "tasks.toml", f"run_{program.name}")
        assert done.returncode == 0, done.stderr
    assert results(tmp_path / "run_old") == results(tmp_path / f"run_{new.name}") != {}


def library_of(folder: Path, names: set[str]) -> Path:
    """One that has so much of the first version, and says what it is asked."""
    (folder / "library.c").write_text(fake_library(HEADER, names))
    return compiled("mpicc", folder, "library.so", "library.c", options=("-shared", "-fPIC", f"-I{FIRST}"))


def test_a_stub_of_today_reaches_every_function_of_a_library_of_the_first_version(tmp_path: Path) -> None:
    library = library_of(tmp_path, set(functions(HEADER)))
    program = stubbed(tmp_path, PREFIX / "include", STUB)
    (answers,) = told(tmp_path / "run", program, 1, SIDESTREAM_LIBRARY=str(library))
    assert set((tmp_path / "run" / "stdout").read_text().split()) == set(functions(HEADER))
    assert [line for line in answers if line.endswith(": 2")] == []


@pytest.mark.parametrize("version", ["first", "today"])
def test_with_a_library_that_has_not_all_functions_yet_stubs_answer_as_with_none(version: str, tmp_path: Path) -> None:
    first_functions = {"sidestream_mpi", "sidestream_open", "sidestream_open_f"}
    library = library_of(tmp_path, first_functions)
    place = (FIRST, FIRST / "sidestream_stub.c") if version == "first" else (PREFIX / "include", STUB)
    program = stubbed(tmp_path, *place)
    (alone,) = told(tmp_path / "alone", program, 1, LD_LIBRARY_PATH="")
    (answers,) = told(tmp_path / "young", program, 1, SIDESTREAM_LIBRARY=str(library))

    assert set((tmp_path / "young" / "stdout").read_text().split()) == first_functions
    assert answers == alone
    moves = ("describe", "map", "map_f", "reorganise", "start", "finish", "test", "sent_bytes")
    refused = [line for line in alone if line.endswith(": 2")]
    assert {line.partition("(")[0] for line in refused} == {"restored_particles", *moves}
    assert alone.count("wanted: 0 inf") == 4
    assert not (tmp_path / "alone" / "run").exists()


def test_the_header_of_today_keeps_what_the_first_one_has_promised() -> None:
    assert len(functions(HEADER)) == 33 and len(structures(HEADER)) == 7 == len(initializers(HEADER))
    assert len(constants(HEADER)) == 21 and len(handles(HEADER)) == 2
    assert broken_promises(HEADER, TODAY) == []
    assert broken_promises(HEADER, of_later(TODAY)) == []


@pytest.mark.parametrize(
    ("was", "becomes", "what"),
    [
        ("int64_t step, double time);", "int32_t step, double time);", "sidestream_step"),
        ("int sidestream_progress(", "int sidestream_poll(", "sidestream_progress"),
        ("  size_t count;            /*", "  int layers; size_t count; /*", "sidestream_mesh"),
        ("double mass; ", "float mass; ", "sidestream_particles"),
        ("SIDESTREAM_UINT64 = 11", "SIDESTREAM_UINT64 = 12", "SIDESTREAM_UINT64"),
        ("SIDESTREAM_FLOAT64, 1, 0,", "SIDESTREAM_FLOAT64, 0, 0,", "SIDESTREAM_FIELD"),
        ("sidestream_data sidestream_data;", "other_data sidestream_data;", "sidestream_data"),
    ],
)
def test_a_promise_that_is_broken_is_named(was: str, becomes: str, what: str) -> None:
    assert HEADER.count(was) == 1
    assert broken_promises(HEADER, HEADER.replace(was, becomes)) == [what]


def test_functions_of_the_first_version_are_in_the_library() -> None:
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert set(functions(HEADER)) <= set(re.findall(r" T (\w+)", listed))


# Where a program that was built with the header of the first version looks, on machines of 64 bits.
PLACES = """
options: name 8, config 16, folder 24, existing 32, catches_signals 36, is_quiet 40, override_count 48
options: overrides 56, job_program 64, tell 72, context 80
mesh: cells 8, lengths 32, periodic 56, length_unit 72, ghosts 80, count 104, offsets 112, extents 120, levels 128
field: name 8, unit 16, meaning 24, type 32, is_state 36, count 40, blocks 48, strides 56, shapes 64
particles: name 8, count 16, ids 24, positions 32, attribute_count 56, attributes 64, units 72, values 80, mass 88
description: dimensions 8, cells 16, periodic 40, rim 56, components 80, allows_holes 84, strategy 88
chunks: count 8, offsets 16, cells 24
memory: type 8, count 16, chunks 24, strides 32
"""
OTHER = """
#include <sidestream.h>
#define AT(type, member, place) _Static_assert(offsetof(type, member) == place, #type "." #member);
#define IS(name, number) _Static_assert(name == number, #name);
PLACES
IS(SIDESTREAM_OK, 0) IS(SIDESTREAM_BAD_ARGUMENT, 1) IS(SIDESTREAM_REFUSED, 2) IS(SIDESTREAM_NO_MEMORY, 3)
IS(SIDESTREAM_INTERNAL, 4) IS(SIDESTREAM_INCOMPLETE, 5) IS(SIDESTREAM_REFUSE, 0) IS(SIDESTREAM_OVERWRITE, 1)
IS(SIDESTREAM_RESUME, 2) IS(SIDESTREAM_FLOAT32, 0) IS(SIDESTREAM_FLOAT64, 1) IS(SIDESTREAM_COMPLEX64, 2)
IS(SIDESTREAM_COMPLEX128, 3) IS(SIDESTREAM_INT32, 4) IS(SIDESTREAM_INT64, 5) IS(SIDESTREAM_INT8, 6)
IS(SIDESTREAM_INT16, 7) IS(SIDESTREAM_UINT8, 8) IS(SIDESTREAM_UINT16, 9) IS(SIDESTREAM_UINT32, 10)
IS(SIDESTREAM_UINT64, 11)
"""


def test_members_stay_where_programs_of_the_first_version_look(tmp_path: Path) -> None:
    lines = [
        f"AT(sidestream_{struct}, {member.replace(' ', ', ')})"
        for struct, members in (line.split(": ") for line in PLACES.strip().splitlines())
        for member in members.split(", ")
    ]
    assert len(lines) == 52
    (tmp_path / "layout.c").write_text(OTHER.replace("PLACES", "\n".join(lines)))

    compiled("mpicc", tmp_path, "layout.o", "layout.c", options=("-c", "-std=c11", *flags("--cflags")))


SIZES = """
#include <stdio.h>
#include <string.h>
#include <sidestream.h>
enum { n = 4 };
static sidestream_session *run;
static sidestream_data *data;
static double numbers[n * n * n];
/* A structure in the room of a longer one, of the size that another version would say: without the last member of the
 * first one, or with another one. */
static void give(const char *what, int (*to)(const void *), const void *standard, size_t size, size_t older) {
  const struct { const char *name; size_t size; int asks; } versions[] = {
      {"present", size, 0}, {"older than the first", older, 0}, {"of none", 0, 0}, {"later", size + 8, 0},
      {"later, and asks", size + 8, 1}};
  for (int v = 0; v < 5; ++v) {
    size_t room[64] = {0};
    memcpy(room, standard, size);
    room[0] = versions[v].size;
    if (versions[v].asks) room[size / sizeof *room] = 1;
    const int status = to(room);
    char message[512] = "taken";
    if (status != SIDESTREAM_OK) snprintf(message, sizeof message, "%s", sidestream_last_message());
    message[strcspn(message, "\\n")] = '\\0';
    printf("%s, %s: %s\\n", what, versions[v].name, message);
  }
}
static int set_mesh(const void *given) { return sidestream_set_mesh(run, given); }
static int set_field(const void *given) { return sidestream_set_field(run, given); }
static int set_particles(const void *given) { return sidestream_set_particles(run, given); }
static int restored_particles(const void *given) {
  return sidestream_restored_particles(run, "tracers", (sidestream_particles *)given);
}
static int describe(const void *given) { return sidestream_describe(given, &data); }
static int map(const void *given) { return sidestream_map(data, MPI_COMM_WORLD, given, NULL); }
static int reorganise(const void *given) { return sidestream_reorganise(data, given, NULL); }
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int64_t first[3] = {0, 0, 0}, extent[3] = {n, n, n}, ids[1] = {1};
  void *const blocks[1] = {numbers};
  MPI_Comm comm;
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.folder = "none";
  if (sidestream_open(MPI_COMM_WORLD, &options, &run, &comm) != SIDESTREAM_OK) return 1;
  sidestream_mesh mesh = SIDESTREAM_MESH;
  mesh.cells[0] = mesh.cells[1] = mesh.cells[2] = n;
  mesh.count = 1;
  mesh.offsets = first;
  mesh.extents = extent;
  give("mesh", set_mesh, &mesh, sizeof mesh, offsetof(sidestream_mesh, levels));
  sidestream_field field = SIDESTREAM_FIELD;
  field.name = "height";
  field.count = 1;
  field.blocks = blocks;
  give("field", set_field, &field, sizeof field, offsetof(sidestream_field, strides));
  sidestream_particles kind = SIDESTREAM_PARTICLES;
  kind.name = "tracers";
  kind.count = 1;
  kind.ids = ids;
  kind.positions[0] = kind.positions[1] = kind.positions[2] = numbers;
  give("particles", set_particles, &kind, sizeof kind, offsetof(sidestream_particles, mass));
  give("restored", restored_particles, &kind, sizeof kind, offsetof(sidestream_particles, mass));
  sidestream_description description = SIDESTREAM_DESCRIPTION;
  description.cells[0] = description.cells[1] = description.cells[2] = n;
  give("description", describe, &description, sizeof description, offsetof(sidestream_description, strategy));
  if (sidestream_describe(&description, &data) != SIDESTREAM_OK) return 1;
  sidestream_chunks chunks = SIDESTREAM_CHUNKS;
  chunks.count = 1;
  chunks.offsets = first;
  chunks.cells = extent;
  give("chunks", map, &chunks, sizeof chunks, offsetof(sidestream_chunks, cells));
  if (sidestream_map(data, MPI_COMM_WORLD, &chunks, NULL) != SIDESTREAM_OK) return 1;
  sidestream_memory memory = SIDESTREAM_MEMORY;
  memory.count = 1;
  memory.chunks = blocks;
  give("memory", reorganise, &memory, sizeof memory, offsetof(sidestream_memory, strides));
  sidestream_free(data);
  sidestream_close(run);
  MPI_Finalize();
  return 0;
}
"""


def test_structures_of_sizes_that_no_version_has_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "sizes.c").write_text(SIZES)
    done = launch(tmp_path, 1, c_program(tmp_path, tmp_path / "sizes.c"))
    assert done.returncode == 0, done.stdout + done.stderr
    answers = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    for what in ("mesh", "field", "particles", "description", "chunks", "memory"):
        assert answers[f"{what}, present"] == answers[f"{what}, later"] == "taken"
        for version in ("older than the first", "of none"):
            assert f"error: the `size` of a sidestream_{what} is " in answers[f"{what}, {version}"]
        unknown = f"error: a sidestream_{what} asks for what this library does not know yet"
        assert answers[f"{what}, later, and asks"] == unknown
    for version in ("older than the first", "of none"):
        assert "error: the `size` of a sidestream_particles is " in answers[f"restored, {version}"]
    assert answers["restored, present"] == answers["restored, later"] != ""
    assert "size" not in answers["restored, later"]
