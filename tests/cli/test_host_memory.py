"""Programs' arrays in place: read where they lie, by address and by pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sidestream
from hosts import c_program, fortran_program, launch

WHERE = """
import sidestream

@sidestream.analysis(fields=["height"])
def where(snapshot):
    blocks = snapshot.blocks("height", 0)
    refused = 0
    for block in blocks:
        try:
            block.cells[...] = 7.0
        except ValueError:
            refused += 1
    first = [block.cells[0, 0, 0] for block in blocks]
    return {"address": [block.cells.ctypes.data for block in blocks], "first": first, "refused": refused}
"""
TASK = '[task.where]\nanalysis = "python"\nfile = "where.py"\nevery = 1\n'


def fortran_of_its_own(array: np.ndarray) -> np.ndarray:
    """An array (x, y, z) in Fortran's order, as the program has it, given to the run as z, y, x."""
    return np.asfortranarray(array.T.copy()).T


@pytest.mark.parametrize("in_order", [np.ascontiguousarray, fortran_of_its_own])
def test_a_function_in_a_python_program_has_its_arrays(
    in_order: Callable[[np.ndarray], np.ndarray], tmp_path: Path
) -> None:
    (tmp_path / "where.py").write_text(WHERE)
    (tmp_path / "tasks.toml").write_text(TASK)
    rims = [in_order(np.zeros((6, 10, 12))) for _ in range(2)]
    inner = [rim[1:-1, 1:-1, 1:-1] for rim in rims]
    with sidestream.session(tmp_path / "tasks.toml", tmp_path / "run", quiet=True) as run:
        run.mesh((8, 8, 10), blocks=[np.s_[0:4, :, :], np.s_[4:8, :, :]], ghosts=1)
        run.field("height", rims)
        run.begin()
        for cells in inner:
            cells += 1.0
        run.step(1, 1.0)

    found = sidestream.open(tmp_path / "run")["where"]
    assert found["address"].values.tolist() == [[cells.ctypes.data for cells in inner]] * 2
    assert found["first"].values.tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert found["refused"].values.tolist() == [2, 2]


def test_an_array_whose_rows_lie_along_z_is_converted_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text(WHERE)
    (tmp_path / "tasks.toml").write_text(TASK)
    values = np.asfortranarray(np.arange(1.0, 641.0).reshape(8, 8, 10))
    kept = values.copy()
    with sidestream.session(tmp_path / "tasks.toml", tmp_path / "run", quiet=True) as run:
        run.mesh((8, 8, 10))
        run.field("height", values)
        run.begin()

    found = sidestream.open(tmp_path / "run")["where"]
    (handed,) = found["address"].values[0]
    assert not values.ctypes.data <= handed < values.ctypes.data + values.nbytes
    assert found["first"].values.tolist() == [[1.0]]
    assert np.array_equal(values, kept)


TELL_WHERE = """
import sidestream

@sidestream.analysis(fields=["height"])
def where(snapshot):
    with open(f"handed.{snapshot.rank}", "a") as told:
        for block in snapshot.blocks("height", 0):
            print(block.cells.__array_interface__["data"][0], file=told)
"""
ON_RANKS = """
from mpi4py import MPI
import numpy as np
import sidestream

rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
rims = [np.zeros((2 + 4, 8 + 2, 10 + 6)) for _ in range(2)]
with sidestream.session("tasks.toml", "run", comm=MPI.COMM_WORLD, quiet=True) as run:
    first = 4 * rank
    run.mesh((4 * ranks, 8, 10), blocks=[np.s_[z : z + 2, :, :] for z in (first, first + 2)], ghosts=(2, 1, 3))
    run.field("height", rims)
    run.begin()
    run.step(1, 1.0)
with open(f"own.{rank}", "w") as told:
    for _ in range(2):
        for rim in rims:
            print(rim[2:, 1:, 3:].__array_interface__["data"][0], file=told)
"""


