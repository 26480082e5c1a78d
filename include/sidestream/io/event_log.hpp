#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace sidestream::io {

/// The line of a log that tells of `event`, an object, with its end. The last member, `crc32`, has in eight hexadecimal
/// digits the CRC-32 (of zlib) of all before the comma that it follows.
std::string event_line(const nlohmann::ordered_json& event);

/// The event in a line of a log, without its checksum and not in the order that it was written in. Throws core::Error
/// where the checksum is wrong, and nlohmann::json::exception where the line is no JSON. Lines of earlier versions have
/// no checksum, and are taken as they are.
nlohmann::json event_in(std::string_view line);

/// What a group of ranks reports while it runs: a file with one JSON object a line, each with `event`, `t` (seconds
/// since the common start of all groups) and what else the event tells. Written by one rank of the group; the others
/// hold a log without a file, which swallows everything. Several threads may write to one log. Move-only.
class EventLog {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without a file.
  EventLog();
  /// Appends to the file at `path` (without a file if empty). `start` is the moment `t` = 0, the same for all groups:
  /// taken after a barrier. Throws core::Error when the file cannot be opened.
  EventLog(const std::string& path, Clock::time_point start);
  ~EventLog();
  EventLog(EventLog&&) noexcept;
  EventLog& operator=(EventLog&&) noexcept;

  /// Appends one line, visible to readers at once. `details` is a JSON object: `log.write("step", {{"step", 3},
  /// {"wall_s", 0.1}})`. A disk that is full loses lines, never the run: that is said once on stderr.
  void write(std::string_view event, const nlohmann::json& details);
  void write(std::string_view event);

  /// Seconds since the common start, as in `t`.
  double seconds() const;
  /// Whether lines reach a file.
  bool is_open() const { return file_ != nullptr; }

 private:
  struct File;
  std::unique_ptr<File> file_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace sidestream::io
