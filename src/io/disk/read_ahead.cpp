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

ReadAhead::ReadAhead(std::string now, std::string next, std::int64_t most_bytes)
    : now_(std::move(now)),
      next_(std::move(next)),
      left_bytes_(most_bytes),
      before_(std::exchange(of_this_thread, this)) {}

std::int64_t ReadAhead::quarter_of_memory_of_a_core() {
  return ::sysconf(_SC_PHYS_PAGES) / ::sysconf(_SC_NPROCESSORS_ONLN) * ::sysconf(_SC_PAGESIZE) / 4;
}

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
  const std::int64_t wanted = in_next(offset + bytes) - begin;
  if (wanted > left_bytes_) return;
  left_bytes_ -= wanted;
  ::posix_fadvise(file.descriptor, begin, wanted, POSIX_FADV_WILLNEED);
}

}  // namespace sidestream::io
