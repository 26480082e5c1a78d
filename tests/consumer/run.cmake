# Installs the build folder BUILD into a scratch folder, builds the consumers against it and runs them; examples in other
# languages by the words MPIRUN on four ranks, with what each of them has to print.
set(scratch ${BUILD}/tests/consumer)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${text}${errors}")
  endif()
  set(printed "${text}" PARENT_SCOPE)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${scratch}/installed)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${scratch}/build -DCMAKE_PREFIX_PATH=${scratch}/installed)
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/consumer)

set(quadrants
  "rank 0 has 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27"
  "rank 1 has 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31"
  "rank 2 has 32 33 34 35 40 41 42 43 48 49 50 51 56 57 58 59"
  "rank 3 has 36 37 38 39 44 45 46 47 52 53 54 55 60 61 62 63")
foreach(language c fortran)
  if(EXISTS ${scratch}/build/quadrants_${language})
    run(${MPIRUN} 4 ${scratch}/build/quadrants_${language})
    string(STRIP "${printed}" lines)
    string(REPLACE "\n" ";" lines "${lines}")
    list(SORT lines)
    if(NOT lines STREQUAL quadrants)
      message(FATAL_ERROR "the example in ${language} prints\n${printed}")
    endif()
  endif()
endforeach()
