#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sidestream/couple/steering_desk.hpp"
#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::test {

using nlohmann::json;

/// Runs that are steered: a test hands in requests where the run tells a line ("step 3  ...", "paused after step 3").
class SteeredRun {
 public:
  using Hear = std::function<void(couple::SteeringDesk& desk, const std::string& line)>;

  sims::RunStatus run(const std::string& text, const std::string& name, const Hear& hear = {},
                      const sims::RunStart& start = {}) {
    sims::RunConfig config = sims::read_run(core::parse_toml(text, "run.toml"));
    const auto desk = std::make_shared<couple::SteeringDesk>();
    config.coupling.steering = hear ? desk : nullptr;
    const sims::RunStatus status =
        sims::run(world, std::move(config), folder / name, start, [&](const std::string& line) {
          if (hear && world.rank() == 0) hear(*desk, line);
        });
    world.barrier();  // the first rank writes the files that every rank then reads
    return status;
  }

  /// All events of a kind that the first rank has written.
  std::vector<json> events(const std::string& name, const std::string& kind) {
    return test::events(folder / name, kind);
  }
  std::map<std::int64_t, json> steps(const std::string& name) {
    std::map<std::int64_t, json> all;
    for (const json& event : events(name, "step")) all[event.at("step")] = event;
    return all;
  }
  /// The bytes of the file or folder `path` of a run, by name.
  std::map<std::string, std::string> bytes(const std::string& name, const std::string& path) {
    std::map<std::string, std::string> all;
    const std::filesystem::path whole = (folder / name) + "/" + path;
    const auto keep = [&](const std::filesystem::path& file) {
      std::ifstream in(file, std::ios::binary);
      all[std::filesystem::relative(file, folder / name).string()] = {std::istreambuf_iterator<char>(in), {}};
    };
    if (std::filesystem::is_regular_file(whole)) keep(whole);
    if (std::filesystem::is_directory(whole))
      for (const auto& entry : std::filesystem::recursive_directory_iterator(whole))
        if (entry.is_regular_file()) keep(entry.path());
    return all;
  }

  comm::Communicator world{MPI_COMM_WORLD};
  SharedFolder folder{world};
};

inline json request(const std::string& verb, json more = json::object()) {
  more.update({{"kind", "steer"}, {"verb", verb}, {"who", "me@here (1)"}, {"why", "to see"}});
  return more;
}
inline json set_request(const std::string& name, const json& value, std::int64_t at) {
  return request("set", {{"name", name}, {"value", value}, {"at", at}});
}
inline bool is_step(const std::string& line, std::int64_t step) {
  return line.starts_with("step " + std::to_string(step) + " ");
}

}  // namespace sidestream::test
