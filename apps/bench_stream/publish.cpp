#include "publish.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "rows.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::apps {

namespace {

using nlohmann::json;

std::string configuration_of(const PublishOrder& order) {
  std::string text = fmt::format("[coupling]\nqueue = \"{} B\"\nwhen_full = \"{}\"\n",
                                 order.plane.bytes() * order.ahead, order.policy);
  if (order.core >= 0) text += fmt::format("cores = [{}]\n", order.core);
  text += fmt::format("[stream]\nlisten = \"{}\"\nwait_for = {}\n", order.listen, order.wait_for);
  if (!order.keys.empty()) text += fmt::format("keys = \"{}\"\n", order.keys);
  return text + "[task.cells]\nanalysis = \"readers\"\ntransport = \"stream\"\nevery = 1\n";
}

double processor_seconds(clockid_t whose) {
  std::timespec now{};
  ::clock_gettime(whose, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Until this thread has had so much of a processor.
void work(double seconds) {
  const double end = processor_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (processor_seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

std::string host_of(const std::string& listen) {
  if (!listen.starts_with("tcp://")) return "127.0.0.1";
  return listen.substr(6, listen.rfind(':') - 6);
}

using State = std::shared_ptr<mesh::Field<double>>;

State state_of(const comm::Communicator& world, const PublishOrder& order) {
  auto state = std::make_shared<mesh::Field<double>>(order.plane.slices(world.size()), world.rank());
  for (int b = 0; b < state->blocks(); ++b) set_numbers(state->box(b), state->view(b));
  return state;
}

void count_step(mesh::Field<double>& state, std::int64_t step) {
  for (int b = 0; b < state.blocks(); ++b) {
    const mesh::Box& box = state.box(b);
    set_numbers({box.lo, {box.lo.x + 1, box.lo.y + 1, 1}}, state.view(b));
    state.view(b)(0, box.lo.y, box.lo.x) += static_cast<double>(step) + 1.0;
  }
}

mesh::Snapshot snapshot_of(const comm::Communicator& world, const mesh::Field<double>& cells, std::int64_t step) {
  mesh::Snapshot snapshot;
  snapshot.moment.step = step;
  snapshot.geometry = {cells.layout().domain(), {1.0, 1.0, 1.0}, {false, false, false}};
  snapshot.levels = {cells.layout()};
  snapshot.rank = world.rank();
  snapshot.add_stored({"cells", ""}, {mesh::FieldView<const double>(cells)}, 0);
  return snapshot;
}

}  // namespace

void publish(const comm::Communicator& world, const PublishOrder& order) {
  const std::string text = configuration_of(order);
  const io::RunFolder folder = io::prepare_run_folder(world, order.folder, io::ExistingRun::overwrite, text);
  couple::CouplingConfig config;
  world.agree_on([&] {
    couple::TimeKeeping times;
    times.has_redshift = false;
    config = couple::read_coupling(core::parse_toml(text, "bench"), nullptr, analysis::analyses(), times);
  });
  core::Bill bill;
  const State cells = state_of(world, order);
  std::optional<RowServer> rows;
  if (order.gives_rows) rows.emplace(world, host_of(order.listen), order.folder, order.plane, cells);
  couple::Session session(world, std::move(config), folder, bill);
  std::vector<double> step_s, publish_s, processor_s;
  for (std::int64_t step = 0; step < order.steps; ++step) {
    const core::Stopwatch watch;
    const double began_s = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
    work(1e-3 * order.work_ms / world.size());
    count_step(*cells, step);
    const mesh::Snapshot snapshot = snapshot_of(world, *cells, step);
    const core::Stopwatch publish_watch;
    if (session.is_due({snapshot.moment})) session.publish(snapshot);
    publish_s.push_back(publish_watch.seconds());
    if (rows) rows->wait_for(step);
    step_s.push_back(watch.seconds());
    processor_s.push_back(processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - began_s);
  }
  if (world.rank() == 0) {
    fmt::print("{}\n", json{{"step_s", step_s}, {"publish_s", publish_s}, {"processor_s", processor_s}}.dump());
    std::fflush(stdout);
  }
  session.finish();
}

}  // namespace sidestream::apps
