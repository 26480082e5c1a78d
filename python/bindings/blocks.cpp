#include "blocks.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::bindings {

namespace {

mesh::Int3 int3(const Blocks::Triple& zyx) {
  return {static_cast<std::int32_t>(zyx[2]), static_cast<std::int32_t>(zyx[1]), static_cast<std::int32_t>(zyx[0])};
}

// Arrays are cut into slabs of so many planes, which lie in memory as before: threads take one at a time.
constexpr std::int32_t slab_planes = 32;

template <typename T>
std::vector<mesh::Box> boxes_of(const std::vector<FieldArray<T>>& arrays, const std::vector<Blocks::Triple>& origins) {
  std::vector<mesh::Box> boxes;
  for (std::size_t b = 0; b < arrays.size(); ++b) {
    const mesh::Int3 origin = int3(origins[b]);
    const auto along = [&](std::size_t axis) { return static_cast<std::int64_t>(arrays[b].shape(axis)); };
    const mesh::Int3 end = origin + int3({along(0), along(1), along(2)});
    for (mesh::Int3 lo = origin; lo.z < end.z; lo.z += slab_planes)
      boxes.push_back({lo, {end.x, end.y, std::min(end.z, lo.z + slab_planes)}});
  }
  return boxes;
}

// The arrays, given back to Python when nobody looks at them any more.
template <typename T>
std::shared_ptr<const void> kept_while_seen(const std::vector<FieldArray<T>>& arrays) {
  return {new std::vector<FieldArray<T>>(arrays), [](const std::vector<FieldArray<T>>* kept) {
            const nb::gil_scoped_acquire locked;
            delete kept;
          }};
}

template <typename T>
std::shared_ptr<const mesh::Field<double>> converted(const mesh::FieldView<const T>& view) {
  auto field = std::make_shared<mesh::Field<double>>(view.layout(), view.rank());
  for (int b = 0; b < view.blocks(); ++b)
    core::for_each_cell(view.box(b), [to = field->view(b), from = view.view(b)](int k, int j, int i) {
      to(k, j, i) = static_cast<double>(from(k, j, i));
    });
  return field;
}

}  // namespace

comm::Communicator communicator(std::optional<int> handle) {
  ensure_mpi();
  return comm::Communicator(handle ? MPI_Comm_f2c(*handle) : MPI_COMM_SELF);
}

template <typename T>
Blocks::Blocks(const std::vector<FieldArray<T>>& arrays, const std::vector<Triple>& origins, const Triple& shape,
               const Flags& periodic, std::optional<int> comm)
    : comm_(std::make_shared<const comm::Communicator>(communicator(comm))) {
  const auto kept = kept_while_seen(arrays);
  const nb::gil_scoped_release unlocked;
  const std::vector<mesh::Box> boxes = boxes_of(arrays, origins);
  const mesh::Layout layout = layout_of(boxes, shape, periodic);
  std::vector<core::View4<const T>> blocks;
  for (std::size_t b = 0; b < arrays.size(); ++b) {
    const FieldArray<T>& array = arrays[b];
    const mesh::Int3 origin = int3(origins[b]);
    const core::View4<const T> whole(array.data() - origin.x - origin.y * array.stride(1) - origin.z * array.stride(0),
                                     array.stride(1), array.stride(0), 0, 1);
    for (std::size_t plane = 0; plane < array.shape(0); plane += slab_planes) blocks.push_back(whole);
  }
  const mesh::FieldView<const T> field(layout, comm_->rank(), blocks, kept);
  if constexpr (std::is_same_v<T, double>)
    field_ = field;
  else
    field_ = converted(field);
}

mesh::FieldView<const double> Blocks::copy_of_field() const {
  return converted(field_);
}

mesh::Layout Blocks::layout_of(std::vector<mesh::Box> mine, const Triple& shape, const Flags& periodic) const {
  std::vector<std::int32_t> owners;
  const auto counts = comm_->all_gather(static_cast<std::int64_t>(mine.size()));
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    owners.insert(owners.end(), static_cast<std::size_t>(counts[rank]), static_cast<std::int32_t>(rank));
  const mesh::Box domain = mesh::domain_of(int3(shape));
  mesh::Layout layout(domain, {periodic[2], periodic[1], periodic[0]},
                      comm_->all_gather(std::span<const mesh::Box>(mine)), std::move(owners));
  mesh::check(layout);
  std::int64_t cells = 0;
  for (const mesh::Box& box : layout.boxes()) cells += box.volume();
  if (cells != domain.volume())
    throw core::Error(fmt::format("the blocks have {} cells, the whole has {}", cells, domain.volume()), "",
                      "each cell belongs to just one block of one rank; `origin` is the place of a block in `shape`");
  return layout;
}

mesh::Geometry Blocks::geometry_of(const mesh::Layout& layout, const Sides& sides) {
  mesh::Geometry geometry{layout.domain(), {}, layout.periodic()};
  const mesh::Int3 cells = geometry.domain.extent();
  if (const double* side = std::get_if<double>(&sides))
    for (int axis = 0; axis < 3; ++axis)
      geometry.length[static_cast<std::size_t>(axis)] = *side / cells.x * cells[axis];
  else
    geometry.length = std::get<std::array<double, 3>>(sides);
  return geometry;
}

nb::dict dict_of(const mesh::Result& result) {
  nb::dict columns, attributes;
  for (const mesh::Column& column : result.columns)
    columns[column.name.c_str()] =
        nb::make_tuple(std::visit([](const auto& values) { return array_of(values); }, column.values), column.unit,
                       column.description);
  for (const auto& [name, value] : result.attributes)
    attributes[name.c_str()] = std::visit([](const auto& plain) { return nb::cast(plain); }, value);
  nb::dict both;
  both["columns"] = columns;
  both["attributes"] = attributes;
  return both;
}

namespace {

// The cells of each box of the field where they lie, as arrays (z, y, x) that cannot be written to.
nb::list arrays_of(const mesh::FieldView<const double>& field) {
  using Array = nb::ndarray<nb::numpy, const double>;
  nb::list arrays;
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Box& box = field.box(b);
    const auto view = field.view(b);
    const mesh::Int3 n = box.extent();
    auto keeper = std::make_unique<mesh::FieldView<const double>>(field);
    const nb::capsule owner(keeper.get(),
                            [](void* kept) noexcept { delete static_cast<mesh::FieldView<const double>*>(kept); });
    keeper.release();
    arrays.append(
        nb::cast(Array(&view(box.lo.z, box.lo.y, box.lo.x),
                       {static_cast<std::size_t>(n.z), static_cast<std::size_t>(n.y), static_cast<std::size_t>(n.x)},
                       owner, {view.stride_z(), view.stride_y(), 1})));
  }
  return arrays;
}

}  // namespace

void bind_blocks(nb::module_& module) {
  nb::class_<Blocks> blocks(module, "Blocks", "A whole field as blocks (z, y, x) on the ranks of a communicator.");
  blocks.def(
      "arrays", [](const Blocks& self) { return arrays_of(self.field()); },
      "The cells where they lie, a read-only array (z, y, x) for each box.");
  const auto bind_for = [&]<typename T>(T) {
    using Arrays = std::vector<FieldArray<T>>;
    blocks.def(nb::init<const Arrays&, const std::vector<Blocks::Triple>&, const Blocks::Triple&, const Blocks::Flags&,
                        std::optional<int>>(),
               nb::arg("arrays"), nb::arg("origins"), nb::arg("shape"), nb::arg("periodic"),
               nb::arg("comm") = nb::none());
  };
  bind_for(double{});
  bind_for(float{});
}

}  // namespace sidestream::bindings
