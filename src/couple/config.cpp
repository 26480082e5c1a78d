#include "sidestream/couple/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "couple/stream/stream_config.hpp"

namespace sidestream::couple {

namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr double least_deadline_s = 1e-3;

using Transports = core::Registry<TransportEntry>;

// The tables as they are written; the public structs hold what they mean.
struct CouplingTable {
  std::int32_t sidecars = 0;
  std::string count, when_full, spill;
  double queue = 0.0, timeout = 0.0;
  bool shared_memory = true;
  std::vector<double> cores;
  core::Compression compression;
};

struct TaskTable : TriggerKeys {
  std::string analysis, grid, transport;
  bool isolate = false;
  std::optional<double> deadline_s;
  double memory_bytes = 0.0;
};

// What each entry of a registry is, in one line.
template <typename Entries>
std::string documented(const Entries& entries) {
  std::vector<std::string> parts;
  for (const auto& entry : entries) parts.push_back(fmt::format("{}: {}", entry.name, entry.documentation));
  return fmt::format("{}", fmt::join(parts, "; "));
}

core::Table<CouplingTable> coupling_table() {
  core::Table<CouplingTable> table("Who analyses, and what happens when the analyses are slower than the simulation");
  table.option("sidecars", &CouplingTable::sidecars, 0).at_least(0).doc("ranks that do the analyses in transit");
  table.option("count", &CouplingTable::count, "total")
      .one_of({"total", "extra"})
      .doc("whether sidecars are part of the ranks asked for (total) or come on top (extra)");
  table.option("queue", &CouplingTable::queue, gibibyte)
      .in(core::size_units())
      .at_least(0)
      .doc("data published and not yet taken up by those who analyse, over all ranks");
  table.option("when_full", &CouplingTable::when_full, "block")
      .one_of(policies().names())
      .doc("when the queue is full: " + documented(policies()));
  table.option("spill", &CouplingTable::spill, "")
      .doc("folder on a disk of each node for what finds no room, with `when_full = \"spill\"`");
  table.option("shared_memory", &CouplingTable::shared_memory, true)
      .doc(
          "whether sidecars, and jobs of their own, read what ranks of their node have written where it lies; else it "
          "is sent to them");
  table.option("cores", &CouplingTable::cores, {})
      .at_least(0)
      .doc("numbers of the cores of each node on which the threads of `async` run; none: those of their rank");
  table.option("timeout", &CouplingTable::timeout, 3600.0)
      .in(core::wall_time_units())
      .at_least(0)
      .doc("longest time without a sign of those who analyse");
  table
      .parsed("compress", &CouplingTable::compression, core::Compression(),
              std::function<core::Compression(const core::Node&)>(core::read_compression))
      .doc("how the snapshots of `file` are compressed, as `compress` of a plot file");
  return table;
}

core::Table<TaskTable> task_table(const TimeKeeping& times, const Transports& transports = couple::transports()) {
  core::Table<TaskTable> table("An analysis, how it gets its data and when");
  table.option("analysis", &TaskTable::analysis, "").required().doc("name of the analysis");
  table.option("grid", &TaskTable::grid, "")
      .doc("grid of the simulation whose quantities it reads; empty: the one of its state");
  table.option("transport", &TaskTable::transport, transports.front().name)
      .one_of(transports.names())
      .doc(documented(transports));
  table.option("isolate", &TaskTable::isolate, false)
      .doc(
          "whether it is a job of its own, so that nothing it does to its processes ends the run; in-situ: the "
          "simulation waits for it, async: it does not");
  table.option("deadline", &TaskTable::deadline_s, std::nullopt)
      .in(core::wall_time_units())
      .at_least(least_deadline_s)
      .doc(
          "longest time for one moment: then a job of its own is ended (without a deadline after `coupling.timeout`), "
          "and "
          "with any other task the run");
  table.option("memory_limit", &TaskTable::memory_bytes, 0.0)
      .in(core::size_units())
      .at_least(0)
      .doc("of a job of its own: memory that each of its processes may take beside what it begins with; 0: any");
  add_trigger_options(table, times);
  return table;
}

std::vector<std::string> names_of(const std::vector<core::Option>& options) {
  std::vector<std::string> names;
  for (const core::Option& option : options) names.push_back(option.name);
  return names;
}

// The members of `table` whose name is one of `names` (or is none of them).
core::Node members_of(const core::Node& table, const std::vector<std::string>& names, bool wanted) {
  core::Node::Members members;
  for (const auto& member : table.members())
    if ((std::ranges::find(names, member.first) != names.end()) == wanted) members.push_back(member);
  core::Node out = table;
  out.value() = std::move(members);
  return out;
}

// Whether a task writes a file of the state: who knows formats reads it.
bool writes_file(const core::Node& task) {
  return task.find("write") != nullptr;
}

void check_name(const std::string& name, const core::Node& table) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (name.empty() || !std::ranges::all_of(name, is_plain))
    core::reject(table, fmt::format("a task cannot be called `{}`", name),
                 "use letters, digits, `_` and `-`: the results go to a folder of that name");
}

