! Sidestream for Fortran 2008: sessions, which let a program be analysed, written to files, restarted and looked at while
! it runs, and arrays in chunks, moved from the ranks that own them to those that need them. The functions are those of sidestream.h, whose comments hold here too. Communicators are integers, so that this module is
! compiled by any compiler, whatever MPI's own modules were compiled by (with mpi_f08: comm%MPI_VAL).
module sidestream
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: sidestream_session, sidestream_block, sidestream_open, sidestream_set_mesh, sidestream_set_field, &
            sidestream_set_particles, sidestream_restored_particles, sidestream_set_number, &
            sidestream_set_scale_factor, sidestream_set_progress, sidestream_add_knob, sidestream_begin, &
            sidestream_is_restarted, sidestream_goes_on, sidestream_wants, sidestream_next_time, sidestream_step, &
            sidestream_progress, sidestream_close
  public :: sidestream_data, sidestream_describe, sidestream_map, sidestream_reorganise, sidestream_start, &
            sidestream_finish, sidestream_test, sidestream_free, sidestream_error_text, sidestream_last_message

  integer, parameter, public :: sidestream_ok = 0, sidestream_bad_argument = 1, sidestream_refused = 2, &
                                sidestream_no_memory = 3, sidestream_internal = 4, &
                                sidestream_incomplete = 5
  integer, parameter, public :: sidestream_refuse = 0, sidestream_overwrite = 1, sidestream_resume = 2
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

  !> A run of tasks and outputs beside this program.
  type :: sidestream_session
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  !> Where the numbers of a block lie: an array, or a section of one.
  type :: sidestream_block
    private
    type(c_ptr) :: first = c_null_ptr
    integer :: type = sidestream_float64
    integer(c_int64_t) :: shape(3) = 1, strides(3) = 1
  end type

  interface sidestream_block
    module procedure block_double_1, block_double_2, block_double_3, block_float_1, block_float_2, block_float_3, &
      block_int_1, block_int_2, block_int_3
  end interface

  !> Says what the program computes on, with one block of this rank, or with several.
  interface sidestream_set_mesh
    module procedure set_mesh_of_one, set_mesh_of_many
  end interface

  !> Says where a quantity lies, by the array of the one block of this rank or by those of all; again where it moves.
  interface sidestream_set_field
    module procedure set_double_1, set_double_2, set_double_3, set_float_1, set_float_2, set_float_3, set_int_1, &
      set_int_2, set_int_3, set_blocks
  end interface

  type, bind(c) :: c_options
    integer(c_size_t) :: size
    type(c_ptr) :: name, config, folder
    integer(c_int) :: existing, catches_signals, is_quiet
    integer(c_size_t) :: override_count
    type(c_ptr) :: overrides, job_program
    type(c_funptr) :: tell
    type(c_ptr) :: context
  end type

  type, bind(c) :: c_mesh
    integer(c_size_t) :: size
    integer(c_int64_t) :: cells(3)
    real(c_double) :: lengths(3)
    integer(c_int) :: periodic(3)
    type(c_ptr) :: length_unit
    integer(c_int64_t) :: ghosts(3)
    integer(c_size_t) :: count
    type(c_ptr) :: offsets, extents, levels
  end type

  type, bind(c) :: c_field
    integer(c_size_t) :: size
    type(c_ptr) :: name, unit, meaning
    integer(c_int) :: type, is_state
    integer(c_size_t) :: count
    type(c_ptr) :: blocks, strides, shapes
  end type

  type, bind(c) :: c_particles
    integer(c_size_t) :: size
    type(c_ptr) :: name
    integer(c_size_t) :: count
    type(c_ptr) :: ids, positions(3)
    integer(c_size_t) :: attribute_count
    type(c_ptr) :: attributes, units, values
    real(c_double) :: mass
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
    integer(c_int) function c_open(comm, options, session, compute) bind(c, name='sidestream_open_f')
      import :: c_int, c_ptr, c_options
      integer(c_int), value :: comm
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: session
      integer(c_int), intent(out) :: compute
    end function
    integer(c_int) function c_set_mesh(session, mesh) bind(c, name='sidestream_set_mesh')
      import :: c_int, c_ptr, c_mesh
      type(c_ptr), value :: session
      type(c_mesh), intent(in) :: mesh
    end function
    integer(c_int) function c_set_field(session, field) bind(c, name='sidestream_set_field')
      import :: c_int, c_ptr, c_field
      type(c_ptr), value :: session
      type(c_field), intent(in) :: field
    end function
    integer(c_int) function c_set_number(session, name, number) bind(c, name='sidestream_set_number')
      import :: c_int, c_ptr, c_double, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: number
    end function
    integer(c_int) function c_set_progress(session, progress) bind(c, name='sidestream_set_progress')
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: session
      real(c_double), value :: progress
    end function
    integer(c_int) function c_set_scale_factor(session, scale_factor) bind(c, name='sidestream_set_scale_factor')
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: session
      real(c_double), value :: scale_factor
    end function
    integer(c_int) function c_add_knob(session, name, meaning, minimum, maximum, number) &
      bind(c, name='sidestream_add_knob')
      import :: c_int, c_ptr, c_double, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), meaning(*)
      real(c_double), value :: minimum, maximum
      type(c_ptr), value :: number
    end function
    integer(c_int) function c_set_particles(session, particles) bind(c, name='sidestream_set_particles')
      import :: c_int, c_ptr, c_particles
      type(c_ptr), value :: session
      type(c_particles), intent(in) :: particles
    end function
    integer(c_int) function c_restored_particles(session, name, particles) &
      bind(c, name='sidestream_restored_particles')
      import :: c_int, c_ptr, c_char, c_particles
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      type(c_particles), intent(inout) :: particles
    end function
    integer(c_int) function c_next_time(session, time, next) bind(c, name='sidestream_next_time')
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: session
      real(c_double), value :: time
      real(c_double), intent(out) :: next
    end function
    integer(c_int) function c_progress(session) bind(c, name='sidestream_progress')
      import :: c_int, c_ptr
      type(c_ptr), value :: session
    end function
    integer(c_int) function c_begin(session, step, time) bind(c, name='sidestream_begin')
      import :: c_int, c_ptr, c_int64_t, c_double
      type(c_ptr), value :: session
      integer(c_int64_t), intent(inout) :: step
      real(c_double), intent(inout) :: time
    end function
    integer(c_int) function c_is_restarted(session) bind(c, name='sidestream_is_restarted')
      import :: c_int, c_ptr
      type(c_ptr), value :: session
    end function
    integer(c_int) function c_goes_on(session) bind(c, name='sidestream_goes_on')
      import :: c_int, c_ptr
      type(c_ptr), value :: session
    end function
    integer(c_int) function c_is_sidecar(session) bind(c, name='sidestream_is_sidecar')
      import :: c_int, c_ptr
      type(c_ptr), value :: session
    end function
    integer(c_int) function c_wants(session, name, is_wanted) bind(c, name='sidestream_wants')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(out) :: is_wanted
    end function
    integer(c_int) function c_step(session, step, time) bind(c, name='sidestream_step')
      import :: c_int, c_ptr, c_int64_t, c_double
      type(c_ptr), value :: session
      integer(c_int64_t), value :: step
      real(c_double), value :: time
    end function
    integer(c_int) function c_close(session) bind(c, name='sidestream_close')
      import :: c_int, c_ptr
      type(c_ptr), value :: session
    end function
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

  !> Opens a run with all ranks of `comm`. `compute`: the communicator of the ranks that compute, to be used instead.
  !> `is_sidecar`: this rank was set aside for analyses by the configuration, and the run has ended. `existing`: what to
  !> do with an earlier run in the folder. Collective.
  subroutine sidestream_open(session, comm, config, folder, compute, is_sidecar, status, name, existing, is_quiet)
    type(sidestream_session), intent(out) :: session
    integer, intent(in) :: comm
    character(*), intent(in) :: config, folder
    integer, intent(out) :: compute, status
    logical, intent(out) :: is_sidecar
    character(*), intent(in), optional :: name
    integer, intent(in), optional :: existing
    logical, intent(in), optional :: is_quiet
    type(c_options) :: options
    character(kind=c_char), allocatable, target :: its_name(:), its_config(:), its_folder(:)
    integer(c_int) :: of_compute

    options%size = c_sizeof(options)
    if (present(name)) then
      allocate (its_name, source=letters_of(name))
    else
      allocate (its_name, source=letters_of('host'))
    end if
    allocate (its_config, source=letters_of(config))
    allocate (its_folder, source=letters_of(folder))
    options%name = c_loc(its_name)
    options%config = c_loc(its_config)
    options%folder = c_loc(its_folder)
    options%existing = sidestream_refuse
    if (present(existing)) options%existing = existing
    options%catches_signals = 0
    options%is_quiet = 0
    if (present(is_quiet)) options%is_quiet = merge(1, 0, is_quiet)
    options%override_count = 0
    options%overrides = c_null_ptr
    options%job_program = c_null_ptr
    options%tell = c_null_funptr
    options%context = c_null_ptr
    status = c_open(int(comm, c_int), options, session%handle, of_compute)
    compute = of_compute
    is_sidecar = c_is_sidecar(session%handle) > 0
  end subroutine

  !> Says what the program computes on: the cells of the domain along one to three axes, the first one fastest, and the
  !> block of this rank, whose `offset` is that of its first cell from the first of the domain. `ghosts`: layers of ghost
  !> cells around the block in its arrays. Collective.
  subroutine set_mesh_of_one(session, cells, offset, extent, status, lengths, periodic, ghosts, length_unit)
    type(sidestream_session), intent(inout) :: session
    integer, intent(in) :: cells(:), offset(:), extent(:)
    integer, intent(out) :: status
    real(c_double), intent(in), optional :: lengths(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: ghosts(:)
    character(*), intent(in), optional :: length_unit

    call set_mesh_of_many(session, cells, reshape(offset, [size(offset), 1]), reshape(extent, [size(extent), 1]), &
                          status, lengths=lengths, periodic=periodic, ghosts=ghosts, length_unit=length_unit)
  end subroutine

  !> The same with any number of blocks: `offsets` and `extents` are arrays (axes, blocks). `levels`: of each block, 0 the
  !> coarsest; cells of a level are half as large as those of the one before, and finer blocks hide what they cover.
  subroutine set_mesh_of_many(session, cells, offsets, extents, status, levels, lengths, periodic, ghosts, length_unit)
    type(sidestream_session), intent(inout) :: session
    integer, intent(in) :: cells(:), offsets(:, :), extents(:, :)
    integer, intent(out) :: status
    integer, intent(in), optional :: levels(:)
    real(c_double), intent(in), optional :: lengths(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: ghosts(:)
    character(*), intent(in), optional :: length_unit
    type(c_mesh) :: mesh
    integer(c_int64_t), allocatable, target :: first(:, :), count(:, :)
    integer(c_int), allocatable, target :: of_level(:)
    character(kind=c_char), allocatable, target :: unit(:)
    integer :: n, axes, blocks

    n = min(size(cells), 3)
    axes = min(n, size(offsets, 1), size(extents, 1))
    blocks = min(size(offsets, 2), size(extents, 2))
    mesh%size = c_sizeof(mesh)
    mesh%cells = 1
    mesh%cells(:n) = cells(:n)
    mesh%lengths = 1
    mesh%lengths(:n) = real(cells(:n), c_double)
    if (present(lengths)) mesh%lengths(:n) = lengths(:n)
    mesh%periodic = 0
    if (present(periodic)) mesh%periodic(:n) = merge(1, 0, periodic(:n))
    mesh%ghosts = 0
    if (present(ghosts)) mesh%ghosts(:n) = ghosts(:n)
    if (present(length_unit)) then
      allocate (unit, source=letters_of(length_unit))
    else
      allocate (unit, source=letters_of(''))
    end if
    mesh%length_unit = c_loc(unit)
    allocate (first(3, max(blocks, 1)), count(3, max(blocks, 1)), of_level(max(blocks, 1)))
    first = 0
    first(:axes, :blocks) = offsets(:axes, :blocks)
    count = 1
    count(:axes, :blocks) = extents(:axes, :blocks)
    of_level = 0
    if (present(levels)) of_level(:blocks) = int(levels(:blocks), c_int)
    mesh%count = blocks
    mesh%offsets = c_loc(first)
    mesh%extents = c_loc(count)
    mesh%levels = c_loc(of_level)
    status = c_set_mesh(session%handle, mesh)
  end subroutine

  function block_double_1(array) result(block)
    real(c_double), intent(in), target :: array(:)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:1) = shape(array)
    block = block_of(sidestream_float64, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)))), storage_size(array))
  end function

  function block_double_2(array) result(block)
    real(c_double), intent(in), target :: array(:, :)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:2) = shape(array)
    block = block_of(sidestream_float64, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1, 1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)), 1)), storage_size(array))
    block%strides(2) = elements_between(block%first, c_loc(array(1, min(2, n(2)))), storage_size(array))
  end function

  function block_double_3(array) result(block)
    real(c_double), intent(in), target :: array(:, :, :)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:3) = shape(array)
    block = block_of(sidestream_float64, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1, 1, 1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)), 1, 1)), storage_size(array))
    block%strides(2) = elements_between(block%first, c_loc(array(1, min(2, n(2)), 1)), storage_size(array))
    block%strides(3) = elements_between(block%first, c_loc(array(1, 1, min(2, n(3)))), storage_size(array))
  end function

  function block_float_1(array) result(block)
    real(c_float), intent(in), target :: array(:)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:1) = shape(array)
    block = block_of(sidestream_float32, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)))), storage_size(array))
  end function

  function block_float_2(array) result(block)
    real(c_float), intent(in), target :: array(:, :)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:2) = shape(array)
    block = block_of(sidestream_float32, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1, 1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)), 1)), storage_size(array))
    block%strides(2) = elements_between(block%first, c_loc(array(1, min(2, n(2)))), storage_size(array))
  end function

  function block_float_3(array) result(block)
    real(c_float), intent(in), target :: array(:, :, :)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:3) = shape(array)
    block = block_of(sidestream_float32, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1, 1, 1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)), 1, 1)), storage_size(array))
    block%strides(2) = elements_between(block%first, c_loc(array(1, min(2, n(2)), 1)), storage_size(array))
    block%strides(3) = elements_between(block%first, c_loc(array(1, 1, min(2, n(3)))), storage_size(array))
  end function

  function block_int_1(array) result(block)
    integer(c_int32_t), intent(in), target :: array(:)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:1) = shape(array)
    block = block_of(sidestream_int32, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)))), storage_size(array))
  end function

  function block_int_2(array) result(block)
    integer(c_int32_t), intent(in), target :: array(:, :)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:2) = shape(array)
    block = block_of(sidestream_int32, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1, 1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)), 1)), storage_size(array))
    block%strides(2) = elements_between(block%first, c_loc(array(1, min(2, n(2)))), storage_size(array))
  end function

  function block_int_3(array) result(block)
    integer(c_int32_t), intent(in), target :: array(:, :, :)
    type(sidestream_block) :: block
    integer :: n(3)

    n = 1
    n(:3) = shape(array)
    block = block_of(sidestream_int32, n)
    if (size(array) == 0) return
    block%first = c_loc(array(1, 1, 1))
    block%strides(1) = elements_between(block%first, c_loc(array(min(2, n(1)), 1, 1)), storage_size(array))
    block%strides(2) = elements_between(block%first, c_loc(array(1, min(2, n(2)), 1)), storage_size(array))
    block%strides(3) = elements_between(block%first, c_loc(array(1, 1, min(2, n(3)))), storage_size(array))
  end function

  function block_of(type, shape) result(block)
    integer, intent(in) :: type, shape(3)
    type(sidestream_block) :: block

    block%type = type
    block%shape = shape
  end function

  !> Elements of so many bits from one place to another.
  function elements_between(one, other, bits) result(elements)
    type(c_ptr), intent(in) :: one, other
    integer, intent(in) :: bits
    integer(c_int64_t) :: elements

    elements = (transfer(other, 0_c_intptr_t) - transfer(one, 0_c_intptr_t))/(bits/8)
  end function

  subroutine set_double_1(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    real(c_double), intent(in), target :: array(:)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_double_2(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    real(c_double), intent(in), target :: array(:, :)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_double_3(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    real(c_double), intent(in), target :: array(:, :, :)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_float_1(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    real(c_float), intent(in), target :: array(:)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_float_2(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    real(c_float), intent(in), target :: array(:, :)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_float_3(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    real(c_float), intent(in), target :: array(:, :, :)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_int_1(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    integer(c_int32_t), intent(in), target :: array(:)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_int_2(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    integer(c_int32_t), intent(in), target :: array(:, :)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_int_3(session, name, unit, array, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    integer(c_int32_t), intent(in), target :: array(:, :, :)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state

    call set_blocks(session, name, unit, [sidestream_block(array)], status, is_state)
  end subroutine

  subroutine set_blocks(session, name, unit, blocks, status, is_state)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, unit
    type(sidestream_block), intent(in) :: blocks(:)
    integer, intent(out) :: status
    logical, intent(in), optional :: is_state
    type(c_field) :: field
    character(kind=c_char), allocatable, target :: its_name(:), its_unit(:)
    type(c_ptr), allocatable, target :: firsts(:)
    integer(c_int64_t), allocatable, target :: strides(:, :), shapes(:, :)
    integer :: n

    allocate (its_name, source=letters_of(name))
    allocate (its_unit, source=letters_of(unit))
    n = max(size(blocks), 1)
    allocate (firsts(n), strides(3, n), shapes(3, n))
    do n = 1, size(blocks)
      firsts(n) = blocks(n)%first
      strides(:, n) = blocks(n)%strides
      shapes(:, n) = blocks(n)%shape
    end do
    field%size = c_sizeof(field)
    field%name = c_loc(its_name)
    field%unit = c_loc(its_unit)
    field%meaning = c_null_ptr
    field%type = sidestream_float64
    if (size(blocks) > 0) field%type = blocks(1)%type
    field%is_state = 1
    if (present(is_state)) field%is_state = merge(1, 0, is_state)
    field%count = size(blocks)
    field%blocks = c_loc(firsts)
    field%strides = c_loc(strides)
    field%shapes = c_loc(shapes)
    status = c_set_field(session%handle, field)
  end subroutine

  !> Says where particles lie, on whatever rank; again before each step after which they have moved in memory.
  !> `positions` is an array (particles, 3), `values` one (particles, attributes), whose columns are contiguous. Local.
  subroutine sidestream_set_particles(session, name, ids, positions, status, attributes, units, values, mass)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in), target :: ids(:)
    real(c_double), intent(in), target :: positions(:, :)
    integer, intent(out) :: status
    character(*), intent(in), optional :: attributes(:), units(:)
    real(c_double), intent(in), optional, target :: values(:, :)
    real(c_double), intent(in), optional :: mass
    type(c_particles) :: particles
    character(kind=c_char), allocatable, target :: its_name(:), names(:, :), its_units(:, :)
    type(c_ptr), allocatable, target :: name_places(:), unit_places(:), value_places(:)
    integer :: n, count

    allocate (its_name, source=letters_of(name))
    particles%size = c_sizeof(particles)
    particles%name = c_loc(its_name)
    particles%count = size(ids)
    particles%ids = c_null_ptr
    particles%positions = c_null_ptr
    if (size(ids) > 0 .and. all(shape(positions) == [size(ids), 3])) then
      if (is_contiguous(ids)) particles%ids = c_loc(ids(1))
      do n = 1, 3
        if (is_contiguous(positions(:, n))) particles%positions(n) = c_loc(positions(1, n))
      end do
    end if
    count = 0
    if (present(attributes)) count = size(attributes)
    allocate (value_places(max(count, 1)))
    value_places = c_null_ptr
    if (present(values) .and. size(ids) > 0) then
      do n = 1, min(count, size(values, 2))
        if (size(values, 1) == size(ids) .and. is_contiguous(values(:, n))) value_places(n) = c_loc(values(1, n))
      end do
    end if
    particles%attribute_count = count
    particles%attributes = c_null_ptr
    if (present(attributes)) call place_texts(attributes, names, name_places, particles%attributes)
    particles%units = c_null_ptr
    if (present(units)) then
      if (size(units) == count) call place_texts(units, its_units, unit_places, particles%units)
    end if
    particles%values = c_loc(value_places)
    particles%mass = 0
    if (present(mass)) particles%mass = mass
    status = c_set_particles(session%handle, particles)
  end subroutine

  !> The particles of a kind in the checkpoint that the run went on from, each on the rank that has its cell: `positions`
  !> is (particles, 3), `values` (particles, attributes) in the order in which they were given. Local.
  subroutine sidestream_restored_particles(session, name, ids, positions, status, values)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(c_int64_t), intent(out), allocatable :: ids(:)
    real(c_double), intent(out), allocatable :: positions(:, :)
    integer, intent(out) :: status
    real(c_double), intent(out), allocatable, optional :: values(:, :)
    type(c_particles) :: particles
    integer(c_int64_t), pointer :: numbers(:)
    real(c_double), pointer :: column(:)
    type(c_ptr), pointer :: columns(:)
    integer :: n, count

    particles%size = c_sizeof(particles)
    particles%count = 0
    particles%attribute_count = 0
    status = c_restored_particles(session%handle, letters_of(name), particles)
    if (status /= sidestream_ok) particles%count = 0
    count = int(particles%count)
    allocate (ids(count), positions(count, 3))
    if (present(values)) allocate (values(count, int(particles%attribute_count)))
    if (count == 0) return
    call c_f_pointer(particles%ids, numbers, [count])
    ids = numbers
    do n = 1, 3
      call c_f_pointer(particles%positions(n), column, [count])
      positions(:, n) = column
    end do
    if (.not. present(values) .or. particles%attribute_count == 0) return
    call c_f_pointer(particles%values, columns, [int(particles%attribute_count)])
    do n = 1, size(columns)
      call c_f_pointer(columns(n), column, [count])
      values(:, n) = column
    end do
  end subroutine

  !> A number that tasks and files may use, alike on all ranks. Local.
  subroutine sidestream_set_number(session, name, number, status)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name
    real(c_double), intent(in) :: number
    integer, intent(out) :: status

    status = c_set_number(session%handle, letters_of(name), number)
  end subroutine

  !> Where the universe expands: a = 1 / (1 + z), from before `sidestream_begin` on. Local.
  subroutine sidestream_set_scale_factor(session, scale_factor, status)
    type(sidestream_session), intent(in) :: session
    real(c_double), intent(in) :: scale_factor
    integer, intent(out) :: status

    status = c_set_scale_factor(session%handle, scale_factor)
  end subroutine

  !> A number that `sidestream steer` may change within a range between two steps; `number` stays where it is as long as
  !> the session lives: declare it with `target` and `save`, or in the main program. Before `sidestream_begin`. Local.
  subroutine sidestream_add_knob(session, name, meaning, minimum, maximum, number, status)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name, meaning
    real(c_double), intent(in) :: minimum, maximum
    real(c_double), intent(in), target :: number
    integer, intent(out) :: status

    status = c_add_knob(session%handle, letters_of(name), letters_of(meaning), minimum, maximum, c_loc(number))
  end subroutine

  !> How much of the run is done, from 0 to 1, at which no step follows. Local.
  subroutine sidestream_set_progress(session, progress, status)
    type(sidestream_session), intent(in) :: session
    real(c_double), intent(in) :: progress
    integer, intent(out) :: status

    status = c_set_progress(session%handle, progress)
  end subroutine

  !> The state before the first step, with what is due there; fills the fields where the run goes on from a checkpoint,
  !> and then `step` and `time` are those of it. Collective.
  subroutine sidestream_begin(session, step, time, status)
    type(sidestream_session), intent(in) :: session
    integer, intent(inout) :: step
    real(c_double), intent(inout) :: time
    integer, intent(out) :: status
    integer(c_int64_t) :: at

    at = step
    status = c_begin(session%handle, at, time)
    step = int(at)
  end subroutine

  !> Whether `sidestream_begin` took a checkpoint. Local.
  logical function sidestream_is_restarted(session) result(is_restarted)
    type(sidestream_session), intent(in) :: session

    is_restarted = c_is_restarted(session%handle) > 0
  end function

  !> Whether another step is to be taken. Local.
  logical function sidestream_goes_on(session) result(goes_on)
    type(sidestream_session), intent(in) :: session

    goes_on = c_goes_on(session%handle) > 0
  end function

  !> Whether tasks that are due by their number of steps read the quantity after the next step. Local.
  logical function sidestream_wants(session, name) result(wants)
    type(sidestream_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(c_int) :: is_wanted

    is_wanted = 0
    wants = c_wants(session%handle, letters_of(name), is_wanted) == sidestream_ok .and. is_wanted > 0
  end function

  !> The next time after `time` that a task wants, to land on; huge(time) where there is none. Local.
  real(c_double) function sidestream_next_time(session, time) result(next)
    type(sidestream_session), intent(in) :: session
    real(c_double), intent(in) :: time

    if (c_next_time(session%handle, time, next) /= sidestream_ok) next = huge(time)
    next = min(next, huge(time))
  end function

  !> Lets transfers go on, within long steps. Local and cheap.
  subroutine sidestream_progress(session, status)
    type(sidestream_session), intent(in) :: session
    integer, intent(out) :: status

    status = c_progress(session%handle)
  end subroutine

  !> Tells that a step has been taken: does what is due. Collective.
  subroutine sidestream_step(session, step, time, status)
    type(sidestream_session), intent(in) :: session
    integer, intent(in) :: step
    real(c_double), intent(in) :: time
    integer, intent(out) :: status

    status = c_step(session%handle, int(step, c_int64_t), time)
  end subroutine

  !> Ends the run and waits for what it has begun. Collective, before MPI ends.
  subroutine sidestream_close(session, status)
    type(sidestream_session), intent(inout) :: session
    integer, intent(out) :: status

    status = c_close(session%handle)
    session%handle = c_null_ptr
  end subroutine

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

  !> Texts as C has them; `letters` and `places` hold them.
  subroutine place_texts(texts, letters, places, place)
    character(*), intent(in) :: texts(:)
    character(kind=c_char), intent(out), allocatable, target :: letters(:, :)
    type(c_ptr), intent(out), allocatable, target :: places(:)
    type(c_ptr), intent(out) :: place
    integer :: n, letter

    allocate (letters(len(texts) + 1, max(size(texts), 1)), places(max(size(texts), 1)))
    letters = c_null_char
    do n = 1, size(texts)
      do letter = 1, len_trim(texts(n))
        letters(letter, n) = texts(n) (letter:letter)
      end do
      places(n) = c_loc(letters(1, n))
    end do
    place = c_loc(places)
  end subroutine

  function letters_of(text) result(letters)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: letters(:)
    integer :: n

    allocate (letters(len_trim(text) + 1))
    do n = 1, len_trim(text)
      letters(n) = text(n:n)
    end do
    letters(size(letters)) = c_null_char
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
