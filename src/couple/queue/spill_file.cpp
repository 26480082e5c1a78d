#include "couple/queue/spill_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

core::Error failure(const std::string& what, const std::string& folder, int code) {
  return core::Error(what + ": " + std::generic_category().message(code), folder,
                     "make room there, or set `coupling.spill` to a folder on another disk");
}

}  // namespace

SpillFile::SpillFile(const std::string& folder) : folder_(folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::string path = folder + "/sidestream_spill_XXXXXX";
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) throw failure("no file can be made for what waits on the disk", folder_, errno);
  ::unlink(path.c_str());
}

SpillFile::~SpillFile() {
  if (file_ >= 0) ::close(file_);
}

std::int64_t SpillFile::put(std::span<const Word> words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto bytes = std::as_bytes(words);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote =
        ::pwrite(file_, bytes.data() + done, bytes.size() - done, end_ + static_cast<std::int64_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int code = wrote < 0 ? errno : ENOSPC;
      static_cast<void>(::ftruncate(file_, end_));
      throw failure("what finds no room in the queue cannot be stored", folder_, code);
    }
    done += static_cast<std::size_t>(wrote);
  }
  ++pieces_;
  return std::exchange(end_, end_ + static_cast<std::int64_t>(bytes.size()));
}

void SpillFile::take(std::int64_t place, std::span<Word> words) {
  const auto bytes = std::as_writable_bytes(words);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t read =
        ::pread(file_, bytes.data() + done, bytes.size() - done, place + static_cast<std::int64_t>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) throw failure("what was stored cannot be read back", folder_, read < 0 ? errno : EIO);
    done += static_cast<std::size_t>(read);
  }
  forget(place, words.size());
}

void SpillFile::forget(std::int64_t place, std::size_t words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto bytes = static_cast<std::int64_t>(words * sizeof(Word));
  // A file system that cannot make holes keeps the space until all is taken out.
  if (bytes > 0) static_cast<void>(::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place, bytes));
  if (--pieces_ > 0) return;
  end_ = 0;
  static_cast<void>(::ftruncate(file_, 0));
}

}  // namespace sidestream::couple
