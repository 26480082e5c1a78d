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
#include <iterator>
#include <thread>

namespace sidestream::redistribute {

namespace {

constexpr const char *kind_key = "sidestream_wisdom", *findings_key = "findings", *nowhere = "none";
constexpr int kind_version = 1;

void warn(const std::string& path, const std::string& what, const std::string& hint) {
  fmt::print(stderr, "warning: {}\n  --> {}\nhint: {}\n", what, path, hint);
}

bool is_finding(const nlohmann::json& json) {
  return json.is_object() && json.contains("choice") && json["choice"].is_string() && json.contains("seconds") &&
         json["seconds"].is_number();
}

// All findings by key, no matter what the file holds; null where it is no file of ours.
nlohmann::json findings_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return nlohmann::json::object();  // there was none yet
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object() || root.value(kind_key, nlohmann::json()) != kind_version || !root.contains(findings_key) ||
      !root[findings_key].is_object())
    return nullptr;
  nlohmann::json findings = nlohmann::json::object();
  for (const auto& [key, finding] : root[findings_key].items())
    if (is_finding(finding)) findings[key] = finding;
  return findings;
}

/// While it lives, no other job replaces the file, unless one holds it for too long: then a finding of one of them may
/// be lost, and made again.
class Turn {
 public:
  explicit Turn(const std::string& path) : lock_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
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
  int lock_;
};

// Returns what went wrong, or nothing.
std::string replace_file(const std::string& path, const std::string& text) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkstemp(temporary.data());
  if (file < 0) return std::strerror(errno);
  const bool is_written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool is_closed = close(file) == 0;
  if (is_written && is_closed && std::rename(temporary.c_str(), path.c_str()) == 0) return "";
  const std::string problem = std::strerror(errno);
  std::remove(temporary.c_str());
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
  const nlohmann::json findings = findings_in(path_);
  if (findings.is_null()) {
    warn(path_, "this is no wisdom of this version of Sidestream: it is not used", "the next tuning replaces it");
    return std::nullopt;
  }
  const auto found = findings.find(key);
  if (found == findings.end()) return std::nullopt;
  return Finding{found->at("choice").get<std::string>(), found->at("seconds").get<double>()};
}

void Wisdom::keep(const std::string& key, const Finding& finding) const {
  if (path_ == nowhere) return;
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path_).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  const Turn turn(path_);
  nlohmann::json findings = findings_in(path_);
  if (findings.is_null()) findings = nlohmann::json::object();
  findings[key] = {{"choice", finding.choice}, {"seconds", finding.seconds}};
  const nlohmann::json root = {{kind_key, kind_version}, {findings_key, findings}};
  if (const std::string problem =
          replace_file(path_, root.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
      !problem.empty())
    warn(path_, "what tuning found cannot be kept: " + problem, "name another file in SIDESTREAM_WISDOM, or \"none\"");
}

std::string machine_key(const comm::Communicator& comm) {
  const std::int64_t ranks_a_node = comm.max(static_cast<std::int64_t>(comm.split_by_node().size()));
  return comm.broadcast(fmt::format("{}, {} cores; {}; {} ranks, {} a node", processor(), sysconf(_SC_NPROCESSORS_ONLN),
                                    mpi_library(), comm.size(), ranks_a_node));
}

}  // namespace sidestream::redistribute
