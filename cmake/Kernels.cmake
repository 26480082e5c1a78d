# Files with loops that are faster with wider vectors. Unless one instruction set was chosen (SIDESTREAM_ARCH), they are
# a shared library of their own, built for each level of x86-64; the loader of the C library takes the best that the
# processor has from the folders glibc-hwcaps/LEVEL beside the first (ld.so(8)). All other code is of the lowest level.
# A kernel calls nothing outside of its file but the other kernels and the standard library, and what it exports is marked: no inline
# function of one level may ever stand in for that of another.
include(cmake/FftEngine.cmake)
set(SIDESTREAM_KERNELS
  src/amr/interpolation.cpp
  src/amr/loehner_rows.cpp
  src/analysis/lyman_alpha/sightline_rows.cpp
  src/core/instruction_set.cpp
  ${SIDESTREAM_FFT_KERNELS}
  src/fft/line_transforms.cpp
  src/fft/row_transforms.cpp
  src/solvers/chemistry/growth_rows.cpp
  src/solvers/chemistry/heating_rows.cpp
  src/solvers/hydro/gas_rows.cpp
  src/solvers/hydro/hydro_rows.cpp
  src/solvers/lbm/gradient_rows.cpp
  src/solvers/lbm/lattice_rows.cpp
  src/solvers/particles/particle_rows.cpp
  src/solvers/spectral/flow_rows.cpp
  src/solvers/spectral/tracer_rows.cpp)
list(TRANSFORM SIDESTREAM_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/)
# Jumps threaded through selections have both sides of each computed twice in vector code.
set_source_files_properties(src/solvers/hydro/hydro_rows.cpp PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fno-thread-jumps>)

if(SIDESTREAM_ARCH OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  return()
endif()
set(SIDESTREAM_LOWEST_ARCH x86-64-v2)

# sidestream_kernel_library(TARGET ARCH FOLDER): the kernels for one level, in FOLDER below lib.
function(sidestream_kernel_library target arch folder)
  add_library(${target} SHARED ${SIDESTREAM_KERNELS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE $<TARGET_NAME_IF_EXISTS:sidestream_fft_engine>)
  sidestream_compile_options(${target} ${arch})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sidestream_kernels CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/${folder})
  if(NOT SIDESTREAM_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

sidestream_kernel_library(sidestream_kernels ${SIDESTREAM_LOWEST_ARCH} "")
set_target_properties(sidestream_kernels PROPERTIES EXPORT_NAME kernels)
set_property(GLOBAL APPEND PROPERTY SIDESTREAM_MODULES sidestream_kernels)
set(SIDESTREAM_LEVELS x86-64-v3 x86-64-v4)  # above the lowest
foreach(level ${SIDESTREAM_LEVELS})
  sidestream_kernel_library(sidestream_kernels_${level} ${level} glibc-hwcaps/${level})
  add_dependencies(sidestream_kernels sidestream_kernels_${level})
  install(TARGETS sidestream_kernels_${level} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level})
endforeach()
