#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/checks/task_files.hpp"
#include "sims/config/file_sizes.hpp"
#include "sims/config/output_keys.hpp"
#include "sims/config/output_kinds.hpp"
#include "sims/config/stripe_options.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

namespace {

struct RunKeys {
  std::optional<std::int64_t> max_steps;
  std::optional<double> wall_time_s;
  std::string exchange, wisdom;
  bool steering = false;
};

core::Table<RunKeys> run_table() {
  core::Table<RunKeys> table("Limits of a run, and how its ranks exchange cells");
  table.option("max_steps", &RunKeys::max_steps, std::nullopt).at_least(0).doc("stop after this many steps");
  table.option("wall_time", &RunKeys::wall_time_s, std::nullopt)
      .in(core::wall_time_units())
      .at_least(0.0)
      .doc("stop after this time with a last checkpoint, for example \"2 h\"");
  table.option("steering", &RunKeys::steering, false)
      .doc("whether `sidestream steer` may change the run while it goes on, for who may read its folder");
  table.option("exchange", &RunKeys::exchange, "automatic")
      .one_of(redistribute::strategies().names())
      .doc("how cells travel between ranks; results are the same");
  table.option("wisdom", &RunKeys::wisdom, "")
      .doc(
          "file of what `exchange = \"tuned\"` finds; empty: SIDESTREAM_WISDOM, else in the user's folder for caches; "
          "\"none\": none");
  return table;
}

// By their own names or by those that files have for them.
std::vector<std::string> read_quantities(const core::Node& node, const std::vector<std::string>& wanted,
                                         const std::vector<std::string>& known) {
  std::vector<std::string> quantities;
  const std::set<std::string> all(known.begin(), known.end());
  std::set<std::string> taken;
  for (const std::string& name : wanted) {
    const std::string own = all.contains(name) ? name : io::quantity_of(name);
    if (!all.contains(own))
      core::reject(*node.find("variables"), fmt::format("there is no quantity `{}`", name),
                   fmt::format("choose from: {}", fmt::join(known, ", ")));
    if (!taken.insert(own).second)
      core::reject(*node.find("variables"), fmt::format("`{}` is named twice", own), "name it once");
    quantities.push_back(own);
  }
  return quantities;
}

// What a file shows when nobody chooses.
std::vector<std::string> usual_quantities(const OutputKind& kind, const io::Format& format,
                                          const std::vector<std::string>& known) {
  if (!kind.has_fields || (kind.is_checkpoint && format.checkpoint_shows.empty())) return {};
  const auto usual = io::usual_quantities(kind.is_checkpoint ? format.checkpoint_shows : format.variables, known);
  return usual.empty() && !kind.is_checkpoint ? known : usual;
}

void check_method(const core::Node& node, const io::Format& format, const std::string& method) {
  if (method == "automatic" || std::ranges::find(format.methods, method) != format.methods.end()) return;
  core::reject(*node.find("method"), fmt::format("the format `{}` cannot be written by `{}`", format.name, method),
               format.methods.empty() ? "it has a way of its own: leave the key out"
                                      : fmt::format("choose from: {}", fmt::join(format.methods, ", ")));
}

// Keys that are not as they are by default and change nothing.
void check_write_keys(const core::Node& node, const OutputKind& kind, const io::Format& format,
                      const OutputKeys& output) {
  const io::WriteOptions standard;
  struct Key {
    const char* name;
    bool is_set;
    std::function<bool(const io::Format&)> counts;
  };
  const auto has_methods = [](const io::Format& one) { return !one.methods.empty(); };
  for (const auto& [name, is_set, counts] :
       {Key{"files", output.files != standard.files, [](const io::Format& one) { return one.follows("files"); }},
        Key{"ranks_per_file", output.ranks_per_file != standard.ranks_per_file,
            [](const io::Format& one) { return one.follows("ranks_per_file"); }},
        Key{"stripes", output.stripes > 0, has_methods},
        Key{"aggregators", output.aggregators != standard.aggregators, has_methods}}) {
    if (!is_set || counts(format)) continue;
    std::vector<std::string> others = formats_for(kind);
    std::erase_if(others, [&](const std::string& other) { return !counts(io::formats().named(other)); });
    core::reject(*node.find(name), fmt::format("`{}` has no effect in the format `{}`", name, format.name),
                 fmt::format("leave the key out, or take one of the formats {}", fmt::join(others, ", ")));
  }
}

void check_particles(const core::Node& node, const OutputKind& kind, const OutputKeys& output, const RunConfig& run) {
  const io::Format& format = io::formats().named(output.format);
  const std::vector<couple::ExpectedSpecies> known = run.plan->species(output.grid);
  const std::string where = output.grid.empty() ? "this simulation" : fmt::format("the grid `{}`", output.grid);
  if (!kind.has_fields && known.empty())
    core::reject(*node.find("write"), fmt::format("{} has no particles", where), "write a plot file");
  if (!kind.has_fields && output.particle_share == 0.0)
    core::reject(*node.find("particle_share"), "files of particles without any hold nothing",
                 "write a share above 0, or leave the task out");
  for (const auto& [key, is_set] :
       {std::pair("species", !output.species.empty()), std::pair("particle_numbers", !output.particle_numbers.empty()),
        std::pair("particle_share", output.particle_share != 1.0),
        std::pair("particle_precision", output.particle_precision != "single")})
    if (is_set && known.empty() && run.begins_anew)
      core::reject(*node.find(key), fmt::format("{} has no particles", where), "leave the key out");
    else if (is_set && !format.holds_particles && run.begins_anew)
      core::reject(*node.find(key), fmt::format("the format `{}` holds no particles", format.name),
                   "leave the key out, or take another format");
  std::vector<std::string> species, numbers;
  for (const couple::ExpectedSpecies& one : known) {
    species.push_back(one.name);
    if (output.species.empty() || std::ranges::find(output.species, one.name) != output.species.end())
      std::ranges::copy_if(one.numbers, std::back_inserter(numbers),
                           [&](const std::string& name) { return std::ranges::find(numbers, name) == numbers.end(); });
  }
  for (const std::string& name : output.species)
    if (std::ranges::find(species, name) == species.end())
      throw core::unknown_name("species", name, species, node.find("species")->where());
  for (const std::string& name : output.particle_numbers)
    if (std::ranges::find(numbers, name) == numbers.end())
      throw core::unknown_name("number of the particles", name, numbers, node.find("particle_numbers")->where());
}

void check_state(const core::Node& node, const OutputKind& kind, const io::Format& format, const RunConfig& run) {
  if (!kind.is_checkpoint) return;
  const std::vector<mesh::Quantity> quantities = run.grids().at("").quantities;
  const bool is_particles_alone = std::ranges::none_of(quantities, &mesh::Quantity::is_state);
  const bool has_particles = !run.plan->species("").empty();
  if ((is_particles_alone && !format.holds_particles_alone) || (has_particles && !format.holds_particles))
    core::reject(*node.find("format"),
                 fmt::format("the state of this simulation {}, which the format `{}` cannot hold",
                             is_particles_alone ? "is particles alone" : "has particles", format.name),
                 "take another format, such as \"sidestream\"");
}

void check_boxes(const core::Node& node, const OutputKind& kind, const io::Format& format, const SimulationPlan& plan) {
  if (!kind.has_fields || format.takes_any_boxes || plan.has_equal_blocks()) return;
  std::vector<std::string> others;
  for (const std::string& name : formats_for(kind))
    if (io::formats().named(name).takes_any_boxes) others.push_back(name);
  core::reject(
      *node.find("format"),
      fmt::format(
          "the format `{}` takes blocks of equal size, covered whole or not at all, which those of this run are not",
          format.name),
      fmt::format("choose from: {}; or give each rank equal blocks", fmt::join(others, ", ")));
}

bool is_state(const mesh::Grid& grid) {
  return std::ranges::any_of(grid.quantities, &mesh::Quantity::is_state);
}

// The grids that have the state in another form.
void check_form(const core::Node& node, const std::string& form, const mesh::Grids& grids) {
  if (form.empty()) return;
  std::vector<std::string> known;
  for (const auto& [name, grid] : grids)
    if (!name.empty() && is_state(grid)) known.push_back(name);
  const core::Node& key = *node.find("state");
  if (known.empty()) core::reject(key, "this simulation has one form of its state", "leave the key out");
  if (std::ranges::find(known, form) == known.end())
    throw core::unknown_name("form of the state", form, known, key.where());
}

// There is one way of writing a file behind the simulation.
void check_behind(const core::Node& node, const OutputKeys& output) {
  const std::string hint = "leave the key out";
  if (output.transport == carried_by && output.is_asynchronous)
    core::reject(*node.find("asynchronous"), "a file that sidecars write is written behind the simulation anyway",
                 hint);
  if (output.stage.empty()) return;
  const core::Node& stage = *node.find("stage");
  if (output.transport == carried_by)
    core::reject(stage, "a file that sidecars write is written behind the simulation anyway", hint);
  if (output.is_asynchronous)
    core::reject(*node.find("asynchronous"), "what is staged is written behind the simulation anyway", hint);
  if (output.stage.front() != '/' && output.stage.front() != '$')
    core::reject(stage, fmt::format("\"{}\" is no folder that all nodes know", output.stage),
                 "give the whole path: stage = \"/local\", or a variable that each node has: stage = \"$TMPDIR\"");
}

OutputConfig read_output(const core::Node* node, const OutputKind& kind, RunConfig& run, core::Node& resolved) {
  const couple::TimeKeeping& times = run.coupling.times;
  core::Table<OutputKeys> table =
      output_table(kind, times, run.plan->precision(), usual_checkpoint_format(run.plan->has_equal_blocks()));
  table.ignore("write");
  const OutputKeys output = table.read(*node, &resolved);
  couple::When when = couple::read_when(*node, output, fmt::format("`{}`", node->key()), times);
  const mesh::Grids grids = run.grids();
  couple::check_conditions(when, mesh::names_of(grids.at("").quantities), times.has_redshift);
  if (kind.is_checkpoint) check_form(*node, output.grid, grids);
  const std::vector<std::string> known = mesh::names_of(couple::grid_named(grids, output.grid, *node).quantities);
  when.counts_start = !kind.is_checkpoint;  // the start is there without a checkpoint
  OutputConfig config;
  config.where = node->where();
  config.grid = output.grid;
  config.file.format = &io::formats().named(output.format);
  config.file.kind = kind.is_checkpoint ? io::FileKind::checkpoint : io::FileKind::plot_file;
  config.trigger = couple::Trigger(std::move(when));
  config.keep = output.keep;
  check_state(*node, kind, *config.file.format, run);
  check_boxes(*node, kind, *config.file.format, *run.plan);
  check_method(*node, *config.file.format, output.method);
  if (run.begins_anew) check_write_keys(*node, kind, *config.file.format, output);
  config.file.options.method = output.method == "automatic" ? "" : output.method;
  config.file.options.aggregators = output.aggregators;
  check_stripes(*node, output.stripes, output.stripe_bytes);
  config.file.options.stripes = output.stripes;
  config.file.options.stripe_bytes = static_cast<std::int64_t>(output.stripe_bytes);
  config.file.options.files = output.files;
  config.file.options.ranks_per_file = output.ranks_per_file;
  config.is_asynchronous = output.is_asynchronous;
  config.stage = output.stage;
  if (!output.stage.empty()) config.stage_where = node->find("stage")->where();
  check_behind(*node, output);
  config.stops_on_failure = output.on_failure == "stop";
  config.file.quantities = output.variables.empty() ? usual_quantities(kind, *config.file.format, known)
                                                    : read_quantities(*node, output.variables, known);
  config.file.compression = output.compression;
  config.file.compression.check_names(kind.is_checkpoint ? known : config.file.quantities);
  io::check_compression(config.file);
  if (!kind.is_checkpoint) check_particles(*node, kind, output, run);
  if (output.particle_precision == "single") config.file.particle_precision = io::Precision::single_precision;
  config.file.particle_share = output.particle_share;
  config.file.species = output.species;
  config.file.particle_numbers = output.particle_numbers;
  if (output.precision == "single") config.file.precision = io::Precision::single_precision;
  if (output.transport == carried_by) {
    config.carried = run.coupling.files.size();
    couple::add_file(run.coupling, {kind.is_checkpoint ? "checkpoints" : "plot files", config.file},
                     carried_bytes(run, config), *node->find("transport"));
  }
  return config;
}

void read_outputs(const core::Node& root, RunConfig& config, core::Node& resolved) {
  const core::Node* output = root.find("output");
  if (output == nullptr) return;
  core::check_known_keys(*output, std::array<std::string, 2>{"plotfile", "checkpoint"});
  core::Node full = *output, part;
  if (const core::Node* plotfile = output->find("plotfile")) {
    config.plotfiles.push_back(read_output(plotfile, output_kinds().named("plotfile"), config, part));
    full.set("plotfile", part);
  }
  if (const core::Node* checkpoint = output->find("checkpoint")) {
    config.checkpoint = read_output(checkpoint, output_kinds().named("checkpoint"), config, part);
    full.set("checkpoint", part);
  }
  resolved.set("output", full);
}

// The tasks that write files.
void read_writing_tasks(const core::Node& root, RunConfig& config, core::Node& resolved) {
  const core::Node* const tasks = root.find("task");
  if (tasks == nullptr) return;
  core::Node full = *resolved.find("task");
  for (const auto& [name, node] : tasks->members()) {
    const core::Node* const write = node.find("write");
    if (write == nullptr) continue;
    if (const core::Node* analysis = node.find("analysis"))
      core::reject(*analysis, fmt::format("the task `{}` writes files", name), "let another task do the analysis");
    if (io::belongs_to_a_run(name))
      core::reject(node, fmt::format("a run has files or a folder called `{}` of its own", name),
                   "give the task another name: its files go to a folder of that name");
    const OutputKind& kind = output_kinds().chosen(node, "write");
    core::Node part;
    OutputConfig output = read_output(&node, kind, config, part);
    part.set("write", core::Node(write->text()));
    full.set(name, part);
    if (!kind.is_checkpoint) {
      output.task = name;
      config.plotfiles.push_back(std::move(output));
    } else if (config.checkpoint) {
      core::reject(node, "the run has checkpoints already", "join their triggers in one table");
    } else {
      config.checkpoint = std::move(output);
    }
  }
  resolved.set("task", full);
}

// Readers of files would take it for another quantity.
void check_names_in_files(const std::vector<mesh::DerivedQuantity>& derived, const core::Node& root) {
  for (const mesh::DerivedQuantity& one : derived) {
    const std::string& name = one.quantity().name;
    if (const auto other = io::quantity_called(name); other.value_or(name) != name)
      core::reject(*root.find("quantity")->find(name), fmt::format("files call `{}` so: `{}`", *other, name),
                   "give the new quantity another name");
  }
}

void check_tasks(const RunConfig& config) {
  couple::Expected expected{config.grids()};
  for (const auto& [grid, on_it] : expected.grids) expected.species[grid] = config.plan->species(grid);
  couple::check_queue(config.coupling, expected);
  couple::check_tasks(config.coupling, expected);
}

// A run that begins with the state in a file begins when that was.
couple::TimeKeeping times_of(const SimulationPlan& plan, bool begins_anew) {
  couple::TimeKeeping times = plan.times();
  if (!begins_anew) times.first_time = times.first_redshift = std::nullopt;
  return times;
}

}  // namespace

