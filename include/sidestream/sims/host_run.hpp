#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/knob.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/any_field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/ghosts.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/mesh/quantity.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// How another program opens a run.
struct HostOptions {
  std::string name = "host";           ///< of the program, for reports
  std::string config;                  ///< TOML file of tasks, outputs and coupling, without a simulation
  std::vector<std::string> overrides;  ///< of its keys: "task.slice.every=5"
  std::string folder;                  ///< of the run
  io::ExistingRun existing = io::ExistingRun::refuse;  ///< `resume` begins anew where there is nothing to go on from
  std::string job_program{};     ///< `sidestream-run`, which does isolated tasks; empty: there are none
  bool catches_signals = false;  ///< SIGINT, SIGTERM and SIGUSR1 end the run after a step
  bool tells_steps = true;       ///< one line a step
};

/// A block of cells of this rank, in cells of its level.
struct HostBlock {
  int level = 0;
  mesh::Box box;
};

/// What the program computes on. Cells of a level are half as large as those of the one before.
struct HostMesh {
  mesh::Geometry geometry;        ///< of level 0; alike on all ranks
  std::string length_unit;        ///< empty: the problem's own
  std::vector<HostBlock> blocks;  ///< of this rank; a finer one hides what it covers
  mesh::Ghosts ghosts = 0;        ///< around each block in memory
};

/// The memory of a quantity of one block: its first element, that of the rim where there is one, and the elements
/// between neighbours along x, y and z.
struct HostMemory {
  void* first = nullptr;
  std::array<std::ptrdiff_t, 3> strides{};
};

/// Numbers of each cell that lie in the program's memory. They are read where they lie, and written only by a restart.
struct HostField {
  mesh::Quantity quantity;
  mesh::ElementType type = mesh::ElementType::float64;
  std::vector<HostMemory> blocks;  ///< one for each of the mesh, in its order
  bool is_writable = true;         ///< else a run that would fill it from a checkpoint is refused
};

/// Particles of one kind that lie in the program's memory, wherever their cells are: they are copied when somebody asks
/// for them, and brought to the ranks that own their cells.
struct HostSpecies {
  struct Attribute {
    std::string name, unit;
    const double* values = nullptr;
  };
  std::string name;
  std::size_t count = 0;
  const std::int64_t* id = nullptr;
  std::array<const double*, 3> position{};  ///< x, y, z in units of the geometry's `length`
  std::vector<Attribute> attributes;
  double mass = 0.0;  ///< of each, when all are alike
};

/// A run of tasks and outputs beside a program that takes its own steps. The program opens it with all its ranks,
/// computes on those of `compute()`, says where its numbers lie, and tells of each step:
///
///     HostRun run(world, options, tell);
///     if (!run.computes()) return run.serve();
///     run.set_mesh(mesh);
///     run.set_field(density);
///     run.begin(step, time);
///     while (run.goes_on()) { ...; run.step_taken(++step, time); }
///     run.end();
///
/// What is given lies where it was said until it is given anew or `goes_on` says no, and stays as it is while `begin`
/// or `step_taken` runs; `end` looks at nothing of it. Members are collective on the ranks that compute unless they say
/// "local".
class HostRun {
 public:
  using Tell = std::function<void(const std::string& line)>;

  /// Reads the configuration and parts sidecars from ranks that compute. Collective on `world`, as `serve` is on the
  /// sidecars; throws core::Error on all ranks.
  HostRun(const comm::Communicator& world, HostOptions options, Tell tell);
  ~HostRun();

  bool computes() const;
  /// Those that compute, in the order of the world.
  const comm::Communicator& compute() const;
  /// Sidecars: does analyses until the run ends, or until it is given up before it has begun.
  void serve();

  /// Throws core::Error on all ranks unless the blocks of level 0 tile the domain and finer ones lie on whole cells of
  /// coarser ones. What was given of fields is forgotten: their memory is another.
  void set_mesh(const HostMesh& mesh);
  /// Adds or replaces; all ranks give the same quantities in the same order. Local.
  void set_field(HostField field);
  void set_species(HostSpecies species);
  /// A number that tasks and files may use, alike on all ranks. Local.
  void set_number(const std::string& name, double value);
  /// Where the universe expands: a = 1 / (1 + z), from before `begin` on. Local.
  void set_scale_factor(double scale_factor);
  /// From 0 to 1, at which no step follows; alike on all ranks; without it the run has no end of its own. Local.
  void set_progress(double progress);
  /// A number of the program that `sidestream steer` may change between two steps; it outlives the run. Before `begin`.
  /// Local.
  void add_knob(const core::Option& option, double& value);

  /// The state before the first step: does what is due there. Where the run goes on from a checkpoint, fields that are
  /// state are filled from it, and `step` and `time` are those of it. Refused, before anything is written, where one of
  /// them is not writable on some rank.
  void begin(std::int64_t& step, double& time);
  bool has_begun() const;
  /// Whether a run that has begun went on from a checkpoint. Local.
  bool is_restarted() const;
  /// The particles of a species in the checkpoint, each on the rank that owns its cell. Local.
  const mesh::Particles& restored(const std::string& species) const;
  /// Whether another step is to be taken, as it was found after the last. Local.
  bool goes_on() const;
  /// Whether tasks that are due by their number of steps read the quantity after the next one. Local.
  bool foresees(const std::string& quantity) const;
  /// The next time that tasks want after `time`, for the program to land on. Local.
  std::optional<double> next_time(double time) const;
  /// The program has taken a step, and all numbers are those after it: does what is due. Refused, before anything is
  /// done, where ranks differ in what they tell, steps do not go up or time goes back.
  void step_taken(std::int64_t step, double time);
  /// Instead of `begin`, or of `step_taken` once the run has begun, by a rank that cannot call it: all ranks throw the
  /// problem.
  void refuse(const core::Error& problem);
  /// Lets transfers go on, within a long step. Local and cheap.
  void progress();
  /// Whether no call that ranks make together has failed half-way: after one that has, each refuses, and `end` does
  /// nothing but say "stopped". Local.
  bool is_whole() const;
  /// Ends tasks and outputs, without a last checkpoint where the program leaves although `goes_on` says yes. A run that
  /// has not begun is given up. `problem`: why the program cannot go on, in a sentence; then the run is one that
  /// stopped because of it, unless it was at its end. What the first rank says counts.
  RunStatus end(const std::string& problem = {});

 private:
  void require_whole() const;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sidestream::sims
