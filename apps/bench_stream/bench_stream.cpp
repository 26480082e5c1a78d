// A stream between two jobs, timed: this program is the one that publishes, or the one that reads.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "command_line.hpp"
#include "in_parallel.hpp"
#include "publish.hpp"
#include "read.hpp"
#include "sidestream/couple/stream_reader.hpp"

int main(int argc, char** argv) {
  using namespace sidestream;
  apps::PublishOrder to_publish;
  apps::ReadOrder to_read;
  apps::CommandLine line(
      "A stream between two jobs, timed: one publishes a plane of numbers that lies in slices, the other reads it.\n"
      "Example: mpirun -n 4 sidestream-bench-stream publish s & mpirun -n 2 sidestream-bench-stream read s",
      SIDESTREAM_VERSION);
  apps::CommandLine& publishes = line.command("publish", "publish steps, each as soon as there is room");
  publishes.word("folder", to_publish.folder, "folder of the run", {.is_required = true});
  publishes.number("--width", to_publish.plane.width, "numbers along x", 1);
  publishes.number("--height", to_publish.plane.height, "numbers along y", 1);
  publishes.number("--blocks", to_publish.plane.blocks, "blocks of each rank", 1);
  publishes.number("--steps", to_publish.steps, "steps", 1);
  publishes.number("--ahead", to_publish.ahead, "steps that may wait for readers", 1);
  publishes.number("--wait-for", to_publish.wait_for, "readers that the first step waits for", 0);
  publishes.number("--work", to_publish.work_ms, "processor time of all ranks together between two steps [ms]", 0);
  publishes.number("--core", to_publish.core, "core on which the threads run that send; -1: those of their ranks", -1);
  publishes.word("--policy", to_publish.policy, "what becomes of steps that do not fit, as `coupling.when_full`");
  publishes.flag("--rows", to_publish.gives_rows, "give rows as they lie, too");
  publishes.word("--listen", to_publish.listen, "address, as `stream.listen`");
  publishes.word("--keys", to_publish.keys, "folder of keys");
  apps::CommandLine& reads = line.command("read", "read them, and print what each took, in JSON");
  reads.word("folder", to_read.folder, "folder of the run, or its address", {.is_required = true});
  reads.parts("--technique", to_read.techniques, "how cells come; several read each step by turns; `rows` is one, too");
  reads.word("--layout", to_read.layout, "how readers lay them out", {.one_of = couple::reader_layouts().names()});
  reads.flag("--stall", to_read.stalls, "take nothing after the first step");
  reads.word("--keys", to_read.keys, "folder of keys");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  return apps::in_parallel(argc, argv, 1, [&](const comm::Communicator& world) {
    if (publishes.is_given()) return publish(world, to_publish), 0;
    const nlohmann::json report = read(world, to_read);
    if (world.rank() == 0) fmt::print("{}\n", report.dump());
    return 0;
  });
}
