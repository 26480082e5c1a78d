find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(MPI 3.1 REQUIRED COMPONENTS C CXX)
find_package(fmt REQUIRED)
find_package(toml11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)

pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
add_library(xxhash::xxhash ALIAS PkgConfig::XXHASH)
pkg_check_modules(SLEEF REQUIRED IMPORTED_TARGET sleef)
add_library(sleef::sleef ALIAS PkgConfig::SLEEF)

pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq)
add_library(zmq::zmq ALIAS PkgConfig::ZMQ)

find_package(PNG REQUIRED)   # pictures of barriers
find_package(ZLIB REQUIRED)  # pictures of any size, which many write

# The parallel HDF5, so that files may be written by all ranks.
set(HDF5_PREFER_PARALLEL TRUE)
find_package(HDF5 1.10 REQUIRED COMPONENTS C HL)
add_library(hdf5::sidestream INTERFACE IMPORTED)
target_include_directories(hdf5::sidestream SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(hdf5::sidestream INTERFACE ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES})
target_link_options(hdf5::sidestream INTERFACE LINKER:--as-needed)  # it names all that a static one would need

# Files of FLASH in netCDF, and a peer to compare with. It has to be for the same MPI as all else.
if(SIDESTREAM_PNETCDF)
  find_library(PNETCDF_LIBRARY pnetcdf REQUIRED)
  find_path(PNETCDF_INCLUDE_DIR pnetcdf.h REQUIRED)
  add_library(pnetcdf::pnetcdf UNKNOWN IMPORTED)
  set_target_properties(pnetcdf::pnetcdf PROPERTIES IMPORTED_LOCATION ${PNETCDF_LIBRARY})
  target_include_directories(pnetcdf::pnetcdf SYSTEM INTERFACE ${PNETCDF_INCLUDE_DIR})
else()
  add_library(pnetcdf::pnetcdf INTERFACE IMPORTED)
  target_compile_definitions(pnetcdf::pnetcdf INTERFACE SIDESTREAM_WITHOUT_PNETCDF)
endif()

# What makes cells smaller (src/core/compression).
if(SIDESTREAM_ZSTD)
  pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
  add_library(zstd::zstd ALIAS PkgConfig::ZSTD)
endif()
if(SIDESTREAM_ZFP)
  find_library(ZFP_LIBRARY zfp REQUIRED)  # its package asks for OpenMP, also of compilers that have none
  find_path(ZFP_INCLUDE_DIR zfp.h REQUIRED)
  add_library(zfp::zfp UNKNOWN IMPORTED)
  set_target_properties(zfp::zfp PROPERTIES IMPORTED_LOCATION ${ZFP_LIBRARY})
  target_include_directories(zfp::zfp SYSTEM INTERFACE ${ZFP_INCLUDE_DIR})
endif()
