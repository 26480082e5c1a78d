#include <nlohmann/json.hpp>
// A publish from ranks that compute to the last rank, a sidecar, or to a thread of each rank: what it costs the
// simulation, beside a plain copy of the same data; and how long it takes until a sidecar has it, and has read it once,
// where it lies (`lent`) or sent by MPI (`sent`), for blocks of different sizes and simulations that look after their
// transfers often, rarely or once a step. `idle_s` is what a step in which nothing is due costs, `idle_share_of_step`
// beside a step of 0.2 s.
//
// Usage: mpirun -n RANKS bench_publish [CELLS a side, 64]. With Open MPI 4, `--mca btl_vader_single_copy_mechanism
// none` stands for machines on which processes may not read each other's memory.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "report.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/forest.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

constexpr int publishes = 9;
constexpr double step_s = 0.2;
const std::vector<std::string> field_names{"density", "temperature", "velocity"};

// Reads every cell once.
class Sum : public analysis::Analysis {
 public:
  std::vector<std::string> fields() const override { return field_names; }
  mesh::Result run(const comm::Communicator&, const mesh::Snapshot& snapshot) const override {
    double sum = 0.0;
    for (const std::string& name : field_names) {
      const mesh::FieldView<const double> field = snapshot.field(name);
      for (int b = 0; b < field.blocks(); ++b)
        core::for_each_cell(field.box(b),
                            [&sum, cells = field.view(b)](int k, int j, int i) { sum += cells(k, j, i); });
    }
    mesh::Result result;
    result.attributes["sum"] = sum;
    return result;
  }
};

couple::CouplingConfig coupling(const std::string& transport, std::int64_t every = 1) {
  couple::CouplingConfig config;
  config.sidecars = 1;
  config.tasks.push_back({"sum", "sum", std::make_shared<Sum>(), &couple::transports().named(transport),
                          couple::Trigger({.every = every}), ""});
  return config;
}

mesh::Snapshot snapshot_of(const mesh::Layout& layout, int rank, std::int64_t step) {
  mesh::Snapshot snapshot;
  snapshot.moment.step = step;
  snapshot.geometry = {layout.domain(), {1.0, 1.0, 1.0}};
  snapshot.levels = {layout};
  for (const std::string& name : field_names) {
    std::vector<mesh::Field<double>> field;
    std::ranges::fill(field.emplace_back(layout, rank).all(), 1.0);
    snapshot.add({name, "1"}, std::move(field));
  }
  return snapshot;
}

// Works for the time of a step and looks after transfers every `pause_s`. Returns what that took.
double step(couple::Session& session, double pause_s) {
  double lost_s = 0.0;
  const auto look = [&] {
    const core::Stopwatch watch;
    session.progress();
    lost_s += watch.seconds();
  };
  const core::Stopwatch watch;
  core::Stopwatch since;
  while (watch.seconds() < step_s)
    if (since.seconds() > pause_s) {
      look();
      since.restart();
    }
  look();
  return lost_s;
}

std::vector<json> events(const io::RunFolder& folder, const std::string& group, const std::string& kind) {
  std::vector<json> found;
  std::ifstream file(folder.events(group));
  for (std::string line; std::getline(file, line);)
    if (json event = json::parse(line); event.at("event") == kind) found.push_back(std::move(event));
  return found;
}

// From the beginning of a publish, the copy included, until the sidecar has it, and until it has read it.
json summary(const io::RunFolder& folder, const std::vector<double>& begin_s, const std::vector<double>& lost_s,
             double bytes) {
  const std::vector<json> sent = events(folder, "compute", "publish"), received = events(folder, "sidecar", "receive");
  const std::vector<json> analysed = events(folder, "sidecar", "analysis");
  std::vector<double> pack_s, until_s, until_read_s;
  for (std::size_t p = 0; p < sent.size(); ++p) {
    pack_s.push_back(sent[p].at("pack_s"));
    until_s.push_back(received.at(p).at("t").get<double>() - begin_s[p]);
    until_read_s.push_back(until_s.back() + analysed.at(p).at("compute_s").get<double>());
  }
  const json until = bench::spread(until_s);
  return {{"pack_s", bench::spread(pack_s)},
          {"until_received_s", until},
          {"until_read_s", bench::spread(until_read_s)},
          {"lost_in_progress_s", bench::spread(lost_s)},
          {"bytes_per_s", bytes / until.at("min").get<double>()}};
}

