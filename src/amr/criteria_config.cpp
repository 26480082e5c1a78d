#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::amr {

namespace {

using core::Node;
using core::Table;

/// What is written in `[refine.NAME]`, whatever its kind.
struct Keys {
  std::string criterion;
  std::optional<std::string> field;
  std::optional<std::vector<std::string>> fields;
  Limits limits() const { return {refine_above, coarsen_below}; }
  double refine_above = 0.0, coarsen_below = 0.0, level_factor = 1.0;
  std::string density, pressure;
  double refine_below = 0.0, coarsen_above = 0.0;
  std::optional<std::vector<double>> lower, upper, center;
  std::optional<double> radius;
  std::optional<std::int32_t> max_level;
};

using Make = Criterion (*)(const Node& node, const Keys& keys);

// A kind of criterion: its options and how it is made of them.
CriterionEntry entry_of(std::string name, const Table<Keys>& table, Make make) {
  return {std::move(name), table.documentation(), [table] { return table.options(); },
          [table, make](const Node& node, Node* resolved) {
            const Keys keys = table.read(node, resolved);
            Criterion criterion = make(node, keys);
            if (keys.max_level) criterion.max_level = *keys.max_level;
            return criterion;
          }};
}

std::vector<std::string> chosen_fields(const Node& node, const Keys& keys) {
  if (keys.field.has_value() == keys.fields.has_value())
    core::reject(node, "a criterion looks at one `field` or at several `fields`",
                 "for example `field = \"gas_density\"` or `fields = [\"gas_density\", \"pressure\"]`");
  if (keys.field) return {*keys.field};
  if (keys.fields->empty()) core::reject(*node.find("fields"), "no field is named", "name at least one");
  return *keys.fields;
}

Limits checked_limits(const Node& node, const Keys& keys) {
  if (!(keys.coarsen_below < keys.refine_above))
    core::reject(
        node, fmt::format("`coarsen_below` is {}, not below `refine_above`, {}", keys.coarsen_below, keys.refine_above),
        "leave room between the two, so that blocks do not come and go");
  return keys.limits();
}

std::array<double, 3> point(const Node& node, const std::string& key, const std::vector<double>& values) {
  if (values.size() != 3)
    core::reject(*node.find(key), fmt::format("{} numbers are no point", values.size()), "write x, y and z");
  return {values[0], values[1], values[2]};
}

Criterion make_region(const Node& node, const Keys& keys) {
  const bool is_box = keys.lower || keys.upper, is_sphere = keys.center || keys.radius;
  if (is_box == is_sphere || (is_box && !(keys.lower && keys.upper)) || (is_sphere && !(keys.center && keys.radius)))
    core::reject(node, "a region is a box or a sphere", "give `lower` and `upper`, or `center` and `radius`");
  if (is_sphere) return region(SphereRegion{point(node, "center", *keys.center), *keys.radius}, *keys.max_level);
  const BoxRegion box{point(node, "lower", *keys.lower), point(node, "upper", *keys.upper)};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (!(box.lower[axis] < box.upper[axis]))
      core::reject(*node.find("upper"), fmt::format("the region is empty along {}", "xyz"[axis]),
                   "`upper` is above `lower` on each axis");
  return region(box, *keys.max_level);
}

Criterion make_jeans(const Node& node, const Keys& keys) {
  if (!(keys.coarsen_above > keys.refine_below))
    core::reject(
        node, fmt::format("`coarsen_above` is {}, not above `refine_below`, {}", keys.coarsen_above, keys.refine_below),
        "leave room between the two, so that blocks do not come and go");
  return jeans(keys.density, keys.pressure, keys.refine_below, keys.coarsen_above);
}

Table<Keys> table_of(const std::string& documentation) {
  Table<Keys> table(documentation);
  table.option("criterion", &Keys::criterion, "").required().doc("kind of criterion");
  return table;
}

void add_max_level(Table<Keys>& table) {
  table.option("max_level", &Keys::max_level, std::nullopt)
      .range(0, 30)
      .doc("finest level that this criterion asks for; without it, that of the mesh");
}

void add_fields(Table<Keys>& table) {
  table.option("field", &Keys::field, std::nullopt).doc("the field that is looked at");
  table.option("fields", &Keys::fields, std::nullopt).doc("or several: each by itself");
  add_max_level(table);
}

CriterionEntry loehner_entry() {
  Table<Keys> table = table_of("Loehner's estimate of the error, from 0 (linear) to 1 (a jump)");
  add_fields(table);
  table.option("refine_above", &Keys::refine_above, 0.8)
      .range(0.0, 1.0)
      .doc("refines where the estimate is above this");
  table.option("coarsen_below", &Keys::coarsen_below, 0.2)
      .range(0.0, 1.0)
      .doc("coarsens where it is below this everywhere");
  return entry_of("loehner", table, [](const Node& node, const Keys& keys) {
    return loehner(chosen_fields(node, keys), checked_limits(node, keys));
  });
}

CriterionEntry gradient_entry() {
  Table<Keys> table = table_of("The relative jump |u(i+1) - u(i-1)| / |u(i)| across a cell");
  add_fields(table);
  table.option("refine_above", &Keys::refine_above, 0.0)
      .required()
      .at_least(0.0)
      .doc("refines where the jump is above this");
  table.option("coarsen_below", &Keys::coarsen_below, 0.0)
      .required()
      .at_least(0.0)
      .doc("coarsens where it is below this everywhere");
  return entry_of("gradient", table, [](const Node& node, const Keys& keys) {
    return gradient(chosen_fields(node, keys), checked_limits(node, keys));
  });
}

CriterionEntry threshold_entry() {
  Table<Keys> table = table_of("The value itself");
  add_fields(table);
  table.option("refine_above", &Keys::refine_above, 0.0).required().doc("refines where the value is above this");
  table.option("coarsen_below", &Keys::coarsen_below, 0.0)
      .required()
      .doc("coarsens to a level where the value is below this everywhere");
  table.option("level_factor", &Keys::level_factor, 1.0)
      .at_least(1.0)
      .doc(
          "both limits grow by this factor with each level: 8 keeps the mass of a cell constant (4 in two dimensions)");
  return entry_of("threshold", table, [](const Node& node, const Keys& keys) {
    return threshold(chosen_fields(node, keys), checked_limits(node, keys), keys.level_factor);
  });
}

CriterionEntry jeans_entry() {
  Table<Keys> table = table_of("The Jeans length of self-gravitating gas in cells");
  table.option("density", &Keys::density, "gas_density").doc("name of the field of density");
  table.option("pressure", &Keys::pressure, "pressure").doc("name of the field of pressure");
  add_max_level(table);
  table.option("refine_below", &Keys::refine_below, 4.0)
      .at_least(1e-30)
      .doc("refines where the Jeans length is less than so many cells");
  table.option("coarsen_above", &Keys::coarsen_above, 5.0)
      .at_least(1e-30)
      .doc("coarsens to a level where it is more than so many cells everywhere");
  return entry_of("jeans", table, make_jeans);
}

CriterionEntry region_entry() {
  Table<Keys> table = table_of("A box or a sphere that is always refined");
  table.option("lower", &Keys::lower, std::nullopt).doc("low corner of a box, in units of length of the simulation");
  table.option("upper", &Keys::upper, std::nullopt).doc("its high corner");
  table.option("center", &Keys::center, std::nullopt).doc("or the centre of a sphere");
  table.option("radius", &Keys::radius, std::nullopt).at_least(1e-30).doc("its radius");
  table.option("max_level", &Keys::max_level, std::nullopt).required().range(0, 30).doc("level of the region");
  return entry_of("region", table, make_region);
}

}  // namespace

const core::Registry<CriterionEntry>& criterion_kinds() {
  static const core::Registry<CriterionEntry> all(
      {"criteria", "criterion", "where a mesh is refined: `criterion` of [refine.NAME]"},
      {loehner_entry(), threshold_entry(), gradient_entry(), jeans_entry(), region_entry()});
  return all;
}

std::vector<Criterion> read_criteria(const Node& root, Node& resolved) {
  std::vector<Criterion> criteria;
  const Node* tables = root.find("refine");
  if (tables == nullptr) return criteria;
  Node full = *tables;
  for (const auto& [name, node] : tables->members()) {
    if (!node.is_table())
      core::reject(node, fmt::format("`refine.{}` is {}, not a table", name, node.kind()),
                   "each criterion has a table of its own, such as [refine.shocks]");
    Node part;
    criteria.push_back(criterion_kinds().chosen(node, "criterion").make(node, &part));
    criteria.back().name = name;
    full.set(name, std::move(part));
  }
  resolved.set("refine", std::move(full));
  return criteria;
}

}  // namespace sidestream::amr
