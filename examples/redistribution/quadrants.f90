! An 8 x 8 array of which each of four ranks owns two rows, 0 and 4 on rank 0, and needs one quadrant: example E1 of the
! paper on the redistribution library DDR (Marrinan et al. 2019). Axes in the order x, y; rows are along x.
!
! usage: mpifort sidestream.f90 quadrants.f90 -lsidestream -o quadrants && mpirun -n 4 ./quadrants
program quadrants
  use, intrinsic :: iso_c_binding
  use sidestream
  implicit none
  include 'mpif.h'

  type(sidestream_data) :: data
  real(c_double), target :: near(8), far(8), quadrant(4, 4)
  integer :: rank, ranks, x, status, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (ranks /= 4) then
    print '(a)', 'this example takes four ranks: mpirun -n 4'
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end if
  near = [(8 * rank + x, x = 0, 7)]
  far = [(8 * (rank + 4) + x, x = 0, 7)]

  call sidestream_describe(data, [8, 8], status)
  call check(status)
  call sidestream_map(data, MPI_COMM_WORLD, reshape([0, rank, 0, rank + 4], [2, 2]), reshape([8, 1, 8, 1], [2, 2]), &
                      reshape([4 * mod(rank, 2), 4 * (rank / 2)], [2, 1]), reshape([4, 4], [2, 1]), status)
  call check(status)
  call sidestream_reorganise(data, sidestream_float64, [c_loc(near), c_loc(far)], &
                             sidestream_float64, [c_loc(quadrant)], status)
  call check(status)
  call sidestream_free(data, status)

  print '(a, i0, a, 16(1x, i0))', 'rank ', rank, ' has', nint(quadrant)
  call MPI_Finalize(ierror)

contains

  subroutine check(status)
    integer, intent(in) :: status

    if (status == sidestream_ok) return
    print '(a)', sidestream_last_message()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine

end program