// The deadline is that of the coupling unless the task has its own.
std::optional<Isolation> read_isolation(const TaskTable& table, const core::Node& node, const TransportEntry& transport,
                                        double timeout_s) {
  if (!table.isolate) {
    if (table.memory_bytes > 0.0)
      core::reject(*node.find("memory_limit"), "a limit of memory is for a job of its own", "add `isolate = true`");
    return std::nullopt;
  }
  if (!transport.may_isolate)
    core::reject(*node.find("isolate"),
                 fmt::format("a task with the transport \"{}\" is no job of its own", transport.name),
                 transport.serve ? "use transport = \"async\": the simulation goes on while the job works"
                                 : "leave `isolate` out: `sidestream analyze` is another job already");
  return Isolation{table.deadline_s.value_or(std::max(timeout_s, least_deadline_s)), table.memory_bytes};
}

using Analyses = core::Registry<analysis::AnalysisEntry>;

Task read_task(const std::string& name, const core::Node& node, const Analyses& analyses, const TimeKeeping& times,
               const Transports& transports, double timeout_s, core::Node* resolved) {
  // The analysis looks first: it knows all keys of the table and so finds a slip in any of them.
  core::Node full_task, full_analysis;
  Task task;
  task.name = name;
  task.table = node;
  task.analysis = analyses.chosen(node, "analysis").make(node, &full_analysis);
  const core::Table<TaskTable> options = task_table(times, transports);
  const std::vector<std::string> keys = names_of(options.options());
  const TaskTable table = options.read(members_of(node, keys, true), &full_task);
  task.analysis_name = table.analysis;
  task.grid = table.grid;
  task.transport = &transports.named(table.transport);
  task.deadline_s = table.deadline_s;
  task.isolation = read_isolation(table, node, *task.transport, timeout_s);
  task.trigger = Trigger(read_when(node, table, "the task", times));
  const core::Node parameters = members_of(full_analysis, keys, false);
  task.parameters = core::to_toml(parameters);
  if (resolved != nullptr) {
    *resolved = std::move(full_task);
    for (const auto& [key, value] : parameters.members()) resolved->set(key, value);
  }
  return task;
}

void check_sidecars(const CouplingConfig& config) {
  if (config.sidecars > 0) return;
  for (const Task& task : config.tasks)
    if (task.transport->serve)
      core::reject(task.table,
                   fmt::format("the task `{}` is {}, but there are no sidecars", task.name, task.transport->name),
                   "set `coupling.sidecars` to 1 or more, or the task's transport to \"in-situ\"");
}

