#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::apps {

/// The technique beside those of the library: the rows of a bounding box as they lie, a message each.
inline constexpr const char* rows_technique = "rows";

/// What the job that reads does.
struct ReadOrder {
  std::string folder, keys, layout = "blocks";
  std::vector<std::string> techniques{"auto"};  ///< each of which reads each step, by turns
  bool stalls = false;                          ///< takes nothing after the first step, until it is ended
};

/// Reads all steps; returns what each took by each technique. Collective.
nlohmann::json read(const comm::Communicator& world, const ReadOrder& order);

}  // namespace sidestream::apps
