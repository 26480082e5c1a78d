#include "sidestream/comm/lone_ranks.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sidestream/core/error.hpp"

namespace sidestream::comm {

namespace {

// What Open MPI's launcher tells a rank of its job, and what MPICH's and those that derive from it do.
struct Told {
  const char* size;
  const char* rank;
};
constexpr std::array all_told{Told{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, Told{"PMI_SIZE", "PMI_RANK"}};

std::string running_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data());
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

// What the launcher of this process has told, where that is of several ranks and MPI knows of one.
const Told* told_to_lone_rank() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) return nullptr;
  const auto found = std::ranges::find_if(all_told, [](const Told& told) {
    const char* const started = std::getenv(told.size);
    return started != nullptr && std::atoi(started) > 1;
  });
  return found != all_told.end() ? &*found : nullptr;
}

core::Error error_of(const Told& told) {
  return core::Error(fmt::format("the launcher has started {} ranks, and each is alone: it is not that of {}, for "
                                 "which this program was built",
                                 std::getenv(told.size), running_mpi()),
                     "", "start it by the `mpirun` of that MPI; `sidestream doctor` tells which one is found");
}

}  // namespace

void require_that_ranks_meet() {
  if (const Told* const told = told_to_lone_rank()) throw error_of(*told);
}

void end_where_ranks_do_not_meet() {
  const Told* const told = told_to_lone_rank();
  if (told == nullptr) return;
  const char* const rank = std::getenv(told->rank);
  if (rank == nullptr || std::string_view(rank) == "0")
    std::fputs((error_of(*told).what() + std::string("\n")).c_str(), stderr);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace sidestream::comm
