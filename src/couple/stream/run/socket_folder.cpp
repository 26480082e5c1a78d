#include "couple/stream/run/socket_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "sidestream-stream-";
constexpr const char* lock_name = "lock";

// The process that made a folder holds the lock in it as long as it lives, which processes of other containers see too;
// their numbers mean nothing here.
bool is_of_a_dead_process(const fs::directory_entry& entry) {
  struct stat state {};
  if (!entry.path().filename().string().starts_with(prefix) || ::lstat(entry.path().c_str(), &state) != 0 ||
      state.st_uid != ::geteuid() || !S_ISDIR(state.st_mode))
    return false;
  const int lock = ::open((entry.path() / lock_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) return false;
  const bool is_free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return is_free;
}

void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (is_of_a_dead_process(entry)) fs::remove_all(entry.path(), ignored);
}

}  // namespace

SocketFolder SocketFolder::make() {
  std::error_code problem;
  const fs::path temporary = fs::temp_directory_path(problem);
  if (problem) throw core::Error("there is no folder for temporary files: " + problem.message(), "", "set TMPDIR");
  remove_leftovers(temporary);
  SocketFolder made;
  made.path_ = (temporary / fmt::format("{}{}-XXXXXX", prefix, ::getpid())).string();
  if (::mkdtemp(made.path_.data()) == nullptr)
    throw core::Error("no folder can be made for the sockets of the stream: " + std::generic_category().message(errno),
                      temporary.string(), "set TMPDIR to a folder on a local disk");
  made.is_own_ = true;
  made.lock_ = ::open((fs::path(made.path_) / lock_name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (made.lock_ < 0 || ::flock(made.lock_, LOCK_EX | LOCK_NB) != 0)
    throw core::Error(
        "the folder of the sockets of the stream cannot be locked: " + std::generic_category().message(errno),
        made.path_, "set TMPDIR to a folder on a local disk");
  return made;
}

SocketFolder SocketFolder::of_another(std::string path) {
  SocketFolder folder;
  folder.path_ = std::move(path);
  return folder;
}

SocketFolder::SocketFolder(SocketFolder&& other) noexcept
    : path_(std::move(other.path_)),
      is_own_(std::exchange(other.is_own_, false)),
      lock_(std::exchange(other.lock_, -1)) {}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  if (is_own_) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::string SocketFolder::address(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  if (path.size() + 1 >= sizeof(sockaddr_un::sun_path))  // one with a character more is made beside it
    throw core::Error("the path of a socket would be too long", path, "set TMPDIR to a folder with a shorter name");
  return "ipc://" + path;
}

}  // namespace sidestream::couple
