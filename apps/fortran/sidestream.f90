! Sidestream for Fortran 2008: arrays in chunks, moved from the ranks that own them to those that need them. The
! functions are those of sidestream.h, whose comments hold here too. Communicators are integers, so that this module is
! compiled by any compiler, whatever MPI's own modules were compiled by (with mpi_f08: comm%MPI_VAL).
module sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: sidestream_data, sidestream_describe, sidestream_map, sidestream_reorganise, sidestream_start, &
            sidestream_finish, sidestream_test, sidestream_free, sidestream_error_text, sidestream_last_message

  integer, parameter, public :: sidestream_ok = 0, sidestream_bad_argument = 1, sidestream_refused = 2, &
                                sidestream_no_memory = 3, sidestream_internal = 4
  integer, parameter, public :: sidestream_float32 = 0, sidestream_float64 = 1, sidestream_complex64 = 2, &
                                sidestream_complex128 = 3, sidestream_int32 = 4, sidestream_int64 = 5, &
                                sidestream_int8 = 6, sidestream_int16 = 7, sidestream_uint8 = 8, sidestream_uint16 = 9, &
                                sidestream_uint32 = 10, sidestream_uint64 = 11

  !> Data that are described, and mapped.
  type :: sidestream_data
    private
    type(c_ptr) :: handle = c_null_ptr
    integer :: dimensions = 0
  end type

  type, bind(c) :: c_description
    integer(c_size_t) :: size
    integer(c_int) :: dimensions
    integer(c_int64_t) :: cells(3)
    integer(c_int) :: periodic(3)
    integer(c_int64_t) :: rim(3)
    integer(c_int) :: components, allows_holes
    type(c_ptr) :: strategy
  end type

  type, bind(c) :: c_chunks
    integer(c_size_t) :: size, count
    type(c_ptr) :: offsets, cells
  end type

  type, bind(c) :: c_memory
    integer(c_size_t) :: size
    integer(c_int) :: type
    integer(c_size_t) :: count
    type(c_ptr) :: chunks, strides
  end type

  interface
    integer(c_int) function c_describe(description, data) bind(c, name='sidestream_describe')
      import :: c_int, c_ptr, c_description
      type(c_description), intent(in) :: description
      type(c_ptr), intent(out) :: data
    end function
    integer(c_int) function c_map(data, comm, owned, needed) bind(c, name='sidestream_map_f')
      import :: c_int, c_ptr, c_chunks
      type(c_ptr), value :: data
      integer(c_int), value :: comm
      type(c_chunks), intent(in) :: owned, needed
    end function
    integer(c_int) function c_start(data, owned, needed) bind(c, name='sidestream_start')
      import :: c_int, c_ptr, c_memory
      type(c_ptr), value :: data
      type(c_memory), intent(in) :: owned, needed
    end function
    integer(c_int) function c_finish(data) bind(c, name='sidestream_finish')
      import :: c_int, c_ptr
      type(c_ptr), value :: data
    end function
    integer(c_int) function c_test(data, is_done) bind(c, name='sidestream_test')
      import :: c_int, c_ptr
      type(c_ptr), value :: data
      integer(c_int), intent(out) :: is_done
    end function
    integer(c_int) function c_free(data) bind(c, name='sidestream_free')
      import :: c_int, c_ptr
      type(c_ptr), value :: data
    end function
    type(c_ptr) function c_error_text(status) bind(c, name='sidestream_error_text')
      import :: c_int, c_ptr
      integer(c_int), value :: status
    end function
    type(c_ptr) function c_last_message() bind(c, name='sidestream_last_message')
      import :: c_ptr
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  !> Describes an array of `cells(:)` cells (1 to 3 axes, the first one fastest). `rim`: cells more on both sides of each
  !> needed chunk. Local.
  subroutine sidestream_describe(data, cells, status, periodic, rim, components, allows_holes, strategy)
    type(sidestream_data), intent(out) :: data
    integer, intent(in) :: cells(:)
    integer, intent(out) :: status
    logical, intent(in), optional :: periodic(:), allows_holes
    integer, intent(in), optional :: rim(:), components
    character(*), intent(in), optional :: strategy
    type(c_description) :: description
    character(kind=c_char), target :: name(64)
    integer :: n

    description%size = c_sizeof(description)
    description%dimensions = size(cells)
    description%cells = 1
    description%periodic = 0
    description%rim = 0
    n = min(size(cells), 3)
    description%cells(:n) = cells(:n)
    if (present(periodic)) description%periodic(:n) = merge(1, 0, periodic(:n))
    if (present(rim)) description%rim(:n) = rim(:n)
    description%components = 1
    if (present(components)) description%components = components
    description%allows_holes = 0
    if (present(allows_holes)) description%allows_holes = merge(1, 0, allows_holes)
    description%strategy = c_null_ptr
    if (present(strategy)) then
      name = c_null_char
      do n = 1, min(len_trim(strategy), size(name) - 1)
        name(n) = strategy(n:n)
      end do
      description%strategy = c_loc(name)
    end if
    data%dimensions = size(cells)
    status = c_describe(description, data%handle)
  end subroutine

  !> Maps the chunks that this rank owns to those that it needs. Offsets and numbers of cells are arrays (axes, chunks);
  !> an offset is that of the first cell of a chunk from the first one of the whole, so that 0 is the first. Collective
  !> on `comm`.
  subroutine sidestream_map(data, comm, owned_offsets, owned_cells, needed_offsets, needed_cells, status)
    type(sidestream_data), intent(in) :: data
    integer, intent(in) :: comm
    integer, intent(in) :: owned_offsets(:, :), owned_cells(:, :), needed_offsets(:, :), needed_cells(:, :)
    integer, intent(out) :: status
    integer(c_int64_t), allocatable, target :: offsets(:, :), cells(:, :), other_offsets(:, :), other_cells(:, :)

    allocate (offsets, source=int(owned_offsets, c_int64_t))
    allocate (cells, source=int(owned_cells, c_int64_t))
    allocate (other_offsets, source=int(needed_offsets, c_int64_t))
    allocate (other_cells, source=int(needed_cells, c_int64_t))
    status = c_map(data%handle, int(comm, c_int), chunks_of(offsets, cells, data%dimensions), &
                   chunks_of(other_offsets, other_cells, data%dimensions))
  end subroutine

  !> Fills the needed chunks from the owned ones. `owned` and `needed` are where the first cells of the chunks lie
  !> (c_loc), types those of their elements (sidestream_float64 for real(c_double), ...). Strides are arrays (axes + 1,
  !> chunks): elements between neighbours along each axis and between components; by default arrays are contiguous.
  !> Collective.
  subroutine sidestream_reorganise(data, owned_type, owned, needed_type, needed, status, owned_strides, needed_strides)
    type(sidestream_data), intent(in) :: data
    integer, intent(in) :: owned_type, needed_type
    type(c_ptr), intent(in) :: owned(:), needed(:)
    integer, intent(out) :: status
    integer, intent(in), optional :: owned_strides(:, :), needed_strides(:, :)

    call sidestream_start(data, owned_type, owned, needed_type, needed, status, owned_strides, needed_strides)
    if (status == sidestream_ok) call sidestream_finish(data, status)
  end subroutine

  !> The first half of `sidestream_reorganise`; owned chunks do not change before `sidestream_finish`. Collective.
  subroutine sidestream_start(data, owned_type, owned, needed_type, needed, status, owned_strides, needed_strides)
    type(sidestream_data), intent(in) :: data
    integer, intent(in) :: owned_type, needed_type
    type(c_ptr), intent(in) :: owned(:), needed(:)
    integer, intent(out) :: status
    integer, intent(in), optional :: owned_strides(:, :), needed_strides(:, :)
    type(c_ptr), allocatable, target :: from(:), to(:)
    integer(c_int64_t), allocatable, target :: from_strides(:, :), to_strides(:, :)

    allocate (from, source=owned)
    allocate (to, source=needed)
    if (present(owned_strides)) allocate (from_strides, source=int(owned_strides, c_int64_t))
    if (present(needed_strides)) allocate (to_strides, source=int(needed_strides, c_int64_t))
    status = c_start(data%handle, memory_of(owned_type, from, from_strides), memory_of(needed_type, to, to_strides))
  end subroutine

  subroutine sidestream_finish(data, status)
    type(sidestream_data), intent(in) :: data
    integer, intent(out) :: status

    status = c_finish(data%handle)
  end subroutine

  !> Lets cells travel; whether `sidestream_finish` would not wait. Local.
  subroutine sidestream_test(data, is_done, status)
    type(sidestream_data), intent(in) :: data
    logical, intent(out) :: is_done
    integer, intent(out) :: status
    integer(c_int) :: done

    done = 0
    status = c_test(data%handle, done)
    is_done = done /= 0
  end subroutine

  !> Frees the data and their mapping. Collective on the communicator of the mapping, before MPI ends.
  subroutine sidestream_free(data, status)
    type(sidestream_data), intent(inout) :: data
    integer, intent(out) :: status

    status = c_free(data%handle)
    data%handle = c_null_ptr
  end subroutine

  !> A few words on a status.
  function sidestream_error_text(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text

    text = text_at(c_error_text(int(status, c_int)))
  end function

  !> What was wrong in the last call that failed: what, where, what to do.
  function sidestream_last_message() result(text)
    character(:), allocatable :: text

    text = text_at(c_last_message())
  end function

  function chunks_of(offsets, cells, dimensions) result(chunks)
    integer(c_int64_t), intent(in), target, contiguous :: offsets(:, :), cells(:, :)
    integer, intent(in) :: dimensions
    type(c_chunks) :: chunks
    logical :: is_alike

    chunks%size = c_sizeof(chunks)
    chunks%count = size(offsets, 2)
    chunks%offsets = c_null_ptr
    chunks%cells = c_null_ptr
    is_alike = all(shape(offsets) == shape(cells)) .and. size(offsets, 1) == dimensions
    if (chunks%count > 0 .and. is_alike) then
      chunks%offsets = c_loc(offsets)
      chunks%cells = c_loc(cells)
    end if
  end function

  function memory_of(element_type, chunks, strides) result(memory)
    integer, intent(in) :: element_type
    type(c_ptr), intent(in), target, contiguous :: chunks(:)
    integer(c_int64_t), intent(in), target, allocatable :: strides(:, :)
    type(c_memory) :: memory

    memory%size = c_sizeof(memory)
    memory%type = element_type
    memory%count = size(chunks)
    memory%chunks = c_null_ptr
    memory%strides = c_null_ptr
    if (size(chunks) > 0) memory%chunks = c_loc(chunks)
    if (allocated(strides)) memory%strides = c_loc(strides)
  end function

  function text_at(place) result(text)
    type(c_ptr), intent(in) :: place
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: n

    call c_f_pointer(place, letters, [c_strlen(place)])
    allocate (character(size(letters)) :: text)
    do n = 1, size(letters)
      text(n:n) = letters(n)
    end do
  end function

end module
