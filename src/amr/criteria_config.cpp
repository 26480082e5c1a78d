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

/// A kind of criterion: its options and how it is made of them.
struct Kind {
  std::string name;
  Table<Keys> table;
  Criterion (*make)(const Node& node, const Keys& keys);
};

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

Kind loehner_kind() {
  Table<Keys> table = table_of("Loehner's estimate of the error, from 0 (linear) to 1 (a jump)");
  add_fields(table);
  table.option("refine_above", &Keys::refine_above, 0.8)
      .range(0.0, 1.0)
      .doc("refines where the estimate is above this");
  table.option("coarsen_below", &Keys::coarsen_below, 0.2)
      .range(0.0, 1.0)
      .doc("coarsens where it is below this everywhere");
  return {"loehner", table, [](const Node& node, const Keys& keys) {
            return loehner(chosen_fields(node, keys), checked_limits(node, keys));
          }};
}

Kind gradient_kind() {
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
  return {"gradient", table, [](const Node& node, const Keys& keys) {
            return gradient(chosen_fields(node, keys), checked_limits(node, keys));
          }};
}

Kind threshold_kind() {
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
  return {"threshold", table, [](const Node& node, const Keys& keys) {
            return threshold(chosen_fields(node, keys), checked_limits(node, keys), keys.level_factor);
          }};
}

Kind jeans_kind() {
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
  return {"jeans", table, make_jeans};
}

Kind region_kind() {
  Table<Keys> table = table_of("A box or a sphere that is always refined");
  table.option("lower", &Keys::lower, std::nullopt).doc("low corner of a box, in units of length of the simulation");
  table.option("upper", &Keys::upper, std::nullopt).doc("its high corner");
  table.option("center", &Keys::center, std::nullopt).doc("or the centre of a sphere");
  table.option("radius", &Keys::radius, std::nullopt).at_least(1e-30).doc("its radius");
  table.option("max_level", &Keys::max_level, std::nullopt).required().range(0, 30).doc("level of the region");
  return {"region", table, make_region};
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{loehner_kind(), threshold_kind(), gradient_kind(), jeans_kind(), region_kind()};
  return all;
}

const Kind& kind_of(const Node& node) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  const Node* criterion = node.find("criterion");
  if (criterion == nullptr)
    core::reject(node, "the key `criterion` is missing", fmt::format("there are: {}", fmt::join(names, ", ")));
  const auto found = std::ranges::find(kinds(), criterion->text(), &Kind::name);
  if (found != kinds().end()) return *found;
  const std::string near = core::nearest_name(criterion->text(), names);
  core::reject(
      *criterion, fmt::format("there is no criterion \"{}\"", criterion->text()),
      near.empty() ? fmt::format("there are: {}", fmt::join(names, ", ")) : fmt::format("did you mean \"{}\"?", near));
}

}  // namespace

std::vector<Criterion> read_criteria(const Node& root, Node& resolved) {
  std::vector<Criterion> criteria;
  const Node* tables = root.find("refine");
  if (tables == nullptr) return criteria;
  Node full = *tables;
  for (const auto& [name, node] : tables->members()) {
    if (!node.is_table())
      core::reject(node, fmt::format("`refine.{}` is {}, not a table", name, node.kind()),
                   "each criterion has a table of its own, such as [refine.shocks]");
    const Kind& kind = kind_of(node);
    Node part;
    const Keys keys = kind.table.read(node, &part);
    criteria.push_back(kind.make(node, keys));
    criteria.back().name = name;
    if (keys.max_level) criteria.back().max_level = *keys.max_level;
    full.set(name, std::move(part));
  }
  resolved.set("refine", std::move(full));
  return criteria;
}

std::map<std::string, std::vector<core::Option>> criterion_options() {
  std::map<std::string, std::vector<core::Option>> all;
  for (const Kind& kind : kinds()) all[kind.name] = kind.table.options();
  return all;
}

}  // namespace sidestream::amr
