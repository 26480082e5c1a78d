#include "couple/books.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace sidestream::couple {

using nlohmann::json;

Books::Books(const std::vector<Task>& tasks, io::EventLog& log) : tasks_(&tasks), log_(&log), unheard_(tasks.size()) {
  for (const Task& task : tasks) totals_.emplace_back().task = task.name;
}

void Books::enter(Action action, const Order& order, const mesh::Moment& moment) {
  tell_unheard(order.task);
  const Charge& charge = order.charge;
  TaskTotals& totals = totals_[order.task];
  totals.pack_s += charge.pack_s;
  totals.wait_s += charge.wait_s;
  totals.bytes += charge.bytes;
  totals.dropped += action == Action::dropped;
  constexpr std::array words{"sent", "stored", "dropped", "in-situ", "refused"};
  json event = to_json(moment);
  event.update({{"task", totals.task},
                {"transport", (*tasks_)[order.task].transport->name},
                {"pack_s", charge.pack_s},
                {"wait_s", charge.wait_s},
                {"bytes", charge.bytes},
                {"action", words[static_cast<std::size_t>(action)]},
                {"queue_bytes", charge.queue_bytes}});
  log_->write("publish", event);
}

void Books::enter_unheard(std::size_t task, const mesh::Moment& moment) {
  Unheard& unheard = unheard_[task];
  if (unheard.publishes++ == 0) unheard.first = moment;
  unheard.last_step = moment.step;
}

void Books::close() {
  for (std::size_t task = 0; task < unheard_.size(); ++task) tell_unheard(task);
}

void Books::tell_unheard(std::size_t task) {
  const Unheard unheard = std::exchange(unheard_[task], {});
  if (unheard.publishes == 0) return;
  json event = to_json(unheard.first);
  event.update({{"task", totals_[task].task},
                {"transport", (*tasks_)[task].transport->name},
                {"last_step", unheard.last_step},
                {"publishes", unheard.publishes}});
  log_->write("unheard", event);
}

void Books::withdraw(std::size_t task, const mesh::Moment& moment) {
  ++totals_[task].dropped;
  json event = to_json(moment);
  event.update({{"task", totals_[task].task}, {"transport", (*tasks_)[task].transport->name}});
  log_->write("withdrawn", event);
}

std::int64_t Books::unwritten() const {
  std::int64_t sum = 0;
  for (const TaskTotals& task : totals_) sum += task.unwritten;
  return sum;
}

json to_json(const mesh::Moment& moment) {
  json event = {{"step", moment.step}};
  if (const auto redshift = moment.redshift()) event["redshift"] = *redshift;
  return event;
}

}  // namespace sidestream::couple
