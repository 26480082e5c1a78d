"""What programs of others may not do: refused in a sentence on all ranks, and the program and its run go on."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import hosts
import sidestream
from hosts import HOSTS, STUB, compiled, flags
from test_faults import results
from tiers import slow

TASKS = '[task.slice]\nanalysis = "slice"\nfields = ["height"]\nevery = 1\n'

PROGRAM = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sidestream.h>
enum { n = 8 };
static int rank, ranks, is_odd;
static double u[2][n * n * n];
static sidestream_session *run;
static MPI_Comm comm;
static int64_t step, offset[3], extent[3] = {n, n, n};
static double now, knob = 1.0;
static sidestream_mesh mesh = SIDESTREAM_MESH;
static const char *case_is;
static int is(const char *name) { return strcmp(case_is, name) == 0; }
static int odd(const char *name) { return is_odd && is(name); }
static void tell(const char *what, int status) {
  if (status == SIDESTREAM_OK) return;
  char message[4096];
  snprintf(message, sizeof message, "%s", sidestream_last_message());
  for (char *c = message; *c != '\\0'; ++c) if (*c == '\\n') *c = ' ';
  printf("[%d] %s: %d %s\\n", rank, what, status, message);
}
#define TELL(call) tell(#call, sidestream_##call)
static void no(const char *what, int status) {
  tell(what, status);
  if (status == SIDESTREAM_OK) printf("[%d] taken: %s\\n", rank, what);
}
#define NO(call) no(#call, sidestream_##call)
static void open_run(const char *folder) {
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.config = "tasks.toml";
  options.folder = folder;
  options.is_quiet = 1;
  TELL(open(MPI_COMM_WORLD, &options, &run, &comm));
}
static void describe(void) {
  mesh.cells[0] = mesh.cells[1] = n;
  mesh.cells[2] = n * ranks;
  offset[2] = n * rank;
  mesh.count = 1;
  mesh.offsets = offset;
  mesh.extents = extent;
  for (int axis = 0; axis < 3; ++axis) mesh.lengths[axis] = 1.0;
}
"""
BODY = """
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  case_is = argc > 1 ? argv[1] : "";
  is_odd = rank == ranks - 1;
  for (int i = 0; i < n * n * n; ++i) u[0][i] = u[1][i] = i % 7 + 1;
  BODY
  MPI_Finalize();
  printf("[%d] end\\n", rank);
  return 0;
}
"""

