# find_package(Sidestream) after installation: Sidestream::sidestream is the whole library, Sidestream::<module> each part.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY SIDESTREAM_MODULES)
install(TARGETS ${modules} sidestream sidestream_c EXPORT SidestreamTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/sidestream DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/sidestream.h include/sidestream.hpp apps/fortran/sidestream.f90 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES apps/c/stub/sidestream_stub.c DESTINATION ${CMAKE_INSTALL_DATADIR}/sidestream)
configure_file(cmake/sidestream.pc.in ${PROJECT_BINARY_DIR}/sidestream.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sidestream.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sidestream)
install(EXPORT SidestreamTargets NAMESPACE Sidestream:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sidestream)
set(SIDESTREAM_FORTRAN_MODULE ${CMAKE_INSTALL_INCLUDEDIR}/sidestream.f90)
configure_package_config_file(cmake/SidestreamConfig.cmake.in ${PROJECT_BINARY_DIR}/SidestreamConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sidestream PATH_VARS SIDESTREAM_FORTRAN_MODULE)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SidestreamConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SidestreamConfig.cmake ${PROJECT_BINARY_DIR}/SidestreamConfigVersion.cmake
  cmake/Dependencies.cmake cmake/FftEngine.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sidestream)
