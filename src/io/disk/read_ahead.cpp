#include "sidestream/io/read_ahead.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <utility>

namespace sidestream::io {

namespace {

thread_local ReadAhead* of_this_thread = nullptr;

constexpr std::size_t most_files = 64;  // open at a time

}  // namespace

ReadAhead::ReadAhead(std::string now, std::string next)
    : now_(std::move(now)), next_(std::move(next)), before_(std::exchange(of_this_thread, this)) {}

ReadAhead::~ReadAhead() {
  of_this_thread = before_;
  for (const auto& [path, file] : files_)
    if (file.descriptor >= 0) ::close(file.descriptor);
}

ReadAhead* ReadAhead::current() {
  return of_this_thread;
}

const ReadAhead::File& ReadAhead::opened(const std::string& path) {
  const auto [place, is_new] = files_.try_emplace(path);
  File& file = place->second;
  if (!is_new) return file;
  struct stat status {};
  const bool is_file = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && files_.size() <= most_files) file = {::open(path.c_str(), O_RDONLY | O_CLOEXEC), status.st_size};
  return file;
}

void ReadAhead::note(const std::string& path, std::int64_t size_bytes, std::int64_t offset, std::int64_t bytes) {
  if (next_.empty() || !path.starts_with(now_)) return;
  const File& file = opened(next_ + path.substr(now_.size()));
  if (file.descriptor < 0) return;
  const double ratio = static_cast<double>(file.size_bytes) / static_cast<double>(size_bytes);
  const auto in_next = [ratio](std::int64_t place) { return std::llround(static_cast<double>(place) * ratio); };
  const off_t begin = in_next(offset);
  ::posix_fadvise(file.descriptor, begin, in_next(offset + bytes) - begin, POSIX_FADV_WILLNEED);
}

}  // namespace sidestream::io