NOBODY = """
  int yes; double next; int64_t count = 0; void *memory = u[0];
  sidestream_options options = SIDESTREAM_OPTIONS; sidestream_field field = SIDESTREAM_FIELD;
  sidestream_particles particles = SIDESTREAM_PARTICLES;
  options.folder = "none";
  NO(open(MPI_COMM_NULL, &options, &run, &comm));
  NO(open(MPI_COMM_WORLD, NULL, &run, &comm)); NO(open(MPI_COMM_WORLD, &options, NULL, &comm));
  NO(open(MPI_COMM_WORLD, &options, &run, NULL));
  for (int has_run = 0; has_run < 3; ++has_run) {
    if (has_run == 1) open_run("run");
    if (has_run == 2) TELL(close(run));
    sidestream_session *const with = has_run == 0 ? NULL : run;
    NO(set_mesh(with, NULL)); NO(set_field(with, NULL)); NO(set_field(with, &field)); NO(set_particles(with, NULL));
    NO(set_array(with, "height", "m", SIDESTREAM_FLOAT64, NULL)); NO(restored_particles(with, "a", &particles));
    NO(set_number(with, NULL, 1.0)); NO(set_number(with, "", 1.0)); NO(set_number(with, "time", 1.0));
    NO(set_scale_factor(with, NAN)); NO(set_scale_factor(with, -1.0)); NO(set_progress(with, NAN));
    NO(set_progress(with, 2.5)); NO(set_progress(with, -1.0));
    NO(add_knob(with, "k", NULL, 0.0, 2.0, NULL)); NO(add_knob(with, NULL, NULL, 0.0, 2.0, &knob));
    NO(add_knob(with, "k", NULL, 2.0, 3.0, &knob)); NO(add_knob(with, "k", NULL, NAN, 3.0, &knob));
    NO(begin(with, NULL, NULL)); NO(begin(with, &count, &next)); NO(wants(with, NULL, &yes));
    NO(wants(with, "a", NULL)); NO(next_time(with, 0.0, NULL)); NO(step(with, 1, 1.0));
    if (sidestream_goes_on(with) || sidestream_is_restarted(with) || sidestream_is_sidecar(with)) printf("taken\\n");
  }
  NO(close(run));
  open_run("sizes");
  describe();
  const int64_t many[3] = {1 << 30, 1 << 30, 1 << 30}, few[3] = {n, n, n * ranks};
  memcpy(mesh.cells, many, sizeof many); NO(set_mesh(run, &mesh)); memcpy(mesh.cells, few, sizeof few);
  mesh.ghosts[1] = 1 << 30; NO(set_mesh(run, &mesh)); mesh.ghosts[1] = -1; NO(set_mesh(run, &mesh)); mesh.ghosts[1] = 0;
  mesh.lengths[0] = INFINITY; NO(set_mesh(run, &mesh)); mesh.lengths[0] = 1.0;
  mesh.cells[0] = 0; NO(set_mesh(run, &mesh)); mesh.cells[0] = INT64_MAX; NO(set_mesh(run, &mesh)); mesh.cells[0] = n;
  extent[0] = -3; NO(set_mesh(run, &mesh)); extent[0] = n;
  offset[0] = INT64_MIN; NO(set_mesh(run, &mesh)); offset[0] = 0;
  int level = 30; mesh.levels = &level; NO(set_mesh(run, &mesh)); level = -1; NO(set_mesh(run, &mesh));
  mesh.levels = NULL;
  TELL(set_mesh(run, &mesh));
  NO(set_array(run, NULL, NULL, SIDESTREAM_FLOAT64, u)); NO(set_array(run, "a/b", NULL, SIDESTREAM_FLOAT64, u));
  NO(set_array(run, "a\\nb", NULL, SIDESTREAM_FLOAT64, u)); NO(set_array(run, "x", NULL, SIDESTREAM_FLOAT64, u));
  NO(set_array(run, "height", "\\xb5m", SIDESTREAM_FLOAT64, u));
  NO(set_array(run, "height", NULL, 99, u)); NO(set_array(run, "height", NULL, SIDESTREAM_COMPLEX64, u));
  const int64_t shape[3] = {n, n, n - 1};
  field.name = "height"; field.count = 1; field.blocks = &memory; field.shapes = shape; NO(set_field(run, &field));
  field.count = 2; NO(set_field(run, &field));
  particles.name = "a/b"; NO(set_particles(run, &particles)); particles.name = "a"; particles.mass = NAN;
  NO(set_particles(run, &particles));
  TELL(add_knob(run, "k", NULL, 0.0, 2.0, &knob)); NO(add_knob(run, "k", NULL, 0.0, 2.0, &knob));
  TELL(close(run));
"""


def program_of(folder: Path) -> Path:
    options = ("-std=c11", "-Wall", "-Wextra", "-Wno-unused", "-Werror", *flags("--cflags"))
    return compiled("mpicc", folder, "host", folder / "host.c", *flags("--libs"), "-lm", options=options)


def built(folder: Path, body: str) -> Path:
    (folder / "tasks.toml").write_text(TASKS)
    (folder / "host.c").write_text(PROGRAM + BODY.replace("BODY", body))
    return program_of(folder)


def launch(folder: Path, ranks: int, *line: object, **extra: Any) -> subprocess.CompletedProcess[str]:
    """As `hosts.launch`, and what ranks print is kept apart: what mpirun passes on of several may lie within lines."""
    into_own = 'exec "$0" "$@" > "stdout.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"'
    done = hosts.launch(folder, ranks, "sh", "-c", into_own, *line, **extra)
    done.stdout = "".join((folder / f"stdout.{rank}").read_text() for rank in range(ranks))
    return done


def test_arguments_that_nobody_may_give_are_refused_by_name_and_end_nothing(tmp_path: Path) -> None:
    done = launch(tmp_path, 2, built(tmp_path, NOBODY))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "taken" not in done.stdout
    assert done.stdout.count("end\n") == 2
    told = done.stdout.splitlines()
    without = [
        line for line in told if line.startswith("[") and "end" not in line and not ("-->" in line and "hint: " in line)
    ]
    assert without == []