// The results of a task that looks back follow one another, so they must all come from the same ranks, which know the
// one before.
void check_when_full(const CouplingConfig& config, const core::Node& coupling) {
  using Otherwise = PolicyEntry::Otherwise;
  if (config.when_full->otherwise == Otherwise::store && config.spill.empty())
    core::reject(*coupling.find("when_full"), "there is no folder for what finds no room in the queue",
                 "set `coupling.spill` to a folder on a disk of each node: spill = \"/scratch/spill\"");
  if (config.when_full->otherwise != Otherwise::do_here) return;
  for (const Task& task : config.tasks)
    if (task.isolation)
      core::reject(*coupling.find("when_full"),
                   fmt::format("the task `{}` is to be a job of its own, and would be done by the ranks that compute",
                               task.name),
                   "use another policy, such as `when_full = \"block\"`");
  for (const Task& task : config.tasks)
    if (task.transport->has_queue && task.analysis->looks_back())
      core::reject(*coupling.find("when_full"),
                   fmt::format("the task `{}` compares with the moment before and cannot change sides", task.name),
                   "use `when_full = \"block\"` or \"drop-newest\", or set the task's transport to \"in-situ\"");
}

// A stream that nobody's analysis defines has readers that bring their own.
void check_streams(const CouplingConfig& config) {
  for (const Task& task : config.tasks)
    if (task.analysis_name == "readers" && task.transport->name != "stream")
      core::reject(task.table, fmt::format("the analysis of the task `{}` is what its readers do", task.name),
                   "add transport = \"stream\"");
}

// Whether they are there is for each node to say.
std::vector<int> read_cores(const core::Node& coupling, const std::vector<double>& numbers) {
  std::vector<int> cores;
  for (const double number : numbers) {
    if (number != std::floor(number) || number > std::numeric_limits<int>::max())
      core::reject(*coupling.find("cores"), fmt::format("{} is no number of a core", number),
                   "they are counted from 0, as `lscpu -e` shows them: cores = [2, 3]");
    cores.push_back(static_cast<int>(number));
  }
  return cores;
}

// What is not there yet is made, on each node: a disk that this one does not have may be there on others.
void check_spill(const CouplingConfig& config, const core::Node& coupling) {
  if (config.spill.empty()) return;
  namespace fs = std::filesystem;
  std::error_code unknown;
  const auto is_there = [&](const fs::path& path) { return fs::exists(fs::symlink_status(path, unknown)); };
  fs::path folder = fs::absolute(config.spill).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!is_there(folder)) folder = folder.parent_path();
  if (!is_there(folder) || folder == folder.root_path()) return;
  const std::string hint = "name a folder on a disk of each node: spill = \"/scratch/spill\"";
  if (!fs::is_directory(folder, unknown))
    core::reject(*coupling.find("spill"), fmt::format("\"{}\" is no folder", folder.string()), hint);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    core::reject(
        *coupling.find("spill"),
        fmt::format("no file can be made in \"{}\": {}", folder.string(), std::generic_category().message(errno)),
        hint);
}

std::string bytes_text(double bytes) {
  for (const auto& [name, size] : {std::pair("GiB", 0x1p30), std::pair("MiB", 0x1p20), std::pair("KiB", 0x1p10)})
    if (bytes >= size) return fmt::format("{:.3g} {}", bytes / size, name);
  return fmt::format("{:.0f} B", bytes);
}

void check_size(const CouplingConfig& config, double bytes, const std::string& of_what) {
  if (bytes > config.queue_bytes)
    throw core::Error(fmt::format("one publish {} takes {}, but the queue holds {}", of_what, bytes_text(bytes),
                                  bytes_text(config.queue_bytes)),
                      config.queue_where,
                      fmt::format("set `coupling.queue` to \"{}\" or more", bytes_text(2.0 * bytes)));
}

}  // namespace

