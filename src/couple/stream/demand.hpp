#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

nlohmann::json to_json(const Demand& demand);
/// Throws core::Error for what cannot be one.
Demand demand_from(const nlohmann::json& message);

/// Those of `known`, by name, that are sent to who demands them. Throws core::Error, naming all there are, for one that
/// is not there.
std::vector<std::string> fields_for(const Demand& demand, const std::vector<mesh::Quantity>& known);
std::vector<std::string> species_for(const Demand& demand, const std::vector<std::string>& known);

/// The boxes of each level that a reader is given: the leaves that meet its region, up to its finest level, where
/// refined blocks hold the averages of what lies below them.
std::vector<mesh::Layout> levels_for(const Demand& demand, const std::vector<mesh::Layout>& leaves,
                                     const std::vector<mesh::Layout>& blocks);
/// The boxes of each level that a publish has to hold for all of `demands`.
std::vector<mesh::Layout> levels_for_all(const std::vector<Demand>& demands, const std::vector<mesh::Layout>& leaves,
                                         const std::vector<mesh::Layout>& blocks);

}  // namespace sidestream::couple
