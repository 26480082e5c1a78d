#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "call.hpp"

namespace sidestream::io_layer {

/// A call that has changed the watched files, or brought them to the disk.
struct Entry {
  Call call = Call::write;
  std::string path = {};
  std::string other = {};         ///< of `rename`: the new name
  bool is_exchange = false;       ///< of `rename`: both names stay
  std::int64_t offset = 0;        ///< of `write` and `reserve`; of `truncate` the length
  std::int64_t bytes = 0;         ///< of `write` and `reserve`
  std::vector<iovec> parts = {};  ///< of `write`: where the bytes are, or more
};

/// The calls of this process with what they wrote, in the file PREFIX.PID: for each a line of JSON, then the bytes of a
/// write. The times at which a call began and ended are those of one clock for all processes of a machine. Safe to use
/// from several threads.
class Record {
 public:
  explicit Record(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Adds a call that began at `begin_ns` and has ended well.
  void add(std::int64_t begin_ns, const Entry& entry);

 private:
  void append(const void* data, std::size_t bytes) const;

  std::string prefix_;
  std::mutex mutex_;
  int descriptor_ = -1;
};

/// `text` inside the quotes of JSON.
std::string escaped(const std::string& text);

}  // namespace sidestream::io_layer
