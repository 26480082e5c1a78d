#include "couple/isolate/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace fs = std::filesystem;

namespace {

// What a launcher tells its ranks, from which another launcher would take itself for a part of this run.
bool belongs_to_this_run(std::string_view variable) {
  constexpr std::array begins{"OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "HYDRA_", "HYDI_", "MPI_LOCAL", "SLURM_"};
  return std::ranges::any_of(begins, [&](const char* begin) { return variable.starts_with(begin); });
}

// The ranks of the job share the cores of the run's.
std::vector<std::string> environment_of_job() {
  std::vector<std::string> all{"OMPI_MCA_rmaps_base_oversubscribe=1",
                               "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
                               "OMPI_MCA_hwloc_base_binding_policy=none", "PRTE_MCA_hwloc_default_binding_policy=none",
                               "OMPI_MCA_mpi_yield_when_idle=1"};
  if (::geteuid() == 0)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT",
                             "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"})
      all.push_back(fmt::format("{}=1", name));
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!belongs_to_this_run(*variable)) all.emplace_back(*variable);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In a session of its own, where no signal meant for the run reaches it.
pid_t spawn(std::vector<std::string> command, int output) {
  std::vector<std::string> environment = environment_of_job();
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t process = -1;
  const int problem = ::posix_spawn(&process, command.front().c_str(), &files, &attributes, pointers_to(command).data(),
                                    pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0)
    throw core::Error("a job of its own cannot be started: " + std::generic_category().message(problem),
                      command.front());
  return process;
}

// What a program of ours says of its error, without the place and the hint; launchers repeat the exit code only.
std::string error_in(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (constexpr std::string_view begin = "error: "; line.starts_with(begin)) return line.substr(begin.size());
  return "";
}

}  // namespace

std::string job_launcher() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path found = fs::path(folder) / SIDESTREAM_MPIEXEC; ::access(found.c_str(), X_OK) == 0)
      return found.string();
  return "";
}

KeptJob::KeptJob(const std::string& program, const io::RunFolder& folder, double deadline_s, int ranks,
                 JobMemory memory)
    : deadline_s_(deadline_s), memory_(std::move(memory)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw core::Error("a job of its own cannot be started: " + std::generic_category().message(errno));
  ear_ = ends[0];
  ::fcntl(ear_, F_SETFL, O_NONBLOCK);
  try {
    keeper_ = spawn(
        {program, "--keep-job", fmt::format("{}", ::getpid()), fmt::format("{}", deadline_s), job_launcher(), "-n",
         fmt::format("{}", ranks), program, folder.config(), "--out", folder.path(), "--job", memory_.address()},
        ends[1]);
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
}

KeptJob::~KeptJob() {
  ::close(ear_);  // a keeper never waits for somebody to listen
  if (keeper_ < 0) return;
  ::kill(keeper_, SIGTERM);
  ::waitpid(keeper_, nullptr, 0);
}

bool KeptJob::has_ended() {
  if (keeper_ < 0) return true;
  listen();
  int status = 0;
  const pid_t ended = ::waitpid(keeper_, &status, WNOHANG);
  if (ended == 0) return false;
  listen();
  keeper_ = -1;
  return true;
}

void KeptJob::listen() {
  std::array<char, 4096> piece{};
  for (ssize_t size = 1; size > 0;) {
    size = ::read(ear_, piece.data(), piece.size());
    if (size > 0) said_.append(piece.data(), static_cast<std::size_t>(size));
  }
}

bool KeptJob::was_ended_late() const {
  const nlohmann::json told = nlohmann::json::parse(said_, nullptr, false);
  return told.is_object() && told.at("is_late").get<bool>();
}

std::string KeptJob::problem() const {
  const nlohmann::json told = nlohmann::json::parse(said_, nullptr, false);
  if (!told.is_object()) return "its job was ended with its keeper";
  if (told.at("is_late")) return fmt::format("its job was ended after {:.3g} s, its `deadline`", deadline_s_);
  const std::string error = error_in(told.at("said"));
  return fmt::format("its job ended without a result (exit code {}){}", told.at("code").get<int>(),
                     error.empty() ? "" : ": " + error);
}

}  // namespace sidestream::couple
