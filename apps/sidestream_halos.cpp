// Halos of stored merge trees, on as many ranks as it was started with.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "in_parallel.hpp"
#include "sidestream/analysis/halo_catalogue.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/result_file.hpp"

namespace {

using namespace sidestream;

constexpr int done = 0, failed = 1;

struct Arguments {
  std::string tree, output, t_boundary, t_halo;
  std::int64_t min_cells = 1;
};

// Of the slowest rank.
double seconds_of(const comm::Communicator& comm, const core::Stopwatch& watch) {
  return comm.max(watch.seconds());
}

int query(const comm::Communicator& comm, const Arguments& arguments) {
  const analysis::HaloQuery asked{analysis::parse_threshold(arguments.t_boundary),
                                  analysis::parse_threshold(arguments.t_halo), arguments.min_cells};
  const core::Stopwatch read_watch;
  const mesh::Result stored = io::read_result(comm, arguments.tree);
  const analysis::TreeField field = analysis::tree_field(comm, stored);
  const analysis::StoredTree tree(comm, stored);
  const double read_s = seconds_of(comm, read_watch);
  const core::Stopwatch query_watch;
  const mesh::Result halos = analysis::halo_catalogue(comm, tree.tree, field, asked);
  const double query_s = seconds_of(comm, query_watch);
  io::write_result(comm, arguments.output, halos);
  const bool has_rows = comm.rank() == 0 || halos.distributed.contains("halo");
  const std::int64_t count = comm.sum(has_rows ? halos.dimensions.at("halo") : 0);
  if (comm.rank() == 0)
    fmt::print(
        "{}\n",
        nlohmann::json{{"path", arguments.output}, {"halos", count}, {"read_s", read_s}, {"query_s", query_s}}.dump());
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line(
      "Halos of stored merge trees, on as many ranks as it was started with.\n"
      "Example: mpirun -n 4 sidestream-halos query tree.nc halos.nc --t-boundary '60 mean' --t-halo '100 mean'",
      SIDESTREAM_VERSION);
  apps::CommandLine& asked = line.command("query", "write the halos of a stored merge tree for any thresholds");
  asked.word("tree", arguments.tree, "file of the tree", {.is_required = true});
  asked.word("output", arguments.output, "catalogue to write (.nc)", {.is_required = true});
  asked.word("--t-boundary", arguments.t_boundary, "least density of a halo: '60 mean', or a value",
             {.is_required = true});
  asked.word("--t-halo", arguments.t_halo, "density that its densest cell reaches", {.is_required = true});
  asked.number("--min-cells", arguments.min_cells, "smaller halos are left out", 1);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  return apps::in_parallel(argc, argv, failed,
                           [&](const comm::Communicator& world) { return query(world, arguments); });
}
