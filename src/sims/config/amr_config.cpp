#include "sims/config/amr_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

namespace {

void check_levels(const AmrConfig& config, const MeshConfig& mesh, const core::Node& node) {
  const auto at = [&](const char* key) -> const core::Node& {
    const core::Node* found = node.find(key);
    return found != nullptr ? *found : node;
  };
  if (config.min_level > config.max_level)
    core::reject(at("min_level"),
                 fmt::format("the lowest level {} is above the highest, {}", config.min_level, config.max_level));
  if (config.max_level > 0 && mesh.block % 2 != 0)
    core::reject(at("max_level"), fmt::format("blocks of {} cells cannot be halved", mesh.block),
                 "refined meshes take an even `mesh.block`");
  const auto largest = std::ranges::max(mesh.cells);
  if (static_cast<std::int64_t>(largest) << config.max_level > std::numeric_limits<std::int32_t>::max() / 2)
    core::reject(at("max_level"),
                 fmt::format("{} cells refined {} times are more than an axis can have", largest, config.max_level),
                 "lower `amr.max_level`");
}

void check_criteria(const AmrConfig& config, const core::Node& root) {
  const core::Node* refine = root.find("refine");
  if (config.max_level == 0 && refine != nullptr)
    core::reject(*refine, "there are rules for refinement, but no finer levels", "set `amr.max_level`");
  if (config.max_level > config.min_level && config.criteria.empty())
    core::reject(*root.find("amr")->find("max_level"), "nothing says where to refine",
                 "add a table such as [refine.shocks] with criterion = \"loehner\" and fields = [\"gas_density\"]");
}

/// Which quantities criteria may look at, and which derived ones they do.
class Seen {
 public:
  Seen(std::vector<std::string> names, std::vector<mesh::DerivedQuantity> derived)
      : names_(std::move(names)), derived_(std::move(derived)), is_looked_at_(derived_.size()) {}

  void look_at(const std::string& name, const std::string& rule, const core::Node& refine) {
    if (std::ranges::find(names_, name) != names_.end()) return;
    const auto found = std::ranges::find(derived_, name, [](const auto& one) { return one.quantity().name; });
    if (found == derived_.end()) refuse(name, rule, refine);
    is_looked_at_[static_cast<std::size_t>(found - derived_.begin())] = true;
    for (const std::string& part : found->of()) look_at(part, rule, refine);
  }
  std::vector<mesh::DerivedQuantity> looked_at() const {
    std::vector<mesh::DerivedQuantity> all;
    for (std::size_t d = 0; d < derived_.size(); ++d)
      if (is_looked_at_[d]) all.push_back(derived_[d]);
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& rule, const core::Node& refine) const {
    std::vector<std::string> all = names_;
    for (const auto& one : derived_) all.push_back(one.quantity().name);
    const std::string nearest = core::nearest_name(name, all);
    core::reject(*refine.find(rule), fmt::format("`refine.{}` looks at `{}`, which criteria cannot see", rule, name),
                 nearest.empty() ? fmt::format("they see: {}", fmt::join(all, ", "))
                                 : fmt::format("did you mean `{}`?", nearest));
  }

  std::vector<std::string> names_;
  std::vector<mesh::DerivedQuantity> derived_;
  std::vector<bool> is_looked_at_;
};

}  // namespace

core::Table<AmrConfig> amr_table() {
  core::Table<AmrConfig> table("Refinement of the mesh");
  table.option("max_level", &AmrConfig::max_level, 0).range(0, 20).doc("finest level; each halves the cells once more");
  table.option("min_level", &AmrConfig::min_level, 0).range(0, 20).doc("coarsest level of the leaves");
  table.option("regrid_every", &AmrConfig::regrid_every, 2)
      .at_least(1)
      .doc("steps of the coarsest level that has leaves, from one change of the mesh to the next");
  table.option("buffer", &AmrConfig::buffer, 3)
      .range(0, 64)
      .doc("blocks within so many cells of one that asks for refinement are refined too");
  table.option("subcycle", &AmrConfig::subcycle, true)
      .doc("true: each level takes two steps in one of the next coarser level; false: all levels take the same");
  table.option("max_blocks", &AmrConfig::max_blocks, 100000)
      .at_least(1)
      .doc("most blocks of all levels; a run that needs more ends with a checkpoint");
  return table;
}

namespace {

void check_budget(const AmrConfig& config, const MeshConfig& mesh, const core::Node& node) {
  const double block = mesh.block;
  double roots = 1.0;
  for (const std::int32_t cells : mesh.cells) roots *= std::max(1.0, cells / block);
  if (config.max_level > 0 && roots > static_cast<double>(config.max_blocks))
    throw core::Error(fmt::format("the mesh has {:.0f} blocks before any is refined, of {} that there may be", roots,
                                  config.max_blocks),
                      node.where(), "raise `amr.max_blocks` or `mesh.block`");
}

}  // namespace

AmrConfig read_amr(const core::Node& root, const MeshConfig& mesh, const std::vector<mesh::Quantity>& quantities,
                   const std::vector<std::string>& unseen, bool has_redshift, core::Node& resolved) {
  const core::Node node = table_or_empty(root, "amr");
  core::Node part;
  AmrConfig config = amr_table().read(node, &part);
  resolved.set("amr", part);
  check_levels(config, mesh, node);
  check_budget(config, mesh, node);
  config.criteria = amr::read_criteria(root, resolved);
  check_criteria(config, root);
  config.rules = table_or_empty(resolved, "refine");
  std::vector<std::string> names = mesh::names_of(quantities);
  std::erase_if(names, [&](const std::string& name) { return std::ranges::find(unseen, name) != unseen.end(); });
  Seen seen(std::move(names), mesh::read_derived(root, with_common_quantities(quantities), has_redshift));
  for (const amr::Criterion& criterion : config.criteria)
    for (const std::string& field : criterion.fields) seen.look_at(field, criterion.name, *root.find("refine"));
  config.derived = seen.looked_at();
  return config;
}

std::int64_t block_count(const mesh::Forest& forest) {
  std::int64_t blocks = 0;
  for (int level = 0; level <= forest.finest_level(); ++level) blocks += forest.size(level);
  return blocks;
}

std::string describe_blocks(std::int64_t blocks, double block_bytes) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{} blocks ({:.3g} GiB)", blocks, static_cast<double>(blocks) * block_bytes / gib);
}

std::string exceeded_budget(const AmrConfig& config, const mesh::Forest& forest, double block_bytes) {
  const std::int64_t blocks = block_count(forest);
  if (blocks <= config.max_blocks) return "";
  return fmt::format("the mesh would grow to {}, but `amr.max_blocks` allows {}", describe_blocks(blocks, block_bytes),
                     describe_blocks(config.max_blocks, block_bytes));
}

}  // namespace sidestream::sims
