#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sidestream::core {

/// Where the wall time of a rank goes. Each moment since the bill was begun belongs to exactly one line, that of the
/// innermost part under way, so that the lines add up to the wall time by construction. One thread keeps it. A part
/// costs two readings of the clock and a look into a small table.
class Bill {
 public:
  using Clock = std::chrono::steady_clock;
  /// What was done, and for whom: a task, a kind of file, or the simulation.
  using Line = std::pair<std::string, std::string>;

  /// Begun at the moment `start`; until `begin_rest` the time that no part claims is that of `start-up`.
  explicit Bill(Clock::time_point start = Clock::now());
  Bill(const Bill&) = delete;

  /// Claims the time until its end, but for that of parts within it. Parts end in the reverse order of their beginning.
  class Part {
   public:
    ~Part() { bill_->end(); }
    Part(const Part&) = delete;

   private:
    friend class Bill;
    explicit Part(Bill& bill) : bill_(&bill) {}
    Bill* bill_;
  };
  [[nodiscard]] Part part(std::string what, std::string whom);

  /// From here on the time that no part claims is that of `everything else`.
  void begin_rest();

  /// Divides the time that was booked on (`what`, "") among those for whom it was, by their weights; equally where all
  /// are 0.
  void divide(const std::string& what, std::span<const std::pair<std::string, double>> weights);

  /// Seconds of every line up to now.
  std::map<Line, double> lines();
  /// Seconds of one line up to its last part's end; 0 where there was none.
  double seconds(const Line& line) const;
  /// Seconds since the bill was begun, by the clock alone: what the lines must add up to.
  double wall_s() const { return Seconds(Clock::now() - began_).count(); }

 private:
  using Seconds = std::chrono::duration<double>;

  // Books the time since the last change on the innermost part.
  void book();
  void end();

  Clock::time_point began_, last_;
  std::map<Line, double> lines_;
  std::vector<double*> open_;  // from the outermost in; entries of a map stay where they are
};

/// The wall time of `work` as a part of the simulation.
template <typename F>
void timed(Bill& bill, const char* what, F work) {
  const Bill::Part part = bill.part(what, "simulation");
  work();
}

}  // namespace sidestream::core