const core::Registry<PolicyEntry>& policies() {
  using GivesWay = PolicyEntry::GivesWay;
  using Otherwise = PolicyEntry::Otherwise;
  static const core::Registry<PolicyEntry> all(
      {"policies", "policy", "what happens when the queue is full: `when_full` of [coupling]"},
      {{"block", "the simulation waits", GivesWay::nothing, Otherwise::wait},
       {"drop-newest", "the moment is left out, and counted", GivesWay::nothing, Otherwise::leave_out},
       {"drop-oldest", "the oldest moments that wait give way, and are counted", GivesWay::oldest,
        Otherwise::leave_out},
       {"latest", "only the newest moment waits, the others are left out and counted", GivesWay::all,
        Otherwise::leave_out},
       {"in-situ", "the ranks that compute do the analysis", GivesWay::nothing, Otherwise::do_here},
       {"spill", "the moment waits on a disk: `spill` of [coupling]", GivesWay::nothing, Otherwise::store}});
  return all;
}

int CouplingConfig::sidecars_used() const {
  const bool serves = !files.empty() || std::ranges::any_of(tasks, [](const Task& task) {
    return static_cast<bool>(task.transport->serve);
  });
  return serves ? sidecars : 0;
}

bool CouplingConfig::uses_queue() const {
  return !files.empty() || std::ranges::any_of(tasks, [](const Task& task) { return way_of(task).has_queue; });
}

bool CouplingConfig::uses_threads() const {
  return std::ranges::any_of(tasks, [](const Task& task) { return way_of(task).needs_threads; });
}

CouplingConfig read_coupling(const core::Node& root, core::Node* resolved, const Analyses& analyses,
                             const TimeKeeping& times, const Transports& transports) {
  const core::Node none(core::Node::Members{}, "coupling"), no_tasks(core::Node::Members{}, "task"),
      no_stream(core::Node::Members{}, "stream");
  const core::Node* coupling = root.find("coupling");
  const core::Node* tasks = root.find("task");
  if (coupling == nullptr) coupling = &none;
  if (tasks == nullptr) tasks = &no_tasks;

  core::Node full_coupling, full_stream, full_tasks = no_tasks;
  const CouplingTable table = coupling_table().read(*coupling, &full_coupling);
  CouplingConfig config;
  config.sidecars = table.sidecars;
  config.count = table.count == "total" ? comm::SidecarCount::total : comm::SidecarCount::extra;
  config.queue_bytes = table.queue;
  const core::Node* const queue = coupling->find("queue");
  config.queue_where = queue != nullptr ? queue->where() : coupling->where();
  config.when_full = &policies().named(table.when_full);
  config.spill = table.spill;
  config.shares_memory = table.shared_memory;
  config.cores = read_cores(*coupling, table.cores);
  config.timeout_s = table.timeout;
  config.compression = table.compression;
  config.times = times;
  const core::Node* const stream = root.find("stream");
  config.stream = read_stream(stream != nullptr ? *stream : no_stream, &full_stream);
  for (const auto& [name, node] : analysis::with_parts(*tasks)) {
    check_name(name, node);
    if (writes_file(node)) continue;
    core::Node full;
    config.tasks.push_back(read_task(name, node, analyses, times, transports, config.timeout_s, &full));
    full_tasks.set(name, std::move(full));
  }
  check_sidecars(config);
  check_when_full(config, *coupling);
  check_spill(config, *coupling);
  check_streams(config);
  if (resolved != nullptr) {
    resolved->set("coupling", std::move(full_coupling));
    if (stream != nullptr) resolved->set("stream", std::move(full_stream));
    resolved->set("task", std::move(full_tasks));
  }
  return config;
}

void add_file(CouplingConfig& config, CarriedFile file, double bytes, const core::Node& transport) {
  if (config.sidecars == 0)
    core::reject(transport, "sidecars are to write the file, but there are none",
                 "set `coupling.sidecars` to 1 or more, or leave the key out");
  if (config.when_full->otherwise == PolicyEntry::Otherwise::leave_out)
    core::reject(
        transport,
        fmt::format("with `when_full = \"{}\"` a full queue would have files left out", config.when_full->name),
        "use `when_full = \"block\"`, \"in-situ\" or \"spill\"");
  check_size(config, bytes, fmt::format("of {}", file.kind));
  config.files.push_back(std::move(file));
}

