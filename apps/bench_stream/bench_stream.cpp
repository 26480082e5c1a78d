// A stream between two jobs, timed: this program is the one that publishes, or the one that reads.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "in_parallel.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/field.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

struct Arguments {
  std::string folder, listen = "local", keys, technique = "auto", layout = "blocks";
  std::int32_t width = 1024, height = 1024, steps = 10, blocks = 1, ahead = 1, pause_ms = 0;
};

// Tells where a number belongs.
double value_at(mesh::Int3 cell) {
  return static_cast<double>(cell.y) * 1e5 + cell.x;
}

void set_all(const mesh::Box& box, const core::View4<double>& view) {
  for (std::int32_t y = box.lo.y; y < box.hi.y; ++y)
    for (std::int32_t x = box.lo.x; x < box.hi.x; ++x) view(0, y, x) = value_at({x, y, 0});
}

// The first number of each block counts the steps, the others stay as they are. All are looked at in the first step,
// and later some, so that looking takes no time.
bool is_right(const mesh::Snapshot& snapshot, const mesh::Box& box, const core::View4<const double>& view) {
  const std::int32_t stride = snapshot.moment.step == 0 ? 1 : 61;
  for (std::int32_t y = box.lo.y; y < box.hi.y; y += stride)
    for (std::int32_t x = box.lo.x; x < box.hi.x; x += stride)
      if (const double more = view(0, y, x) - value_at({x, y, 0});
          more != 0.0 && more != static_cast<double>(snapshot.moment.step) + 1.0)
        return false;
  return true;
}

// Slices along y, each cut into some blocks along x, as the ranks of Marrinan et al. (2019) have them.
mesh::Layout slices(const Arguments& arguments, int ranks) {
  const mesh::Box domain = mesh::domain_of({arguments.width, arguments.height, 1});
  const mesh::Layout blocks = mesh::split(domain, {arguments.blocks, ranks, 1}, {false, false, false});
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < blocks.size(); ++b) owners.push_back(b / arguments.blocks);
  return {domain, blocks.periodic(), {blocks.boxes().begin(), blocks.boxes().end()}, std::move(owners)};
}

void publish(const comm::Communicator& world, const Arguments& arguments) {
  const std::string text = fmt::format(
      "[coupling]\nqueue = \"{} B\"\n[stream]\nlisten = \"{}\"\nwait_for = 1\n{}[task.cells]\nanalysis = "
      "\"readers\"\ntransport = \"stream\"\nevery = 1\n",
      std::int64_t{8} * arguments.width * arguments.height *
          arguments.ahead,  // with one, the next is made when this one has gone
      arguments.listen, arguments.keys.empty() ? "" : fmt::format("keys = \"{}\"\n", arguments.keys));
  const io::RunFolder folder = io::prepare_run_folder(world, arguments.folder, io::ExistingRun::overwrite, text);
  couple::CouplingConfig config;
  world.agree_on([&] {
    couple::TimeKeeping times;
    times.has_redshift = false;
    config = couple::read_coupling(core::parse_toml(text, "bench"), nullptr, analysis::analyses(), times);
  });
  core::Bill bill;
  couple::Session session(world, std::move(config), folder, bill);
  mesh::Field<double> cells(slices(arguments, world.size()), world.rank());
  for (int b = 0; b < cells.blocks(); ++b) set_all(cells.box(b), cells.view(b));
  for (std::int64_t step = 0; step < arguments.steps; ++step) {
    for (int b = 0; b < cells.blocks(); ++b) cells.view(b)(0, cells.box(b).lo.y, cells.box(b).lo.x) += 1.0;
    mesh::Snapshot snapshot;
    snapshot.moment.step = step;
    snapshot.geometry = {cells.layout().domain(), {1.0, 1.0, 1.0}, {false, false, false}};
    snapshot.levels = {cells.layout()};
    snapshot.rank = world.rank();
    snapshot.add_stored({"cells", ""}, {mesh::FieldView<const double>(cells)}, 0);
    if (session.is_due({snapshot.moment})) session.publish(snapshot);
    if (arguments.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(arguments.pause_ms));
  }
  session.finish();
}

