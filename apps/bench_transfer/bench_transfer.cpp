// Moves the components of a grid from the first ranks, which compute, to the last, which analyse: by the shipped
// redistribution, box by box, beside bare messages and a plain copy of the same bytes. Prints one JSON object; progress
// goes to stderr.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "bare_messages.hpp"
#include "bench_program.hpp"
#include "box_by_box.hpp"
#include "command_line.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/tuner.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

struct Arguments {
  std::int32_t cells = 128, block = 32, components = 10, sidecars = 0, repetitions = 7;
};

// One point of a sweep.
struct Setup {
  std::string sweep;
  std::int32_t cells = 0, block = 0;
  int sidecars = 0;
};

double value_of(const mesh::Layout& layout, int c, int k, int j, int i) {
  return static_cast<double>(linear_index(layout.domain(), {i, j, k})) + 0.125 * c;
}

mesh::Field<double> filled(const mesh::Layout& layout, int rank, int components) {
  mesh::Field<double> field(layout, rank, components);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      for (int c = 0; c < components; ++c) view(c, k, j, i) = value_of(layout, c, k, j, i);
    });
  return field;
}

std::int64_t wrong_cells(const mesh::Field<double>& field) {
  std::int64_t wrong = 0;
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      for (int c = 0; c < field.components(); ++c) wrong += view(c, k, j, i) != value_of(field.layout(), c, k, j, i);
    });
  return wrong;
}

// Blocks on the first ranks, a slab of z on each of the last ones.
struct Groups {
  mesh::Layout senders, receivers;
};

Groups groups(const Setup& setup, int ranks) {
  const mesh::Int3 cells{setup.cells, setup.cells, setup.cells};
  const int senders = ranks - setup.sidecars;
  std::vector<std::int32_t> last;
  for (int r = senders; r < ranks; ++r) last.push_back(r);
  return {mesh::Forest(cells, setup.block).layout(senders),
          split(mesh::domain_of(cells), {1, 1, setup.sidecars}).renumbered(last)};
}

class Benchmark {
 public:
  Benchmark(const comm::Communicator& comm, const Arguments& arguments) : comm_(comm), arguments_(arguments) {}

  json operator()() {
    const std::vector<Setup> all = setups();
    json points = json::array();
    for (const Setup& setup : all) {
      points.push_back(measure(setup));
      if (comm_.rank() == 0)
        fmt::print(stderr, "{} of {}: {} {}^3\n", points.size(), all.size(), setup.sweep, setup.cells);
    }
    return {{"benchmark", "transfer"},
            {"machine", redistribute::machine_key(comm_)},
            {"ranks", comm_.size()},
            {"components", arguments_.components},
            {"repetitions", arguments_.repetitions},
            {"points", points}};
  }

 private:
  // Sidecars from 1/128 to 1/2 of the ranks; grids up to --cells; blocks from 16^3 to 128^3, of which a grid is whole
  // ones. A grid that is smaller than a block is one.
  std::vector<Setup> setups() const {
    std::vector<Setup> all;
    const int ranks = comm_.size(), half = ranks / 2;
    const std::int32_t cells = arguments_.cells, block = std::min(arguments_.block, cells);
    for (int sidecars = std::max(1, ranks / 128); sidecars <= half; sidecars *= 2)
      all.push_back({"sidecars", cells, block, sidecars});
    const int fixed = arguments_.sidecars > 0 ? arguments_.sidecars : std::max(1, ranks / 8);
    for (std::int32_t n = std::max(block, cells / 4); n <= cells; n *= 2) all.push_back({"grids", n, block, fixed});
    for (std::int32_t b = 16; b <= std::min(128, cells); b *= 2)
      if (cells % b == 0) all.push_back({"blocks", cells, b, fixed});
    return all;
  }

