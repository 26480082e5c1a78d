#include "sidestream/sims/host_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sidestream/comm/lone_ranks.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/generations.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sims/host/conformance.hpp"
#include "sims/host/host_checks.hpp"
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

// What ends the process where an analysis takes too long would end the program.
void require_isolated_deadlines(const std::vector<couple::Task>& tasks) {
  for (const couple::Task& task : tasks)
    if (task.deadline_s && !task.isolation)
      throw core::Error("a task with a deadline could end the program", "key `task." + task.name + ".deadline`",
                        "set `isolate = true` there too: then it is a job of its own, which is ended alone");
}

std::string knob_said(const couple::Knob& knob) {
  return fmt::format("`{}` from {} to {}", knob.option.name, knob.option.minimum.value_or(0.0),
                     knob.option.maximum.value_or(0.0));
}

bool holds_checkpoints(const std::string& folder) {
  return std::filesystem::exists(folder) && !io::generations_in(folder).empty();
}

}  // namespace

class HostRun::Impl {
 public:
  Impl(const comm::Communicator& every_rank, HostOptions given, Tell given_tell)
      : options(std::move(given)), tell(std::move(given_tell)), world(every_rank.duplicate()) {
    int sidecars = 0;
    int is_inter = 0;
    MPI_Comm_test_inter(world.raw(), &is_inter);
    if (is_inter != 0)
      throw core::Error("the communicator joins two groups", options.name, "give one whose ranks are one group");
    comm::require_that_ranks_meet();
    world.agree_on([&] {
      if (options.folder.empty()) throw core::Error("`folder` is empty", options.name, "say where the run writes");
      root = load(options);
      // What is due when, and of what, is read when the program has said what there is.
      const couple::CouplingConfig coupling = couple::read_coupling(root);
      sidecars = coupling.sidecars_used();
      couple::plan_ranks(world.size(), coupling);
    });
    is_sidecar = world.rank() >= world.size() - sidecars;
    compute.emplace(world.split(is_sidecar ? 1 : 0, world.rank()));
    if (is_sidecar) return;
    state.emplace(*compute);
    conformance = Conformance::wanted(world, *compute);
  }

  // On all ranks.
  void open(const core::Node& description) {
    root.set("simulation", core::Node(std::string("host")));
    root.set("host", description);
    std::int32_t holds = 0;
    if (world.rank() == 0) holds = holds_checkpoints(options.folder) ? 1 : 0;
    const bool is_there = world.broadcast(holds) != 0;
    RunStart start{.existing = options.existing,
                   .tells_steps = options.tells_steps,
                   .going_on = "`existing` = resume",
                   .replacing = "`existing` = overwrite"};
    if (start.existing == io::ExistingRun::resume && !is_there) start.existing = io::ExistingRun::overwrite;
    std::optional<RunConfig> config;
    world.agree_on([&] {
      if (world.rank() == 0 && start.existing == io::ExistingRun::refuse && io::RunFolder(options.folder).holds_a_run())
        throw core::Error("the folder holds an earlier run", options.folder,
                          "choose another folder, or go on with that run or replace it (`existing`)");
      config = read_run(root, start.existing != io::ExistingRun::resume);
      require_isolated_deadlines(config->coupling.tasks);
      if (!is_sidecar) static_cast<HostPlan&>(*config->plan).attach(*state, knobs);
    });
    config->coupling.job_program = options.job_program;
    if (options.catches_signals) signals.emplace();
    run.emplace(world, std::move(*config), options.folder, start, tell);
  }

  HostSimulation& simulation() { return static_cast<HostSimulation&>(run->simulation()); }

