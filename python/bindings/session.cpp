#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "sidestream/comm/before_finalize.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/sims/host_run.hpp"

namespace sidestream::bindings {

namespace {

using Triple = std::array<std::int32_t, 3>;                                        // x, y, z
using Block = std::tuple<int, Triple, Triple>;                                     // level, first cell, end
using Memory = std::tuple<std::uintptr_t, std::array<std::int64_t, 3>>;            // address, strides in elements
using Attribute = std::tuple<std::string, std::string, std::uintptr_t>;            // name, unit, address
using Problem = std::optional<std::tuple<std::string, std::string, std::string>>;  // what, where, hint
using Tell = std::function<void(const std::string&)>;

mesh::Int3 int3(const Triple& xyz) {
  return {xyz[0], xyz[1], xyz[2]};
}

io::ExistingRun existing_of(const std::string& word) {
  if (word == "overwrite") return io::ExistingRun::overwrite;
  if (word == "resume") return io::ExistingRun::resume;
  if (word == "refuse") return io::ExistingRun::refuse;
  throw core::Error("there is no way `" + word + "` with an earlier run", "`existing`",
                    "choose from: refuse, overwrite, resume");
}

// What it tells is told while Python may be called.
Tell with_python(Tell tell) {
  return [tell = std::move(tell)](const std::string& line) {
    const nb::gil_scoped_acquire locked;
    tell(line);
  };
}

/// A run beside a Python program, which keeps its arrays alive.
class Session {
 public:
  Session(std::optional<int> comm, const std::string& name, const std::string& config,
          const std::vector<std::string>& overrides, const std::string& folder, const std::string& existing,
          const std::string& job_program, bool catches_signals, bool tells_steps, Tell tell, const Problem& problem) {
    ensure_mpi();
    const nb::gil_scoped_release unlocked;
    const comm::Communicator& world = world_.emplace(comm ? MPI_Comm_f2c(*comm) : MPI_COMM_SELF);
    sims::HostOptions options;
    world.agree_on([&] {
      if (problem) raise(*problem);
      options = {.name = name,
                 .config = config,
                 .overrides = overrides,
                 .folder = folder,
                 .existing = existing_of(existing),
                 .job_program = job_program,
                 .catches_signals = catches_signals,
                 .tells_steps = tells_steps};
    });
    run_.emplace(world, std::move(options), with_python(std::move(tell)));
    if (!computes()) return;
    leaving_ = run_->compute().duplicate();
    forgotten_.emplace([this] { end_forgotten(); });
  }

  bool computes() const { return run_->computes(); }
  int compute() const { return MPI_Comm_c2f(run_->compute().raw()); }
  void serve() {
    const nb::gil_scoped_release unlocked;
    run_->serve();
  }

