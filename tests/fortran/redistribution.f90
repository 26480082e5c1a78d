! The module for Fortran: rows to the whole on any ranks, sections with rims, conversion, errors.
program redistribution
  use, intrinsic :: iso_c_binding
  use sidestream
  implicit none
  include 'mpif.h'

  integer :: rank, ranks, failures, total, ierror

  failures = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call rows_to_the_whole()
  call rims_in_place()
  call errors()
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (total /= 0) stop 1

contains

  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(*), intent(in) :: what

    if (is_so) return
    failures = failures + 1
    print '(a, i0, 4a)', 'rank ', rank, ': not so: ', what, ' - ', sidestream_last_message()
  end subroutine

  ! Two planes on each rank, one of them far from the other; every rank needs the whole in double precision and a part.
  subroutine rows_to_the_whole()
    integer, parameter :: nx = 3, ny = 4
    type(sidestream_data) :: data
    real(c_float), target :: near(nx, ny), far(nx, ny)
    real(c_double), target :: whole(nx, ny, 2 * ranks), part(2, 2, 1)
    integer :: offsets(3, 2), cells(3, 2), status
    logical :: is_done

    offsets = reshape([0, 0, rank, 0, 0, ranks + rank], [3, 2])
    cells = reshape([nx, ny, 1, nx, ny, 1], [3, 2])
    call fill(near, rank)
    call fill(far, ranks + rank)
    call sidestream_describe(data, [nx, ny, 2 * ranks], status)
    call expect(status == sidestream_ok, 'data are described')
    call sidestream_map(data, MPI_COMM_WORLD, offsets, cells, reshape([0, 0, 0, 1, 2, 2 * ranks - 1], [3, 2]), &
                        reshape([nx, ny, 2 * ranks, 2, 2, 1], [3, 2]), status)
    call expect(status == sidestream_ok, 'chunks are mapped')
    whole = -1
    part = -1
    call sidestream_start(data, sidestream_float32, [c_loc(near), c_loc(far)], sidestream_float64, &
                          [c_loc(whole), c_loc(part)], status)
    call expect(status == sidestream_ok, 'a movement is started')
    is_done = .false.
    do while (.not. is_done .and. status == sidestream_ok)
      call sidestream_test(data, is_done, status)
    end do
    call sidestream_finish(data, status)
    call expect(status == sidestream_ok, 'a movement is finished')
    call expect(is_right(whole, [0, 0, 0]), 'the whole is there')
    call expect(is_right(part, [1, 2, 2 * ranks - 1]), 'a part is there')
    call sidestream_free(data, status)
    call expect(status == sidestream_ok, 'data are freed')
  end subroutine

  subroutine fill(plane, z)
    real(c_float), intent(out) :: plane(:, :)
    integer, intent(in) :: z
    integer :: x, y

    do y = 1, size(plane, 2)
      do x = 1, size(plane, 1)
        plane(x, y) = real(value_at(x - 1, y - 1, z), c_float)
      end do
    end do
  end subroutine

  logical function is_right(cells, offset)
    real(c_double), intent(in) :: cells(:, :, :)
    integer, intent(in) :: offset(3)
    integer :: x, y, z

    is_right = .true.
    do z = 1, size(cells, 3)
      do y = 1, size(cells, 2)
        do x = 1, size(cells, 1)
          if (nint(cells(x, y, z)) /= value_at(x - 1 + offset(1), y - 1 + offset(2), z - 1 + offset(3))) is_right = .false.
        end do
      end do
    end do
  end function

  integer function value_at(x, y, z)
    integer, intent(in) :: x, y, z

    value_at = x + 10 * y + 100 * z
  end function

  ! What is owned lies within an array with a rim, of two components: sections, by their strides.
  subroutine rims_in_place()
    integer, parameter :: n = 4
    type(sidestream_data) :: data
    integer(c_int64_t), target :: cells(-1:n + 2, 2)
    integer :: status, i, c, last
    logical :: is_well

    last = n * ranks
    cells = -1
    do c = 1, 2
      do i = 1, n
        cells(i, c) = 1000 * c + rank * n + i
      end do
    end do
    call sidestream_describe(data, [last], status, periodic=[.true.], rim=[2], components=2, strategy='p2p')
    call expect(status == sidestream_ok, 'data with a rim are described')
    call sidestream_map(data, MPI_COMM_WORLD, reshape([rank * n], [1, 1]), reshape([n], [1, 1]), &
                        reshape([rank * n], [1, 1]), reshape([n], [1, 1]), status)
    call expect(status == sidestream_ok, 'chunks with rims are mapped')
    call sidestream_reorganise(data, sidestream_int64, [c_loc(cells(1, 1))], sidestream_int64, [c_loc(cells)], status, &
                               owned_strides=reshape([1, n + 4], [2, 1]))
    call expect(status == sidestream_ok, 'rims are filled')
    is_well = .true.
    do c = 1, 2
      do i = -1, n + 2
        if (cells(i, c) /= 1000 * c + modulo(rank * n + i - 1, last) + 1) is_well = .false.
      end do
    end do
    call expect(is_well, 'rims come from the neighbours')
    call sidestream_free(data, status)
  end subroutine

  subroutine errors()
    type(sidestream_data) :: data
    integer :: status, none(2, 0)
    type(c_ptr) :: nowhere(0)
    integer(c_int32_t), target :: cell

    cell = 0
    call sidestream_describe(data, [8, 8], status, strategy='p2q')
    call expect(status == sidestream_refused, 'an unknown strategy is refused')
    call expect(index(sidestream_last_message(), 'p2p') > 0, 'the nearest strategy is named')
    call expect(len(sidestream_error_text(status)) > 5, 'a status has a text')
    call sidestream_describe(data, [2, 2, 2, 2], status)
    call expect(status == sidestream_bad_argument, 'four axes are refused')
    call sidestream_describe(data, [8, 8], status)
    call sidestream_map(data, MPI_COMM_WORLD, none, none, reshape([0, 0], [2, 1]), reshape([8, 8], [2, 1]), status)
    call expect(status == sidestream_refused, 'cells without an owner are refused')
    call expect(index(sidestream_last_message(), 'nobody owns the cells [0 0 0, 8 8 1), which chunk 0 of rank 0') > 0, &
                'they are named')
    call sidestream_map(data, MPI_COMM_WORLD, none, none, reshape([0], [1, 1]), reshape([8], [1, 1]), status)
    call expect(status == sidestream_refused, 'chunks of other axes are refused')
    call sidestream_map(data, MPI_COMM_WORLD, none, none, none, none, status)
    call expect(status == sidestream_ok, 'nobody has to own or need anything')
    call sidestream_reorganise(data, sidestream_int32, nowhere, sidestream_int32, [c_loc(cell)], status)
    call expect(status == sidestream_refused, 'memory for no chunk is refused')
    call sidestream_reorganise(data, sidestream_int32, nowhere, sidestream_int32, nowhere, status)
    call expect(status == sidestream_ok, 'nothing is moved')
    call sidestream_free(data, status)
  end subroutine

end program