  // Throws on all ranks, before anything is done, unless all say the same of the step.
  void require_step(std::int64_t step, double time) const {
    const auto say = [&] {
      std::vector<Saying> all{{"the step", fmt::format("{}", step)},
                              {"the time", fmt::format("{}", time)},
                              {"how much is done", fmt::format("{}", state->progress)}};
      if (const auto scale_factor = state->moment.scale_factor)
        all.push_back({"the scale factor", fmt::format("{}", *scale_factor)});
      for (const auto& [name, value] : state->moment.attributes)
        all.push_back({"the number `" + name + "`", fmt::format("{}", value)});
      for (std::size_t n = 0; n < knobs.size(); ++n)
        all.push_back({fmt::format("knob {}", n + 1), knob_said(knobs[n])});
      return all;
    };
    const Digest& lasting = state->digest();
    require_alike(*compute, {digest_of(say(), lasting.of_all), lasting.of_types}, [&] {
      std::vector<Saying> all = say();
      for (const std::vector<Saying>& more : {state->sayings(), state->types()})
        all.insert(all.end(), more.begin(), more.end());
      return all;
    });
    if (io::impossible_number({.time = time}))
      throw core::Error(fmt::format("step {} is at the time {}", step, time), options.name,
                        "look for what made the time no number, or one beyond 1e100");
    state->require_known_convention();
    constexpr std::int64_t most_steps = 1'000'000'000'000'000;
    if (step < 0 || step > most_steps)
      throw core::Error(fmt::format("the step is {}", step), options.name,
                        fmt::format("count steps one by one, from 0 to {} at most", most_steps));
  }

  // Throws on all ranks where the run goes on from a checkpoint that would fill memory which cannot be written.
  void require_writable() const {
    if (options.existing != io::ExistingRun::resume) return;
    std::int32_t goes_on = 0;
    if (compute->rank() == 0) goes_on = holds_checkpoints(options.folder) ? 1 : 0;
    if (compute->broadcast(goes_on) == 0) return;
    compute->agree_on([&] {
      for (const HostField& field : state->fields())
        if (field.quantity.is_state && !field.is_writable)
          throw core::Error("the run goes on from a checkpoint, which would fill an array that cannot be written",
                            "field `" + field.quantity.name + "`",
                            "give a copy of the array, or say that the field is no state");
    });
  }

  // A call that the ranks make together, which `sidestream conformance` looks at. `check`: what is wrong where it is
  // refused.
  template <typename F>
  void together(const char* check, const std::string& name, F call) {
    if (!conformance) return call();
    conformance->call(name);
    try {
      call();
    } catch (const core::Error& error) {
      conformance->refused(check, error);
      throw;
    }
  }

  // Arrays are read by `work`, and written where it takes a checkpoint.
  template <typename F>
  void reading(F work) {
    const bool was_restarted = simulation().is_restarted();
    if (conformance) conformance->before(*state);
    work();
    if (conformance && simulation().is_restarted() == was_restarted) conformance->after(*state);
  }

  void begin(std::int64_t& step, double& time) {
    compute->agree_on([&] {
      if (!state->has_mesh())
        throw core::Error("the run begins without a mesh", options.name, "say first what the mesh and the fields are");
    });
    require_step(step, time);
    require_writable();
    is_within = true;
    state->moment.step = step;
    state->moment.time = time;
    core::Node described(core::Node::Members{});
    described.set("host", node_of(description_of(options.name, *state)));
    world.broadcast(core::to_toml(described));
    open(*described.find("host"));
    state->close_list();
    reading([&] { run->begin(); });
    step = state->moment.step;
    time = state->moment.time;
    leave();
    is_within = false;
  }

  void step_taken(std::int64_t step, double time) {
    mesh::Moment& moment = state->moment;
    require_step(step, time);
    state->require_fields();
    if (step <= moment.step)
      throw core::Error(fmt::format("step {} comes after step {}", step, moment.step), options.name,
                        "count steps upwards");
    if (time < moment.time)
      throw core::Error(fmt::format("time goes back from {} to {}", moment.time, time),
                        fmt::format("{}, step {}", options.name, step), "give the time of the program's state");
    is_within = true;
    computing.reset();
    moment.step = step;
    moment.time = time;
    reading([&] { run->step_taken(watch.seconds()); });
    leave();
    is_within = false;
  }

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
  bool is_within = false;  // a call that the ranks make together; for good where it has failed
  std::optional<HostState> state;
  std::vector<couple::Knob> knobs;
  std::optional<StopSignals> signals;
  std::optional<SteppedRun> run;
  std::unique_ptr<Conformance> conformance;
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
  impl_->open(*core::parse_toml(description, "the program").find("host"));
  impl_->run->serve();
}

