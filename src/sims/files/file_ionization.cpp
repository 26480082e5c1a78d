#include "sims/files/file_ionization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/solvers/uv_background.hpp"
#include "sims/quantities/gas_check.hpp"

namespace sidestream::sims {

namespace {

using core::Node;
using Names = std::set<std::string>;

// Of the run that made the file, which keeps its configuration; null where there is none.
std::optional<Node> heating_in(const mesh::Snapshot& file) {
  const auto config = file.texts.find(io::config_text);
  if (config == file.texts.end()) return std::nullopt;
  const Node run = core::parse_toml(config->second, file.source);
  const Node* const heating = run.find("heating");
  return heating != nullptr ? std::optional(*heating) : std::nullopt;
}

void add_with_sources(const std::string& name, const Sources& sources, Names& all) {
  if (!all.insert(name).second) return;
  if (const auto found = sources.find(name); found != sources.end())
    for (const std::string& source : found->second) add_with_sources(source, sources, all);
}

// What a task reads, and what that follows from.
Names read_by(const couple::Task& task, const Sources& sources) {
  Names all;
  for (const couple::FieldRequest& field : couple::requested_fields(task)) add_with_sources(field.name, sources, all);
  return all;
}

bool is_ion(const std::string& name) {
  return name != "temperature" && std::ranges::find(ionization_names(), name) != ionization_names().end();
}

}  // namespace

std::vector<std::string> declared_in(const Node& root) {
  std::vector<std::string> names;
  if (const Node* const quantities = root.find("quantity"))
    for (const auto& member : quantities->members()) names.push_back(member.first);
  return names;
}

// The file may lack what its own run's `[heating]` takes: tasks may do without it.
FileIonization::FileIonization(const comm::Communicator& world, const Node& root, mesh::Snapshot& file,
                               Sources& sources, Node& resolved, bool is_of_run)
    : file_(&file), sources_(&sources), is_of_run_(is_of_run), moment_(file.moment) {
  for (const mesh::Quantity& quantity : file.quantities()) before_.insert(quantity.name);
  if (const Node* const heating = root.find("heating")) {
    own_ = *heating;
    add(world, root, *heating, resolved);
    return;
  }
  try {
    std::optional<Node> heating;
    world.agree_on([&] { heating = heating_in(file); });
    if (heating) add(world, root, *heating, resolved);
  } catch (const core::Error&) {
    return;  // the task that needs it says so
  }
}

void FileIonization::add(const comm::Communicator& world, const Node& root, const Node& heating, Node& resolved) {
  solvers::HeatingConfig config;
  Node full;
  world.agree_on([&] {
    config = ionization_table().read(heating, &full);
    full.set("uv_background", Node(config.uv_background));
    if (own_) check_redshift(config);
  });
  ionization_ = add_ionization(world, config, declared_in(root), *file_);
  for (const std::string& name : ionization_->names)
    (*sources_)[name] = {"gas_density", name == "temperature" ? "specific_internal_energy" : "temperature"};
  resolved.set("heating", full);
}

// Before the background of its run sets in, gas is in equilibrium without light, as in the run.
void FileIonization::check_redshift(const solvers::HeatingConfig& config) const {
  const auto redshift = file_->moment.redshift();
  if (!redshift) return;
  const solvers::UvBackground background = named_background(config.uv_background, *own_);
  const BackgroundUse use{*redshift, "the file is of"};
  if (!is_of_run_) check_has_set_in(background, use, *own_);
  check_goes_on(background, use, *own_);
}

bool FileIonization::makes_any_of(const Names& names) const {
  return ionization_ &&
         std::ranges::any_of(ionization_->names, [&](const std::string& name) { return names.contains(name); });
}

void FileIonization::check_own(const couple::CouplingConfig& config) const {
  Names read;
  for (const couple::Task& task : config.tasks) read.merge(read_by(task, *sources_));
  std::string kept;
  for (const std::string& name : read)
    if (before_.contains(name) && is_ion(name)) kept = name;
  if (!kept.empty())
    core::reject(*own_, fmt::format("the file holds `{}` itself, which `[heating]` does not change", kept),
                 "leave `[heating]` out, or make a file without it: `sidestream convert` with `--fields`");
  if (!makes_any_of(read))
    core::reject(*own_, "`[heating]` would do nothing: the tasks read nothing that it makes", "leave it out");
}

void FileIonization::check(const comm::Communicator& world, const couple::CouplingConfig& config,
                           const std::function<void(const std::string& line)>& tell) const {
  if (own_ && !is_of_run_) world.agree_on([&] { check_own(config); });
  const auto reads_made = [&](const couple::Task& task) { return makes_any_of(read_by(task, *sources_)); };
  if (std::ranges::none_of(config.tasks, reads_made)) return;
  const std::string note = check_gas(world, *file_, *sources_, ionization_->gas());
  if (!note.empty() && world.rank() == 0) tell(note);
}

void FileIonization::label(const couple::Task& task) {
  mesh::Moment moment = moment_;
  if (own_ && makes_any_of(read_by(task, *sources_))) tell_heating(ionization_->config, moment);
  if (own_) file_->moment = std::move(moment);
}

}  // namespace sidestream::sims
