#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::sims {

/// Writes the field `name` on `cells` of a local block, ghost cells among them.
using WriteBlockField =
    std::function<void(const std::string& name, int level, int block, const mesh::Box& cells, core::View4<double> out)>;

/// Factors that criteria need beside the fields.
struct TagUnits {
  double gamma = 5.0 / 3.0, four_pi_g = 0.0;
};

/// What `criteria` say of each local block of each level (nothing of refined ones). Local.
std::vector<std::vector<amr::Tags>> tag_blocks(const mesh::Hierarchy& hierarchy, int rank,
                                               const std::vector<amr::Criterion>& criteria, TagUnits units,
                                               const WriteBlockField& write);

}  // namespace sidestream::sims
