#include "sidestream/sims/host_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/generations.hpp"
#include "sims/host/host_config.hpp"
#include "sims/host/host_simulation.hpp"

namespace sidestream::sims {

namespace {

core::Node load(const HostOptions& options) {
  core::Node root = options.config.empty() ? core::Node(core::Node::Members{}) : core::load_toml(options.config);
  for (const std::string& assignment : options.overrides) core::override_key(root, assignment);
  for (const char* const key : {"simulation", "host"})
    if (const core::Node* const given = root.find(key))
      core::reject(*given, fmt::format("the program `{}` is the simulation", options.name), "leave the key out");
  return root;
}

// What the ranks that compute tell the sidecars instead of a description when there will be no run.
constexpr const char* given_up = "";

bool holds_checkpoints(const std::string& folder) {
  return std::filesystem::exists(folder) && !io::generations_in(folder).empty();
}

}  // namespace

class HostRun::Impl {
 public:
  Impl(const comm::Communicator& every_rank, HostOptions given, Tell given_tell)
      : options(std::move(given)), tell(std::move(given_tell)), world(every_rank.duplicate()) {
    int sidecars = 0;
    world.agree_on([&] {
      root = load(options);
      // What is due when, and of what, is read when the program has said what there is.
      const couple::CouplingConfig coupling = couple::read_coupling(root);
      sidecars = coupling.sidecars_used();
      couple::plan_ranks(world.size(), coupling);
    });
    is_sidecar = world.rank() >= world.size() - sidecars;
    compute.emplace(world.split(is_sidecar ? 1 : 0, world.rank()));
    if (!is_sidecar) state.emplace(*compute);
  }

  // On all ranks.
  void open(const std::string& description) {
    root.set("simulation", core::Node(std::string("host")));
    root.set("host", *core::parse_toml(description, "the program").find("host"));
    std::int32_t holds = 0;
    if (world.rank() == 0) holds = holds_checkpoints(options.folder) ? 1 : 0;
    const bool is_there = world.broadcast(holds) != 0;
    RunStart start{.existing = options.existing, .tells_steps = options.tells_steps};
    if (start.existing == io::ExistingRun::resume && !is_there) start.existing = io::ExistingRun::overwrite;
    std::optional<RunConfig> config;
    world.agree_on([&] {
      if (world.rank() == 0 && start.existing == io::ExistingRun::refuse && io::RunFolder(options.folder).holds_a_run())
        throw core::Error("the folder holds an earlier run", options.folder,
                          "choose another folder, or go on with that run or replace it (`existing`)");
      config = read_run(root, start.existing != io::ExistingRun::resume);
      if (!is_sidecar) static_cast<HostPlan&>(*config->plan).attach(*state, knobs);
    });
    config->coupling.job_program = options.job_program;
    if (options.catches_signals) catch_stop_signals();
    run.emplace(world, std::move(*config), options.folder, start, tell);
  }

  HostSimulation& simulation() { return static_cast<HostSimulation&>(run->simulation()); }

  // From here on the program computes.
  void leave() {
    loop = run->goes_on();
    if (loop) run->foresee();
    computing.reset(new core::Bill::Part(run->bill().part("step of the program", "simulation")));
    watch.restart();
  }

