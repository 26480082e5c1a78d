#include "sidestream/analysis/halo_catalogue.hpp"

#include <array>
#include <utility>

#include "analysis/halos/halo_finder.hpp"
#include "analysis/halos/halo_table.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

template <typename T>
const T& attribute(const mesh::Result& tree, const std::string& name) {
  const auto found = tree.attributes.find(name);
  const T* const value = found == tree.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr)
    throw core::Error("the attribute `" + name + "` is missing: this is no merge tree", "",
                      "give the result of a task with analysis = \"merge_tree\", or a tree saved from Python");
  return *value;
}

std::string with_axis(const char* name, int axis) {
  return std::string(name) + "xyz"[axis];
}

struct Numbers {
  double mean;
  mesh::Geometry geometry;
};

Numbers numbers_of(const mesh::Result& tree) {
  Numbers numbers{attribute<double>(tree, "mean_density"), {}};
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    numbers.geometry.length[a] = attribute<double>(tree, with_axis("length_", axis));
    numbers.geometry.periodic[a] = attribute<std::int64_t>(tree, with_axis("tree_periodic_", axis)) != 0;
    numbers.geometry.domain.lo[axis] =
        static_cast<std::int32_t>(attribute<std::int64_t>(tree, with_axis("tree_begin_", axis)));
    numbers.geometry.domain.hi[axis] =
        static_cast<std::int32_t>(attribute<std::int64_t>(tree, with_axis("tree_end_", axis)));
  }
  return numbers;
}

// Trees of older versions do not say it; those of universes have a density that does.
std::string length_unit_of(const mesh::Result& tree, const std::string& field_unit) {
  if (tree.attributes.contains("length_unit")) return attribute<std::string>(tree, "length_unit");
  return field_unit == "Msun/Mpc^3" ? "Mpc" : "";
}

}  // namespace

void describe(const TreeField& field, mesh::Result& tree) {
  tree.attributes["field"] = field.name;
  tree.attributes["field_unit"] = field.unit;
  tree.attributes["length_unit"] = field.length_unit;
  tree.attributes["mean_density"] = field.mean;
  for (int axis = 0; axis < 3; ++axis)
    tree.attributes[with_axis("length_", axis)] = field.geometry.length[static_cast<std::size_t>(axis)];
}

TreeField tree_field(const comm::Communicator& comm, const mesh::Result& tree) {
  TreeField field;
  Numbers numbers{};
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    numbers = numbers_of(tree);
    field.name = attribute<std::string>(tree, "field");
    field.unit = attribute<std::string>(tree, "field_unit");
    field.length_unit = length_unit_of(tree, field.unit);
  });
  numbers = comm.broadcast(numbers);
  return {comm.broadcast(std::move(field.name)), comm.broadcast(std::move(field.unit)), numbers.mean, numbers.geometry,
          comm.broadcast(std::move(field.length_unit))};
}

mesh::Result halo_catalogue(const comm::Communicator& comm, const MergeTree& tree, const TreeField& field,
                            const HaloQuery& query) {
  const HaloCriteria criteria{query.t_boundary.in(field.mean), query.t_halo.in(field.mean), tree.options().connectivity,
                              query.min_cells};
  HaloColumns columns;
  columns.density_unit = field.unit;
  columns.length_unit = field.length_unit;
  mesh::Result result = spread_halo_table(comm, find_catalogue(comm, tree, field.geometry, criteria), columns);
  if (comm.rank() != 0) return result;
  result.attributes["analysis"] = std::string("halos");
  result.attributes["field"] = field.name;
  result.attributes["connectivity"] = static_cast<std::int64_t>(criteria.connectivity);
  result.attributes["t_boundary"] = criteria.t_boundary;
  result.attributes["t_halo"] = criteria.t_halo;
  result.attributes["mean_density"] = field.mean;
  return result;
}

}  // namespace sidestream::analysis
