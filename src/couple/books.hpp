#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/couple/session.hpp"
#include "sidestream/couple/task.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/mesh/moment.hpp"

namespace sidestream::couple {

/// The books of a group of ranks: what its tasks did and cost, in all and in the events that tell of each publish.
class Books {
 public:
  /// `tasks` and `log` outlive the books.
  Books(const std::vector<Task>& tasks, io::EventLog& log);

  enum class Action { sent, stored, dropped, in_situ, refused, unheard };
  /// A task that was due, and what became of it.
  void enter(Action action, const Order& order, const mesh::Moment& moment);
  /// A moment that was sent or stored for a task and gives way.
  void withdraw(std::size_t task, const mesh::Moment& moment);

  TaskTotals& of(std::size_t task) { return totals_[task]; }
  const std::vector<TaskTotals>& totals() const { return totals_; }
  /// The results of all tasks that could not be written.
  std::int64_t unwritten() const;

 private:
  const std::vector<Task>* tasks_;
  io::EventLog* log_;
  std::vector<TaskTotals> totals_;
};

/// The step and, where there is one, the redshift, as every event has them.
nlohmann::json to_json(const mesh::Moment& moment);

}  // namespace sidestream::couple
