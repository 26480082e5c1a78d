#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/result_file.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::bindings {

namespace {

// PnetCDF reads nothing without MPI; to be called with the interpreter's lock.
void prepare_to_read(const std::string& path) {
  std::error_code nowhere;
  if (std::filesystem::is_regular_file(path, nowhere)) ensure_mpi();
}

// What a file holds, as JSON.
std::string describe_file(const std::string& path) {
  prepare_to_read(path);
  const nb::gil_scoped_release unlocked;
  return to_json(io::open_snapshot_file(path)->description()).dump();
}

// The configuration, as TOML, of the run that wrote a file; "" where it keeps none.
std::string file_config(const std::string& path) {
  prepare_to_read(path);
  const nb::gil_scoped_release unlocked;
  const auto file = io::open_snapshot_file(path);
  const auto& texts = file->description().state.texts;
  const auto found = texts.find(io::config_text);
  return found == texts.end() ? "" : found->second;
}

// The name of the format, or "" when no format recognises the file.
std::string format_of_file(const std::string& path) {
  prepare_to_read(path);
  for (const io::Format& format : io::formats())
    if (format.recognizes(path)) return format.name;
  return "";
}

std::vector<std::string> file_formats() {
  return io::formats().names();
}

std::vector<std::string> methods_of_format(const std::string& name) {
  return io::formats().named(name).methods;
}

// What a run calls its files: ("checkpoint" or "plot file", step) of a name, whatever the format; None for other names.
nb::object output_named(const std::string& name) {
  for (const io::Format& format : io::formats()) {
    if (const auto step = format.checkpoint ? format.checkpoint->step_of(name) : std::nullopt)
      return nb::make_tuple("checkpoint", *step);
    if (const auto step = format.plotfile ? format.plotfile->step_of(name) : std::nullopt)
      return nb::make_tuple("plot file", *step);
  }
  return nb::none();
}

// (z, y, x) of the cells of the level from `low` to `high` (x, y, z), or of all.
nb::object covering_grid(const std::string& path, const std::string& field, int level,
                         const std::optional<std::array<std::int32_t, 3>>& low,
                         const std::optional<std::array<std::int32_t, 3>>& high) {
  prepare_to_read(path);
  std::unique_ptr<mesh::Field<double>> values;
  {
    const nb::gil_scoped_release unlocked;
    const auto file = io::open_snapshot_file(path);
    const mesh::Box domain = file->description().state.levels.at(static_cast<std::size_t>(level)).domain();
    mesh::Box box = domain;
    for (int axis = 0; axis < 3; ++axis) {
      if (low) box.lo[axis] = low->at(static_cast<std::size_t>(axis));
      if (high) box.hi[axis] = high->at(static_cast<std::size_t>(axis));
    }
    core::require(!box.is_empty() && domain.contains(box), "the cells to be read lie in the domain");
    values = std::make_unique<mesh::Field<double>>(mesh::Layout(domain, {}, {box}, {0}, level), 0);
    file->read_covering(field, *values, level);
  }
  const mesh::Int3 n = values->box(0).extent();
  double* const data = values->all().data();
  return array_of(std::move(values), data,
                  {static_cast<std::size_t>(n.z), static_cast<std::size_t>(n.y), static_cast<std::size_t>(n.x)});
}

// Six numbers a box: x, y, z of its first cell and of its end.
nb::object boxes(const std::string& path, int level) {
  prepare_to_read(path);
  const auto file = io::open_snapshot_file(path);
  std::vector<std::int32_t> corners;
  for (const mesh::Box& box : file->description().state.levels.at(static_cast<std::size_t>(level)).boxes())
    corners.insert(corners.end(), {box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z});
  return array_of(std::move(corners));
}

// Ids, positions and named numbers of the particles of a species, each an array.
nb::dict particles(const std::string& path, const std::string& species) {
  prepare_to_read(path);
  mesh::Particles all;
  {
    const nb::gil_scoped_release unlocked;
    all = io::open_snapshot_file(path)->read_particles(0, 1, species);
  }
  nb::dict columns;
  columns["id"] = array_of(std::move(all.id));
  for (std::size_t axis = 0; axis < 3; ++axis)
    columns[std::string(1, "xyz"[axis]).c_str()] = array_of(std::move(all.position[axis]));
  for (mesh::ParticleAttribute& attribute : all.attributes)
    columns[attribute.name.c_str()] = array_of(std::move(attribute.values));
  return columns;
}

// Of 8 bytes a row.
std::int64_t rows_checksum(const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& rows) {
  return io::checksum_of_all_rows(std::as_bytes(std::span(rows.data(), rows.shape(0) / 8 * 8)));
}

}  // namespace

void bind_io(nb::module_& module) {
  module.def("describe_file", &describe_file, nb::arg("path"), "What a file of any format holds, as JSON.");
  module.def("format_of_file", &format_of_file, nb::arg("path"),
             "The name of a file's format; empty when none recognises it.");
  module.def("canonical_unit", &io::canonical_unit, nb::arg("unit"), "A unit in the spelling of ours.");
  module.def("unit_powers", &io::unit_powers, nb::arg("unit"),
             "The names in a unit, as ours are spelled, and their powers; None where a part is not known.");
  module.def("quantity_of", &io::quantity_of, nb::arg("name"), "The quantity that files know by a name.");
  module.def("file_formats", &file_formats, "The names of all formats.");
  module.def("methods_of_format", &methods_of_format, nb::arg("name"),
             "The methods that write files of a format, its default first; none: a way of its own.");
  module.def("output_named", &output_named, nb::arg("name"),
             "(kind, step) of the name of a file in the folder of a run; None when it is no such name.");
  module.def("file_config", &file_config, nb::arg("path"),
             "The configuration of the run that wrote a file, as TOML; empty where it keeps none.");
  module.def("covering_grid", &covering_grid, nb::arg("path"), nb::arg("field"), nb::arg("level"),
             nb::arg("low") = nb::none(), nb::arg("high") = nb::none(),
             "A field (z, y, x) of a file at the resolution of a level, on the cells from `low` to `high` (x, y, z) or "
             "on the whole domain.");
  module.def("file_boxes", &boxes, nb::arg("path"), nb::arg("level"),
             "Six numbers a box of a level of a file: x, y, z of its first cell and of its end.");
  module.def(
      "has_right_record", &io::has_right_record, nb::arg("path"),
      "Whether a result ends with a checksum of all but distributed rows; an error where it is wrong or missing.");
  module.def("rows_checksum", &rows_checksum, nb::arg("rows"),
             "The checksum of a distributed column, given its bytes.");
  module.def("file_particles", &particles, nb::arg("path"), nb::arg("species"),
             "The particles of a species in a file, by default the first: arrays `id`, `x`, `y`, `z` and each named "
             "number.");
}

}  // namespace sidestream::bindings