  HostOptions options;
  Tell tell;
  comm::Communicator world;
  std::optional<comm::Communicator> compute;  // on a sidecar: the sidecars
  core::Node root;
  bool is_sidecar = false, loop = false;
  std::optional<HostState> state;
  std::vector<couple::Knob> knobs;
  std::optional<SteppedRun> run;
  std::unique_ptr<core::Bill::Part> computing;
  core::Stopwatch watch;
};

HostRun::HostRun(const comm::Communicator& world, HostOptions options, Tell tell)
    : impl_(std::make_unique<Impl>(world, std::move(options), std::move(tell))) {}
HostRun::~HostRun() = default;

bool HostRun::computes() const {
  return !impl_->is_sidecar;
}
const comm::Communicator& HostRun::compute() const {
  return *impl_->compute;
}

void HostRun::serve() {
  const std::string description = impl_->world.broadcast(std::string());
  if (description == given_up) return;
  impl_->open(description);
  impl_->run->serve();
}

void HostRun::set_mesh(const HostMesh& mesh) {
  impl_->state->set_mesh(mesh);
}
void HostRun::set_field(HostField field) {
  impl_->state->set_field(std::move(field));
}
void HostRun::set_species(HostSpecies species) {
  impl_->state->set_species(std::move(species));
}
void HostRun::set_number(const std::string& name, double value) {
  impl_->state->moment.attributes[name] = value;
}
void HostRun::set_scale_factor(double scale_factor) {
  impl_->state->moment.scale_factor = scale_factor;
}
void HostRun::set_progress(double progress) {
  impl_->state->progress = std::clamp(progress, 0.0, 1.0);
}
void HostRun::add_knob(const core::Option& option, double& value) {
  impl_->knobs.push_back(couple::make_knob(option, value));
}

void HostRun::begin(std::int64_t& step, double& time) {
  Impl& all = *impl_;
  core::require(!has_begun(), "a run begins once");
  HostState& state = *all.state;
  all.compute->agree_on([&] {
    if (!state.has_mesh())
      throw core::Error("the run begins without a mesh", all.options.name,
                        "say first what the mesh and the fields are");
  });
  state.moment.step = step;
  state.moment.time = time;
  core::Node described(core::Node::Members{});
  described.set("host", node_of(description_of(all.options.name, state)));
  const std::string text = core::to_toml(described);
  all.compute->agree_on([&] {
    if (all.compute->broadcast(text) != text)
      throw core::Error("ranks give different quantities or particles", all.options.name,
                        "all ranks give the same ones in the same order");
  });
  all.open(all.world.broadcast(text));
  all.run->begin();
  step = state.moment.step;
  time = state.moment.time;
  all.leave();
}

bool HostRun::has_begun() const {
  return impl_->run.has_value();
}
bool HostRun::is_restarted() const {
  return has_begun() && impl_->simulation().is_restarted();
}
const mesh::Particles& HostRun::restored(const std::string& species) const {
  const auto& all = impl_->state->restored;
  const auto found = all.find(species);
  if (found == all.end())
    throw core::Error("no particles `" + species + "` came from a checkpoint", "",
                      "ask after `begin`, where the run is restarted");
  return found->second;
}
bool HostRun::goes_on() const {
  return impl_->loop;
}
bool HostRun::foresees(const std::string& quantity) const {
  return has_begun() &&
         std::ranges::find(impl_->simulation().foreseen(), quantity) != impl_->simulation().foreseen().end();
}
std::optional<double> HostRun::next_time(double time) const {
  if (!has_begun()) return std::nullopt;
  std::optional<double> next;
  for (const double wanted : impl_->simulation().landings().times)
    if (wanted > time && !couple::has_come_to_time(wanted, time) && (!next || wanted < *next)) next = wanted;
  return next;
}

void HostRun::step_taken(std::int64_t step, double time) {
  Impl& all = *impl_;
  core::require(has_begun(), "a run has steps when it has begun");
  all.computing.reset();
  mesh::Moment& moment = all.state->moment;
  all.compute->agree_on([&] {
    if (step <= moment.step)
      throw core::Error(fmt::format("step {} comes after step {}", step, moment.step), all.options.name,
                        "count steps upwards");
  });
  moment.step = step;
  moment.time = time;
  all.run->step_taken(all.watch.seconds());
  all.leave();
}

void HostRun::progress() {
  if (has_begun()) impl_->run->progress();
}

RunStatus HostRun::end() {
  Impl& all = *impl_;
  if (!has_begun()) {
    all.world.broadcast(std::string(given_up));
    return RunStatus::interrupted;
  }
  all.computing.reset();
  return all.run->end(false);
}

}  // namespace sidestream::sims
