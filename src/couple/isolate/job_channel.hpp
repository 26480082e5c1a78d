#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "couple/isolate/job.hpp"
#include "couple/queue/channel.hpp"
#include "couple/surroundings.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::couple {

/// To jobs of their own, one after another: for each task of a publish one, of as many ranks as compute, on the node of
/// the first of them. Each of its ranks reads the memory of the rank of its number, or what one of another node has
/// sent to the first. The data stay in the queue until the last job of a publish is gone.
class JobChannel : public Channel {
 public:
  /// Collective on the ranks that compute, which have what `missing_for_jobs` looks for.
  explicit JobChannel(Surroundings& around);

  bool is_settled_together() const override { return true; }
  Route route_for(const std::vector<mesh::Layout>& levels) const override;
  void send(Publish publish, bool is_held) override;
  void start(std::int64_t number) override;
  void withdraw(const Range& numbers) override;

  bool is_time_to_progress() const override;
  void progress() override;
  void move() override;
  Heard hear() override;

  void release(std::int64_t number) override;
  void settle(std::int64_t number) override;
  std::optional<std::int64_t> first_unwritten() const override { return first_unwritten_; }
  void stop() override;
  void end() override {}

 private:
  // A publish whose data are here and that is not offered yet.
  struct Kept {
    std::int64_t number = 0;
    Announcement announcement;
    mesh::Snapshot head;
    std::unique_ptr<Cargo> cargo;
    bool is_offered = false;
    std::vector<comm::SharedMemory> from_afar;  // on the first rank
  };
  // What the first rank knows of a publish that jobs may take up.
  struct Offer {
    Announcement announcement;
    mesh::Snapshot head;
    std::vector<Loan> loans;
    std::size_t next = 0;  // of its tasks
  };
  // How a task ended.
  struct End {
    std::int64_t number = 0;
    std::size_t task = 0;
    std::int64_t step = 0;
    std::string answer, problem;
    bool is_unwritten = false;
  };

  bool is_first() const { return group_.rank() == 0; }
  void offer(Kept& kept);
  void lend_from_afar(Kept& kept, const comm::ByRank<Word>& sent, std::vector<Loan>& loans);
  void advance();
  void give_up();
  bool start_job(const Offer& offer);
  void tell_of_end(const Offer& offer, const std::string& problem, bool is_unwritten);
  void conclude(const Offer& offer, std::string answer, std::string problem, bool is_unwritten);
  std::int64_t newest_result_of(std::size_t task) const;
  void book(const End& end);

  Surroundings& around_;
  comm::Communicator group_;
  bool is_near_, are_all_near_;  // to the first rank: jobs can read the memory of this one
  std::list<Kept> kept_;         // first in, first out

  // On the first rank only.
  std::deque<Offer> offers_;
  std::unique_ptr<KeptJob> job_;                       // of the first offer
  std::deque<End> ends_;                               // not yet booked
  std::map<std::size_t, std::int64_t> newest_result_;  // by task
  Heard heard_;
  std::optional<std::int64_t> first_unwritten_;
  core::Stopwatch since_look_;
};

}  // namespace sidestream::couple
