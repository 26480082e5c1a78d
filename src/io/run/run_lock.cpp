#include "io/run/run_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/disk/file_lock.hpp"
#include "io/disk/uninterrupted.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"

namespace sidestream::io {

namespace {

struct Holder {
  std::string host;
  pid_t process = 0;
  std::string since;
};

std::string name_of_lock(const std::string& folder) {
  return folder + "/.lock";
}

int open_lock(const std::string& folder, int flags) {
  const std::string name = name_of_lock(folder);
  return uninterrupted([&] { return ::open(name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666); });
}

std::optional<Holder> holder_in(int descriptor) {
  std::array<char, 1024> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  const nlohmann::json told =
      nlohmann::json::parse(text.data(), text.data() + std::max<ssize_t>(size, 0), nullptr, false);
  if (!told.is_object()) return std::nullopt;
  return Holder{told.value("host", "unknown"), told.value("pid", 0), told.value("since", "unknown")};
}

void tell_holder(int descriptor) {
  const std::string text =
      nlohmann::json{{"host", core::host_name()}, {"pid", ::getpid()}, {"since", core::present_time()}}.dump() + '\n';
  // A disk without room for it has none for the run either, which is told where the run begins to write.
  [[maybe_unused]] const bool is_told =
      ::ftruncate(descriptor, 0) == 0 &&
      ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

// Where there are no locks, the process says it: on another machine it may live.
bool may_live(const Holder& holder) {
  return holder.host != core::host_name() || ::kill(holder.process, 0) == 0 || errno == EPERM;
}

void refuse(const std::string& folder, const std::optional<Holder>& holder, bool is_certain) {
  const std::string who =
      holder ? fmt::format(": process {} on {}, since {}", holder->process, holder->host, holder->since) : "";
  const std::string leftover =
      is_certain
          ? ""
          : fmt::format("; this file system has no locks: remove {} if that process is gone", name_of_lock(folder));
  throw core::Error("another run has this folder" + who, folder,
                    "wait for its end or stop it, or choose another folder with `--out`; `sidestream watch` shows how "
                    "it stands" +
                        leftover);
}

void require_free(int descriptor, LockState state, const std::string& folder) {
  const std::optional<Holder> holder = holder_in(descriptor);
  if (state == LockState::held) refuse(folder, holder, true);
  if (state == LockState::unknown && holder && may_live(*holder)) refuse(folder, holder, false);
}

}  // namespace

RunLock::File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunLock::RunLock(const std::string& folder) : file_(open_lock(folder, O_RDWR | O_CREAT)) {
  if (!file_.is_open())
    throw core::Error(fmt::format("cannot lock the folder of the run: {}", std::strerror(errno)), name_of_lock(folder),
                      "choose a folder you may write to");
  require_free(file_.descriptor(), try_lock(file_.descriptor()), folder);
  tell_holder(file_.descriptor());
}

RunLock::~RunLock() {
  [[maybe_unused]] const int untold = ::ftruncate(file_.descriptor(), 0);
}

void require_no_job_in(const std::string& folder) {
  const RunLock::File file(open_lock(folder, O_RDONLY));
  if (file.is_open()) require_free(file.descriptor(), lock_state(file.descriptor()), folder);
}

}  // namespace sidestream::io
