#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/mesh/derived.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::sims {

/// Writes the field `name` on `cells` of a local block, ghost cells among them.
using WriteBlockField =
    std::function<void(const std::string& name, int level, int block, const mesh::Box& cells, core::View4<double> out)>;

/// Factors that criteria need beside the fields.
struct TagUnits {
  double gamma = 5.0 / 3.0, four_pi_g = 0.0, scale_factor = 1.0;
};

/// The quantities that `criteria` look at or that those follow from that are `derived`, each once, without the derived
/// ones.
std::vector<std::string> stored_fields_of(const std::vector<amr::Criterion>& criteria,
                                          std::span<const mesh::DerivedQuantity> derived);

/// What `criteria` say of each local block of each level (nothing of refined ones). `derived`: those that they look at,
/// each after those that it follows from. Local.
std::vector<std::vector<amr::Tags>> tag_blocks(const mesh::Hierarchy& hierarchy, int rank,
                                               const std::vector<amr::Criterion>& criteria, TagUnits units,
                                               const WriteBlockField& write,
                                               std::span<const mesh::DerivedQuantity> derived = {});

}  // namespace sidestream::sims
