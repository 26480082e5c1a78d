#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/redistribute/redistribution.hpp"

// What programs have in common that measure how cells travel. All that begins with `require` is collective, and throws
// core::Error on all ranks.
namespace sidestream::apps {

inline void require_strategies(const comm::Communicator& comm, const std::vector<std::string>& names) {
  comm.agree_on([&] {
    for (const std::string& name : names) redistribute::strategies().named(name);
  });
}

/// That a side of `cells` cells is cut into blocks of `block`, or is one.
inline void require_blocks(const comm::Communicator& comm, std::int32_t cells, std::int32_t block) {
  comm.agree_on([&] {
    if (cells % std::min(block, cells) != 0)
      throw core::Error(fmt::format("{} cells a side are no whole number of blocks of {}", cells, block), "",
                        "choose --cells as a multiple of --block");
  });
}

/// Of the blocks of a cube, which every rank knows all of.
inline double layout_bytes(std::int32_t cells, std::int32_t block) {
  constexpr double bytes_a_block = 100.0;
  const double blocks = static_cast<double>(cells) / std::min(block, cells);
  return bytes_a_block * blocks * blocks * blocks;
}

/// That all ranks of a machine find the memory that they need: their part of `bytes`, and `bytes_a_rank` besides.
/// `what` takes it: "fields of 8192^3 cells".
inline void require_memory(const comm::Communicator& comm, const std::string& what, double bytes, double bytes_a_rank,
                           const std::string& hint) {
  constexpr double gib = 0x1p30;
  const double ranks = comm.size(), here = comm.split_by_node().size();
  const double needed = here * (bytes / ranks + bytes_a_rank), available = core::available_memory_bytes();
  comm.agree_on([&] {
    if (needed > available)
      throw core::Error(fmt::format("{} take about {:.3g} GiB of memory on {}, where {:.3g} GiB are free", what,
                                    needed / gib, core::host_name(), available / gib),
                        "", hint);
  });
}

/// Prints the report that `measure(world, failed)` makes, on the first rank, and returns the exit code of the program:
/// after an error `failed`, which is `used_wrongly` until `measure` sets it otherwise. MPI runs.
template <typename F>
int measure_in_parallel(F measure) {
  int failed = used_wrongly;
  try {
    const comm::Communicator world(MPI_COMM_WORLD);
    const nlohmann::json report = measure(world, failed);
    if (world.rank() == 0) fmt::print("{}\n", report.dump());
    return 0;
  } catch (const core::Error& error) {
    if (!error.is_reported_elsewhere()) fmt::print(stderr, "{}\n", error.what());
    return failed;
  } catch (const std::exception& error) {  // of one rank, for which the others would wait
    fmt::print(stderr, "error: {}\n", error.what());
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace sidestream::apps