comm::RankCounts plan_ranks(int ranks, const CouplingConfig& config) {
  return comm::plan_ranks(ranks, config.sidecars_used(), config.count);
}

const mesh::Grid& grid_named(const mesh::Grids& grids, const std::string& name, const core::Node& table) {
  const auto found = grids.find(name);
  if (found != grids.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, grid] : grids)
    if (!known.empty()) names.push_back(known);
  const core::Node& key = *table.find("grid");
  if (names.empty()) core::reject(key, "this simulation has one grid", "leave the key out");
  throw core::unknown_name("grid", name, names, key.where());
}

namespace {

const std::vector<ExpectedSpecies>& species_for(const Expected& expected, const Task& task) {
  static const std::vector<ExpectedSpecies> none;
  const auto found = expected.species.find(task.grid);
  return found != expected.species.end() ? found->second : none;
}

std::vector<std::string> names_of(const std::vector<ExpectedSpecies>& species) {
  std::vector<std::string> names;
  for (const ExpectedSpecies& one : species) names.push_back(one.name);
  return names;
}

}  // namespace

void check_queue(const CouplingConfig& config, const Expected& expected) {
  for (const Task& task : config.tasks) {
    if (!way_of(task).has_queue) continue;
    const mesh::Grid& grid = grid_named(expected.grids, task.grid, task.table);
    const auto field_bytes = static_cast<double>(grid.domain.volume()) * sizeof(double);
    double bytes = static_cast<double>(fields_to_send(task, grid.quantities).size()) * field_bytes;
    const std::vector<ExpectedSpecies>& species = species_for(expected, task);
    for (const std::string& name : species_to_send(task, names_of(species)))
      bytes += std::ranges::find(species, name, &ExpectedSpecies::name)->bytes;
    check_size(config, bytes, fmt::format("for the task `{}`", task.name));
  }
}

namespace {

std::string way_to(const std::string& name, const std::vector<std::string>& known, const Expected& expected) {
  const auto way = expected.ways.find(name);
  const std::string nearest = core::nearest_name(name, known);
  if (known.empty()) return "it has no quantities at all: ask for what it has, such as its particles";
  return fmt::format("{}it has: {}; [quantity.{}] can derive it from these by an expression{}",
                     nearest.empty() ? "" : fmt::format("did you mean `{}`? ", nearest), fmt::join(known, ", "), name,
                     way == expected.ways.end() ? "" : ", and " + way->second);
}

}  // namespace

void check_tasks(const CouplingConfig& config, const Expected& expected) {
  std::vector<std::string> all;
  for (const auto& [name, grid] : expected.grids)
    for (const mesh::Quantity& quantity : grid.quantities) all.push_back(quantity.name);
  config.compression.check_names(all);
  for (const Task& task : config.tasks) {
    check_conditions(task.trigger.when(), mesh::names_of(expected.grids.at("").quantities), config.times.has_redshift);
    const mesh::Grid& grid = grid_named(expected.grids, task.grid, task.table);
    const std::vector<std::string> names = mesh::names_of(grid.quantities);
    for (const FieldRequest& field : requested_fields(task))
      if (!field.is_optional && std::ranges::find(names, field.name) == names.end())
        throw core::Error(fmt::format("the task `{}` needs the field `{}`, which {} does not have", task.name,
                                      field.name, task.grid.empty() ? "this simulation" : "this grid"),
                          place_of(task, field.name), way_to(field.name, names, expected));
    species_to_send(task, names_of(species_for(expected, task)));
    try {
      task.analysis->check(grid.domain);
    } catch (const core::Error& error) {
      const core::Node* const key = task.table.find(error.where());
      core::reject(key != nullptr ? *key : task.table, error.message(), error.hint());
    }
  }
}

std::vector<core::Option> coupling_options() {
  return coupling_table().options();
}
std::vector<core::Option> task_options() {
  return task_table({}).options();
}

}  // namespace sidestream::couple