  json measure(const Setup& setup) {
    const auto [senders, receivers] = groups(setup, comm_.size());
    const auto from = filled(senders, comm_.rank(), arguments_.components);
    mesh::Field<double> to(receivers, comm_.rank(), arguments_.components);
    const redistribute::Redistribution plan(comm_, senders, receivers);
    bench::BoxByBox box_by_box(comm_, senders, receivers);
    bench::BareMessages bare(comm_, box_by_box, arguments_.components);
    const std::vector<double> copied(to.all().size(), 1.0);
    std::vector<double> copy(to.all().size());
    struct Way {
      std::string name;
      std::function<void()> run;
      bool is_checked = false;
      std::vector<double> seconds{};
    };
    std::vector<Way> ways{{"redistribution", [&] { plan.apply(from, to); }, true},
                          {"box by box", [&] { box_by_box.apply(from, to); }, true},
                          {"bare messages", [&] { bare(); }},
                          {"memory copy", [&] { std::memcpy(copy.data(), copied.data(), 8 * copied.size()); }}};
    for (Way& way : ways) {
      std::fill(to.all().begin(), to.all().end(), -1.0);
      way.run();
      if (const std::int64_t wrong = comm_.sum(wrong_cells(to)); way.is_checked && wrong > 0)
        throw core::Error(fmt::format("{} values came wrong by `{}`", wrong, way.name));
    }
    bare.choose_size([&](const std::function<void()>& run) { return slowest_time(run); });
    for (int repetition = 0; repetition < arguments_.repetitions; ++repetition)
      for (Way& way : ways) way.seconds.push_back(slowest_time(way.run));
    json point = {{"sweep", setup.sweep}, {"cells", setup.cells}, {"block", setup.block}, {"sidecars", setup.sidecars}};
    point["bytes"] = 8.0 * static_cast<double>(senders.domain().volume()) * arguments_.components;
    point["box_messages"] = arguments_.components * comm_.sum(static_cast<std::int64_t>(box_by_box.sent()));
    point["bare_message_bytes"] = bare.most_bytes();
    for (const Way& way : ways) point["seconds"][way.name] = way.seconds;
    return point;
  }

  double slowest_time(const std::function<void()>& run) const {
    comm_.barrier();
    const double before_s = redistribute::wall_clock_s();
    run();
    return comm_.max(redistribute::wall_clock_s() - before_s);
  }

  const comm::Communicator& comm_;
  const Arguments& arguments_;
};

// Both fields, messages on both sides, and what is copied.
double bytes_of(const Arguments& arguments) {
  const double cells = arguments.cells;
  return 8.0 * 8.0 * arguments.components * cells * cells * cells;
}

void require_split(const comm::Communicator& comm, const Arguments& arguments) {
  comm.agree_on([&] {
    if (comm.size() < 2)
      throw core::Error("one rank cannot both compute and be a sidecar", "", "start on 2 ranks or more");
    if (arguments.sidecars >= comm.size())
      throw core::Error(fmt::format("{} sidecars leave none of {} ranks to compute", arguments.sidecars, comm.size()),
                        "", "--sidecars takes fewer");
    if (arguments.cells % 16 != 0)
      throw core::Error(fmt::format("{} cells a side are no whole number of blocks of 16", arguments.cells), "",
                        "choose --cells as a multiple of 128, or 16, 32 or 64");
  });
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line("Times transfers of a grid from ranks that compute to sidecars.", SIDESTREAM_VERSION);
  line.number("--cells", arguments.cells, "cells a side of the largest grid", 16);
  line.number("--block", arguments.block, "cells a side of a block", 16);
  line.number("--components", arguments.components, "numbers of a cell", 1);
  line.number("--sidecars", arguments.sidecars, "where their number is fixed; 0: an eighth of the ranks", 0);
  line.number("--repetitions", arguments.repetitions, "times that each way is measured, in turns", 1);
  if (const auto code = line.parse(argc, argv)) return *code;
  const comm::Environment environment(argc, argv);
  return apps::measure_in_parallel([&](const comm::Communicator& world, int& failed) {
    require_split(world, arguments);
    apps::require_memory(world, fmt::format("transfers of {}^3 cells", arguments.cells), bytes_of(arguments),
                         apps::layout_bytes(arguments.cells, 16), "--cells or --components takes fewer");
    apps::require_blocks(world, arguments.cells, arguments.block);
    failed = 1;
    return Benchmark(world, arguments)();
  });
}