ALONE = """
  open_run("run");
  describe();
  if (odd("cells")) mesh.cells[0] = 2 * n;
  if (odd("lengths")) mesh.lengths[0] = 3.0;
  if (odd("periodic")) mesh.periodic[0] = 1;
  if (odd("unit of length")) mesh.length_unit = "kpc";
  TELL(set_mesh(run, &mesh));
  if (odd("number")) TELL(set_number(run, "viscosity", 5.0));
  if (odd("scale")) TELL(set_scale_factor(run, 0.5));
  if (odd("knob")) TELL(add_knob(run, "k", NULL, 0.0, 2.0, &knob));
  TELL(set_array(run, "height", odd("unit") ? "kg" : "m", odd("type") ? SIDESTREAM_INT64 : SIDESTREAM_FLOAT64, u[0]));
  if (odd("field")) TELL(set_array(run, "width", "m", SIDESTREAM_FLOAT64, u[1]));
  if (odd("begin")) now = 2.0;
  TELL(begin(run, &step, &now));
  if (odd("late")) TELL(set_array(run, "width", "m", SIDESTREAM_FLOAT64, u[1]));
  if (odd("late type")) TELL(set_array(run, "height", "m", SIDESTREAM_INT64, u[1]));
  if (odd("progress")) TELL(set_progress(run, 1.0));
  if (is("mesh")) TELL(set_mesh(run, &mesh));
  TELL(step(run, odd("step") ? 7 : 1, odd("time") ? 3.0 : 1.0));
  if (odd("progress")) TELL(set_progress(run, 0.0));
  TELL(set_array(run, "height", "m", SIDESTREAM_FLOAT64, u[0]));
  if (is("back")) { NO(step(run, 1, 1.0)); NO(step(run, 2, 0.5)); NO(step(run, 2, NAN)); NO(begin(run, &step, &now)); }
  TELL(step(run, 2, 2.0));
  TELL(close(run));
"""
TOGETHER = {
    "cells": "the number of cells of the domain is 16 x 8 x 24 on rank 2, and 8 x 8 x 24 on rank 0",
    "lengths": "the size of the domain is 3 x 1 x 1 on rank 2",
    "periodic": "which axes are periodic is true false false on rank 2",
    "unit of length": 'the unit of length is "kpc" on rank 2, and "" on rank 0',
    "number": "the number `viscosity` is 5 on rank 2, and nothing on rank 0",
    "scale": "the scale factor is 0.5 on rank 2, and nothing on rank 0",
    "knob": "knob 1 is `host.k` from 0 to 2 on rank 2, and nothing on rank 0",
    "unit": "field 1 is `height` [kg], part of the state on rank 2, and `height` [m]",
    "type": "the type of `height` is int64 on rank 2, and float64 on rank 0",
    "field": "field 2 is `width` [m], part of the state on rank 2, and nothing on rank 0",
    "begin": "the time is 2 on rank 2, and 0 on rank 0",
    "late": "a field that the run has not begun with",
    "late type": "the type of `height` is int64 on rank 2, and float64 on rank 0",
    "progress": "how much is done is 1 on rank 2, and 0 on rank 0",
    "mesh": "the mesh was said anew, and a field was not",
    "step": "the step is 7 on rank 2, and 1 on rank 0",
    "time": "the time is 3 on rank 2, and 1 on rank 0",
    "back": "time goes back from 1 to 0.5",
}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("together"), ALONE)


@pytest.mark.parametrize("case", TOGETHER)
def test_what_ranks_say_differently_is_refused_on_all_with_the_rank_and_the_run_goes_on(
    case: str, together: Path, tmp_path: Path
) -> None:
    (tmp_path / "tasks.toml").write_text(TASKS)
    done = launch(tmp_path, 3, together, case)
    assert done.returncode == 0, done.stderr
    assert TOGETHER[case] in done.stdout
    assert done.stdout.count(TOGETHER[case]) == (1 if case == "late" else 3)
    assert "taken" not in done.stdout
    assert done.stdout.count("end\n") == 3
    begun = case in ("late", "late type", "progress", "mesh", "step", "time", "back")
    assert (len(results(tmp_path / "run")) >= 2) == begun  # the start and the last step


HALVES = """
  MPI_Comm half; char folder[8];
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  sidestream_options options = SIDESTREAM_OPTIONS;
  sprintf(folder, "run%d", rank % 2);
  options.folder = folder; options.config = "tasks.toml"; options.is_quiet = 1;
  for (int again = 0; again < 2; ++again) {
    options.existing = again;
    TELL(open(half, &options, &run, &comm));
    MPI_Comm_rank(comm, &rank); MPI_Comm_size(comm, &ranks);
    describe();
    TELL(set_mesh(run, &mesh)); TELL(set_array(run, "height", "m", SIDESTREAM_FLOAT64, u[0]));
    step = 0; now = 0.0;
    TELL(begin(run, &step, &now)); TELL(step(run, 1, 1.0)); TELL(close(run));
  }
"""


