#include "bench_lbm/publish_overhead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "sidestream/core/bill.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::apps {

namespace {

constexpr int period = 10, steps_of_a_turn = 2 * period;
constexpr std::int32_t tile = 16;

std::string configuration_of(const PublishedFlow& flow) {
  const std::int32_t last = flow.cells.z > 1 ? flow.cells.z : flow.cells.y;
  return fmt::format(
      "simulation = \"lbm\"\n[mesh]\ncells = [{}, {}, {}]\nblock = {}\n[lbm]\nviscosity = 0.02\ncollision = \"{}\"\n"
      "precision = \"{}\"\nend = 1e9\n[initial]\nflow = \"taylor-green\"\nspeed = 0.05\n",
      flow.cells.x, flow.cells.y, flow.cells.z, last % tile == 0 ? tile : 1, flow.collision, flow.precision);
}

/// Reads every cell once.
class LargestValue final : public analysis::Analysis {
 public:
  explicit LargestValue(std::string quantity) : quantity_(std::move(quantity)) {}
  std::vector<std::string> fields() const override { return {quantity_}; }
  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const mesh::FieldView<const double> field = snapshot.field(quantity_);
    double largest = 0.0;
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&largest, cells = field.view(b)](int k, int j, int i) {
        largest = std::max(largest, cells(k, j, i));
      });
    mesh::Result result;
    result.attributes["largest"] = comm.max(largest);
    return result;
  }

 private:
  std::string quantity_;
};

/// A folder that is removed with it; known to all ranks.
class OwnFolder {
 public:
  explicit OwnFolder(const comm::Communicator& world) : world_(&world) {
    std::string name = (std::filesystem::temp_directory_path() / "bench_lbm_XXXXXX").string();
    world.agree_on([&] {
      if (world.rank() == 0 && ::mkdtemp(name.data()) == nullptr)
        throw core::Error("cannot make a folder for results", name, "TMPDIR says where such folders lie");
    });
    path_ = world.broadcast(name);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    std::error_code ignored;
    if (world_->rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  const comm::Communicator* world_;
  std::string path_;
};

// Of this thread.
double processor_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A simulation whose steps are published, or are not.
class Turns {
 public:
  Turns(const comm::Communicator& world, sims::RunConfig& config, const io::RunFolder& folder)
      : config_(config),
        quantities_(config.quantities()),
        session_(world, config.coupling, folder, bill_),
        simulation_(config.plan->make(session_.compute_group(), config.landings(), bill_)) {
    simulation_->initialize();
    for (int step = 0; step < period / 2; ++step) simulation_->advance();
    seconds_of(true);  // all memory is there
  }
  /// Of a turn: wall time of the slowest rank, processor time of all.
  struct Seconds {
    double wall = 0.0, processor = 0.0;
  };
  Seconds seconds_of(bool publishes) {
    session_.wait_for(session_.mark());
    session_.compute_group().barrier();
    const core::Stopwatch watch;
    const double began_s = processor_seconds();
    for (int step = 0; step < steps_of_a_turn; ++step) {
      const std::int64_t next = simulation_->moment().step + 1;
      if (publishes) simulation_->foresee(session_.foreseen(next, quantities_));
      simulation_->advance();
      session_.progress();
      if (publishes && session_.is_due({simulation_->moment()})) session_.publish(config_.snapshot_of(*simulation_));
    }
    const double wall_s = watch.seconds(), processor_s = processor_seconds() - began_s;
    const comm::Communicator& ranks = session_.compute_group();
    return {ranks.max(wall_s), 1e-9 * static_cast<double>(ranks.sum(static_cast<std::int64_t>(1e9 * processor_s)))};
  }
  void finish() { session_.finish(); }

 private:
  sims::RunConfig& config_;
  core::Bill bill_;
  std::vector<mesh::Quantity> quantities_;
  couple::Session session_;
  std::unique_ptr<sims::Simulation> simulation_;
};

}  // namespace

double least_overhead(mesh::Int3 cells, double bytes_an_update) {
  const int axes = cells.z > 1 ? 3 : 2;
  return sizeof(double) * (2 * axes + 1) / (period * bytes_an_update);
}

Overheads publish_overheads(const comm::Communicator& world, const PublishedFlow& flow) {
  const OwnFolder own(world);
  sims::RunConfig config = sims::read_run(core::parse_toml(configuration_of(flow), "bench"));
  config.coupling.tasks.push_back({"largest", "largest", std::make_shared<LargestValue>(flow.quantity),
                                   &couple::transports().named("async"), couple::Trigger({.every = period}), ""});
  const io::RunFolder folder = io::prepare_run_folder(world, own.path(), io::ExistingRun::overwrite, config.resolved);
  Turns turns(world, config, folder);
  Overheads overheads;
  for (std::int32_t n = 0; n < flow.repetitions; ++n) {
    const Turns::Seconds alone = turns.seconds_of(false), together = turns.seconds_of(true);
    overheads.wall.push_back(together.wall / alone.wall - 1.0);
    overheads.processor.push_back(together.processor / alone.processor - 1.0);
  }
  turns.finish();
  return overheads;
}

}  // namespace sidestream::apps
