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

  enum class Action { sent, stored, dropped, in_situ, refused };
  /// A task that was due, and what became of it.
  void enter(Action action, const Order& order, const mesh::Moment& moment);
  /// A task that was due for readers of which there was none. Costs nothing: one event tells of all such publishes on
  /// end, before the task's next event or by `close`.
  void enter_unheard(std::size_t task, const mesh::Moment& moment);
  /// Tells of what was not heard of any task.
  void close();
  /// A moment that was sent or stored for a task and gives way.
  void withdraw(std::size_t task, const mesh::Moment& moment);

  TaskTotals& of(std::size_t task) { return totals_[task]; }
  const std::vector<TaskTotals>& totals() const { return totals_; }
  /// The results of all tasks that could not be written.
  std::int64_t unwritten() const;

 private:
  struct Unheard {
    mesh::Moment first;
    std::int64_t last_step = 0;
    std::int64_t publishes = 0;
  };
  void tell_unheard(std::size_t task);

  const std::vector<Task>* tasks_;
  io::EventLog* log_;
  std::vector<TaskTotals> totals_;
  std::vector<Unheard> unheard_;  // of each task
};

/// The step and, where there is one, the redshift, as every event has them.
nlohmann::json to_json(const mesh::Moment& moment);

}  // namespace sidestream::couple