def test_halves_of_the_world_have_runs_of_their_own_and_open_them_again(tmp_path: Path) -> None:
    done = launch(tmp_path, 4, built(tmp_path, HALVES))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("end\n") == 4
    assert "error" not in done.stdout
    assert results(tmp_path / "run0") == results(tmp_path / "run1")
    assert len(results(tmp_path / "run0")) == 2


LATE = """
  open_run("run");
  sidestream_session *other = run;
  open_run("other");
  MPI_Finalize();
  NO(close(other)); NO(step(run, 1, 1.0)); NO(open(MPI_COMM_WORLD, NULL, &run, &comm));
  printf("[%d] end\\n", rank);
  return 0;
"""


def test_calls_after_mpi_has_ended_are_refused(tmp_path: Path) -> None:
    done = launch(tmp_path, 2, built(tmp_path, LATE))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MPI is not running") == 6
    assert "taken" not in done.stdout


SIGNALS = """
  open_run("run");
  TELL(close(run));
  struct sigaction kept; sigaction(SIGINT, NULL, &kept);
  if (kept.sa_handler != own) printf("taken: the handler of a run that catches none\\n");
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.folder = "caught"; options.config = "tasks.toml"; options.is_quiet = 1; options.catches_signals = 1;
  TELL(open(MPI_COMM_WORLD, &options, &run, &comm));
  describe();
  TELL(set_mesh(run, &mesh)); TELL(set_array(run, "height", "m", SIDESTREAM_FLOAT64, u[0]));
  TELL(begin(run, &step, &now));
  raise(SIGINT);
  TELL(step(run, 1, 1.0));
  if (sidestream_goes_on(run)) printf("taken: a signal\\n");
  TELL(close(run));
  raise(SIGINT);
  printf("own %d\\n", (int)came);
"""


STRIDES = """
  open_run("run");
  describe();
  TELL(set_mesh(run, &mesh));
  const int64_t wide[3] = {1, n, INT64_C(1) << 60};
  void *memory = u[0];
  sidestream_field field = SIDESTREAM_FIELD;
  field.name = "height"; field.unit = "m"; field.type = SIDESTREAM_FLOAT64; field.count = 1; field.blocks = &memory;
  field.strides = is_odd ? wide : NULL;
  TELL(set_field(run, &field));
  TELL(begin(run, &step, &now));
  field.strides = NULL;
  TELL(set_field(run, &field));
  TELL(begin(run, &step, &now));
  TELL(step(run, 1, 1.0));
  TELL(close(run));
"""


def test_strides_beyond_all_memory_are_refused_by_name_and_nothing_is_read(tmp_path: Path) -> None:
    done = launch(tmp_path, 2, built(tmp_path, STRIDES))

    assert done.returncode == 0, done.stderr + done.stdout
    told = done.stdout.splitlines()
    assert [line[:4] for line in told] == ["[0] ", "[0] ", "[1] ", "[1] ", "[1] "]
    assert "8 x 8 x 8 elements with the strides 1, 8, 1152921504606846976 would reach over 6.46e+19 bytes" in told[2]
    assert "field `height`, block 0" in told[2]
    for line in (told[0], told[3]):
        assert "begin" in line and "field 1 is nothing on rank 1" in line


FORGOTTEN = """
  open_run("run");
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_size(comm, &ranks);
    describe();
    TELL(set_mesh(run, &mesh));
    TELL(set_array(run, "height", "m", SIDESTREAM_FLOAT64, u[0]));
    TELL(begin(run, &step, &now));
    TELL(step(run, 1, 1.0));
  } else {
    TELL(close(run));
  }
"""


@pytest.mark.parametrize("ranks", [2, *slow(3)])
def test_a_session_that_is_open_when_mpi_ends_is_closed_there(ranks: int, tmp_path: Path) -> None:
    program = built(tmp_path, FORGOTTEN)
    text = TASKS.replace("every = 1", 'every = 1\ntransport = "in-transit"')
    (tmp_path / "tasks.toml").write_text(text + "[coupling]\nsidecars = 1\n")

    done = launch(tmp_path, ranks, program, timeout_s=60)

    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.splitlines() == [f"[{rank}] end" for rank in range(ranks)]
    assert done.stderr.count("warning: MPI ends with a session open, which is closed here") == 1
    assert "hint: call sidestream_close before" in done.stderr
    run = sidestream.Run(tmp_path / "run")
    assert run.status == "finished"
    assert run.steps("slice") == [0, 1], "what the sidecar was sent is done"


