#include "sidestream/couple/attach.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "couple/bill_event.hpp"
#include "couple/books.hpp"
#include "couple/publish/protocol.hpp"
#include "couple/stream/meeting_point.hpp"
#include "couple/stream/wire.hpp"
#include "couple/task_runner.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

io::EventLog open_log(const comm::Communicator& world, const io::RunFolder& folder, const std::string& task) {
  io::EventLog log;
  world.agree_on([&] {
    log = io::EventLog(world.rank() == 0 ? folder.events("attach." + task) : "", io::EventLog::Clock::now());
  });
  return log;
}

}  // namespace

json ask_run(const std::string& where, const std::string& keys, const json& request, double timeout_s) {
  const MeetingPoint point = meeting_point(where);
  stream::Security security;
  if (!point.key.empty()) {
    if (keys.empty())
      throw core::Error("the run asks who talks to it, and there is no key", where,
                        "`sidestream keys` makes one; name its folder, and have the owner of the run allow its public "
                        "key");
    security = {stream::KeyFolder(keys).own(), point.key, {}};
  }
  stream::Client client(point.address, security, stream::random_name(), client_limits);
  client.send(packed(request));
  const stream::Socket* const socket = &client;
  const core::Stopwatch watch;
  while (watch.seconds() < timeout_s) {
    stream::wait({&socket, 1}, nullptr, std::chrono::milliseconds(50));
    const std::optional<stream::Message> message = client.receive();
    if (!message) continue;
    json answer = unpacked(message->head);
    if (answer.value("kind", "") == "refused")
      throw core::Error(answer.value("reason", ""), point.address, answer.value("hint", ""));
    return answer;
  }
  throw core::Error(fmt::format("waited {:.3g} s of {:.3g} s for the run at {}", timeout_s, timeout_s, point.address),
                    where, "does it still run, can this machine reach it, and does it know this key?");
}

TaskTotals attach(const comm::Communicator& world, StreamReader& reader, const Task& task, const io::RunFolder& folder,
                  core::Bill& bill, const std::function<void(const std::string& line)>& tell) {
  const auto say = [&](const std::string& line) {
    if (world.rank() == 0) tell(line);
  };
  io::EventLog log = open_log(world, folder, task.name);
  const std::vector<Task> tasks{task};
  Books books(tasks, log);
  TaskRunner runner(world, folder, log, bill, say, task.deadline_s.value_or(3600.0));
  log.write("attach_start", {{"ranks", world.size()}, {"task", task.name}, {"run", reader.run()}});
  bill.begin_rest();
  bool has_begun = false;
  while (true) {
    std::optional<mesh::Snapshot> snapshot;
    {
      const core::Bill::Part part = bill.part("idle: waiting for a step", "simulation");
      snapshot = reader.next();
    }
    if (!snapshot) break;
    const std::int64_t step = snapshot->moment.step;
    if (!std::exchange(has_begun, true)) runner.begin_at(step);
    const core::Stopwatch watch;
    const bool is_there = world.broadcast(std::filesystem::exists(folder.result(task.name, step)));
    if (!is_there)
      runner.run(task, *snapshot, {.transport = "stream", .bytes = 0, .wait_s = reader.counts().transfer_s},
                 books.of(0));
    reader.acknowledge();
    const ReaderCounts& counts = reader.counts();
    log.write("attach_step", {{"step", step},
                              {"transfer_s", counts.transfer_s},
                              {"redistribute_s", counts.redistribute_s},
                              {"bytes", counts.bytes},
                              {"messages", counts.messages},
                              {"technique", counts.technique},
                              {"dropped", counts.dropped},
                              {"was_there", is_there}});
    say(is_there ? fmt::format("step {}: {} was there", step, task.name)
                 : fmt::format("step {}: {}, {:.2f} s", step, task.name, watch.seconds()));
  }
  log.write("bill", summed(world, bill));
  log.write("attach_end", {{"reason", reader.ending()}, {"dropped", reader.counts().dropped}, {"lost", reader.lost()}});
  return books.of(0);
}

}  // namespace sidestream::couple
