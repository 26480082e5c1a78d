#include "sidestream/redistribute/wisdom.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"

namespace sidestream::redistribute {

namespace {

constexpr const char *kind_key = "sidestream_wisdom", *findings_key = "findings", *nowhere = "none";
constexpr int kind_version = 1;
constexpr const char* use_another = "name another file in SIDESTREAM_WISDOM, or \"none\"";

// Once a process for each file and problem: every plan that is tuned asks for the file.
void warn(const std::string& path, const std::string& what, const std::string& hint) {
  static std::mutex turn;
  static std::set<std::string> said;
  const std::lock_guard guard(turn);
  if (said.insert(path + '\n' + what).second) fmt::print(stderr, "warning: {}\n  --> {}\nhint: {}\n", what, path, hint);
}

bool is_finding(const nlohmann::json& json) {
  return json.is_object() && json.contains("choice") && json["choice"].is_string() && json.contains("seconds") &&
         json["seconds"].is_number();
}

/// What a wisdom file holds: all findings by key, or why it is none of ours.
struct Content {
  nlohmann::json findings = nlohmann::json::object();
  std::string problem{};
};

// Throws core::Error where it cannot be read.
Content content_of(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) return {};  // there was none yet
  const std::string text = core::read_input_file(path, {.noun = "the wisdom file", .hint = use_another});
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (root.is_discarded()) return {.problem = "it is no JSON"};
  if (!root.is_object() || !root.contains(kind_key)) return {.problem = fmt::format("it has no `{}`", kind_key)};
  if (root[kind_key] != kind_version) return {.problem = fmt::format("`{}` is not {}", kind_key, kind_version)};
  if (!root.contains(findings_key) || !root[findings_key].is_object())
    return {.problem = fmt::format("it has no `{}`", findings_key)};
  Content content;
  for (const auto& [key, finding] : root[findings_key].items())
    if (is_finding(finding)) content.findings[key] = finding;
  return content;
}

std::string aside(const std::string& path) {
  return path + ".aside";
}

void warn_of_no_wisdom(const std::string& path, const std::string& problem) {
  warn(path, fmt::format("this is no wisdom of this version of Sidestream ({}): it is not used", problem),
       fmt::format("what tuning finds takes its place, and it is kept as {}", aside(path)));
}

/// While it lives, no other job replaces the file, unless one holds it for too long: then a finding of one of them may
/// be lost, and made again.
class Turn {
 public:
  explicit Turn(const std::string& path)
      : lock_(open((path + ".lock").c_str(), most_careful | O_RDWR | O_CREAT, 0644)) {
    constexpr int most_tries = 200;
    for (int n = 0; lock_ >= 0 && n < most_tries && flock(lock_, LOCK_EX | LOCK_NB) != 0; ++n)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~Turn() {
    if (lock_ >= 0) close(lock_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static constexpr int most_careful = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  int lock_;
};

// The reason of the system, or nothing.
std::string write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return std::strerror(errno);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return "";
}

// Returns what went wrong, or nothing.
std::string replace_file(const std::string& path, const std::string& text) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkstemp(temporary.data());
  if (file < 0) return std::strerror(errno);
  std::string problem = write_all(file, text);
  if (close(file) != 0 && problem.empty()) problem = std::strerror(errno);
  if (problem.empty() && std::rename(temporary.c_str(), path.c_str()) != 0) problem = std::strerror(errno);
  if (!problem.empty()) std::remove(temporary.c_str());
  return problem;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  comm::check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace

Wisdom::Wisdom(const std::string& path) : path_(path.empty() ? usual_path() : path) {}

std::string Wisdom::usual_path() {
  if (const std::string said = environment("SIDESTREAM_WISDOM"); !said.empty()) return said;
  if (const std::string caches = environment("XDG_CACHE_HOME"); !caches.empty())
    return caches + "/sidestream/wisdom.json";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/sidestream/wisdom.json";
  return nowhere;
}

std::optional<Wisdom::Finding> Wisdom::find(const std::string& key) const {
  if (path_ == nowhere) return std::nullopt;
  try {
    const Content content = content_of(path_);
    if (!content.problem.empty()) {
      warn_of_no_wisdom(path_, content.problem);
      return std::nullopt;
    }
    const auto found = content.findings.find(key);
    if (found == content.findings.end()) return std::nullopt;
    return Finding{found->at("choice").get<std::string>(), found->at("seconds").get<double>()};
  } catch (const core::Error& error) {
    warn(path_, error.message() + ": it is not used", error.hint());
    return std::nullopt;
  }
}

bool Wisdom::keep(const std::string& key, const Finding& finding) const {
  if (path_ == nowhere) return false;
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path_).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  try {
    const Turn turn(path_);
    Content content = content_of(path_);
    content.findings[key] = {{"choice", finding.choice}, {"seconds", finding.seconds}};
    const nlohmann::json root = {{kind_key, kind_version}, {findings_key, content.findings}};
    if (!content.problem.empty()) {
      warn_of_no_wisdom(path_, content.problem);
      if (std::rename(path_.c_str(), aside(path_).c_str()) != 0)
        throw core::Error("it cannot be put aside", path_, "remove the file");
    }
    const std::string problem =
        replace_file(path_, root.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    if (problem.empty()) return true;
    warn(path_, "what tuning found cannot be kept: " + problem, use_another);
  } catch (const core::Error& error) {
    warn(path_, error.message() + ": it is not used", error.hint());
  }
  return false;
}

std::string machine_key(const comm::Communicator& comm) {
  const std::int64_t ranks_a_node = comm.max(static_cast<std::int64_t>(comm.split_by_node().size()));
  return comm.broadcast(fmt::format("{}, {} cores; {}; {} ranks, {} a node", processor(), sysconf(_SC_NPROCESSORS_ONLN),
                                    mpi_library(), comm.size(), ranks_a_node));
}

}  // namespace sidestream::redistribute
