// Moves a field between two layouts by each exchange strategy, beside a plain copy of the same bytes by all ranks at
// once and the scheme of one MPI_Alltoallw a chunk. Prints one JSON object; progress goes to stderr.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "bench_program.hpp"
#include "chunkwise.hpp"
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
  std::int32_t cells = 128, block = 16, repetitions = 15;
  std::vector<std::string> strategies;
  std::string wisdom;
};

struct Movement {
  std::string name;
  mesh::Layout from, to;
};

// Rows are slabs across y, columns slabs across x, rectangles near squares in y and x, pencils whole along x.
std::vector<Movement> movements(const Arguments& arguments, int ranks) {
  const std::int32_t n = arguments.cells;
  const mesh::Box domain = mesh::domain_of({n, n, n});
  std::int32_t down = static_cast<std::int32_t>(std::sqrt(ranks));
  while (ranks % down != 0) --down;
  const auto rows = split(domain, {1, ranks, 1}), columns = split(domain, {ranks, 1, 1}),
             rectangles = split(domain, {ranks / down, down, 1}), pencils = split(domain, {1, ranks / down, down});
  const auto blocks = mesh::Forest({n, n, n}, std::min(arguments.block, n)).layout(ranks);
  return {{"rows to columns", rows, columns},
          {"blocks to pencils", blocks, pencils},
          {"rows to rectangles", rows, rectangles}};
}

double value_of(const mesh::Box& domain, int k, int j, int i) {
  return static_cast<double>(linear_index(domain, {i, j, k}));
}

mesh::Field<double> filled(const mesh::Layout& layout, int rank) {
  mesh::Field<double> field(layout, rank);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      view(k, j, i) = value_of(layout.domain(), k, j, i);
    });
  return field;
}

std::int64_t wrong_cells(const mesh::Field<double>& field) {
  std::int64_t wrong = 0;
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      wrong += view(k, j, i) != value_of(field.layout().domain(), k, j, i);
    });
  return wrong;
}

/// One way to move the field of a movement.
struct Case {
  std::string name;
  std::shared_ptr<redistribute::Redistribution> plan{};  // of a strategy
  std::function<void()> run{};
  std::vector<double> seconds{};
  std::string error{};
};

class Benchmark {
 public:
  Benchmark(const comm::Communicator& comm, const Arguments& arguments)
      : comm_(comm), arguments_(arguments), movements_(movements(arguments, comm.size())) {}

  json operator()() {
    json report = {
        {"benchmark", "move"},       {"machine", redistribute::machine_key(comm_)}, {"ranks", comm_.size()},
        {"cells", arguments_.cells}, {"repetitions", arguments_.repetitions},       {"movements", json::array()}};
    for (const Movement& movement : movements_) report["movements"].push_back(measure(movement));
    report["wisdom"] = wisdom_file();
    return report;
  }

 private:
  json measure(const Movement& movement) {
    mesh::Field<double> from = filled(movement.from, comm_.rank()), to(movement.to, comm_.rank());
    const std::vector<double> plain(to.all().size(), 1.0);
    std::vector<Case> cases{{"memory copy"}, {"alltoallw a chunk"}};
    cases[0].run = [&] { std::memcpy(to.all().data(), plain.data(), to.all().size_bytes()); };
    const bench::Chunkwise chunkwise(comm_, movement.from, movement.to);
    cases[1].run = [&] { chunkwise.apply(from, to); };
    for (const std::string& name : arguments_.strategies) cases.push_back(of_strategy(movement, name, from, to));
    for (Case& one : cases) check(one, to);
    // In turns, so that what else the machine does falls on all alike.
    for (int repetition = 0; repetition < arguments_.repetitions; ++repetition)
      for (Case& one : cases)
        if (one.error.empty()) one.seconds.push_back(slowest_time(one.run));
    tell(movement.name);
    return as_json(movement, cases);
  }

  Case of_strategy(const Movement& movement, const std::string& name, const mesh::Field<double>& from,
                   mesh::Field<double>& to) const {
    Case one{name};
    one.plan = std::make_shared<redistribute::Redistribution>(comm_, movement.from, movement.to,
                                                              redistribute::strategies().named(name).strategy);
    one.run = [plan = one.plan, &from, &to] { plan->apply(from, to); };
    return one;
  }

  // The first time, which does not count, shows whether the case is possible and right.
  void check(Case& one, mesh::Field<double>& to) const {
    std::fill(to.all().begin(), to.all().end(), -1.0);
    try {
      comm_.agree_on(one.run);
      const std::int64_t wrong = comm_.sum(wrong_cells(to));
      if (one.name != "memory copy" && wrong > 0) one.error = fmt::format("{} cells are wrong", wrong);
    } catch (const core::Error& error) {
      one.error = error.message();
    }
  }

  double slowest_time(const std::function<void()>& run) const {
    comm_.barrier();
    const double before_s = redistribute::wall_clock_s();
    run();
    return comm_.max(redistribute::wall_clock_s() - before_s);
  }

  json as_json(const Movement& movement, const std::vector<Case>& cases) const {
    const double bytes = static_cast<double>(movement.to.domain().volume()) * sizeof(double);
    json list = json::array();
    for (const Case& one : cases) {
      list.push_back({{"name", one.name}, {"seconds", one.seconds}});
      if (!one.error.empty()) list.back()["error"] = one.error;
      if (one.plan) list.back()["strategy"] = redistribute::entry_of(one.plan->strategy()).name;
    }
    return {{"name", movement.name}, {"bytes", bytes}, {"cases", list}};
  }

  // The file that has what was found, if there is one.
  std::string wisdom_file() const {
    const std::string path = redistribute::Wisdom(arguments_.wisdom).path();
    std::error_code problem;
    return std::filesystem::is_regular_file(path, problem) ? path : "none";
  }

  void tell(const std::string& name) {
    ++done_;
    if (comm_.rank() == 0) fmt::print(stderr, "{} of {}: {}\n", done_, movements_.size(), name);
  }

  const comm::Communicator& comm_;
  const Arguments& arguments_;
  std::vector<Movement> movements_;
  std::size_t done_ = 0;
};

// The field on both layouts, what is copied, and messages on both sides.
double bytes_of(const Arguments& arguments) {
  const double cells = arguments.cells;
  return 5.0 * 8.0 * cells * cells * cells;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line("Times every exchange strategy on movements of a field between two layouts.",
                         SIDESTREAM_VERSION);
  line.number("--cells", arguments.cells, "cells a side", 1);
  line.number("--block", arguments.block, "cells a side of a block", 1);
  line.number("--repetitions", arguments.repetitions, "times that each case is measured, in turns", 1);
  line.parts("--strategies", arguments.strategies, "only these, with commas between");
  line.word("--wisdom", arguments.wisdom, "file of what tuning finds; \"none\": none");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (arguments.strategies.empty()) arguments.strategies = redistribute::strategies().names();
  const comm::Environment environment(argc, argv);
  return apps::measure_in_parallel([&](const comm::Communicator& world, int& failed) {
    const comm::Communicator comm = redistribute::with_exchange(world, {.wisdom = arguments.wisdom});
    apps::require_strategies(comm, arguments.strategies);
    apps::require_memory(comm, fmt::format("movements of {}^3 cells", arguments.cells), bytes_of(arguments),
                         apps::layout_bytes(arguments.cells, arguments.block),
                         "--cells takes fewer, --block larger ones");
    apps::require_blocks(comm, arguments.cells, arguments.block);
    failed = 1;
    return Benchmark(comm, arguments)();
  });
}
