#include "sidestream/redistribute/data_mapping.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::bindings {

namespace {

using Triple = std::array<std::int32_t, 3>;                                        // x, y, z
using Box = std::tuple<Triple, Triple>;                                            // first cell, end
using Problem = std::optional<std::tuple<std::string, std::string, std::string>>;  // what, where, hint
using Memory = std::tuple<std::uintptr_t, Triple, std::array<std::int64_t, 4>>;  // address, cells, strides in elements

mesh::Int3 int3(const Triple& xyz) {
  return {xyz[0], xyz[1], xyz[2]};
}

std::vector<mesh::Box> boxes_of(const std::vector<Box>& given) {
  std::vector<mesh::Box> boxes;
  for (const auto& [lo, hi] : given) boxes.push_back({int3(lo), int3(hi)});
  return boxes;
}

std::optional<core::Error> error_of(const Problem& problem) {
  if (!problem) return {};
  const auto& [what, where, hint] = *problem;
  return core::Error(what, where, hint);
}

template <typename Cell>
std::vector<redistribute::ChunkMemory<Cell>> memory_of(const std::vector<Memory>& given, const std::string& type) {
  std::vector<redistribute::ChunkMemory<Cell>> memory;
  for (const auto& [address, cells, strides] : given)
    memory.push_back({reinterpret_cast<Cell*>(address),
                      mesh::element_type(type),
                      int3(cells),
                      {strides[0], strides[1], strides[2], strides[3]}});
  return memory;
}

/// A mapping for arrays that Python keeps alive while they are moved.
class Mapping {
 public:
  Mapping(const Triple& cells, const std::array<bool, 3>& periodic, const Triple& rim, int components,
          bool allows_holes, const std::string& strategy, const std::vector<Box>& owned, const std::vector<Box>& needed,
          const Problem& problem, std::optional<int> comm)
      : mapping_(mapped({int3(cells), periodic, int3(rim), components, allows_holes}, strategy, boxes_of(owned),
                        boxes_of(needed), problem, comm)) {}

  void start(const std::vector<Memory>& owned, const std::string& owned_type, const std::vector<Memory>& needed,
             const std::string& needed_type, const Problem& problem) {
    const nb::gil_scoped_release unlocked;
    mapping_.start(memory_of<const void>(owned, owned_type), memory_of<void>(needed, needed_type), error_of(problem));
  }
  void finish() {
    const nb::gil_scoped_release unlocked;
    mapping_.finish();
  }
  bool test() const { return mapping_.test(); }
  std::string strategy() const { return redistribute::entry_of(mapping_.plan().strategy()).name; }

 private:
  static redistribute::DataMapping mapped(redistribute::DataDescription description, const std::string& strategy,
                                          const std::vector<mesh::Box>& owned, const std::vector<mesh::Box>& needed,
                                          const Problem& problem, std::optional<int> comm) {
    ensure_mpi();
    const nb::gil_scoped_release unlocked;
    std::optional<core::Error> error = error_of(problem);
    try {
      description.strategy = redistribute::strategies().named(strategy).strategy;
    } catch (const core::Error& unknown) {
      error = unknown;
    }
    return {comm ? MPI_Comm_f2c(*comm) : MPI_COMM_SELF, description, owned, needed, error};
  }

  redistribute::DataMapping mapping_;
};

}  // namespace

void bind_data_mapping(nb::module_& module) {
  nb::class_<Mapping>(module, "DataMapping", "Chunks that ranks own, brought to those that ranks need.")
      .def(nb::init<const Triple&, const std::array<bool, 3>&, const Triple&, int, bool, const std::string&,
                    const std::vector<Box>&, const std::vector<Box>&, const Problem&, std::optional<int>>(),
           nb::arg("cells"), nb::arg("periodic"), nb::arg("rim"), nb::arg("components"), nb::arg("allows_holes"),
           nb::arg("strategy"), nb::arg("owned"), nb::arg("needed"), nb::arg("problem").none(), nb::arg("comm").none(),
           "Everything along x, y, z; boxes are (first cell, end); `problem` is what is wrong on this rank: (what, "
           "where, hint), or None; "
           "`comm` is the Fortran handle of a communicator. Collective.")
      .def("start", &Mapping::start, nb::arg("owned"), nb::arg("owned_type"), nb::arg("needed"), nb::arg("needed_type"),
           nb::arg("problem").none(),
           "Arrays are (address, cells along x, y, z, elements between neighbours along x, y, z and components). "
           "Collective.")
      .def("finish", &Mapping::finish, "Collective.")
      .def("test", &Mapping::test, "Whether `finish` would not wait.")
      .def_prop_ro("strategy", &Mapping::strategy, "By which cells travel.");
}

}  // namespace sidestream::bindings
