// Forward and backward transforms of a real field by each process grid and exchange strategy, by the protocol of the
// Blue Waters turbulence code: the slowest rank of the fastest step; and a sinusoid, of which one mode is left. Prints
// one JSON object; progress goes to stderr. The fastest is kept in the wisdom file.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numbers>

#include "bench_program.hpp"
#include "command_line.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/tuner.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;
using Plan = fft::FftPlan<double>;
using Spectrum = mesh::Field<std::complex<double>>;

constexpr mesh::Int3 wave{1, 2, 3};

struct Arguments {
  std::int32_t cells = 128, block = 32, repetitions = 10;
  std::vector<std::string> strategies;
  std::string from = "pencils", wisdom;
};

struct Choice {
  fft::ProcessGrid grid;
  const redistribute::StrategyEntry* entry;

  std::string name() const { return fmt::format("{} x {}, {}", grid.rows, grid.columns, entry->name); }
};

std::vector<Choice> choices_for(int ranks, const std::vector<std::string>& strategies) {
  std::vector<Choice> choices;
  for (int rows = 1; rows <= ranks; ++rows)
    for (const std::string& strategy : strategies)
      if (ranks % rows == 0) choices.push_back({{rows, ranks / rows}, &redistribute::strategies().named(strategy)});
  return choices;
}

double sinusoid(int n, int k, int j, int i) {
  const int phase = (wave.x * i + wave.y * j + wave.z * k) % n;
  return core::cos(2.0 * std::numbers::pi * phase / n);
}

/// Fields and plan of one choice. What comes back is divided by the number of cells, so that steps may follow each
/// other.
class Transform {
 public:
  Transform(const comm::Communicator& comm, const Arguments& arguments, const Choice& choice)
      : comm_(comm),
        cells_(arguments.cells),
        layout_(layout_of(arguments, choice.grid, comm.size())),
        plan_(comm, layout_, {.grid = choice.grid, .strategy = choice.entry->strategy}),
        field_(layout_, comm.rank()),
        back_(layout_, comm.rank()),
        modes_(plan_.spectral(), comm.rank()) {
    for (int b = 0; b < field_.blocks(); ++b)
      core::for_each_cell(field_.box(b), [&, view = field_.view(b)](int k, int j, int i) {
        view(k, j, i) = sinusoid(cells_, k, j, i);
      });
  }

  void step() {
    plan_.forward(field_, modes_);
    plan_.backward(modes_, back_);
  }

  // Of one mode half of the cells' number is expected, of all others nothing.
  json errors() {
    const double volume = core::pow(cells_, 3);
    plan_.forward(field_, modes_);
    double spike = 0.0, others = 0.0, round_trip = 0.0;
    for (int b = 0; b < modes_.blocks(); ++b)
      core::for_each_cell(modes_.box(b), [&, view = modes_.view(b)](int k, int j, int i) {
        const std::complex<double> mode = view(k, j, i) / (0.5 * volume);
        const bool is_wave = mesh::Int3{i, j, k} == wave;
        double& worst = is_wave ? spike : others;
        worst = std::max(worst, std::sqrt(std::norm(is_wave ? mode - 1.0 : mode)));
      });
    plan_.backward(modes_, back_);
    for (int b = 0; b < back_.blocks(); ++b)
      core::for_each_cell(back_.box(b), [&, view = back_.view(b)](int k, int j, int i) {
        round_trip = std::max(round_trip, std::abs(view(k, j, i) / volume - sinusoid(cells_, k, j, i)));
      });
    return {{"spike", comm_.max(spike)}, {"other_modes", comm_.max(others)}, {"round_trip", comm_.max(round_trip)}};
  }

 private:
  static mesh::Layout layout_of(const Arguments& arguments, fft::ProcessGrid grid, int ranks) {
    const mesh::Int3 n{arguments.cells, arguments.cells, arguments.cells};
    if (arguments.from == "blocks") return mesh::Forest(n, std::min(arguments.block, n.x)).layout(ranks);
    return split(mesh::domain_of(n), {1, grid.rows, grid.columns});
  }

