// Halos of stored merge trees, on as many ranks as it was started with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "in_parallel.hpp"
#include "sidestream/analysis/halo_catalogue.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/result_file.hpp"

namespace {

using namespace sidestream;

constexpr int done = 0, failed = 1, used_wrongly = 2;

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
  comm.agree_on([&] {
    if (comm.rank() == 0) io::write_result(arguments.output, halos);
  });
  if (comm.rank() == 0)
    fmt::print("{}\n", nlohmann::json{{"path", arguments.output},
                                      {"halos", halos.dimensions.at("halo")},
                                      {"read_s", read_s},
                                      {"query_s", query_s}}
                           .dump());
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Halos of stored merge trees, on as many ranks as it was started with.\n"
      "Example: mpirun -n 4 sidestream-halos query tree.nc halos.nc --t-boundary '60 mean' --t-halo '100 mean'"};
  app.require_subcommand(1);
  CLI::App* query_app = app.add_subcommand("query", "write the halos of a stored merge tree for any thresholds");
  query_app->add_option("tree", arguments.tree, "file of the tree")->required();
  query_app->add_option("output", arguments.output, "catalogue to write (.nc)")->required();
  query_app->add_option("--t-boundary", arguments.t_boundary, "least density of a halo: '60 mean', or a value")
      ->required();
  query_app->add_option("--t-halo", arguments.t_halo, "density that its densest cell reaches")->required();
  query_app->add_option("--min-cells", arguments.min_cells, "smaller halos are left out")->check(CLI::PositiveNumber);
  app.set_version_flag("--version", SIDESTREAM_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : used_wrongly;
  }
  return apps::in_parallel(argc, argv, failed,
                           [&](const comm::Communicator& world) { return query(world, arguments); });
}
