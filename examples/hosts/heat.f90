! Heat that spreads in a plate, whose edges stay cold, in strips of rows, one for each rank: a program of its own.
!
!     mpif90 sidestream.f90 heat.f90 -o heat $(pkg-config --libs sidestream)
!     mpirun -n 4 ./heat plate.toml runs/heat          once more: goes on from the newest checkpoint
program heat
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding, only: c_double
  implicit none

  integer, parameter :: cells = 96, steps = 400
  real(c_double), parameter :: alpha = 0.2_c_double
  type(sidestream_session) :: run
  real(c_double), allocatable, target :: t(:, :), before(:, :)
  real(c_double) :: time
  integer :: comm, rank, ranks, first, rows, step, status, ierr, threads, i, j
  logical :: is_sidecar
  character(256) :: config, folder

  call mpi_init_thread(mpi_thread_multiple, threads, ierr)  ! the transport "async" needs all that MPI allows
  call get_command_argument(1, config)
  call get_command_argument(2, folder)
  call sidestream_open(run, mpi_comm_world, config, folder, comm, is_sidecar, status, name='heat', &
                       existing=sidestream_resume)
  call check(status)

  if (.not. is_sidecar) then
    call mpi_comm_rank(comm, rank, ierr)
    call mpi_comm_size(comm, ranks, ierr)
    first = cells*rank/ranks
    rows = cells*(rank + 1)/ranks - first
    allocate (t(0:cells + 1, 0:rows + 1), before(0:cells + 1, 0:rows + 1))
    t = 0
    do j = 1, rows
      do i = 1, cells
        if ((i - 30)**2 + (first + j - 40)**2 < 200) t(i, j) = 100
      end do
    end do

    call sidestream_set_mesh(run, [cells, cells], [0, first], [cells, rows], status, ghosts=[1, 1])
    call check(status)
    call sidestream_set_field(run, 'temperature', 'K', t, status)
    call check(status)
    step = 0
    time = 0
    call sidestream_begin(run, step, time, status)
    call check(status)
    do while (sidestream_goes_on(run) .and. step < steps)
      call fill_ghosts()
      before = t
      do j = 1, rows
        do i = 1, cells
          t(i, j) = before(i, j) + alpha*(before(i - 1, j) + before(i + 1, j) + before(i, j - 1) + before(i, j + 1) &
                                          - 4*before(i, j))
        end do
      end do
      step = step + 1
      time = time + alpha
      call sidestream_set_progress(run, real(step, c_double)/steps, status)
      call sidestream_step(run, step, time, status)
      call check(status)
    end do
  end if
  call sidestream_close(run, status)
  call check(status)
  call mpi_finalize(ierr)

contains

  !> The row before the first and after the last one, from the neighbours; beyond the plate it is cold.
  subroutine fill_ghosts()
    integer :: below, above

    below = merge(rank - 1, mpi_proc_null, rank > 0)
    above = merge(rank + 1, mpi_proc_null, rank < ranks - 1)
    call mpi_sendrecv(t(:, 1), cells + 2, mpi_double_precision, below, 0, t(:, rows + 1), cells + 2, &
                      mpi_double_precision, above, 0, comm, mpi_status_ignore, ierr)
    call mpi_sendrecv(t(:, rows), cells + 2, mpi_double_precision, above, 1, t(:, 0), cells + 2, &
                      mpi_double_precision, below, 1, comm, mpi_status_ignore, ierr)
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status

    if (status == sidestream_ok) return
    print '(a)', sidestream_last_message()
    call mpi_abort(mpi_comm_world, 1, ierr)
  end subroutine
end program
