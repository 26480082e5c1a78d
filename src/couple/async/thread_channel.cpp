#include "couple/async/thread_channel.hpp"

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/bill_event.hpp"
#include "couple/waiting.hpp"

namespace sidestream::couple {

ThreadChannel::ThreadChannel(Surroundings& around)
    : around_(around),
      group_(around.roles.group().duplicate()),
      worker_(std::make_shared<Worker>(around)),
      writer_(group_, around.folder, worker_->log(), around.bill, around.warn, around.config.timeout_s),
      thread_([worker = worker_] { worker->work(); }) {}

// After an error, the thread may wait for other ranks for ever: it is left to itself, with what it needs, until the
// process ends.
ThreadChannel::~ThreadChannel() {
  if (!thread_.joinable()) return;
  desk().close();
  if (std::uncaught_exceptions() > 0)
    thread_.detach();
  else
    thread_.join();
}

Route ThreadChannel::route_for(const std::vector<mesh::Layout>& levels) const {
  return {levels, group_.rank()};
}

void ThreadChannel::send(Publish publish, bool is_held) {
  Job job{std::move(publish), is_held, {}};
  for (const std::size_t index : job.publish.announcement.tasks) {
    const Task& task = around_.config.tasks[index];
    if (task.analysis->looks_back() && looked_back_.insert(index).second)
      job.earlier[index] = around_.runner.earlier_result(task, job.publish.head.moment.step);
  }
  desk().put(std::move(job));
}

void ThreadChannel::move() {
  desk().check();
  pool().give_back(desk().empty_buffers());
}

Heard ThreadChannel::hear() {
  const Heard before = heard_;
  heard_.analysed = desk().done();
  heard_.received = std::max(desk().begun(), heard_.analysed);
  heard_.is_new = heard_.received > before.received || heard_.analysed > before.analysed;
  return heard_;
}

// The other threads may be a little behind that of the first rank.
void ThreadChannel::settle(std::int64_t number) {
  const auto is_here = [&] {
    move();
    return desk().done() >= number;
  };
  if (!wait_until(is_here, around_.config.timeout_s, short_pause))
    throw too_long("the thread of this rank to analyse", around_.config.timeout_s);
  while (const std::optional<Found> found = desk().take(number)) {
    const std::int64_t unwritten = around_.books.unwritten();
    for (const auto& [task, finding] : found->findings)
      writer_.settle(around_.config.tasks[task], finding, around_.books.of(task));
    if (!first_unwritten_ && around_.books.unwritten() > unwritten) first_unwritten_ = found->number;
  }
}

// What one of the threads has begun, all do.
void ThreadChannel::stop() {
  const std::int64_t last = group_.max(desk().pause());
  const std::vector<Job> left = desk().resume_until(last);
  for (auto job = left.rbegin(); job != left.rend(); ++job)
    for (const std::size_t task : job->publish.announcement.tasks)
      around_.books.withdraw(task, job->publish.head.moment);
}

void ThreadChannel::end() {
  desk().close();
  thread_.join();
  worker_->log().write("bill", summed(group_, worker_->bill()));
}

}  // namespace sidestream::couple