json measure(const comm::Communicator& world, const std::string& path, const mesh::Layout& layout, bool is_lent,
             double pause_s) {
  const io::RunFolder folder(path);
  couple::CouplingConfig config = coupling("in-transit");
  config.shares_memory = is_lent;
  if (world.rank() == 0) std::filesystem::create_directories(path);
  world.barrier();
  std::vector<double> begin_s, lost_s;
  {
    core::Bill bill;
    couple::Session session(world, config, folder, bill);
    if (session.computes()) {
      for (int p = 0; p < publishes; ++p) {
        const mesh::Snapshot snapshot = snapshot_of(layout, world.rank(), p);
        begin_s.push_back(session.log().seconds());
        session.publish(snapshot);
        lost_s.push_back(step(session, pause_s) + step(session, pause_s));
      }
      session.finish();
    } else {
      session.serve();
    }
  }
  world.barrier();
  json result;
  if (world.rank() == 0) {
    result = summary(
        folder, begin_s, lost_s,
        static_cast<double>(field_names.size() * sizeof(double)) * static_cast<double>(layout.domain().volume()));
    std::filesystem::remove_all(path);
  }
  world.barrier();
  return result;
}

// What publishing to threads costs, each time after the thread is done, and a copy of the same fields into memory that
// has been used before; what a step costs in which nothing is due.
json measure_threads(const comm::Communicator& world, const std::string& path, const mesh::Layout& layout) {
  const io::RunFolder folder(path);
  if (world.rank() == 0) std::filesystem::create_directories(path);
  world.barrier();
  std::vector<double> publish_s, copy_s;
  double idle_s = 0.0;
  {
    core::Bill bill;
    couple::Session session(world, coupling("async", 100), folder, bill);
    std::vector<double> buffer;
    for (int p = 0; p < 3 * publishes; ++p) {
      const mesh::Snapshot snapshot = snapshot_of(layout, world.rank(), 100 * p);
      const core::Stopwatch copy_watch;
      buffer.clear();
      for (const std::string& name : field_names) {
        const mesh::FieldView<const double> field = snapshot.field(name);
        for (int b = 0; b < field.blocks(); ++b) {
          const mesh::Box& box = field.box(b);  // without ghost cells, one cell after the other
          const double* first = &field.view(b)(box.lo.z, box.lo.y, box.lo.x);
          buffer.insert(buffer.end(), first, first + box.volume());
        }
      }
      copy_s.push_back(copy_watch.seconds());
      const core::Stopwatch watch;
      session.publish(snapshot);
      publish_s.push_back(watch.seconds());
      session.wait_for(session.mark());
    }
    constexpr int steps = 50;
    const core::Stopwatch idle_watch;
    for (int s = 0; s < steps; ++s) {
      session.progress();
      session.is_due({{.step = 300 * publishes + s - 60}});
    }
    idle_s = idle_watch.seconds() / steps;
    session.finish();
  }
  world.barrier();
  if (world.rank() == 0) std::filesystem::remove_all(path);
  world.barrier();
  publish_s.erase(publish_s.begin());  // on fresh memory, as the first copy
  copy_s.erase(copy_s.begin());
  std::vector<double> over_copy;
  for (std::size_t p = 0; p < publish_s.size(); ++p) over_copy.push_back(publish_s[p] / copy_s[p]);
  return {{"publish_s", bench::spread(publish_s)},
          {"copy_s", bench::spread(copy_s)},
          {"publish_over_copy", bench::spread(over_copy)},
          {"idle_s", idle_s},
          {"idle_share_of_step", idle_s / step_s}};
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  json report = bench::header(world, "publish");
  const std::int32_t cells = argc > 1 ? std::atoi(argv[1]) : 64;
  const std::string path = world.broadcast(
      (std::filesystem::temp_directory_path() / ("bench_publish_" + std::to_string(getpid()))).string());

  report["cells"] = cells;
  report["mebibytes"] = static_cast<double>(field_names.size()) * cells * cells * cells / (1 << 17);
  const std::map<std::string, double> pauses{{"every_ms", 1e-3}, {"every_50_ms", 50e-3}, {"once_a_step", step_s}};
  for (const std::int32_t block : {8, 16, 32, 64}) {
    if (cells % block != 0) continue;
    report["block_" + std::to_string(block)]["threads"] =
        measure_threads(world, path, mesh::Forest({cells, cells, cells}, block).layout(world.size()));
    if (world.size() == 1) continue;  // no sidecar
    const mesh::Layout layout = mesh::Forest({cells, cells, cells}, block).layout(world.size() - 1);
    for (const bool is_lent : {true, false})
      for (const auto& [name, pause_s] : pauses)
        report["block_" + std::to_string(block)][is_lent ? "lent" : "sent"][name] =
            measure(world, path, layout, is_lent, pause_s);
  }
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}
