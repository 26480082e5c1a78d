// Forward and backward transforms of a real field by each process grid, exchange strategy, depth of the pipeline and
// number of threads, by the protocol of the Blue Waters turbulence code: the slowest rank of the fastest step, and how
// its time divides; and a sinusoid, of which one mode is left. Prints one JSON object; progress goes to stderr. The
// fastest is kept in the wisdom file, where the plans of runs find it.
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
#include "sidestream/core/timer.hpp"
#include "sidestream/fft/engine.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/fft/tuning.hpp"
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
  std::int32_t cells = 128, block = 32, repetitions = 10, components = 1, kept = 0, threads = 1;
  std::vector<std::string> strategies;
  std::string from = "pencils", thread_mode = "funneled", wisdom;

  mesh::Int3 grid() const { return {cells, cells, cells}; }
  fft::FftOptions options() const {
    return {.components = components,
            .kept = kept > 0 ? std::optional(mesh::Int3{kept, kept, kept}) : std::nullopt,
            .threads = threads,
            .thread_mode = fft::thread_modes().named(thread_mode).mode};
  }
  /// Of the cells; nothing: the x-pencils of each process grid.
  std::optional<mesh::Layout> given(int ranks) const {
    if (from == "blocks") return mesh::Forest(grid(), std::min(block, cells)).layout(ranks);
    return std::nullopt;
  }
};

/// One step on one rank [s].
struct Step {
  double wall_s = 0.0;
  fft::FftTimes times;
};

std::vector<fft::Way> ways_for(const comm::Communicator& comm, const Arguments& arguments) {
  std::vector<redistribute::Strategy> strategies;
  for (const std::string& name : arguments.strategies)
    strategies.push_back(redistribute::strategies().named(name).strategy);
  if (strategies.empty()) strategies = fft::ways_to_travel(comm);
  return fft::ways(fft::process_grids(comm.size()), strategies, arguments.components, arguments.threads);
}

double sinusoid(int n, int k, int j, int i) {
  const int phase = (wave.x * i + wave.y * j + wave.z * k) % n;
  return core::cos(2.0 * std::numbers::pi * phase / n);
}

