#include "sidestream/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "io/disk/uninterrupted.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/core/known_bytes.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/read_ahead.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

std::string hint_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or write to another disk";
    case EFBIG:
      return "the limit for the size of a file is too low (see `ulimit -f`)";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder you may write to";
    case ENOENT:
      return "check the path; was the folder removed meanwhile?";
    default:
      return "";
  }
}

[[noreturn]] void fail(std::string_view action, const std::string& path, int error_number) {
  throw core::Error(fmt::format("cannot {}: {}", action, std::strerror(error_number)), path, hint_for(error_number));
}

std::string folder_of(const std::string& path) {
  const auto parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

int open_file(const std::string& path, int flags) {
  return uninterrupted([&] { return ::open(path.c_str(), flags, 0666); });
}

// An empty file of this name, with the user's mask. What was there is taken away rather than written to: names under
// construction can be guessed, and in a folder that others write to, such as /tmp, one may be a link of theirs to a
// file of the user. The negative result of `open` where that fails.
int create_anew(const std::string& path) {
  constexpr int flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW;
  const int descriptor = open_file(path, flags);
  struct stat status {};
  if (descriptor >= 0 || errno != EEXIST || ::lstat(path.c_str(), &status) != 0) return descriptor;
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
    throw core::Error("something else than a file has the name of a file under construction", path,
                      "move it away, or write into another folder");
  if (::unlink(path.c_str()) != 0) return -1;
  return open_file(path, flags);
}

// Folders that are not there, from the lowest on.
std::vector<fs::path> missing_folders(const std::string& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  fs::path folder = fs::absolute(path);  // with links and `..` as the system takes them
  if (folder.filename().empty()) folder = folder.parent_path();
  for (; !fs::exists(folder, error) && folder.has_relative_path(); folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

}  // namespace

std::string temporary_name(const std::string& path) {
  fs::path clean = fs::path(path).lexically_normal();
  if (clean.filename().empty()) clean = clean.parent_path();
  return (clean.parent_path() / fmt::format(".{}.tmp", clean.filename().string())).string();
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string temporary = temporary_name(path);
  try {
    OutputFile file(temporary, OutputFile::Open::create);
    file.write(text);
    file.sync_and_close();
    move_file_into_place(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void move_file_into_place(const std::string& temporary, const std::string& path) {
  if (fs::is_directory(path)) return move_folder_into_place(temporary, path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail("rename the finished file to its name", path, errno);
  sync_folder(folder_of(path));
}

OutputFile::OutputFile(std::string path, Open open) : path_(std::move(path)) {
  const core::Stopwatch watch;
  descriptor_ = open == Open::create ? create_anew(path_) : open_file(path_, O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("open the file for writing", path_, errno);
  if (open == Open::append) position_ = ::lseek(descriptor_, 0, SEEK_END);
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) unit_bytes_ = std::max<std::int64_t>(1, status.st_blksize);
  statistics_.files = 1;
  statistics_.metadata_s = watch.seconds();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      position_(other.position_),
      last_byte_(other.last_byte_),
      unit_bytes_(other.unit_bytes_),
      statistics_(other.statistics_) {}

void OutputFile::write(std::span<const std::byte> bytes) {
  const core::Stopwatch watch;
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), position_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(fmt::format("write {} bytes at offset {}", bytes.size(), position_), path_, errno);
    if (count == 0) fail(fmt::format("write {} bytes at offset {}", bytes.size(), position_), path_, ENOSPC);
    statistics_.add_write(count);
    statistics_.sequential += position_ > last_byte_ ? 1 : 0;
    statistics_.consecutive += position_ == last_byte_ + 1 ? 1 : 0;
    statistics_.unaligned += position_ % unit_bytes_ != 0 ? 1 : 0;
    position_ += count;
    last_byte_ = position_ - 1;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  statistics_.data_s += watch.seconds();
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void OutputFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  position_ = offset;
  write(bytes);
}

void OutputFile::reserve(std::int64_t size_bytes) {
  if (size_bytes <= 0) return;
  const core::Stopwatch watch;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(descriptor_, position_, size_bytes);
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL)
    fail(fmt::format("reserve {} bytes at offset {}", size_bytes, position_), path_, error);
  statistics_.metadata_s += watch.seconds();
}

void OutputFile::cut(std::int64_t size_bytes) {
  if (uninterrupted([&] { return ::ftruncate(descriptor_, size_bytes); }) != 0)
    fail(fmt::format("cut the file to {} bytes", size_bytes), path_, errno);
}

void OutputFile::begin_sync(std::int64_t offset, std::int64_t size_bytes) {
  const core::Stopwatch watch;
  // Only a hint: an error shows in `sync_and_close`.
  ::sync_file_range(descriptor_, offset, size_bytes, SYNC_FILE_RANGE_WRITE);
  statistics_.sync_s += watch.seconds();
}

void OutputFile::sync_and_close() {
  const core::Stopwatch watch;
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail("bring the file to the disk", path_, errno);
  statistics_.sync_s += watch.seconds();
  close();
}

// A signal does not keep the system from closing: the descriptor is gone then too, and must not be closed again.
void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail("close the file", path_, errno);
}

namespace {

class ReadCounts {
 public:
  template <typename F>
  void add(F change) {
    const std::lock_guard lock(mutex_);
    change(counts_);
  }
  AccessStatistics so_far() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  AccessStatistics counts_;
};

ReadCounts& read_counts() {
  static ReadCounts counts;
  return counts;
}

}  // namespace

AccessStatistics reads_so_far() {
  return read_counts().so_far();
}

AccessStatistics reads_since(const AccessStatistics& before) {
  AccessStatistics now = reads_so_far();
  now.files -= before.files;
  now.reads -= before.reads;
  now.bytes_read -= before.bytes_read;
  for (std::size_t bin = 0; bin < AccessStatistics::bins; ++bin) now.read_sizes[bin] -= before.read_sizes[bin];
  return now;
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  if (const auto& answered = core::answered_reads(); answered && answered->has(path_)) {
    known_ = answered;
    size_bytes_ = known_->size_bytes(path_);
    return;
  }
  size_bytes_ = open();
  if (core::KnownBytes* const kept = core::kept_reads()) kept->add(path_, size_bytes_);
}

std::int64_t InputFile::open() const {
  // Opening a pipe would wait for who writes to it, and opening a device may do something.
  const std::string kind = core::kind_of_no_file(path_);
  if (!kind.empty())
    throw core::Error(fmt::format("this is {} and no regular file", kind), path_, "give the path of a file");
  descriptor_ = open_file(path_, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) fail("open the file", path_, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    throw core::Error("this is no regular file", path_, "give the path of a file");
  }
  read_counts().add([](AccessStatistics& counts) { ++counts.files; });
  return status.st_size;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      known_(std::move(other.known_)),
      size_bytes_(other.size_bytes_) {}

void InputFile::require(std::int64_t offset, std::int64_t count) const {
  if (offset < 0 || count < 0 || offset > size_bytes_ || count > size_bytes_ - offset)
    throw core::Error(
        fmt::format("the file ends before the data: {} bytes at offset {} of {}", count, offset, size_bytes_), path_,
        "the file is truncated or its header damaged; use another copy");
}

bool InputFile::is_known(std::int64_t offset, std::span<std::byte> bytes) const {
  if (known_ && known_->copy(path_, offset, bytes)) return true;
  const auto& answered = core::answered_reads();
  return answered && answered != known_ && answered->copy(path_, offset, bytes);
}

void InputFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  require(offset, std::ssize(bytes));
  if (is_known(offset, bytes)) return;
  if (descriptor_ < 0 && open() != size_bytes_) {
    ::close(std::exchange(descriptor_, -1));
    throw core::Error("the file is not as long as it was when it was opened", path_,
                      "it is being written or copied: wait, then try again");
  }
  read_from_disk(offset, bytes);
  if (ReadAhead* const ahead = ReadAhead::current()) ahead->note(path_, size_bytes_, offset, std::ssize(bytes));
  if (core::KnownBytes* const kept = core::kept_reads()) kept->add(path_, offset, bytes);
}

void InputFile::read_from_disk(std::int64_t offset, std::span<std::byte> bytes) const {
  read_counts().add([&](AccessStatistics& counts) { counts.add_read(std::ssize(bytes)); });
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(fmt::format("read {} bytes at offset {}", bytes.size(), offset), path_, errno);
    if (count == 0)
      throw core::Error(fmt::format("the file was cut at offset {} while it was read", offset), path_,
                        "it is being written or copied: wait, then try again");
    offset += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::vector<std::byte> InputFile::bytes(std::int64_t offset, std::int64_t count) const {
  require(offset, count);
  std::vector<std::byte> data(static_cast<std::size_t>(count));
  read(offset, data);
  return data;
}

std::string read_text(const std::string& path, std::int64_t limit_bytes) {
  const InputFile file(path);
  if (file.size_bytes() > limit_bytes)
    throw core::Error(
        fmt::format("the file has {} bytes, more than the {} expected at most", file.size_bytes(), limit_bytes), path);
  std::string text(static_cast<std::size_t>(file.size_bytes()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void sync_folder(const std::string& folder) {
  const std::string path = folder.empty() ? "." : folder;
  const int descriptor = open_file(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) return;  // it may be written to and not read
  if (descriptor < 0) fail("open the folder", path, errno);
  const int error = uninterrupted([&] { return ::fsync(descriptor); }) == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  if (error != 0) fail("bring the folder to the disk", path, error);
}

void move_folder_into_place(const std::string& temporary, const std::string& path, bool is_durable) {
  std::string earlier;
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR && errno != EISDIR)
      fail("rename the finished folder to its name", path, errno);
    // Something is there: swap the two names in one step where the file system can, else move the old one aside first.
    earlier = temporary;
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0) {
      earlier = temporary + ".old";
      remove_all(earlier);
      if (::rename(path.c_str(), earlier.c_str()) != 0) fail("move the earlier folder aside", path, errno);
      if (::rename(temporary.c_str(), path.c_str()) != 0) fail("rename the finished folder to its name", path, errno);
    }
  }
  // Only then what was there is taken apart: it may have its old name back after a crash before.
  if (is_durable) sync_folder(folder_of(path));
  if (!earlier.empty()) remove_all(earlier);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) fail("make the folder", path, error ? error.value() : ENOTDIR);
}

void make_lasting_folder(const std::string& path) {
  const std::vector<fs::path> made = missing_folders(path);
  make_folder(path);
  for (const fs::path& folder : made) sync_folder(folder.parent_path().string());
}

void remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail("remove", path, error.value());
}

}  // namespace sidestream::io