  void set_mesh(const Triple& cells, const std::array<double, 3>& lengths, const std::array<bool, 3>& periodic,
                const std::string& unit, const Triple& ghosts, const std::vector<Block>& blocks,
                const Problem& problem) {
    const nb::gil_scoped_release unlocked;
    sims::HostMesh mesh;
    run_->compute().agree_on([&] {
      if (problem) raise(*problem);
      mesh.geometry = {mesh::domain_of(int3(cells)), lengths, periodic};
      mesh.length_unit = unit;
      mesh.ghosts = mesh::Ghosts(int3(ghosts));
      for (const auto& [level, lo, hi] : blocks) mesh.blocks.push_back({level, {int3(lo), int3(hi)}});
    });
    run_->set_mesh(mesh);
  }
  void set_field(const std::string& name, const std::string& unit, const std::string& meaning, bool is_state,
                 const std::string& type, const std::vector<Memory>& blocks, bool is_writable) {
    sims::HostField field;
    field.quantity = {name, unit, meaning, is_state};
    field.type = mesh::element_type(type);
    field.is_writable = is_writable;
    for (const auto& [address, strides] : blocks)
      field.blocks.push_back({reinterpret_cast<void*>(address), {strides[0], strides[1], strides[2]}});
    run_->set_field(std::move(field));
  }
  void set_particles(const std::string& name, std::size_t count, std::uintptr_t ids,
                     const std::array<std::uintptr_t, 3>& positions, const std::vector<Attribute>& attributes,
                     double mass) {
    const auto numbers = [](std::uintptr_t address) { return reinterpret_cast<const double*>(address); };
    sims::HostSpecies species;
    species.name = name;
    species.count = count;
    species.id = reinterpret_cast<const std::int64_t*>(ids);
    for (std::size_t axis = 0; axis < 3; ++axis) species.position[axis] = numbers(positions[axis]);
    for (const auto& [attribute, unit, values] : attributes)
      species.attributes.push_back({attribute, unit, numbers(values)});
    species.mass = mass;
    run_->set_species(std::move(species));
  }
  nb::dict restored(const std::string& name) const {
    const mesh::Particles& particles = run_->restored(name);
    nb::dict all;
    all["id"] = array_of(std::vector<std::int64_t>(particles.id));
    for (const auto& [axis, word] : {std::pair(0, "x"), std::pair(1, "y"), std::pair(2, "z")})
      all[word] = array_of(std::vector<double>(particles.position[static_cast<std::size_t>(axis)]));
    for (const mesh::ParticleAttribute& attribute : particles.attributes)
      all[attribute.name.c_str()] = array_of(std::vector<double>(attribute.values));
    return all;
  }
  void set_number(const std::string& name, double value) { run_->set_number(name, value); }
  void set_scale_factor(double scale_factor) { run_->set_scale_factor(scale_factor); }
  void set_progress(double progress) { run_->set_progress(progress); }
  void add_knob(const std::string& name, const std::string& meaning, double low, double high, double value) {
    core::Option option;
    option.name = "host." + name;
    option.type = "number";
    option.documentation = meaning;
    option.range(low, high);
    run_->add_knob(option, *knobs_.emplace_back(std::make_unique<double>(value)));
    names_.push_back(name);
  }
  double knob(const std::string& name) const {
    for (std::size_t n = 0; n < names_.size(); ++n)
      if (names_[n] == name) return *knobs_[n];
    throw core::unknown_name("knob", name, names_);
  }

  std::tuple<std::int64_t, double> begin(std::int64_t step, double time, const Problem& problem) {
    const nb::gil_scoped_release unlocked;
    if (problem) refuse(*problem);
    run_->begin(step, time);
    return {step, time};
  }
  bool has_begun() const { return run_->has_begun(); }
  bool is_restarted() const { return run_->is_restarted(); }
  bool goes_on() const { return run_->goes_on(); }
  bool wants(const std::string& name) const { return run_->foresees(name); }
  std::optional<double> next_time(double time) const { return run_->next_time(time); }
  void step(std::int64_t step, double time, const Problem& problem) {
    const nb::gil_scoped_release unlocked;
    if (problem) refuse(*problem);
    run_->step_taken(step, time);
  }
  void progress() { run_->progress(); }
  std::string end(const std::string& problem) {
    const nb::gil_scoped_release unlocked;
    static constexpr std::array words{"finished", "incomplete", "interrupted", "stopped"};
    if (ended_) return words[static_cast<std::size_t>(*ended_)];
    const std::string word = words[static_cast<std::size_t>(run_->end(problem))];
    forgotten_.reset();
    run_.reset();
    leaving_.reset();
    world_.reset();
    return word;
  }