  const comm::Communicator& comm_;
  int cells_;
  mesh::Layout layout_;
  Plan plan_;
  mesh::Field<double> field_, back_;
  Spectrum modes_;
};

json measure(const comm::Communicator& comm, const Arguments& arguments) {
  const std::vector<Choice> choices = choices_for(comm.size(), arguments.strategies);
  std::vector<redistribute::Candidate> candidates;
  for (const Choice& choice : choices)
    candidates.push_back({choice.name(), [&] {
                            if (comm.rank() == 0)
                              fmt::print(stderr, "{} of {}: {}\n", &choice - choices.data() + 1, choices.size(),
                                         choice.name());
                            const auto transform = std::make_shared<Transform>(comm, arguments, choice);
                            return [transform] { transform->step(); };
                          }});
  const double never = std::numeric_limits<double>::infinity();
  const redistribute::Tuning tuning =
      redistribute::tune(comm, candidates, {.repeats = arguments.repetitions, .drop_ratio = never, .budget_s = never});
  const redistribute::Wisdom wisdom(arguments.wisdom);
  const redistribute::Trial& best = tuning.trials[tuning.chosen];
  const std::string key = fmt::format("{}; transform of {}^3 float64 from {}", redistribute::machine_key(comm),
                                      arguments.cells, arguments.from);
  const bool is_kept = comm.rank() == 0 && wisdom.keep(key, {best.name, best.best_s});
  json cases = json::array();
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const redistribute::Trial& trial = tuning.trials[c];
    cases.push_back({{"rows", choices[c].grid.rows},
                     {"columns", choices[c].grid.columns},
                     {"strategy", choices[c].entry->name},
                     {"repetitions", trial.repeats}});
    if (trial.problem.empty())
      cases.back()["seconds"] = trial.best_s;
    else
      cases.back()["error"] = trial.problem;
  }
  return {{"benchmark", "fft"},
          {"machine", redistribute::machine_key(comm)},
          {"ranks", comm.size()},
          {"cells", arguments.cells},
          {"from", arguments.from},
          {"sinusoid_errors", Transform(comm, arguments, choices[tuning.chosen]).errors()},
          {"fastest", tuning.chosen},
          {"wisdom", is_kept ? wisdom.path() : "none"},
          {"cases", cases}};
}

// The field, what comes back of it and its modes; in a plan two steps between, and messages on both sides.
double bytes_of(const Arguments& arguments) {
  return 7.0 * 8.0 * core::pow(arguments.cells, 3);
}

std::vector<std::string> all_strategies() {
  std::vector<std::string> names;
  for (const redistribute::StrategyEntry& entry : redistribute::strategies())
    if (entry.make != nullptr) names.push_back(entry.name);
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line("Times transforms by every process grid and exchange strategy.", SIDESTREAM_VERSION);
  line.number("--cells", arguments.cells, "cells a side", 8);
  line.number("--block", arguments.block, "cells a side of a block", 1);
  line.number("--repetitions", arguments.repetitions, "steps that are measured", 1);
  line.word("--from", arguments.from, "layout of the cells", {.one_of = {"pencils", "blocks"}});
  line.parts("--strategies", arguments.strategies, "only these, with commas between");
  line.word("--wisdom", arguments.wisdom, "file of what is found; \"none\": none");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (arguments.strategies.empty()) arguments.strategies = all_strategies();
  const comm::Environment environment(argc, argv);
  return apps::measure_in_parallel([&](const comm::Communicator& world, int& failed) {
    const comm::Communicator comm = redistribute::with_exchange(world, {.wisdom = arguments.wisdom});
    apps::require_strategies(comm, arguments.strategies);
    apps::require_memory(comm, fmt::format("transforms of {0}^3 cells", arguments.cells), bytes_of(arguments),
                         arguments.from == "blocks" ? apps::layout_bytes(arguments.cells, arguments.block) : 0.0,
                         "--cells takes fewer");
    if (arguments.from == "blocks") apps::require_blocks(comm, arguments.cells, arguments.block);
    failed = 1;
    return measure(comm, arguments);
  });
}
