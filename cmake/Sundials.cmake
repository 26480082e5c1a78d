# CVODE of SUNDIALS 6, which tests and a benchmark compare with. The library itself does not use it.
find_library(SUNDIALS_CVODE_LIBRARY sundials_cvode REQUIRED)
find_library(SUNDIALS_VECTOR_LIBRARY sundials_nvecserial REQUIRED)
find_path(SUNDIALS_INCLUDE_DIR cvode/cvode.h REQUIRED)
add_library(sundials::cvode UNKNOWN IMPORTED)
set_target_properties(sundials::cvode PROPERTIES IMPORTED_LOCATION ${SUNDIALS_CVODE_LIBRARY}
  INTERFACE_LINK_LIBRARIES ${SUNDIALS_VECTOR_LIBRARY})
target_include_directories(sundials::cvode SYSTEM INTERFACE ${SUNDIALS_INCLUDE_DIR})
