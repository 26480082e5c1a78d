# sidestream_module(NAME LINK [PUBLIC target...] [PRIVATE target...])
# One static library for each folder src/NAME, known as Sidestream::NAME.
function(sidestream_module name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(SIDESTREAM_PNETCDF)
    list(FILTER sources EXCLUDE REGEX "/without_pnetcdf\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "/(pnetcdf_[a-z]+|netcdf_handle|flash_netcdf)\\.cpp$")
  endif()
  foreach(library ZSTD ZFP)
    string(TOLOWER ${library} file)
    if(SIDESTREAM_${library})
      set(file without_${file})
    endif()
    list(FILTER sources EXCLUDE REGEX "/compression/${file}\\.cpp$")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/fft/engines/(${SIDESTREAM_OTHER_FFT_ENGINES})/")
  if(TARGET sidestream_kernels)
    list(REMOVE_ITEM sources ${SIDESTREAM_KERNELS})
  endif()
  add_library(sidestream_${name} STATIC ${sources})
  add_library(Sidestream::${name} ALIAS sidestream_${name})
  target_include_directories(sidestream_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sidestream_${name} ${ARG_LINK})
  sidestream_compile_options(sidestream_${name})
  sidestream_precompile(sidestream_${name} sidestream_core)
  if(SIDESTREAM_JOINED)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL sidestream_join sidestream_${name} [[${sources}]])")
  endif()
  set_target_properties(sidestream_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY SIDESTREAM_MODULES sidestream_${name})
endfunction()

# sidestream_join(TARGET file...): the files of a folder become one for the compiler, so that headers are read and
# templates instantiated once for all of them. Names in anonymous namespaces are therefore those of a folder.
# A registry stays by itself (a program may have another in its place), and what is compiled by options of its own.
# (UNITY_BUILD of CMake names the files by where the checkout lies, and no cache of a compiler serves two of them.)
function(sidestream_join target files)
  foreach(file ${files})
    get_source_file_property(definitions ${file} COMPILE_DEFINITIONS)
    get_source_file_property(options ${file} COMPILE_OPTIONS)
    get_source_file_property(includes ${file} INCLUDE_DIRECTORIES)
    if(definitions OR options OR includes OR file MATCHES "/registry\\.cpp$")
      continue()
    endif()
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH folder)
    string(REPLACE "/" "_" group ${folder})
    list(APPEND groups ${group})
    list(APPEND files_${group} ${file})
    string(APPEND text_${group} "#include \"${name}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES groups)
  get_target_property(sources ${target} SOURCES)
  foreach(group ${groups})
    set(joined ${PROJECT_BINARY_DIR}/joined/${group}.cpp)
    file(CONFIGURE OUTPUT ${joined} CONTENT "${text_${group}}" @ONLY)
    list(REMOVE_ITEM sources ${files_${group}})
    list(APPEND sources ${joined})
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# sidestream_precompile(TARGET FIRST header...): what most files include, and nothing of ours, so that a change of a
# header compiles only what includes it. All modules share that of core, and all programs of tests that of another, with
# some headers more: that of the target FIRST, which comes before the others. Each file includes what it uses
# nevertheless: the preset `clang` builds without.
function(sidestream_precompile target first)
  if(NOT SIDESTREAM_PRECOMPILED)
    return()
  endif()
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <bit> <cmath> <complex> <cstdint> <functional> <limits> <map> <memory>
      <numeric> <optional> <span> <stdexcept> <string> <string_view> <utility> <variant> <vector> <fmt/format.h> ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# sidestream_arranges(TARGET...): code that tells other code what to do, and touches no cells, is optimised little: that
# takes a quarter of the compiler's time off it.
function(sidestream_arranges)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

# sidestream_embed(NAME FILE [SOURCE]): the text of FILE (below the root) becomes part of the library: NAME, or its SOURCE alone, includes "FILE.inc", a string literal.
function(sidestream_embed name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} text)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/${file}.inc CONTENT "R\"EMBEDDED(${text})EMBEDDED\"\n" @ONLY)
  if(ARGC GREATER 2)
    set_property(SOURCE ${ARGV2} APPEND PROPERTY INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/embedded)
  else()
    target_include_directories(sidestream_${name} PRIVATE ${PROJECT_BINARY_DIR}/embedded)
  endif()
endfunction()

# sidestream_compile_options(TARGET [ARCH]): for the instruction set ARCH, unless SIDESTREAM_ARCH says which; by default
# the lowest. Warnings are errors, but for those that GCC draws from inlined code: they are wrong at times, and depend on the processor
# it compiles for. Contraction to fused multiply-add is off, also where others compile our headers, so that a kernel
# gives the same bits wherever it is inlined; errno and floating-point traps are given up, so that loops with sqrt and selections vectorise.
function(sidestream_compile_options target)
  set(choices ${SIDESTREAM_ARCH} ${ARGN} ${SIDESTREAM_LOWEST_ARCH} ${CMAKE_SYSTEM_PROCESSOR})
  list(GET choices 0 arch)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_definitions(${target} PRIVATE SIDESTREAM_VERSION="${PROJECT_VERSION}" SIDESTREAM_INSTRUCTION_SET="${arch}")
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wconversion -Wshadow -Werror
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=free-nonheap-object;-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-error=maybe-uninitialized>"
    "$<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-pragmas;-Wno-bitwise-instead-of-logical;-Wno-bitwise-conditional-parentheses;-Wno-sign-conversion;-Wno-deprecated-declarations>"
    -Wno-psabi
    PUBLIC -ffp-contract=off
    PRIVATE -fno-math-errno -fno-trapping-math
    $<$<CONFIG:Release>:-O3>)
  if(NOT arch STREQUAL CMAKE_SYSTEM_PROCESSOR)
    target_compile_options(${target} PRIVATE -march=${arch})
  endif()
  if(SIDESTREAM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SIDESTREAM_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SIDESTREAM_SANITIZE})
  endif()
endfunction()