/// Fields and plan of one way. What comes back is divided by the number of cells, so that steps may follow each
/// other.
class Transform {
 public:
  Transform(const comm::Communicator& comm, const Arguments& arguments, const fft::Way& way)
      : comm_(comm),
        cells_(arguments.cells),
        layout_(arguments.given(comm.size()).value_or(fft::x_pencils(arguments.grid(), way.grid))),
        plan_(comm, layout_, timed(way.of(arguments.options()))),
        field_(layout_, comm.rank(), arguments.components),
        back_(layout_, comm.rank(), arguments.components),
        modes_(plan_.spectral(), comm.rank(), arguments.components) {
    for (int b = 0; b < field_.blocks(); ++b)
      core::for_each_cell(field_.box(b), [&, view = field_.view(b)](int k, int j, int i) {
        for (int c = 0; c < view.components(); ++c) view(c, k, j, i) = sinusoid(cells_, k, j, i);
      });
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  Step step() {
    times_ = {};
    const core::Stopwatch watch;
    plan_.forward(field_, modes_);
    plan_.backward(modes_, back_);
    return {watch.seconds(), times_};
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
  fft::FftOptions timed(fft::FftOptions options) {
    options.times = &times_;
    return options;
  }

  const comm::Communicator& comm_;
  int cells_;
  mesh::Layout layout_;
  fft::FftTimes times_;
  Plan plan_;
  mesh::Field<double> field_, back_;
  Spectrum modes_;
};

// How the time of the slowest rank in the fastest step divides. The first step does not count. Collective.
json parts_of(const comm::Communicator& comm, const std::vector<Step>& steps) {
  Step fastest{std::numeric_limits<double>::infinity(), {}};
  for (std::size_t n = 1; n < steps.size(); ++n) {
    const std::vector<double> walls = comm.all_gather(steps[n].wall_s);
    const auto slowest = std::ranges::max_element(walls);
    if (*slowest < fastest.wall_s) fastest = comm.broadcast(steps[n], static_cast<int>(slowest - walls.begin()));
  }
  return {{"transform", fastest.times.transform_s},
          {"pack", fastest.times.moves.pack_s},
          {"exchange", fastest.times.moves.exchange_s},
          {"unpack", fastest.times.moves.unpack_s}};
}

json case_of(const comm::Communicator& comm, const fft::Way& way, const redistribute::Trial& trial,
             const std::vector<Step>& steps) {
  json one{{"rows", way.grid.rows},
           {"columns", way.grid.columns},
           {"strategy", redistribute::entry_of(way.strategy).name},
           {"depth", way.depth},
           {"pieces", way.pieces == fft::Pieces::components ? "components" : "planes"},
           {"threads", way.threads},
           {"repetitions", trial.repeats}};
  if (!trial.problem.empty()) {
    one["error"] = trial.problem;
    return one;
  }
  one["seconds"] = trial.best_s;
  one["parts"] = parts_of(comm, steps);
  return one;
}

redistribute::Tuning tune_all(const comm::Communicator& comm, const Arguments& arguments,
                              const std::vector<fft::Way>& ways, std::vector<std::vector<Step>>& steps) {
  std::vector<redistribute::Candidate> candidates;
  for (std::size_t n = 0; n < ways.size(); ++n)
    candidates.push_back({ways[n].name(), [&, n] {
                            if (comm.rank() == 0)
                              fmt::print(stderr, "{} of {}: {}\n", n + 1, ways.size(), ways[n].name());
                            const auto transform = std::make_shared<Transform>(comm, arguments, ways[n]);
                            return [transform, &of = steps[n]] { of.push_back(transform->step()); };
                          }});
  const double never = std::numeric_limits<double>::infinity();
  return redistribute::tune(comm, candidates,
                            {.repeats = arguments.repetitions, .drop_ratio = never, .budget_s = never});
}

json measure(const comm::Communicator& comm, const Arguments& arguments) {
  const std::vector<fft::Way> ways = ways_for(comm, arguments);
  std::vector<std::vector<Step>> steps(ways.size());
  const redistribute::Tuning tuning = tune_all(comm, arguments, ways, steps);
  const redistribute::Wisdom wisdom(arguments.wisdom);
  const redistribute::Trial& best = tuning.trials[tuning.chosen];
  const std::string key =
      fft::tuning_key<double>(comm, arguments.grid(), arguments.given(comm.size()), arguments.options());
  const bool is_kept = comm.rank() == 0 && wisdom.keep(key, {best.name, best.best_s});
  json cases = json::array();
  for (std::size_t n = 0; n < ways.size(); ++n) cases.push_back(case_of(comm, ways[n], tuning.trials[n], steps[n]));
  return {{"benchmark", "fft"},
          {"machine", redistribute::machine_key(comm)},
          {"engine", fft::engine},
          {"ranks", comm.size()},
          {"cells", arguments.cells},
          {"components", arguments.components},
          {"kept", arguments.kept > 0 ? json(arguments.kept) : json()},
          {"from", arguments.from},
          {"threads", arguments.threads},
          {"thread_mode", arguments.thread_mode},
          {"sinusoid_errors", Transform(comm, arguments, ways[tuning.chosen]).errors()},
          {"fastest", tuning.chosen},
          {"wisdom", is_kept ? wisdom.path() : "none"},
          {"cases", cases}};
}

// The fields, what comes back of them and their modes; in a plan two steps between, and messages on both sides.
double bytes_of(const Arguments& arguments) {
  return 7.0 * 8.0 * arguments.components * core::pow(arguments.cells, 3);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line(
      "Times transforms by every process grid, exchange strategy, depth of the pipeline and number of threads.",
      SIDESTREAM_VERSION);
  line.number("--cells", arguments.cells, "cells a side", 8);
  line.number("--block", arguments.block, "cells a side of a block", 1);
  line.number("--repetitions", arguments.repetitions, "steps that are measured", 1);
  line.number("--components", arguments.components, "fields that are transformed together", 1);
  line.number("--kept", arguments.kept, "largest wavenumber that is kept; 0: all", 0);
  line.word("--from", arguments.from, "layout of the cells", {.one_of = {"pencils", "blocks"}});
  line.number("--threads", arguments.threads, "threads of a rank; half of them and so on are tried too", 1);
  line.word("--thread-mode", arguments.thread_mode, "which of them call MPI", {.one_of = fft::thread_modes().names()});
  line.parts("--strategies", arguments.strategies, "only these, with commas between");
  line.word("--wisdom", arguments.wisdom, "file of what is found; \"none\": none");
  if (const auto code = line.parse(argc, argv)) return *code;
  const comm::Environment environment(argc, argv);
  return apps::measure_in_parallel([&](const comm::Communicator& world, int& failed) {
    const comm::Communicator comm = redistribute::with_exchange(world, {.wisdom = arguments.wisdom});
    apps::require_strategies(comm, arguments.strategies);
    comm.agree_on([&] {
      if (arguments.kept > 0 && arguments.kept < wave.z)
        throw core::Error(fmt::format("the sinusoid has the wavenumber {}", wave.z), "--kept",
                          "keep more, or 0 for all");
    });
    const bool has_blocks = arguments.from == "blocks";
    apps::require_memory(comm, fmt::format("transforms of {0}^3 cells", arguments.cells), bytes_of(arguments),
                         has_blocks ? apps::layout_bytes(arguments.cells, arguments.block) : 0.0,
                         "--cells takes fewer");
    if (has_blocks) apps::require_blocks(comm, arguments.cells, arguments.block);
    failed = 1;
    return measure(comm, arguments);
  });
}
