"""Programs in Fortran: sections of arrays, several blocks and levels, particles, knobs, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sidestream
from hosts import fortran_program, launch

TASKS = """
[task.slice]
analysis = "slice"
fields = ["height"]
every = 2
at_time = [2.5]
[output]
plotfile = { format = "raw", every = 1 }
checkpoint = { format = "raw", every = 3 }
[run]
steering = true
"""
# The end of a program: what it does where a call has failed.
CHECK = """
  subroutine check(status)
    integer, intent(in) :: status

    if (status == sidestream_ok) return
    print '(a)', sidestream_last_message()
    call mpi_abort(mpi_comm_world, 1, ierr)
  end subroutine
end program
"""
SECTIONS = """
program sections
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  type(sidestream_session) :: run
  real(c_double), allocatable :: t(:, :, :), v(:, :, :, :), line(:)
  real(c_float), allocatable :: single(:, :, :)
  integer(c_int32_t), allocatable :: whole(:, :, :)
  real(c_double) :: time
  real(c_double), target, save :: courant = 0.5d0
  integer :: comm, step, status, ierr, i, j, k, next_status
  logical :: is_sidecar

  call mpi_init(ierr)
  call sidestream_open(run, mpi_comm_world, 'tasks.toml', 'run', comm, is_sidecar, status, is_quiet=.true.)
  call check(status)
  allocate (t(0:9, 0:7, 0:5), v(3, 8, 6, 4), single(4, 6, 8), whole(8, 6, 4), line(8))
  call sidestream_set_mesh(run, [8, 6, 4], [0, 0, 0], [8, 6, 4], status)
  call check(status)
  call sidestream_set_field(run, 'height', 'm', t(1:8, 1:6, 1:4), status)
  call check(status)
  call sidestream_set_field(run, 'along', 'm', v(2, :, :, :), status)
  call check(status)
  call sidestream_set_field(run, 'backwards', 'm', t(8:1:-1, 1:6, 1:4), status)
  call check(status)
  call sidestream_set_field(run, 'whole', '', whole, status)
  call check(status)
  call sidestream_set_field(run, 'single', 'm', single, status)
  print '(i0, 1x, a)', status, sidestream_last_message()
  call sidestream_set_field(run, 'line', 'm', line, status)
  print '(i0, 1x, a)', status, sidestream_last_message()
  call sidestream_set_scale_factor(run, -1d0, status)
  print '(i0, 1x, a)', status, sidestream_last_message()
  call sidestream_add_knob(run, 'courant', 'of the steps', 0d0, 1d0, courant, status)
  call check(status)
  step = 0
  time = 0
  call fill(0)
  call sidestream_begin(run, step, time, status)
  call check(status)
  do while (step < 3)
    print '(a, l1, f5.2)', 'wants ', sidestream_wants(run, 'height'), min(sidestream_next_time(run, time), 9d0)
    step = step + 1
    time = step
    call fill(step)
    call sidestream_progress(run, next_status)
    call sidestream_step(run, step, time, status)
    call check(status)
  end do
  call sidestream_close(run, status)
  call check(status)
  call sidestream_step(run, 9, 9d0, status)
  print '(i0, 1x, a)', status, sidestream_last_message()
  call mpi_finalize(ierr)

contains

  subroutine fill(at)
    integer, intent(in) :: at

    t = -1
    v = -1
    do k = 1, 4
      do j = 1, 6
        do i = 1, 8
          t(i, j, k) = i + 10*j + 100*k + 1000*at
          v(2, i, j, k) = -t(i, j, k)
          whole(i, j, k) = int(t(i, j, k))
        end do
      end do
    end do
  end subroutine