std::vector<mesh::Quantity> RunConfig::quantities() const {
  std::vector<mesh::Quantity> all = with_common_quantities(plan->quantities());
  for (const mesh::DerivedQuantity& one : derived) all.push_back(one.quantity());
  return all;
}

mesh::Grids RunConfig::grids() const {
  mesh::Grids all = plan->other_grids();
  all[""] = {mesh::domain_of(plan->cells()), quantities()};
  return all;
}

mesh::Snapshot RunConfig::snapshot_of(Simulation& running) const {
  mesh::Snapshot snapshot = running.snapshot();
  add_common_quantities(snapshot);
  for (const mesh::DerivedQuantity& one : derived) one.add_to(snapshot);
  return snapshot;
}

couple::Landings RunConfig::landings() const {
  couple::Landings all;
  for (const couple::Task& task : coupling.tasks) all.add(task.trigger.when());
  for (const OutputConfig& output : plotfiles) all.add(output.trigger.when());
  if (checkpoint) all.add(checkpoint->trigger.when());
  return all;
}

RunConfig read_run(const core::Node& root, bool begins_anew, const core::Registry<SimulationEntry>& known) {
  const SimulationEntry& simulation = known.chosen(root, "simulation");
  std::vector<std::string> tables{"simulation", "run", "output", "coupling", "stream", "task", "quantity"};
  tables.insert(tables.end(), simulation.tables.begin(), simulation.tables.end());
  core::check_known_keys(root, tables);

  RunConfig config;
  config.begins_anew = begins_anew;
  core::Node resolved(core::Node::Members{});
  config.simulation = simulation.name;
  resolved.set("simulation", core::Node(simulation.name));

  core::Node part;
  const core::Node* run = root.find("run");
  const RunKeys keys = run_table().read(run != nullptr ? *run : core::Node(core::Node::Members{}, "run"), &part);
  config.max_steps = keys.max_steps;
  config.wall_time_s = keys.wall_time_s;
  config.is_steered = keys.steering;
  config.exchange = {redistribute::strategies().named(keys.exchange).strategy, keys.wisdom};
  resolved.set("run", part);

  config.plan = simulation.read(root, resolved);
  const couple::TimeKeeping times = times_of(*config.plan, begins_anew);
  config.derived = mesh::read_derived(root, config.quantities(), times.has_redshift, &resolved);
  check_names_in_files(config.derived, root);
  config.coupling = couple::read_coupling(root, &resolved, analysis::analyses(), times);
  read_outputs(root, config, resolved);
  read_writing_tasks(root, config, resolved);
  check_tasks(config);
  config.task_files = digests_of_task_files(config.coupling.tasks);
  config.resolved = core::to_toml(resolved);
  return config;
}

std::string usual_checkpoint_format(bool has_equal_blocks) {
  return has_equal_blocks ? "sidestream" : "raw";
}

std::vector<core::Option> run_options() {
  return run_table().options();
}
std::vector<core::Option> output_options(const std::string& kind) {
  return output_table(output_kinds().named(kind), {}, io::Precision::double_precision).options();
}

void require_memory(const RunConfig& config, int computing, int here) {
  const double each = config.plan->least_memory_bytes() / computing, needed = std::min(here, computing) * each;
  const double available = core::available_memory_bytes();
  if (needed > available)
    throw core::Error(fmt::format("the simulation takes about {:.3g} GiB on each of {} ranks, and {:.3g} GiB are free",
                                  each / 0x1p30, computing, available / 0x1p30),
                      core::host_name(), "take less (cells, particles), or more ranks on more machines");
}

}  // namespace sidestream::sims
