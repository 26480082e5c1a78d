#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "couple/stream/meeting_point.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// Talks with the first rank of a run, for the first rank of a reader: what it has, wants and has done with is told
/// again and again by a thread, so that no message that is lost matters, and the run knows that it lives.
class Attendant {
 public:
  /// Attaches. Throws core::Error where the run does not answer in time, has no place now or has been moved, Refusal
  /// where it never will.
  Attendant(const MeetingPoint& where, const stream::Security& security, const ReaderOptions& options, int ranks,
            Relocation& relocation);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// What the run has said when it let the reader in.
  const nlohmann::json& welcome() const { return welcome_; }

  /// `dismissed`: the run cannot give this reader what it wants; `let_go`: it has not heard of it for too long;
  /// `silence`: it says nothing, or has begun anew elsewhere.
  enum class Kind { step, end, dismissed, let_go, silence, interrupted };
  struct News {
    Kind kind = Kind::silence;
    nlohmann::json step{};
    std::string reason{};
  };
  /// Asks for the step after publish `number`, and waits for it, or for what comes in its place.
  News next(std::int64_t number);
  bool has_next() const;
  /// Why the run has let this reader go, which it is told some moments after that; "" if it has not.
  std::string reason_to_let_go();
  /// Publish `number` has arrived, on all ranks; `levels`: the version of its boxes.
  void receive(std::int64_t number, std::int64_t levels, std::int64_t bytes);
  /// Nothing of publish `number` is left to do.
  void finish(std::int64_t number);
  std::int64_t dropped() const;
  /// It is over for good: what waits for this reader is not to be kept until it comes back.
  void leave_for_good() { leaves_for_good_ = true; }

 private:
  void work();
  void take(const stream::Message& message);
  nlohmann::json state();

  ReaderOptions options_;
  Relocation relocation_;  // of the thread, once there is one
  stream::Client client_;
  stream::WakeUp wake_up_;
  nlohmann::json welcome_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable there_is_news_;
  std::int64_t after_ = 0, received_ = 0, done_ = 0, levels_ = 0, bytes_ = 0, sequence_ = 0, dropped_ = 0;
  bool asks_ = false, has_changed_ = false, is_over_ = false;
  std::optional<News> news_;
  bool leaves_for_good_ = false;
  core::Stopwatch since_sign_;
  std::thread thread_;
};

}  // namespace sidestream::couple
