"""Programs whose memory is closed to whoever writes it while the run looks, and to whoever reads it afterwards."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

import sidestream
from hosts import c_program, launch

TASKS = """
[task.slice]
analysis = "slice"
fields = ["height", "width", "kind"]
every = 1
transport = "{transport}"
[task.friends]
analysis = "halos"
finder = "fof"
field = "height"
species = "tracers"
min_particles = 1
every = 2
transport = "{transport}"
[output]
checkpoint = {{ every = 2, format = "raw", transport = "{files}" }}
plotfile = {{ every = 1, format = "raw" }}
"""
# Ranks, how files are written, and what else the configuration has.
WAYS = {
    "in-situ": (2, "in-situ", ""),
    "async": (2, "in-situ", ""),
    "in-transit": (3, "in-transit", "[coupling]\nsidecars = 1\n"),
    "file": (2, "in-situ", ""),
}

# Two blocks a rank with ghost cells, as doubles, floats and integers, and particles, each in pages of its own.
PROTECTED = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sidestream.h>
enum { n = 16, blocks = 2, fields = 3, particles = 50, numbers = 3 + 2, most = 64 };
static const int64_t ghosts[3] = {2, 1, 1};
static struct { void *first; size_t bytes; } pages[most];
static int count;
static void done(int is_done, const char *what) {
  if (is_done) return;
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void check(int status) {
  if (status == SIDESTREAM_OK) return;
  fprintf(stderr, "%s\\n", sidestream_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void *room(size_t wanted) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (wanted + page - 1) / page * page;
  void *first = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  done(first != MAP_FAILED && count < most, "mmap");
  pages[count].first = first;
  pages[count++].bytes = bytes;
  return first;
}
static void set_rights(int rights) {
  for (int at = 0; at < count; ++at) done(mprotect(pages[at].first, pages[at].bytes, rights) == 0, "mprotect");
}
static int64_t offset[blocks][3];
static void *memory[fields][blocks];
static int64_t *ids;
static double *of_particles[numbers];
static int rank, ranks, step_now;
static double value_at(int64_t x, int64_t y, int64_t z) {
  const int64_t depth = (int64_t)n * blocks * ranks; /* periodic, in ghost cells too */
  return 1.0 + ((x + n) % n + 2 * ((y + n) % n) + 3 * ((z + depth) % depth)) % 7 + step_now;
}
static void compute(void) {
  for (int b = 0; b < blocks; ++b) {
    size_t c = 0;
    for (int64_t k = -ghosts[2]; k < n + ghosts[2]; ++k)
      for (int64_t j = -ghosts[1]; j < n + ghosts[1]; ++j)
        for (int64_t i = -ghosts[0]; i < n + ghosts[0]; ++i, ++c) {
          const double value = value_at(i, j, k + offset[b][2]);
          ((double *)memory[0][b])[c] = value;
          ((float *)memory[1][b])[c] = (float)value;
          ((int32_t *)memory[2][b])[c] = (int32_t)value;
        }
  }
  for (int p = 0; p < particles; ++p) {
    ids[p] = particles * rank + p;
    of_particles[0][p] = (p + step_now) % n + 0.5;
    of_particles[1][p] = 3 * p % n + 0.5;
    of_particles[2][p] = (11 * p + step_now) % (n * blocks * ranks) + 0.5; /* on any rank */
    of_particles[3][p] = 1.0 + p;
    of_particles[4][p] = -1.0 * p;
  }
}
static void describe(sidestream_session *run) {
  int64_t extent[blocks][3];
  const char *names[] = {"height", "width", "kind"};
  const sidestream_type types[] = {SIDESTREAM_FLOAT64, SIDESTREAM_FLOAT32, SIDESTREAM_INT32};
  sidestream_mesh mesh = SIDESTREAM_MESH;
  for (int axis = 0; axis < 3; ++axis) {
    mesh.cells[axis] = axis == 2 ? n * blocks * ranks : n;
    mesh.lengths[axis] = (double)mesh.cells[axis];
    mesh.periodic[axis] = 1;
    mesh.ghosts[axis] = ghosts[axis];
  }
  for (int b = 0; b < blocks; ++b) {
    offset[b][2] = (int64_t)n * (blocks * rank + b);
    for (int axis = 0; axis < 3; ++axis) extent[b][axis] = n;
  }
  mesh.count = blocks;
  mesh.offsets = offset[0];
  mesh.extents = extent[0];
  check(sidestream_set_mesh(run, &mesh));
  for (int f = 0; f < fields; ++f) {
    for (int b = 0; b < blocks; ++b) memory[f][b] = room(sizeof(double) * (n + 4) * (n + 2) * (n + 2));
    sidestream_field field = SIDESTREAM_FIELD;
    field.name = names[f];
    field.unit = "m";
    field.type = types[f];
    field.count = blocks;
    field.blocks = memory[f];
    check(sidestream_set_field(run, &field));
  }
  const char *const attributes[] = {"age", "charge"};
  ids = room(particles * sizeof *ids);
  for (int a = 0; a < numbers; ++a) of_particles[a] = room(particles * sizeof(double));
  sidestream_particles tracers = SIDESTREAM_PARTICLES;
  tracers.name = "tracers";
  tracers.count = particles;
  tracers.ids = ids;
  for (int axis = 0; axis < 3; ++axis) tracers.positions[axis] = of_particles[axis];
  tracers.attribute_count = 2;
  tracers.attributes = attributes;
  tracers.values = (const double *const *)of_particles + 3;
  tracers.mass = 2.0;
  check(sidestream_set_particles(run, &tracers));
}
int main(int argc, char **argv) {
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.config = argv[1];
  options.folder = argv[2];
  options.existing = SIDESTREAM_RESUME;
  options.is_quiet = 1;
  sidestream_session *run;
  MPI_Comm comm;
  check(sidestream_open(MPI_COMM_WORLD, &options, &run, &comm));
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    describe(run);
    int64_t step = 0;
    double time = 0.0;
    for (step_now = 0; step_now <= 4; ++step_now) {
      set_rights(PROT_READ | PROT_WRITE);
      compute();
      set_rights(PROT_READ); /* whoever writes now is killed */
      if (step_now == 0) check(sidestream_begin(run, &step, &time));
      else check(sidestream_step(run, step_now, step_now));
    }
  }
  set_rights(PROT_NONE); /* whoever reads now is killed */
  check(sidestream_close(run));
  MPI_Finalize();
  return 0;
}
"""


