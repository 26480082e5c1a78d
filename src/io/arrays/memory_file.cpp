#include "io/arrays/memory_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include "io/disk/file_lock.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t most_bytes_at_once = std::int64_t{4} << 20;
constexpr const char* prefix = "sidestream_memory_";

// Of those that have no lock yet: who makes one locks it at once, unless killed just then.
constexpr std::time_t oldest_unlocked_s = 60;

// Those of processes that were killed: nobody holds them.
void remove_abandoned(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::string name = entry->path().filename().string();
    const bool is_unlocked = name.starts_with(std::string(".") + prefix);
    if ((!is_unlocked && !name.starts_with(prefix)) || !entry->is_regular_file(gone)) continue;
    const int descriptor = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
        (!is_unlocked || std::time(nullptr) - status.st_mtime > oldest_unlocked_s) &&
        try_lock(descriptor) == LockState::free)
      ::unlink(entry->path().c_str());
    ::close(descriptor);
  }
}

}  // namespace

MemoryFile::MemoryFile() {
  for (const std::string& folder : {std::string("/dev/shm"), std::filesystem::temp_directory_path().string()}) {
    remove_abandoned(folder);
    std::string unlocked = folder + "/." + prefix + "XXXXXX";
    descriptor_ = ::mkostemp(unlocked.data(), O_CLOEXEC);
    if (descriptor_ < 0) continue;
    try_lock(descriptor_);
    path_ = folder + "/" + unlocked.substr(folder.size() + 2);
    if (::rename(unlocked.c_str(), path_.c_str()) == 0) return;
  }
  throw core::Error(fmt::format("cannot make a file in memory: {}", std::strerror(errno)), path_,
                    "raise the limits of memory and of open files: ulimit -n 4096");
}

MemoryFile::~MemoryFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(path_.c_str());
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

std::int64_t MemoryFile::size_bytes() const {
  struct stat status {};
  core::require(::fstat(descriptor_, &status) == 0 && status.st_nlink > 0, "a file in memory keeps its place");
  return status.st_size;
}

void MemoryFile::require_length(std::int64_t bytes, const std::string& where) const {
  const int problem = ::ftruncate(descriptor_, bytes) == 0 ? 0 : errno;
  if (problem != 0)
    throw core::Error(fmt::format("no file can have {} bytes: {}", bytes, std::strerror(problem)), where,
                      "the limit for the size of a file is too low (see `ulimit -f`)");
  core::require(::ftruncate(descriptor_, 0) == 0, "a file in memory can be emptied");
}

std::vector<ByteRange> MemoryFile::written() const {
  std::vector<ByteRange> parts;
  const std::int64_t size = size_bytes();
  for (std::int64_t begin = ::lseek(descriptor_, 0, SEEK_DATA); begin >= 0 && begin < size;
       begin = ::lseek(descriptor_, begin, SEEK_DATA)) {
    const std::int64_t end = std::min<std::int64_t>(::lseek(descriptor_, begin, SEEK_HOLE), size);
    parts.push_back({begin, end - begin});
    begin = end;
  }
  return parts;
}

void MemoryFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw core::Error("a file in memory cannot be read back");
    if (count == 0) {
      std::ranges::fill(bytes, std::byte{});
      return;
    }
    offset += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void MemoryFile::copy_to(OutputFile& file) const {
  std::vector<std::byte> bytes;
  for (const ByteRange& part : written())
    for (std::int64_t done = 0; done < part.bytes; done += most_bytes_at_once) {
      bytes.resize(static_cast<std::size_t>(std::min(part.bytes - done, most_bytes_at_once)));
      read(part.offset + done, bytes);
      file.write_at(part.offset + done, bytes);
    }
  const std::byte zero{};
  const std::int64_t size = size_bytes();
  if (file.position() < size) file.write_at(size - 1, std::span(&zero, 1));
}

}  // namespace sidestream::io