  bool is_over() const { return ended_.has_value(); }
  bool is_whole() const { return run_->is_whole(); }
  bool all_leave(double patience_s) {
    const nb::gil_scoped_release unlocked;
    MPI_Request barrier = MPI_REQUEST_NULL;
    comm::check(MPI_Ibarrier(leaving_->raw(), &barrier), "MPI_Ibarrier");
    const core::Stopwatch since;
    int all_are_here = 0;
    while (all_are_here == 0 && since.seconds() < patience_s) {
      comm::check(MPI_Test(&barrier, &all_are_here, MPI_STATUS_IGNORE), "MPI_Test");
      if (all_are_here == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return all_are_here != 0;
  }
  void abort_job() const { MPI_Abort(world_->raw(), 1); }

 private:
  [[noreturn]] static void raise(const std::tuple<std::string, std::string, std::string>& problem) {
    const auto& [what, where, hint] = problem;
    throw core::Error(what, where, hint);
  }

  // MPI is finalized, by whoever does that before Python ends. Whether Python is locked is not known.
  void end_forgotten() {
    if (run_->compute().rank() == 0)
      fmt::print(stderr, "{}",
                 "warning: MPI ends with a session open, which is closed here\nhint: call its `close` before\n");
    const bool has_sidecars = run_->compute().size() < world_->size();
    if (!has_sidecars || !run_->has_begun() || run_->is_whole()) return void(ended_ = run_->end());
    fmt::print(stderr, "error: a call of the session has failed half-way, and its sidecars wait: the job ends\n");
    abort_job();
  }

  // What makes a call impossible on this rank is told to those that wait in it.
  [[noreturn]] void refuse(const std::tuple<std::string, std::string, std::string>& problem) {
    const auto& [what, where, hint] = problem;
    run_->refuse(core::Error(what, where, hint));
    raise(problem);
  }

  std::vector<std::unique_ptr<double>> knobs_;  // outlive the run
  std::vector<std::string> names_;
  std::optional<comm::Communicator> world_;    // of the program, sidecars and all
  std::optional<comm::Communicator> leaving_;  // of the ranks that compute, for those that leave by an exception
  std::optional<sims::HostRun> run_;
  std::optional<sims::RunStatus> ended_;  // where MPI was finalized before the program ended the run
  std::optional<comm::BeforeFinalize> forgotten_;
};

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<Session>(module, "Session", "A run of tasks and outputs beside a program that takes its own steps.")
      .def(nb::init<std::optional<int>, const std::string&, const std::string&, const std::vector<std::string>&,
                    const std::string&, const std::string&, const std::string&, bool, bool, Tell, const Problem&>(),
           nb::arg("comm").none(), nb::arg("name"), nb::arg("config"), nb::arg("overrides"), nb::arg("folder"),
           nb::arg("existing"), nb::arg("job_program"), nb::arg("catches_signals"), nb::arg("tells_steps"),
           nb::arg("tell"), nb::arg("problem").none(), "Collective on the communicator of the Fortran handle `comm`.")
      .def_prop_ro("computes", &Session::computes)
      .def_prop_ro("compute", &Session::compute, "The Fortran handle of the ranks that compute.")
      .def("serve", &Session::serve, "Sidecars: does analyses until the run ends.")
      .def("set_mesh", &Session::set_mesh, nb::arg("cells"), nb::arg("lengths"), nb::arg("periodic"), nb::arg("unit"),
           nb::arg("ghosts"), nb::arg("blocks"), nb::arg("problem").none(),
           "Everything along x, y, z; blocks are (level, first cell, end). Collective.")
      .def("set_field", &Session::set_field, nb::arg("name"), nb::arg("unit"), nb::arg("meaning"), nb::arg("is_state"),
           nb::arg("type"), nb::arg("blocks"), nb::arg("is_writable"),
           "Blocks are (address, elements between neighbours along x, y, z).")
      .def("set_particles", &Session::set_particles, nb::arg("name"), nb::arg("count"), nb::arg("ids"),
           nb::arg("positions"), nb::arg("attributes"), nb::arg("mass"),
           "Addresses; attributes are (name, unit, address).")
      .def("restored", &Session::restored, nb::arg("name"))
      .def("set_number", &Session::set_number, nb::arg("name"), nb::arg("value"))
      .def("set_scale_factor", &Session::set_scale_factor, nb::arg("scale_factor"))
      .def("set_progress", &Session::set_progress, nb::arg("progress"))
      .def("add_knob", &Session::add_knob, nb::arg("name"), nb::arg("meaning"), nb::arg("low"), nb::arg("high"),
           nb::arg("value"))
      .def("knob", &Session::knob, nb::arg("name"))
      .def("begin", &Session::begin, nb::arg("step"), nb::arg("time"), nb::arg("problem").none(),
           "Returns step and time. Collective.")
      .def_prop_ro("has_begun", &Session::has_begun)
      .def_prop_ro("is_restarted", &Session::is_restarted)
      .def_prop_ro("goes_on", &Session::goes_on)
      .def("wants", &Session::wants, nb::arg("name"))
      .def("next_time", &Session::next_time, nb::arg("time"))
      .def("step", &Session::step, nb::arg("step"), nb::arg("time"), nb::arg("problem").none(), "Collective.")
      .def("progress", &Session::progress)
      .def_prop_ro("is_over", &Session::is_over, "Whether the run was ended as MPI was finalized.")
      .def_prop_ro("is_whole", &Session::is_whole)
      .def("all_leave", &Session::all_leave, nb::arg("patience_s"),
           "Whether all ranks that compute call this within some seconds; else nothing can be done but to end the job.")
      .def("abort_job", &Session::abort_job, "Ends all ranks of the program's communicator, sidecars too.")
      .def("end", &Session::end, nb::arg("problem"),
           "How the run ended. `problem`: why the program cannot go on, or nothing. Collective.");
}

}  // namespace sidestream::bindings