def test_functions_on_all_ranks_have_the_arrays_of_theirs(tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text(TELL_WHERE)
    (tmp_path / "tasks.toml").write_text(TASK)
    (tmp_path / "host.py").write_text(ON_RANKS)

    done = launch(tmp_path, 2, sys.executable, "host.py")

    assert done.returncode == 0, done.stderr
    for rank in range(2):
        handed = (tmp_path / f"handed.{rank}").read_text().split()
        assert len(set(handed)) == 2
        assert handed == (tmp_path / f"own.{rank}").read_text().split()


# A plane through the middle: of all planes, which are whole pages, those of one are open while the run looks.
PLANE = '[task.slice]\nanalysis = "slice"\nfields = ["height"]\naxis = "z"\nposition = 0.5\nevery = 1\n'
CLOSED_C = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sidestream.h>
static void check(int status) {
  if (status != SIDESTREAM_OK) { fprintf(stderr, "%s\\n", sidestream_last_message()); exit(1); }
}
static void done(int is_done, const char *what) {
  if (!is_done) { perror(what); exit(1); }
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 0;
  const size_t plane = sizeof(double) * n * n;
  char *memory = mmap(NULL, n * plane, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  done(memory != MAP_FAILED, "mmap");
  double *u = (double *)memory;
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.config = "tasks.toml";
  options.folder = "run";
  sidestream_session *run;
  MPI_Comm comm;
  check(sidestream_open(MPI_COMM_WORLD, &options, &run, &comm));
  sidestream_mesh mesh = SIDESTREAM_MESH;
  const int64_t offset[3] = {0, 0, 0}, extent[3] = {n, n, n};
  mesh.cells[0] = mesh.cells[1] = mesh.cells[2] = n;
  mesh.count = 1;
  mesh.offsets = offset;
  mesh.extents = extent;
  check(sidestream_set_mesh(run, &mesh));
  check(sidestream_set_array(run, "height", "m", SIDESTREAM_FLOAT64, u));
  for (int c = 0; c < n * n * n; ++c) u[c] = c / (n * n);
  done(mprotect(memory, n * plane, PROT_NONE) == 0, "mprotect"); /* whoever reads now is killed */
  done(mprotect(memory + n / 2 * plane, plane, PROT_READ) == 0, "mprotect");
  int64_t step = 0;
  double time = 0.0;
  check(sidestream_begin(run, &step, &time));
  check(sidestream_step(run, 1, 1.0));
  check(sidestream_close(run));
  MPI_Finalize();
  return 0;
}
"""
CLOSED_FORTRAN = """
program closed
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    type(c_ptr) function mmap(place, bytes, rights, kind, file, offset) bind(c)
      import :: c_ptr, c_size_t, c_int, c_long
      type(c_ptr), value :: place
      integer(c_size_t), value :: bytes
      integer(c_int), value :: rights, kind, file
      integer(c_long), value :: offset
    end function
    integer(c_int) function mprotect(place, bytes, rights) bind(c)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: place
      integer(c_size_t), value :: bytes
      integer(c_int), value :: rights
    end function
  end interface
  integer :: n
  integer(c_size_t) :: plane
  character(8) :: word
  type(sidestream_session) :: run
  type(c_ptr) :: memory
  real(c_double), pointer :: u(:, :, :)
  real(c_double) :: time
  integer :: comm, step, status, ierr, k
  logical :: is_sidecar

  call mpi_init(ierr)
  call get_command_argument(1, word)
  read (word, *) n
  plane = 8_c_size_t*n*n
  memory = mmap(c_null_ptr, n*plane, 3_c_int, 34_c_int, -1_c_int, 0_c_long)
  if (transfer(memory, 0_c_intptr_t) == -1) stop 2
  call c_f_pointer(memory, u, [n, n, n])
  call sidestream_open(run, mpi_comm_world, 'tasks.toml', 'run', comm, is_sidecar, status, is_quiet=.true.)
  call sidestream_set_mesh(run, [n, n, n], [0, 0, 0], [n, n, n], status)
  call sidestream_set_field(run, 'height', 'm', u, status)
  do k = 1, n
    u(:, :, k) = k - 1
  end do
  if (mprotect(memory, n*plane, 0_c_int) /= 0) stop 3
  if (mprotect(c_loc(u(1, 1, n/2 + 1)), plane, 1_c_int) /= 0) stop 4
  step = 0
  time = 0
  call sidestream_begin(run, step, time, status)
  if (status == sidestream_ok) call sidestream_step(run, 1, 1d0, status)
  if (status /= sidestream_ok) print '(a)', sidestream_last_message()
  call sidestream_close(run, status)
  call mpi_finalize(ierr)
end program
"""


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_cells_that_no_task_reads_are_not_touched(language: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(PLANE)
    source = tmp_path / ("closed.c" if language == "c" else "closed.f90")
    source.write_text(CLOSED_C if language == "c" else CLOSED_FORTRAN)
    build = c_program if language == "c" else fortran_program

    cells = 32
    while 8 * cells**2 % os.sysconf("SC_PAGE_SIZE") != 0:
        cells *= 2

    done = launch(tmp_path, 1, build(tmp_path, source), cells)

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    picture = sidestream.open(tmp_path / "run")["slice"]["height"]
    assert picture.shape == (2, cells, cells)
    assert np.all(picture == cells // 2)
