#include "couple/stream/run/socket_folder.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "sidestream-stream-";

bool is_of_a_dead_process(const fs::directory_entry& entry) {
  const std::string file = entry.path().filename().string();
  struct stat state {};
  if (!file.starts_with(prefix) || ::lstat(entry.path().c_str(), &state) != 0 || state.st_uid != ::geteuid() ||
      !S_ISDIR(state.st_mode))
    return false;
  pid_t process = 0;
  std::from_chars(file.data() + prefix.size(), file.data() + file.size(), process);
  return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
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
  return made;
}

SocketFolder SocketFolder::of_another(std::string path) {
  SocketFolder folder;
  folder.path_ = std::move(path);
  return folder;
}

SocketFolder::SocketFolder(SocketFolder&& other) noexcept
    : path_(std::move(other.path_)), is_own_(std::exchange(other.is_own_, false)) {}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  if (is_own_) fs::remove_all(path_, ignored);
}

std::string SocketFolder::address(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  if (path.size() + 1 >= sizeof(sockaddr_un::sun_path))  // one with a character more is made beside it
    throw core::Error("the path of a socket would be too long", path, "set TMPDIR to a folder with a shorter name");
  return "ipc://" + path;
}

}  // namespace sidestream::couple
