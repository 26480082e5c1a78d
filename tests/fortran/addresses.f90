! Analyses are handed the cells of a program in Fortran where they lie: a whole array with ghost cells, and sections of
! larger ones, two blocks a rank. Ends with 0 if all is well, else it says what is not.
program addresses
  use mpi
  use sidestream
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    subroutine handed_install() bind(c)
    end subroutine
    integer(c_size_t) function handed_count() bind(c)
      import :: c_size_t
    end function
    type(c_ptr) function handed_cell(x, y, z) bind(c)
      import :: c_ptr, c_int64_t
      integer(c_int64_t), value :: x, y, z
    end function
  end interface

  integer, parameter :: nx = 6, ny = 4, nz = 3
  type(sidestream_session) :: run
  real(c_double), allocatable, target :: rimmed(:, :, :), above(:, :, :), below(:, :, :, :)
  real(c_double) :: time
  character(256) :: config, folder
  integer :: comm, rank, ranks, step, status, ierr
  logical :: is_sidecar

  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, ranks, ierr)
  call get_command_argument(1, config)
  call get_command_argument(2, folder)
  call handed_install()
  call sidestream_open(run, mpi_comm_world, trim(config), trim(folder), comm, is_sidecar, status, &
                       existing=sidestream_overwrite, is_quiet=.true.)
  call check(status)
  step = 0
  time = 0

  allocate (rimmed(-1:nx + 2, 0:ny + 1, -2:2*nz + 3), source=0d0)
  call sidestream_set_mesh(run, [nx, ny, 2*nz*ranks], [0, 0, 2*nz*rank], [nx, ny, 2*nz], status, ghosts=[2, 1, 3])
  call check(status)
  call sidestream_set_field(run, 'height', 'm', rimmed, status)
  call check(status)
  call sidestream_begin(run, step, time, status)
  call check(status)
  call expect_handed(rimmed(1:nx, 1:ny, 1:nz), 0, 'the lower half of a whole array')
  call expect_handed(rimmed(1:nx, 1:ny, nz + 1:2*nz), nz, 'the upper half of a whole array')

  allocate (above(0:nx + 1, ny + 3, nz), below(nx + 2, 0:ny, nz + 4, 2), source=0d0)
  call sidestream_set_mesh(run, [nx, ny, 2*nz*ranks], reshape([0, 0, 2*nz*rank, 0, 0, 2*nz*rank + nz], [3, 2]), &
                           reshape([nx, ny, nz, nx, ny, nz], [3, 2]), status)
  call check(status)
  call sidestream_set_field(run, 'height', 'm', [sidestream_block(below(2:nx + 1, 1:ny, 3:nz + 2, 2)), &
                                                 sidestream_block(above(1:nx, 2:ny + 1, :))], status)
  call check(status)
  call sidestream_step(run, 1, 1d0, status)
  call check(status)
  call expect_handed(below(2:nx + 1, 1:ny, 3:nz + 2, 2), 0, 'a section of an array of four axes')
  call expect_handed(above(1:nx, 2:ny + 1, :), nz, 'a section')

  call sidestream_close(run, status)
  call check(status)
  call mpi_finalize(ierr)

contains

  !> Each cell of `block`, which begins `first` planes above the lowest of this rank.
  subroutine expect_handed(block, first, what)
    real(c_double), intent(in), target :: block(:, :, :)
    integer, intent(in) :: first
    character(*), intent(in) :: what
    integer :: i, j, k, wrong

    wrong = merge(0, 1, handed_count() == 2*nx*ny*nz)
    do k = 1, nz
      do j = 1, ny
        do i = 1, nx
          if (.not. c_associated(handed_cell(i - 1_c_int64_t, j - 1_c_int64_t, k - 1_c_int64_t + first + 2*nz*rank), &
                                 c_loc(block(i, j, k)))) wrong = wrong + 1
        end do
      end do
    end do
    if (wrong == 0) return
    print '(a, i0, 3a, i0, a)', 'rank ', rank, ', ', what, ': ', wrong, ' cells are not handed where they lie'
    call mpi_abort(mpi_comm_world, 1, ierr)
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status

    if (status == sidestream_ok) return
    print '(a)', sidestream_last_message()
    call mpi_abort(mpi_comm_world, 1, ierr)
  end subroutine
end program
