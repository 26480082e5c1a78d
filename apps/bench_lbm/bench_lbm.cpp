// Steps of lattice Boltzmann flows on both lattices, in floats and doubles, beside a copy of memory past the caches by
// the same ranks, by turns: updates of cells a second, and the share of what the copy says that memory allows; and what
// it costs a run to publish each tenth step. Prints one JSON object; progress goes to stderr.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench_lbm/publish_overhead.hpp"
#include "bench_lbm/stream_copy.hpp"
#include "bench_program.hpp"
#include "command_line.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/redistribute/wisdom.hpp"
#include "sidestream/solvers/lbm/lattice_flow.hpp"

namespace {

using namespace sidestream;
using apps::PublishedFlow, apps::publish_overheads;
using nlohmann::json;
using solvers::CollisionKind;

struct Arguments {
  std::int32_t plane = 2048, space = 160, steps = 10, repetitions = 5;
  std::string collision = "trt";
};

constexpr std::size_t copied_doubles = std::size_t{1} << 25;  // of a rank: 256 MiB, from and to

CollisionKind kind_of(const std::string& name) {
  return name == "bgk" ? CollisionKind::bgk : name == "trt" ? CollisionKind::trt : CollisionKind::regularised;
}

/// Seconds that all ranks together take for `work`.
double seconds_of(const comm::Communicator& comm, const std::function<void()>& work) {
  comm.barrier();
  const core::Stopwatch watch;
  work();
  return comm.max(watch.seconds());
}

/// Two arrays of a rank, one of which is copied to the other.
class Copy {
 public:
  Copy() : bytes_(core::allocate_bytes(2 * copied_doubles * sizeof(double))) {
    std::ranges::fill(std::span(from(), 2 * copied_doubles), 1.0);
  }
  double gigabytes_per_second(const comm::Communicator& comm) {
    constexpr double bytes = 16.0 * copied_doubles;
    return 1e-9 * bytes * comm.size() /
           seconds_of(comm, [this] { apps::stream_copy(from(), from() + copied_doubles, copied_doubles); });
  }

 private:
  double* from() { return reinterpret_cast<double*>(bytes_.get()); }
  core::Bytes bytes_;
};

// The middle one.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void add_publishes(const comm::Communicator& comm, const Arguments& arguments, mesh::Int3 cells, json& found) {
  const PublishedFlow flow{cells, arguments.collision, found.at("precision"),
                           cells.z > 1 ? "vorticity_magnitude" : "vorticity", arguments.repetitions};
  const apps::Overheads overheads = publish_overheads(comm, flow);
  found["published"] = flow.quantity;
  found["publish_overhead"] = median(overheads.wall);
  found["publish_overhead_of_processor"] = median(overheads.processor);
  found["publish_overhead_of_bytes"] = apps::least_overhead(cells, found.at("bytes_an_update"));
  found["publish_overheads_of_turns"] = {{"wall", overheads.wall}, {"processor", overheads.processor}};
}

template <typename Real>
json measure(const comm::Communicator& comm, const Arguments& arguments, mesh::Int3 cells, Copy& copy) {
  const int last = cells.z > 1 ? 2 : 1;
  mesh::Int3 parts{1, 1, 1};
  parts[last] = comm.size();
  solvers::LatticeConfig config;
  config.collision = kind_of(arguments.collision);
  config.viscosity = 0.02;
  config.magic = 3.0 / 16.0;
  core::Bill bill;
  solvers::LatticeFlow<Real> flow(comm, mesh::split(mesh::domain_of(cells), parts), config, bill);
  flow.set_flow([&](mesh::Int3 cell) {
    return solvers::LatticeCell{1.0, {0.05 + 1e-5 * (cell.y % 64), 0.01 + 1e-5 * (cell.x % 64), 0.0}, {}};
  });
  const double directions = solvers::table_of(flow.lattice()).directions();
  const double bytes = 2.0 * directions * sizeof(Real),
               updates = static_cast<double>(cells.product()) * arguments.steps;
  flow.advance();
  flow.advance();  // both arrays are there
  json rates = json::array(), bandwidths = json::array(), shares = json::array();
  double best = 0.0, best_bandwidth = 0.0;
  for (int n = 0; n < arguments.repetitions; ++n) {
    const double bandwidth = copy.gigabytes_per_second(comm);
    const double seconds = seconds_of(comm, [&] {
      for (int step = 0; step < arguments.steps; ++step) flow.advance();
    });
    rates.push_back(1e-6 * updates / seconds);
    bandwidths.push_back(bandwidth);
    shares.push_back(1e-9 * bytes * updates / seconds / bandwidth);
    best = std::max(best, 1e-6 * updates / seconds);
    best_bandwidth = std::max(best_bandwidth, bandwidth);
  }
  return {{"lattice", cells.z > 1 ? "D3Q19" : "D2Q9"},
          {"precision", sizeof(Real) == sizeof(float) ? "single" : "double"},
          {"cells", {cells.x, cells.y, cells.z}},
          {"bytes_an_update", bytes},
          {"populations_mib", 2.0 * directions * sizeof(Real) * static_cast<double>(cells.product()) / 0x1p20},
          {"million_updates_per_s", rates},
          {"copy_gb_per_s", bandwidths},
          {"share_of_roofline", 1e-3 * bytes * best / best_bandwidth},
          {"shares_of_turns", shares}};
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line("Times steps of lattice Boltzmann flows beside a copy of memory.", SIDESTREAM_VERSION);
  line.number("--plane", arguments.plane, "cells a side of the plane", 16);
  line.number("--space", arguments.space, "cells a side of the cube", 8);
  line.number("--steps", arguments.steps, "steps that are timed together", 1);
  line.number("--repetitions", arguments.repetitions, "times that they are, in turns with the copy", 1);
  line.word("--collision", arguments.collision, "of all of them", {.one_of = {"trt", "bgk", "regularised"}});
  if (const auto code = line.parse(argc, argv)) return *code;
  const comm::Environment environment(argc, argv);
  return apps::measure_in_parallel([&](const comm::Communicator& comm, int& failed) {
    const mesh::Int3 plane{arguments.plane, arguments.plane, 1},
        space{arguments.space, arguments.space, arguments.space};
    // Populations, twice, and what is published: four numbers, a message and a copy of it.
    const double most =
        8.0 * std::max(24.0 * static_cast<double>(plane.product()), 44.0 * static_cast<double>(space.product()));
    apps::require_memory(comm, "the populations", most, 16.0 * copied_doubles, "--plane and --space take fewer");
    failed = 1;
    Copy copy;
    json cases = json::array();
    const auto add = [&](const char* what, auto real, mesh::Int3 cells) {
      if (comm.rank() == 0) fmt::print(stderr, "{} of 4: {}\n", cases.size() + 1, what);
      cases.push_back(measure<decltype(real)>(comm, arguments, cells, copy));
      add_publishes(comm, arguments, cells, cases.back());
    };
    add("D2Q9, double", 0.0, plane);
    add("D2Q9, single", 0.0F, plane);
    add("D3Q19, double", 0.0, space);
    add("D3Q19, single", 0.0F, space);
    return json{{"benchmark", "lbm"},
                {"machine", redistribute::machine_key(comm)},
                {"ranks", comm.size()},
                {"collision", arguments.collision},
                {"cases", cases}};
  });
}