"""


def test_sections_are_read_where_they_lie_and_other_shapes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(TASKS)
    (tmp_path / "sections.f90").write_text(SECTIONS + CHECK)
    done = launch(tmp_path, 1, fortran_program(tmp_path, tmp_path / "sections.f90"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "2 error: an array has 4 x 6 x 8 elements, its block with ghost cells 8 x 6 x 4" in done.stdout
    assert "2 error: an array has 8 x 1 x 1 elements" in done.stdout
    assert "the scale factor is -1" in done.stdout
    assert "1 error: `session` is NULL" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("wants")] == [
        "wants F 2.50",
        "wants T 2.50",
        "wants F 2.50",
    ]
    k, j, i = np.mgrid[1:5, 1:7, 1:9].astype(float)
    for step in (0, 2, 3):
        data = sidestream.open(tmp_path / "run" / f"plt{step:05}.raw").to_xarray()
        height = i + 10 * j + 100 * k + 1000 * step
        np.testing.assert_array_equal(data["height"], height)
        np.testing.assert_array_equal(data["along"], -height)
        np.testing.assert_array_equal(data["whole"], height)
        np.testing.assert_array_equal(data["backwards"], height[:, :, ::-1])


LEVELS = """
program levels
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  type(sidestream_session) :: run
  real(c_double), allocatable :: a(:, :), b(:, :), fine(:, :), positions(:, :), ages(:, :), back(:, :), values(:, :)
  integer(c_int64_t), allocatable :: ids(:), numbers(:)
  integer, allocatable :: offsets(:, :), extents(:, :), of_level(:)
  type(sidestream_block), allocatable :: blocks(:)
  real(c_double) :: time
  integer :: comm, step, status, ierr, n, rank, ranks, existing
  logical :: is_sidecar

  call mpi_init(ierr)
  do existing = sidestream_overwrite, sidestream_resume
    call sidestream_open(run, mpi_comm_world, 'tasks.toml', 'run', comm, is_sidecar, status, is_quiet=.true., &
                         existing=existing)
    call check(status)
    call mpi_comm_rank(comm, rank, ierr)
    call mpi_comm_size(comm, ranks, ierr)
    allocate (a(8, 4), b(8, 4), fine(4, 6), source=0d0)
    if (existing == sidestream_overwrite) then
      a = 1
      b = 2
      fine = 5
    end if
    if (ranks == 1) then
      offsets = reshape([0, 0, 0, 4, 4, 6], [2, 3])
      extents = reshape([8, 4, 8, 4, 4, 6], [2, 3])
      of_level = [0, 0, 1]
      blocks = [sidestream_block(a), sidestream_block(b), sidestream_block(fine)]
    else if (rank == 0) then
      offsets = reshape([0, 0, 4, 6], [2, 2])
      extents = reshape([8, 4, 4, 6], [2, 2])
      of_level = [0, 1]
      blocks = [sidestream_block(a), sidestream_block(fine)]
    else if (rank == 1) then
      offsets = reshape([0, 4], [2, 1])
      extents = reshape([8, 4], [2, 1])
      of_level = [0]
      blocks = [sidestream_block(b)]
    else
      allocate (offsets(2, 0), extents(2, 0), of_level(0), blocks(0))
    end if
    call sidestream_set_mesh(run, [8, 8], offsets, extents, status, levels=of_level, periodic=[.true., .true.])
    call check(status)
    call sidestream_set_field(run, 'height', 'm', blocks, status)
    call check(status)
    n = merge(6, 0, rank == 0)
    allocate (ids(n), positions(n, 3), ages(n, 2))
    do n = 1, size(ids)
      ids(n) = n
      positions(n, :) = [1.25d0*n, 8 - 1.25d0*n, 0.5d0]
      ages(n, :) = [1d0/n, 2d0*n]
    end do
    call sidestream_set_particles(run, 'tracers', ids, positions, status, attributes=['age ', 'mass'], values=ages, &
                                  units=['Myr', 'g  '])
    call check(status)
    if (rank == 0) then
      call sidestream_set_particles(run, 'tracers', ids, positions(::2, :), status)
      if (status /= sidestream_refused) stop 3
    end if
    step = 0
    time = 0
    call sidestream_begin(run, step, time, status)
    call check(status)
    if (existing == sidestream_resume) then
      call sidestream_restored_particles(run, 'tracers', numbers, back, status, values)
      call check(status)
      do n = 1, size(numbers)
        if (any(abs(back(n, :2) - [1.25d0*numbers(n), 8 - 1.25d0*numbers(n)]) > 1d-14)) stop 4
        if (any(abs(values(n, :) - [1d0/numbers(n), 2d0*numbers(n)]) > 1d-14)) stop 5
      end do
      n = size(numbers)
      call mpi_allreduce(mpi_in_place, n, 1, mpi_integer, mpi_sum, comm, ierr)
      if (n /= 6 .or. step /= 3) stop 6
      if (rank == 0 .and. (any(abs(a - 1) > 0) .or. any(abs(fine - 5) > 0))) stop 7
    end if
    do step = step + 1, step + 3
      call sidestream_step(run, step, real(step, c_double), status)
      call check(status)
    end do
    call sidestream_close(run, status)
    call check(status)
    deallocate (a, b, fine, ids, positions, ages, offsets, extents, of_level, blocks)
  end do
  if (rank == 0) print '(a)', 'all is well'
  call mpi_finalize(ierr)

contains
"""


def test_several_blocks_levels_and_particles_are_the_same_on_any_ranks(tmp_path: Path) -> None:
    (tmp_path / "levels.f90").write_text(LEVELS + CHECK)
    program = fortran_program(tmp_path, tmp_path / "levels.f90")
    pictures = []
    for ranks in (1, 2, 3):
        folder = tmp_path / f"on{ranks}"
        folder.mkdir()
        (folder / "tasks.toml").write_text(TASKS)
        done = launch(folder, ranks, program)
        assert done.returncode == 0, done.stderr + done.stdout
        assert "all is well" in done.stdout
        pictures.append(sidestream.open(folder / "run")["slice"]["height"].isel(step=-1).values)
    expected = np.ones((8, 8))
    expected[4:] = 2.0
    expected[3:6, 2:4] = 5.0
    for picture in pictures:
        coarse = picture.reshape(8, picture.shape[0] // 8, 8, picture.shape[1] // 8).mean(axis=(1, 3))
        np.testing.assert_array_equal(coarse, expected)