void HostRun::set_mesh(const HostMesh& mesh) {
  require_whole();
  impl_->together("mesh", "set_mesh", [&] { impl_->state->set_mesh(mesh); });
}
void HostRun::set_field(HostField field) {
  impl_->state->set_field(std::move(field));
}
void HostRun::set_species(HostSpecies species) {
  impl_->state->set_species(std::move(species));
}
void HostRun::set_number(const std::string& name, double value) {
  impl_->state->set_number(name, value);
}
void HostRun::set_scale_factor(double scale_factor) {
  if (const auto bad = io::impossible_number({.scale_factor = scale_factor}))
    throw core::Error(bad->what, impl_->options.name, "give 1 / (1 + z)");
  impl_->state->moment.scale_factor = scale_factor;
}
void HostRun::set_progress(double progress) {
  constexpr double rounding = 1e-6;
  if (!(progress >= -rounding && progress <= 1.0 + rounding))
    throw core::Error(fmt::format("the progress is {}", progress), impl_->options.name,
                      "give the part that is done, from 0 to 1, at which the run ends");
  impl_->state->progress = std::clamp(progress, 0.0, 1.0);
}
void HostRun::add_knob(const core::Option& option, double& value) {
  require_name(option.name.substr(option.name.find('.') + 1), "a knob", "viscosity");
  if (has_begun())
    throw core::Error("a knob that the run has not begun with", option.name, "add it before the run begins");
  if (std::ranges::any_of(impl_->knobs, [&](const couple::Knob& known) { return known.option.name == option.name; }))
    throw core::Error("there are two knobs of one name", option.name, "choose another name");
  if (!(value >= option.minimum.value_or(value) && value <= option.maximum.value_or(value)))
    throw core::Error(fmt::format("a knob is {} at first", value), option.name,
                      "let it begin within the range that is given");
  impl_->knobs.push_back(couple::make_knob(option, value));
}

void HostRun::begin(std::int64_t& step, double& time) {
  require_whole();
  if (has_begun()) throw core::Error("a run that has begun begins again", impl_->options.name, "begin it once");
  impl_->together("calls", "begin", [&] { impl_->begin(step, time); });
}

void HostRun::refuse(const core::Error& problem) {
  require_whole();
  const comm::Communicator& compute = *impl_->compute;
  if (has_begun()) return impl_->together("calls", "step", [&] { refuse_to_say(compute, problem); });
  impl_->together("calls", "begin", [&] { compute.agree_on([&] { throw core::Error(problem); }); });
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
  require_whole();
  if (!has_begun())
    throw core::Error("a step of a run that has not begun", impl_->options.name,
                      "begin it first: what was refused there?");
  impl_->together("calls", "step", [&] { impl_->step_taken(step, time); });
}

void HostRun::progress() {
  if (has_begun()) impl_->run->progress();
}

bool HostRun::is_whole() const {
  return !impl_->is_within;
}
void HostRun::require_whole() const {
  if (!is_whole())
    throw core::Error("a call that ranks make together has failed before", impl_->options.name, "close the session");
}

RunStatus HostRun::end(const std::string& problem) {
  Impl& all = *impl_;
  all.loop = false;
  if (!has_begun()) {
    if (is_whole()) all.world.broadcast(std::string(given_up));
    return RunStatus::interrupted;
  }
  if (!is_whole()) return RunStatus::stopped;
  all.computing.reset();
  RunStatus status = RunStatus::finished;
  all.together("calls", "close", [&] {
    all.state->stop_reason = all.compute->broadcast(problem);
    status = all.run->end(false);
  });
  all.signals.reset();
  return status;
}

}  // namespace sidestream::sims