def heights(ranks: int) -> np.ndarray:
    """After the last step."""
    z, y, x = np.mgrid[0 : 32 * ranks, 0:16, 0:16]
    return 1.0 + (x + 2 * y + 3 * z) % 7 + 4


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("protected")
    (folder / "protected.c").write_text(PROTECTED)
    return c_program(folder, folder / "protected.c")


@pytest.mark.parametrize("way", WAYS)
def test_arrays_rims_and_particles_are_never_written_and_never_read_when_the_program_has_left_its_loop(
    way: str, protected: Path, tmp_path: Path
) -> None:
    ranks, files, rest = WAYS[way]
    (tmp_path / "tasks.toml").write_text(TASKS.format(transport=way, files=files) + rest)

    done = launch(tmp_path, ranks, protected, "tasks.toml", "run")

    assert done.returncode == 0, done.stderr
    run = sidestream.Run(tmp_path / "run")
    if way != "file":
        assert run.steps("slice") == [0, 1, 2, 3, 4] and run.steps("friends") == [0, 2, 4]
    plot = sidestream.open(tmp_path / "run" / "plt00004.raw")
    expected = heights(ranks - (way == "in-transit"))
    for field in ("height", "width", "kind"):
        np.testing.assert_array_equal(plot.to_xarray()[field], expected)
    tracers = plot.particles("tracers").sortby("id")
    p = np.arange(tracers.sizes["particle"]) % 50
    assert p.size == 50 * (ranks - (way == "in-transit"))
    np.testing.assert_array_equal(tracers["id"], np.arange(p.size))
    np.testing.assert_array_equal(tracers["x"], (p + 4) % 16 + 0.5)
    np.testing.assert_array_equal(tracers["age"], 1.0 + p)
    np.testing.assert_array_equal(tracers["charge"], -1.0 * p)


def test_the_pages_of_the_program_are_closed_to_a_restart_which_writes_them(protected: Path, tmp_path: Path) -> None:
    """What the test above would see of a library that writes."""
    (tmp_path / "tasks.toml").write_text("[output]\ncheckpoint = { every = 4 }\n")
    first = launch(tmp_path, 1, protected, "tasks.toml", "run")
    again = launch(tmp_path, 1, protected, "tasks.toml", "run")

    assert first.returncode == 0, first.stderr
    assert again.returncode == 128 + signal.SIGSEGV or "signal 11" in again.stderr, again.stderr
