#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "call.hpp"
#include "io_layer.hpp"
#include "model.hpp"
#include "record.hpp"

namespace sidestream::io_layer {

enum class Fault { none, kill, torn, enospc, eio, edquot, eintr, short_write };

/// The state of the layer in this process: which files it watches, what it has counted, which call will fail. Safe to
/// use from several threads.
class Layer {
 public:
  /// Settings of the environment.
  Layer();

  /// The path behind `descriptor`, or as given, when it is one that is watched on this rank.
  std::optional<std::string> watched(int descriptor) const;
  std::optional<std::string> watched(int folder, const char* path) const;
  std::optional<std::string> watched(const std::string& path) const;

  /// Counts a call and tells what must happen to it. Does not return where that is the end of the process, but for
  /// `torn`.
  Fault next(Call call);
  /// Bytes that were written or read.
  struct Access {
    std::int64_t offset = 0, bytes = 0;
    std::int64_t unit_bytes = 1;  ///< of the file system
    std::int64_t ns = 0;          ///< that it took
  };
  /// Count.
  void opened(const std::string& path, bool is_for_writing);
  void wrote(const std::string& path, const Access& access);
  void was_read(const std::string& path, const Access& access);
  void asked_ahead(const std::string& path, std::int64_t bytes);
  void synced(std::int64_t ns);
  /// A write that goes on behind its call, until somebody asks what has become of it. Where there are several at a time
  /// their time counts once.
  void begun(const void* request, std::int64_t start_ns);
  void ended(const void* request, std::int64_t end_ns);

  void watch(const char* part);
  void reset();
  sidestream_io_counts counts() const;
  bool set_fault(const char* kind, std::int64_t first, std::int64_t last, const char* calls);
  std::int64_t matching_calls() const;
  bool set_model(const char* table);
  /// Null without model.
  const Model* model() const { return model_ ? &*model_ : nullptr; }
  /// Null where nothing is recorded.
  Record* record() { return record_ ? &*record_ : nullptr; }
  int rank() const { return rank_; }

  /// Writes `<SIDESTREAM_IO_COUNT>.<rank>.json`, where that is asked for and something was counted
  /// (programs that only start others inherit the layer).
  void report();

 private:
  struct File {
    sidestream_io_counts counts{};
    std::int64_t last_written = 0, last_read = 0;  // last bytes of the accesses before, as Darshan has them
  };
  bool watches_anything() const;
  bool is_watched(const std::string& path) const;

  mutable std::mutex mutex_;
  int rank_ = 0;
  bool is_rank_watched_ = true;
  std::optional<std::string> part_;
  std::map<std::string, File> files_;
  std::array<std::int64_t, call_kinds> calls_{};
  std::int64_t sync_ns_ = 0, behind_ns_ = 0, behind_since_ns_ = 0;
  std::set<const void*> behind_;

  Fault fault_ = Fault::none;
  unsigned fault_calls_ = 0;  // bits of Call
  std::int64_t first_ = 0, last_ = 0, matching_ = 0;
  std::optional<Model> model_;
  std::optional<Record> record_;
};

/// The path `path` that is relative to the open `folder`, or to that of the process (AT_FDCWD), from the root on.
std::string whole_path(int folder, const char* path);

/// The error number that a fault stands for.
int error_of(Fault fault);
[[noreturn]] void kill_process();

}  // namespace sidestream::io_layer
