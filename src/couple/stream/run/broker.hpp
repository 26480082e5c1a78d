#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "couple/publish/announcement.hpp"
#include "couple/stream/demand.hpp"
#include "couple/stream/run/token_bucket.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// Who reads a run, and what waits for whom: the books of its streams, on the first rank. One thread talks with the
/// readers, the other, that of the simulation, publishes; no lock is held for longer than a look into the books takes.
class Broker {
 public:
  /// What readers are told of the run when they come.
  struct Run {
    std::string id, configuration;
    std::vector<std::string> addresses;        ///< of the ranks that give cells
    std::vector<std::string> plain_addresses;  ///< where they take plain sockets; "": nowhere
    std::vector<std::string> tasks;            ///< that can be attached to
  };
  struct Options {
    const PolicyEntry* policy = nullptr;
    std::int64_t capacity_bytes = 0;
    double timeout_s = 30.0;                            ///< longest silence of a reader
    double most_comings = 1000.0, comings_per_s = 1.0;  ///< of readers, each an event of the log: at once, and for ever
  };
  /// Answers requests of other kinds than readers', by kind; by the thread that talks. `key` of a request is what
  /// `answer` was given, whatever it said.
  using Answers = std::map<std::string, std::function<nlohmann::json(const nlohmann::json& request)>>;
  /// Of what happens with readers: for the log. Called by either thread.
  using Tell = std::function<void(const std::string& event, const nlohmann::json& details)>;

  Broker(Run run, Options options, Tell tell, Answers answers = {});

  // The thread that talks with readers.
  /// The answer to a message of `peer`, whoever that is, who has proved to have `key`, if any; null: none.
  nlohmann::json answer(const std::string& peer, const std::string& message, const std::string& key = "");
  /// Answers what has come, and offers what there is.
  void serve(stream::Server& server);
  /// Has the readers told that nothing comes any more; they leave then.
  void tell_the_end(stream::Server& server);
  bool has_readers() const { return count_readers() > 0; }
  int count_readers() const;

  // The simulation.
  /// A reader of one of the tasks that are due.
  struct Subscriber {
    int reader = 0;
    Demand demand;
  };
  std::vector<Subscriber> subscribers(const std::vector<std::string>& tasks) const;
  /// A reader asks for what there is not: it is told, and let go.
  void dismiss(int reader, const std::string& reason);

  struct Withdrawn {
    std::string reader, task;
    std::int64_t step = 0;
  };
  enum class Answer { taken, stored, left_out, do_here, full };
  struct Verdict {
    Answer answer = Answer::full;
    std::int64_t number = 0;             ///< of the publish, where it is taken or stored
    std::vector<int> readers{};          ///< for whom
    std::vector<Withdrawn> withdrawn{};  ///< steps that readers do not get, this one or earlier ones
    std::int64_t queue_bytes = 0;        ///< with this one
  };
  /// What becomes of a publish. Asked again where it is `full`.
  Verdict admit(const std::vector<Subscriber>& subscribers, std::int64_t bytes, std::int64_t step);
  /// Lets go the readers whose steps fill the queue and who have taken nothing for `longest_s`.
  void drop_idle(double longest_s);
  /// The data of a publish lie ready. `message`: what all readers are told; `fields` and `species` what each is given;
  /// `levels` its boxes, told where a reader does not know them yet.
  struct Offer {
    std::int64_t number = 0;
    nlohmann::json message, levels;
    std::map<int, nlohmann::json> own;  ///< by reader
  };
  void offer(Offer offer);
  /// Publishes that nobody wants any more, since it was asked last.
  std::vector<std::int64_t> take_finished();
  /// A disk has not taken what was to be stored.
  void keep_in_memory(std::int64_t number);
  /// What waits and has not been begun, or belongs to readers that are away, is withdrawn.
  std::vector<Withdrawn> withdraw_waiting();
  bool is_empty() const;
  std::int64_t sent() const { return number_; }
  /// Publishes before which all is acknowledged by those who acknowledge.
  std::int64_t done() const;
  /// How many results of each task were acknowledged since it was asked last.
  std::map<std::string, std::int64_t> take_acknowledged();
  /// Seconds since a reader was heard of that has something to do.
  double silence_s() const;
  nlohmann::json status() const;

 private:
  struct Reader {
    int id = 0;
    std::string peer, who, task, once_as, layout;
    Demand demand;
    int ranks = 1;
    bool does_task = false;              // of the run, into its folder
    bool is_here = true;                 // else it may come back
    std::deque<std::int64_t> waiting{};  // not begun
    std::deque<std::int64_t> held{};     // begun, and not given back
    std::int64_t last = 0;               // that it was given
    std::int64_t after = 0;              // it has asked for what comes after this
    std::int64_t received = 0, done = 0;
    std::int64_t levels = 0;  // that it knows
    std::int64_t sequence = 0;
    std::int64_t given = 0, dropped = 0, bytes = 0;
    std::vector<std::int64_t> lost{};  // steps, of one that is given each once
    core::Stopwatch since_sign{}, since_told{}, since_taken{};
    bool is_told = false, is_dismissed = false;
    std::string reason{};  // of the dismissal
  };
  struct Entry {
    std::int64_t bytes = 0, step = 0;
    std::set<int> wanted_by{}, begun_by{};
    bool is_stored = false, is_offered = false;
    Offer offer{};
    std::int64_t levels = 0;
  };

  nlohmann::json welcome(const std::string& peer, const nlohmann::json& request);
  nlohmann::json hear(Reader& reader, const nlohmann::json& request);
  static nlohmann::json ending(const Reader& reader);
  void give(stream::Server& server, Reader& reader);
  bool may_begin(Entry& entry);
  void release(Reader& reader, std::int64_t up_to);
  void leave(int reader, const std::string& reason, bool may_return);
  bool forget_who_is_away();
  Withdrawn withdraw(Reader& reader, std::int64_t number);
  void forget(int reader, std::int64_t number);
  std::int64_t backlog_of(const Reader& reader) const;
  bool has_room(std::int64_t bytes) const { return bytes_ + bytes <= options_.capacity_bytes; }
  void give_way(const std::vector<Subscriber>& subscribers, std::int64_t bytes, std::int64_t step, Verdict& verdict);
  Reader* reader_of(const std::string& peer);
  bool takes(const Reader& reader) const;
  std::vector<std::int64_t> steps_of(const Reader& reader) const;

  Run run_;
  Options options_;
  Tell tell_;
  Answers answers_;
  mutable std::mutex mutex_;  // of what follows
  std::map<int, Reader> readers_;
  std::map<std::int64_t, Entry> entries_;
  std::vector<std::int64_t> finished_;
  std::map<std::string, std::int64_t> acknowledged_;
  nlohmann::json levels_;  // of the last publish
  std::int64_t levels_version_ = 0;
  std::int64_t bytes_ = 0, number_ = 0;
  int last_reader_ = 0;
  TokenBucket comings_;
};

}  // namespace sidestream::couple
