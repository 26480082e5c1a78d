#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

#include "structures.hpp"

namespace sidestream::c {

namespace {

#if defined(OPEN_MPI)
constexpr const char* family = "Open MPI";
#elif defined(MPICH_VERSION)
constexpr const char* family = "MPICH";
#else
constexpr const char* family = "MPI";
#endif

// The text of an MPI that was not the one of the headers would begin otherwise.
std::string running_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return std::string(text.data()).substr(0, std::string_view(text.data()).find_first_of(",\n"));
}

}  // namespace

void require_mpi() {
  if (const std::string running = running_mpi(); running.find(family) == std::string::npos)
    throw BadArgument(fmt::format("this library was built for {}, and the program runs {}", family, running), "",
                      fmt::format("take a library that was built for that one, or build the program for {}", family));
  int is_initialized = 0, is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (is_initialized == 0 || is_finalized != 0)
    throw BadArgument("MPI is not running", "",
                      fmt::format("call this between MPI_Init and MPI_Finalize of {}, for which it was built", family));
}

}  // namespace sidestream::c

extern "C" const char* sidestream_mpi(void) {
  return sidestream::c::family;
}
