#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/config/file_sizes.hpp"
#include "sims/config/mesh_config.hpp"
#include "sims/config/writer_counts.hpp"

namespace sidestream::sims {

namespace {

constexpr double usual_rank_bytes = 4.0 * 0x1p30;

// Data files of one of them, written by so many ranks.
double data_files(const io::FileChoice& choice, double ranks) {
  return choice.format->data_files ? choice.format->data_files(ranks, choice.options) : 1.0;
}

nlohmann::json describe_files(const RunConfig& config, double ranks, double sidecars = 0.0) {
  nlohmann::json files = nlohmann::json::array();
  const auto add = [&](const std::string& kind, const OutputConfig& output) {
    files.push_back({{"kind", kind},
                     {"task", output.task},
                     {"format", output.file.format->name},
                     {"writers", output.carried ? "sidecars" : "the ranks that compute"},
                     {"bytes", file_bytes(config, output.file)},
                     {"data_files", data_files(output.file, output.carried ? sidecars : ranks)},
                     {"due", couple::in_words(output.trigger.when())}});
  };
  for (const OutputConfig& output : config.plotfiles)
    if (output.grid.empty()) add("plot file", output);
  if (config.checkpoint) add("checkpoint", *config.checkpoint);
  return files;
}

// What all sidecars together hold while they write a file, beside what formats write at a time.
double largest_carried(const RunConfig& config) {
  double bytes = 0.0;
  for (const OutputConfig& output : config.plotfiles)
    if (output.carried) bytes = std::max(bytes, carried_bytes(config, output));
  if (config.checkpoint && config.checkpoint->carried)
    bytes = std::max(bytes, carried_bytes(config, *config.checkpoint));
  return bytes;
}

}  // namespace

nlohmann::json describe(const RunConfig& config, int ranks) {
  const comm::RankCounts counts = couple::plan_ranks(ranks, config.coupling);
  nlohmann::json warnings = nlohmann::json::array();
  for (const core::Error& warning : more_than_ranks(config, counts.compute, counts.sidecars))
    warnings.push_back({{"message", warning.message()}, {"where", warning.where()}, {"hint", warning.hint()}});
  nlohmann::json tasks = nlohmann::json::array();
  for (const couple::Task& task : config.coupling.tasks)
    tasks.push_back({{"name", task.name},
                     {"analysis", task.analysis_name},
                     {"transport", task.transport->name + (task.isolation ? ", a job of its own" : "")},
                     {"due", couple::in_words(task.trigger.when())}});
  for (const OutputConfig& output : config.plotfiles)
    if (!output.task.empty())
      tasks.push_back({{"name", output.task},
                       {"analysis", "writes " + output.file.format->name},
                       {"transport", output.carried           ? "in-transit"
                                     : output.is_asynchronous ? "async"
                                                              : "in-situ"},
                       {"due", couple::in_words(output.trigger.when())}});
  nlohmann::json description = config.plan->description();
  description.update({{"simulation", config.simulation},
                      {"ranks", counts.world},
                      {"compute", counts.compute},
                      {"sidecars", counts.sidecars},
                      {"threads", config.coupling.uses_threads() ? 2 : 1},
                      {"size", size_in_words(config)},
                      {"blocks", config.plan->blocks()},
                      {"memory_bytes", config.plan->memory_bytes()},
                      {"least_memory_bytes", config.plan->least_memory_bytes()},
                      {"queue_bytes", config.coupling.uses_queue() ? config.coupling.queue_bytes : 0.0},
                      {"sidecar_bytes", largest_carried(config)},
                      {"files", describe_files(config, counts.compute, counts.sidecars)},
                      {"tasks", tasks},
                      {"warnings", warnings}});
  return description;
}

std::string size_in_words(const RunConfig& config, double times) {
  const double bytes = times * config.plan->memory_bytes();
  const double ranks = std::max(1.0, std::ceil(bytes / usual_rank_bytes));
  std::string words = fmt::format("{:.3g} GiB of memory, which {:.3g} ranks of 4 GiB have", bytes / 0x1p30, ranks);
  for (const auto& file : describe_files(config, ranks)) {
    const auto count = file.at("data_files").get<double>();
    words += fmt::format("; each {} {:.3g} GiB in {:.3g} data file{} of format {}", file.at("kind").get<std::string>(),
                         times * file.at("bytes").get<double>() / 0x1p30, count, count == 1.0 ? "" : "s",
                         file.at("format").get<std::string>());
  }
  return words;
}

std::string size_of_refused(const core::Node& root, bool begins_anew) {
  try {
    const MeshConfig mesh = mesh_table(1).read(table_or_empty(root, "mesh"));
    constexpr std::int32_t least_blocks = 2;  // along an axis of the smaller mesh
    const auto can_be_halved = [&](std::int32_t cells, int times) {
      const std::int64_t whole = std::int64_t{mesh.block} << times;
      return cells == 1 || (cells % whole == 0 && cells / whole >= least_blocks);
    };
    int times = 0;
    while (std::ranges::all_of(mesh.cells, [&](std::int32_t cells) { return can_be_halved(cells, times + 1); }))
      ++times;
    if (times == 0) return "";
    core::Node smaller = root;
    std::array<std::int32_t, 3> cells{};
    double ratio = 1.0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      cells[axis] = mesh.cells[axis] == 1 ? 1 : mesh.cells[axis] >> times;
      ratio *= static_cast<double>(mesh.cells[axis]) / cells[axis];
    }
    core::override_key(smaller, fmt::format("mesh.cells=[{}]", fmt::join(cells, ", ")));
    std::erase_if(std::get<core::Node::Members>(smaller.value()), [](const auto& member) {  // what lies in cells
      return member.first == "amr" || member.first == "refine" || member.first == "barrier";
    });
    const RunConfig config = read_run(smaller, begins_anew);
    return ratio * config.plan->memory_bytes() > core::available_memory_bytes() ? size_in_words(config, ratio) : "";
  } catch (const core::Error&) {
    return "";
  }
}

}  // namespace sidestream::sims