bool is_right(const mesh::Snapshot& snapshot) {
  const mesh::FieldView<const double> cells = snapshot.field("cells");
  for (int b = 0; b < cells.blocks(); ++b)
    if (!is_right(snapshot, cells.box(b), cells.view(b))) return false;
  return true;
}

json read(const comm::Communicator& world, const Arguments& arguments) {
  couple::ReaderOptions options;
  options.demand.quantities = {"cells"};
  options.technique = couple::techniques().named(arguments.technique).technique;
  options.layout = &couple::reader_layouts().named(arguments.layout);
  options.keys = arguments.keys;
  options.patience_s = 60.0;
  couple::StreamReader reader(world, arguments.folder, options);
  json steps = json::array();
  std::int64_t bytes = 0, messages = 0;
  core::Stopwatch since_first;
  while (const std::optional<mesh::Snapshot> snapshot = reader.next()) {
    const bool is_good = world.all(is_right(*snapshot));
    const couple::ReaderCounts& counts = reader.counts();
    const std::int64_t own_bytes = counts.bytes - std::exchange(bytes, counts.bytes);
    const std::int64_t own_messages = counts.messages - std::exchange(messages, counts.messages);
    const json step = {{"step", snapshot->moment.step},
                       {"seconds", counts.transfer_s},
                       {"redistribute_s", world.max(counts.redistribute_s)},
                       {"bytes", world.sum(own_bytes)},
                       {"most_bytes_a_rank", world.max(own_bytes)},
                       {"most_messages_a_rank", world.max(own_messages)},
                       {"most_connections_a_rank", world.max(counts.connections)},
                       {"technique", counts.technique},
                       {"is_right", is_good}};
    if (steps.empty()) since_first.restart();
    steps.push_back(step);
  }
  const double step_s = since_first.seconds() / std::max(1.0, static_cast<double>(steps.size()) - 1.0);
  return {{"ranks", world.size()},
          {"step_s", step_s},
          {"layout", arguments.layout},
          {"steps", steps},
          {"ending", reader.ending()}};
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line(
      "A stream between two jobs, timed: one publishes a plane of numbers that lies in slices, the other reads it.\n"
      "Example: mpirun -n 4 sidestream-bench-stream publish s & mpirun -n 2 sidestream-bench-stream read s",
      SIDESTREAM_VERSION);
  apps::CommandLine& publishes = line.command("publish", "publish steps, each as soon as there is room");
  publishes.word("folder", arguments.folder, "folder of the run", {.is_required = true});
  publishes.number("--width", arguments.width, "numbers along x", 1);
  publishes.number("--height", arguments.height, "numbers along y", 1);
  publishes.number("--steps", arguments.steps, "steps", 1);
  publishes.number("--blocks", arguments.blocks, "blocks of each rank", 1);
  publishes.number("--ahead", arguments.ahead, "steps that may wait for the reader", 1);
  publishes.number("--pause", arguments.pause_ms, "work between two steps [ms]", 0);
  publishes.word("--listen", arguments.listen, "address, as `stream.listen`");
  publishes.word("--keys", arguments.keys, "folder of keys");
  apps::CommandLine& reads = line.command("read", "read them, and print what each took, in JSON");
  reads.word("folder", arguments.folder, "folder of the run, or its address", {.is_required = true});
  reads.word("--technique", arguments.technique, "how cells come", {.one_of = couple::techniques().names()});
  reads.word("--layout", arguments.layout, "how readers lay them out", {.one_of = couple::reader_layouts().names()});
  reads.word("--keys", arguments.keys, "folder of keys");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  return apps::in_parallel(argc, argv, 1, [&](const comm::Communicator& world) {
    if (publishes.is_given()) return publish(world, arguments), 0;
    const json report = read(world, arguments);
    if (world.rank() == 0) fmt::print("{}\n", report.dump());
    return 0;
  });
}
