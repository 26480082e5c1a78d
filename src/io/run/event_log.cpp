#include "sidestream/io/event_log.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "io/disk/uninterrupted.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

struct EventLog::File {
  std::string path;
  int descriptor = -1;
  bool has_failed = false;    // said once
  bool is_line_torn = false;  // the file does not end with the end of a line
  std::mutex mutex;

  void append(std::string line);
  void warn(int error_number);
  ~File() { ::close(descriptor); }
};

// One write a line, so that a reader never sees half of one while the disk has room.
void EventLog::File::append(std::string line) {
  const std::lock_guard lock(mutex);
  if (is_line_torn) line.insert(line.begin(), '\n');
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(descriptor, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  if (done == line.size()) {
    is_line_torn = false;
  } else {
    warn(errno);
    is_line_torn = is_line_torn || done > 0;
  }
}

void EventLog::File::warn(int error_number) {
  if (has_failed) return;
  has_failed = true;
  std::fprintf(stderr, "warning: events are lost: %s\n  --> %s\n", std::strerror(error_number), path.c_str());
}

namespace {

// What a run that was killed had not written to its end. Returns whether it is still there.
bool keeps_torn_line(int descriptor) {
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  off_t end = size;
  for (char last = 0; end > 0 && ::pread(descriptor, &last, 1, end - 1) == 1 && last != '\n';) --end;
  return end < size && ::ftruncate(descriptor, end) != 0;
}

}  // namespace

EventLog::EventLog(const std::string& path, Clock::time_point start) : start_(start) {
  if (path.empty()) return;
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666); });
  if (descriptor < 0)
    throw core::Error(std::string("cannot open the event log: ") + std::strerror(errno), path,
                      "choose a folder you may write to");
  file_ = std::make_unique<File>();
  file_->path = path;
  file_->descriptor = descriptor;
  file_->is_line_torn = keeps_torn_line(descriptor);
}

EventLog::EventLog() = default;
EventLog::~EventLog() = default;
EventLog::EventLog(EventLog&&) noexcept = default;
EventLog& EventLog::operator=(EventLog&&) noexcept = default;

double EventLog::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void EventLog::write(std::string_view event, const nlohmann::json& details) {
  if (!file_) return;
  nlohmann::ordered_json line = {{"event", event}, {"t", seconds()}};
  for (const auto& [key, value] : details.items()) line[key] = value;
  file_->append(event_line(line));
}

void EventLog::write(std::string_view event) {
  write(event, nlohmann::json::object());
}

}  // namespace sidestream::io