def test_handlers_of_signals_are_the_programs_again_when_its_run_has_ended(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(TASKS)
    own = "#include <signal.h>\nstatic volatile sig_atomic_t came;\nstatic void own(int n) { (void)n; ++came; }\n"
    body = BODY.replace("BODY", "signal(SIGINT, own);" + SIGNALS)
    (tmp_path / "host.c").write_text("#define _POSIX_C_SOURCE 200809L\n" + PROGRAM + own + body)
    done = launch(tmp_path, 1, program_of(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "taken" not in done.stdout
    assert "own 1\n" in done.stdout


STUBBED = """
  int yes; double next;
  NO(open(MPI_COMM_WORLD, NULL, NULL, &comm)); NO(wants(NULL, "a", NULL)); NO(next_time(NULL, 0.0, NULL));
  NO(restored_particles(NULL, NULL, NULL));
  TELL(open(MPI_COMM_WORLD, NULL, &run, &comm)); TELL(wants(run, NULL, &yes)); TELL(next_time(run, 0.0, &next));
  TELL(step(run, 1, 1.0)); TELL(close(run)); TELL(close(run));
"""


def test_the_stub_alone_refuses_null(tmp_path: Path) -> None:
    (tmp_path / "host.c").write_text(PROGRAM + BODY.replace("BODY", STUBBED))
    options = ("-std=c11", *flags("--cflags"))
    program = compiled("mpicc", tmp_path, "stubbed", tmp_path / "host.c", STUB, "-ldl", "-lm", options=options)
    done = launch(tmp_path, 2, program, LD_LIBRARY_PATH="")
    assert done.returncode == 0, done.stderr
    assert "taken" not in done.stdout
    assert done.stdout.count("end\n") == 2


def test_a_deadline_that_could_end_the_program_is_refused(tmp_path: Path) -> None:
    program = built(tmp_path, ALONE)
    (tmp_path / "tasks.toml").write_text(TASKS + 'deadline = "1 s"\n')
    done = launch(tmp_path, 1, program)
    assert done.returncode == 0, done.stderr
    assert "a task with a deadline could end the program" in done.stdout


def test_threads_are_refused_where_mpi_does_not_allow_them(together: Path, tmp_path: Path) -> None:
    """`MPI_Init` gives one thread, which is all that the program has asked for."""
    (tmp_path / "tasks.toml").write_text(TASKS + 'transport = "async"\n')
    done = launch(tmp_path, 2, together)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("several threads may call at a time (MPI_THREAD_MULTIPLE)") >= 2
    assert "key `task.slice.transport`" in done.stdout
    assert done.stdout.count("end\n") == 2
    assert not (tmp_path / "run" / "results").exists()


OLDER = """
  open_run("run");
  describe();
  TELL(set_mesh(run, &mesh));
  void *memory = u[0];
  sidestream_field field = SIDESTREAM_FIELD;
  field.size = offsetof(sidestream_field, shapes); /* a header of before this member */
  field.shapes = (const int64_t *)1; /* what lies there is no member of it */
  field.name = "height"; field.count = 1; field.blocks = &memory;
  TELL(set_field(run, &field));
  TELL(begin(run, &step, &now));
  TELL(close(run));
"""


def test_programs_of_the_header_before_shapes_are_served(tmp_path: Path) -> None:
    done = launch(tmp_path, 1, built(tmp_path, OLDER))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0] end\n"
    assert len(results(tmp_path / "run")) == 1


def test_the_guide_takes_ten_lines_of_c_for_a_uniform_grid(tmp_path: Path) -> None:
    page = (HOSTS.parents[1] / "docs" / "guides" / "own_code.md").read_text()
    lines = page.split("```c\n")[1].split("```")[0]
    assert len([line for line in lines.splitlines() if "sidestream" in line]) == 10
    program = """
      sidestream_session *run; MPI_Comm comm; const int64_t offset[3] = {0, 0, 0}, extent[3] = {n, n, n};
      int64_t step = 0; double time = 0.0; const double dt = 0.5; double *height = u[0];
    """
    own = "static void advance(double *height) { height[0] += 1.0; }\n"
    body = BODY.replace("BODY", program + lines.replace('"runs/wave"', '"run"'))
    (tmp_path / "host.c").write_text(PROGRAM + own + body)
    (tmp_path / "analyses.toml").write_text("[run]\nmax_steps = 3\n" + TASKS)
    done = launch(tmp_path, 1, program_of(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(results(tmp_path / "run")) == 4
