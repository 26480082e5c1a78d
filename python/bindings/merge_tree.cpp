#include "sidestream/analysis/merge_tree.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <memory>
#include <string>
#include <utility>

#include "blocks.hpp"
#include "sidestream/analysis/halo_catalogue.hpp"
#include "sidestream/io/result_file.hpp"

namespace sidestream::bindings {

namespace {

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

// A merge tree and what keeps it alive.
class Tree {
 public:
  Tree(const Blocks& blocks, std::int64_t connectivity, bool is_above, const std::optional<std::string>& cut_off,
       int threads)
      : comm_(blocks.comm().duplicate()), field_(blocks.copy_of_field()) {
    about_.mean = analysis::mean(comm_, field_, "array");
    about_.geometry = blocks.geometry(static_cast<double>(field_.layout().domain().extent().x));
    analysis::TreeOptions options;
    options.connectivity = analysis::connectivity_of(connectivity);
    options.sets = is_above ? analysis::Sets::above : analysis::Sets::below;
    options.threads = threads;
    if (cut_off) options.cut_off = (is_above ? 1.0 : -1.0) * threshold(*cut_off);
    made_ = std::make_unique<analysis::MergeTree>(comm_, analysis::LeafField{field_}, options);
  }

  Tree(const std::string& path, std::optional<int> handle) : comm_(communicator(handle)) {
    const mesh::Result stored = io::read_result(comm_, path);
    about_ = analysis::tree_field(comm_, stored);
    stored_ = std::make_unique<analysis::StoredTree>(comm_, stored);
  }

  const analysis::MergeTree& tree() const { return stored_ ? stored_->tree : *made_; }
  // Of the finest level, whose cells are counted.
  mesh::Int3 cells() const {
    return about_.geometry.refined(static_cast<int>(tree().field().size()) - 1).domain.extent();
  }
  const std::array<double, 3>& box_size() const { return about_.geometry.length; }
  double threshold(const std::string& text) const { return analysis::parse_threshold(text).in(about_.mean); }

  std::int64_t components(double threshold, std::optional<double> t_halo) const {
    return t_halo ? tree().components(threshold, *t_halo) : tree().components(threshold);
  }
  bool connected(std::int64_t a, std::int64_t b, double threshold) const { return tree().connected(a, b, threshold); }
  std::int64_t component_of(std::int64_t cell, double threshold) const { return tree().component_of(cell, threshold); }

  std::vector<analysis::Branch> branches(double least) const {
    const auto all = comm_.broadcast(tree().all_branches());
    return least > 0.0 ? analysis::simplified(all, least) : all;
  }

  mesh::Result halos(const std::string& t_boundary, const std::string& t_halo,
                     const std::optional<Sides>& sides) const {
    const analysis::HaloQuery query{analysis::parse_threshold(t_boundary), analysis::parse_threshold(t_halo)};
    return analysis::halo_catalogue(comm_, tree(), with_sides(sides), query);
  }

  void save(const std::string& path, const std::optional<Sides>& sides) const {
    mesh::Result result = tree().to_result();
    if (comm_.rank() == 0) analysis::describe(with_sides(sides), result);
    io::write_result(comm_, path, result);
  }

 private:
  analysis::TreeField with_sides(const std::optional<Sides>& sides) const {
    analysis::TreeField field = about_;
    if (sides) field.geometry.length = Blocks::geometry_of(tree().field().front().layout(), *sides).length;
    return field;
  }

  comm::Communicator comm_;
  mesh::FieldView<const double> field_;
  analysis::TreeField about_;
  std::unique_ptr<analysis::MergeTree> made_;
  std::unique_ptr<analysis::StoredTree> stored_;
};

nb::dict branches(const Tree& tree, double least) {
  std::vector<std::int64_t> maximum, saddle, parent;
  std::vector<double> birth, death;
  {
    const nb::gil_scoped_release unlocked;
    for (const analysis::Branch& branch : tree.branches(least)) {
      maximum.push_back(branch.maximum);
      birth.push_back(branch.birth);
      saddle.push_back(branch.saddle);
      death.push_back(branch.death);
      parent.push_back(branch.parent);
    }
  }
  nb::dict columns;
  columns["maximum"] = array_of(std::move(maximum));
  columns["birth"] = array_of(std::move(birth));
  columns["saddle"] = array_of(std::move(saddle));
  columns["death"] = array_of(std::move(death));
  columns["parent"] = array_of(std::move(parent));
  return columns;
}

nb::dict halos(const Tree& tree, const std::string& t_boundary, const std::string& t_halo,
               const std::optional<Sides>& sides) {
  mesh::Result result;
  {
    const nb::gil_scoped_release unlocked;
    result = tree.halos(t_boundary, t_halo, sides);
  }
  return dict_of(result);
}

std::unique_ptr<Tree> read(const std::string& path, std::optional<int> comm) {
  ensure_mpi();
  const nb::gil_scoped_release unlocked;
  return std::make_unique<Tree>(path, comm);
}

}  // namespace

void bind_merge_tree(nb::module_& module) {
  nb::class_<Tree>(module, "MergeTree",
                   "The merge tree of a field on the ranks of a communicator. Calls are collective.")
      .def(nb::init<const Blocks&, std::int64_t, bool, const std::optional<std::string>&, int>(), nb::arg("blocks"),
           nb::arg("connectivity"), nb::arg("above"), nb::arg("cut_off") = nb::none(), nb::arg("threads"), Unlocked())
      .def_prop_ro("connectivity",
                   [](const Tree& tree) { return static_cast<std::int64_t>(tree.tree().options().connectivity); })
      .def_prop_ro("above", [](const Tree& tree) { return tree.tree().options().sets == analysis::Sets::above; })
      .def_prop_ro(
          "cut_off", [](const Tree& tree) { return tree.tree().options().cut_off; }, "A height.")
      .def_prop_ro("shape",
                   [](const Tree& tree) { return nb::make_tuple(tree.cells().z, tree.cells().y, tree.cells().x); })
      .def_prop_ro("box_size", &Tree::box_size, "Sides x, y, z; in cells where none is known.")
      .def("branches", &branches, nb::arg("least"),
           "Branches of at least a persistence, by descending maximum, complete on all ranks.")
      .def("threshold", &Tree::threshold, nb::arg("text"), "The value of \"60 mean\".")
      .def("components", &Tree::components, nb::arg("threshold"), nb::arg("t_halo") = nb::none(), Unlocked())
      .def("connected", &Tree::connected, nb::arg("a"), nb::arg("b"), nb::arg("threshold"), Unlocked())
      .def("component_of", &Tree::component_of, nb::arg("cell"), nb::arg("threshold"), Unlocked())
      .def("halos", &halos, nb::arg("t_boundary"), nb::arg("t_halo"), nb::arg("box_size") = nb::none(),
           "The catalogue, complete on rank 0.")
      .def("save", &Tree::save, nb::arg("path"), nb::arg("box_size") = nb::none(), Unlocked());
  module.def("read_merge_tree", &read, nb::arg("path"), nb::arg("comm") = nb::none(), "A merge tree from its file.");
}

}  // namespace sidestream::bindings
