"""Numbers of programs in C and Fortran, steered while they run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, job
from hosts import c_program, fortran_program
from steered import told
from test_streams import listens
from waiting import until

# They go on until the number changes, or for ten minutes.
IN_C = """
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include <sidestream.h>
enum { n = 4, most = 60000 };
static void check(int status) {
  if (status == SIDESTREAM_OK) return;
  fprintf(stderr, "%s\\n", sidestream_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.config = "tasks.toml";
  options.folder = "run";
  options.is_quiet = 1;
  sidestream_session *run;
  MPI_Comm comm;
  int rank, ranks;
  check(sidestream_open(MPI_COMM_WORLD, &options, &run, &comm));
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  double height[n * n * n] = {0.0}, courant = 0.5, other = 0.25, time = 0.0;
  const int64_t offset[3] = {0, 0, n * rank}, extent[3] = {n, n, n};
  sidestream_mesh mesh = SIDESTREAM_MESH;
  mesh.cells[0] = mesh.cells[1] = n;
  mesh.cells[2] = n * ranks;
  mesh.count = 1;
  mesh.offsets = offset;
  mesh.extents = extent;
  check(sidestream_set_mesh(run, &mesh));
  check(sidestream_set_array(run, "height", "m", SIDESTREAM_FLOAT64, height));
  check(sidestream_add_knob(run, "courant", "of the steps", 0.0, 1.0, &courant));
  check(sidestream_add_knob(run, "other", "of nothing", 0.0, 1.0, &other));
  int64_t step = 0;
  check(sidestream_begin(run, &step, &time));
  while (courant == 0.5 && step < most) {
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    check(sidestream_step(run, ++step, time += courant));
  }
  for (int c = 0; c < n * n * n; ++c) height[c] = courant;
  ++step;
  check(sidestream_step(run, step, time += courant));
  char name[16];
  snprintf(name, sizeof name, "courant.%d", rank);
  FILE *told = fopen(name, "w");
  if (told == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  fprintf(told, "%g %g %d\\n", courant, other, (int)step);
  fclose(told);
  check(sidestream_close(run));
  MPI_Finalize();
  return 0;
}
"""
IN_FORTRAN = """
program steered
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c)
      import :: c_int
      integer(c_int), value :: us
    end function
  end interface
  integer, parameter :: n = 4, most = 60000
  type(sidestream_session) :: run
  real(c_double) :: height(n, n, n), time
  real(c_double), target, save :: courant = 0.5d0, other = 0.25d0
  integer :: comm, rank, ranks, step, status, ierr, file
  logical :: is_sidecar
  character(16) :: name

  call mpi_init(ierr)
  call sidestream_open(run, mpi_comm_world, 'tasks.toml', 'run', comm, is_sidecar, status, is_quiet=.true.)
  call check(status)
  call mpi_comm_rank(comm, rank, ierr)
  call mpi_comm_size(comm, ranks, ierr)
  height = 0
  call sidestream_set_mesh(run, [n, n, n*ranks], [0, 0, n*rank], [n, n, n], status)
  call check(status)
  call sidestream_set_field(run, 'height', 'm', height, status)
  call check(status)
  call sidestream_add_knob(run, 'courant', 'of the steps', 0d0, 1d0, courant, status)
  call check(status)
  call sidestream_add_knob(run, 'other', 'of nothing', 0d0, 1d0, other, status)
  call check(status)
  step = 0
  time = 0
  call sidestream_begin(run, step, time, status)
  call check(status)
  do while (abs(courant - 0.5d0) <= 0 .and. step < most)
    if (usleep(10000_c_int) /= 0) stop 2
    call take(status)
  end do
  height = courant
  call take(status)
  write (name, '(a, i0)') 'courant.', rank
  open (newunit=file, file=name, status='new', action='write')
  write (file, '(f0.4, 1x, f0.4, 1x, i0)') courant, other, step
  close (file)
  call sidestream_close(run, status)
  call check(status)
  call mpi_finalize(ierr)

contains

  subroutine take(status)
    integer, intent(out) :: status

    step = step + 1
    time = time + courant
    call sidestream_step(run, step, time, status)
    call check(status)
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status

    if (status == sidestream_ok) return
    print '(a)', sidestream_last_message()
    call mpi_abort(mpi_comm_world, 1, ierr)
  end subroutine
end program
"""
TASKS = '[run]\nsteering = true\n[task.slice]\nanalysis = "slice"\nfields = ["height"]\nevery = 1\n'
LIMIT_S = 60.0


def until_it_listens(run: Path, process: subprocess.Popen[str]) -> None:
    until(lambda: listens(sidestream.steer(run)) or process.poll() is not None)
    assert process.poll() is None, "the program does not listen"


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_a_number_of_a_program_is_steered_on_all_its_ranks(language: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(TASKS)
    source = tmp_path / ("steered.c" if language == "c" else "steered.f90")
    source.write_text(IN_C if language == "c" else IN_FORTRAN)
    program = c_program(tmp_path, source) if language == "c" else fortran_program(tmp_path, source)

    assert command(tmp_path, "--version").returncode == 0  # what a first command takes long for is there from now on
    with job(tmp_path, 2, ["mpirun", "-n", 2, program]) as process:
        until_it_listens(tmp_path / "run", process)
        beyond = command(tmp_path, "steer", "run", "set", "host.courant", 7)
        steered = command(tmp_path, "steer", "run", "set", "host.courant", 0.75)
        assert process.wait(LIMIT_S) == 0, process.stdout.read() if process.stdout else ""

    assert beyond.returncode != 0
    assert "`host.courant` is 7, but must be between 0 and 1" in beyond.stderr
    assert steered.returncode == 0, steered.stderr
    (event,) = told(tmp_path / "run", "steering")
    assert (event["name"], event["old"], event["value"]) == ("host.courant", 0.5, 0.75)
    numbers = [(tmp_path / f"courant.{rank}").read_text().split() for rank in range(2)]
    assert numbers[0] == numbers[1]
    courant, other, step = map(float, numbers[0])
    assert (courant, other, step) == (0.75, 0.25, event["step"] + 1)
    last = sidestream.open(tmp_path / "run")["slice"].isel(step=-1)
    assert last["step"] == step
    assert np.all(last["height"] == 0.75)
