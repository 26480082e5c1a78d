#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/isolated_job.hpp"

namespace sidestream::couple {

namespace {

constexpr int look_every_ms = 20;
constexpr std::size_t last_words = 16 * 1024;

volatile std::sig_atomic_t is_told_to_end = 0;
extern "C" void note_end(int) {
  is_told_to_end = 1;
}

/// A folder in memory for what MPI keeps in files of a job, which a job that is ended leaves behind. Private, and gone
/// with this.
class PrivateFolder {
 public:
  PrivateFolder() : path_("/dev/shm/sidestream-job-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where MPI puts its files. Elsewhere it is not told, so that nothing of the user's is lost.
void use(const PrivateFolder& folder) {
  if (folder.path().empty()) return;
  for (const char* name : {"TMPDIR", "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"})
    ::setenv(name, folder.path().c_str(), 1);
}

// A launcher may have bound the rank that started this to a core of its own, on which all ranks of the job would be.
void widen_to_all_cores() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);  // the system leaves out those that this job may not use
  ::sched_setaffinity(0, sizeof all, &all);
}

struct Child {
  pid_t process = -1;
  int errors = -1;  // what it says there
};

[[noreturn]] void become(const std::vector<std::string>& command, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  for (const int number : {SIGINT, SIGHUP, SIGPIPE, SIGTERM}) ::signal(number, SIG_DFL);
  // Where the machine has no memory left, it is the job that the system ends.
  if (std::FILE* const score = std::fopen("/proc/self/oom_score_adj", "w"); score != nullptr) {
    std::fputs("1000", score);
    std::fclose(score);
  }
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  std::fprintf(stderr, "error: `%s` cannot be started: %s\n", words.front(), std::strerror(errno));
  std::_Exit(EXIT_FAILURE);
}

Child start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  Child child{::fork(), ends[0]};
  if (child.process == 0) become(command, ends[1]);
  ::close(ends[1]);
  ::fcntl(child.errors, F_SETFL, O_NONBLOCK);
  return child;
}

// What was said last; more is forgotten.
void listen(int errors, std::string& words) {
  std::array<char, 4096> piece{};
  for (ssize_t size = 1; size > 0;) {
    size = ::read(errors, piece.data(), piece.size());
    if (size > 0) words.append(piece.data(), static_cast<std::size_t>(size));
    if (words.size() > last_words) words.erase(0, words.size() - last_words);
  }
}

// Whoever loses its parent becomes a child of this process, so that none is missed.
void kill_all() {
  do {
    std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
    for (pid_t child = 0; file >> child;) ::kill(child, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::poll(nullptr, 0, 1);
  } while (::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD);
}

}  // namespace

int keep_job(const std::vector<std::string>& words) {
  core::require(words.size() >= 3, "a keeper is told whose it is, the deadline and the command");
  const pid_t run = std::stoi(words[0]);
  const double deadline_s = std::stod(words[1]);
  ::close_range(3, ~0U, 0);  // files of the run, which others may not have closed for those who are started
  widen_to_all_cores();
  for (const int number : {SIGINT, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  ::signal(SIGTERM, note_end);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const PrivateFolder folder;
  use(folder);
  const core::Stopwatch watch;
  const Child job = start({words.begin() + 2, words.end()});
  std::string said;
  int status = 0;
  bool has_ended = job.process < 0, is_late = false;
  while (!has_ended && !is_late && is_told_to_end == 0 && ::getppid() == run) {
    pollfd errors{job.errors, POLLIN, 0};
    ::poll(&errors, 1, look_every_ms);
    listen(job.errors, said);
    if ((errors.revents & POLLHUP) != 0) ::poll(nullptr, 0, look_every_ms);
    has_ended = ::waitpid(job.process, &status, WNOHANG) == job.process;
    is_late = watch.seconds() > deadline_s;
  }
  if (!has_ended) ::kill(job.process, SIGKILL);
  kill_all();
  listen(job.errors, said);
  const nlohmann::json told = {{"is_late", is_late && !has_ended},
                               {"code", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)},
                               {"said", said}};
  std::printf("%s\n", told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return EXIT_SUCCESS;
}

}  // namespace sidestream::couple
