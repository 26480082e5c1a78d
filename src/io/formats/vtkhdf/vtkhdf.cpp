// Plot files for VTK and ParaView: VTKHDF 2.2 of type OverlappingAMR (VTK file formats, docs.vtk.org). A group for each
// level with the boxes and, for each variable, their cells one box behind the other.
#include <fmt/format.h>

#include <algorithm>

#include "io/arrays/stored_reals.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/content/pack_block.hpp"
#include "io/formats/format_entries.hpp"
#include "io/formats/metadata.hpp"
#include "io/formats/vtkhdf/vtkhdf_file.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

std::string level_group(std::size_t level) {
  return fmt::format("VTKHDF/Level{}", level);
}

std::vector<std::int64_t> cell_starts(const mesh::Layout& layout) {
  std::vector<std::int64_t> starts{0};
  for (const mesh::Box& box : layout.boxes()) starts.push_back(starts.back() + box.volume());
  return starts;
}

void pack_cells(const FileContent& content, const std::string& field, std::size_t level, const mesh::Box& box,
                ElementType type, std::span<std::byte> out) {
  std::vector<double> room;
  const auto [view, factor] = cells_of(content, field, level, box, room);
  for (int k = box.lo.z; k < box.hi.z; ++k)
    for (int j = box.lo.y; j < box.hi.y; ++j)
      for (int i = box.lo.x; i < box.hi.x; ++i) put_real(out, type, factor * view(k, j, i));
}

// The cells of a level: an array for each variable, a run for each box.
ArrayGroup level_group_of(const FileContent& content, std::size_t level, int rank) {
  const mesh::Layout& layout = content.state.levels[level];
  const std::vector<std::int64_t> starts = cell_starts(layout);
  const ElementType type =
      content.precision == Precision::single_precision ? ElementType::float32 : ElementType::float64;
  ArrayGroup group;
  group.rows = starts.back();
  group.run_total = layout.size();
  for (const std::int32_t box : layout.boxes_of(rank))
    group.runs.push_back({box, starts[static_cast<std::size_t>(box)], layout.box(box).volume()});
  for (const mesh::Quantity& field : content.fields())
    group.arrays.push_back({level_group(level) + "/CellData/" + vtkhdf_array_name(field.name), type, {}});
  group.checksums = vtkhdf_checksums(level);
  group.compression = content.compression;
  group.form = [&layout, type](std::int64_t box) {
    return form_of(layout.box(static_cast<std::int32_t>(box)).extent(), type);
  };
  group.pack = [&content, level, type, own = layout.boxes_of(rank)](std::size_t array, std::size_t run,
                                                                    std::span<std::byte> out) {
    pack_cells(content, content.fields()[array].name, level, content.state.levels[level].box(own[run]), type, out);
  };
  return group;
}

// --- the container
// -------------------------------------------------------------------------------------------------------------------

template <typename T>
void put_attribute(hid_t object, const char* name, hid_t type, const std::vector<T>& values) {
  const auto length = static_cast<hsize_t>(values.size());
  const SpaceHandle space(H5Screate_simple(1, &length, nullptr), "H5Screate_simple");
  const AttributeHandle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2");
  check_hdf5(H5Awrite(attribute, type, values.data()), "H5Awrite");
}

// The reader takes texts of fixed length without an end.
void put_word(hid_t object, const char* name, const std::string& word) {
  const TypeHandle type(H5Tcopy(H5T_C_S1), "H5Tcopy");
  check_hdf5(H5Tset_size(type, word.size()), "H5Tset_size");
  check_hdf5(H5Tset_strpad(type, H5T_STR_NULLPAD), "H5Tset_strpad");
  const SpaceHandle space(H5Screate(H5S_SCALAR), "H5Screate");
  const AttributeHandle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2");
  check_hdf5(H5Awrite(attribute, type, word.data()), "H5Awrite");
}

ObjectHandle make_group(hid_t file, const std::string& name) {
  const PropertiesHandle creation(H5Pcreate(H5P_GROUP_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  return ObjectHandle(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), "H5Gcreate2");
}

void put_level(hid_t file, const FileContent& content, std::size_t level) {
  const mesh::Layout& layout = content.state.levels[level];
  const mesh::Geometry geometry = content.state.geometry.refined(static_cast<int>(level));
  const ObjectHandle group = make_group(file, level_group(level));
  put_attribute<double>(group, "Spacing", H5T_NATIVE_DOUBLE,
                        {geometry.cell_size(0), geometry.cell_size(1), geometry.cell_size(2)});
  std::vector<std::int32_t> boxes;
  for (const mesh::Box& box : layout.boxes())
    for (int axis = 0; axis < 3; ++axis) boxes.insert(boxes.end(), {box.lo[axis], box.hi[axis] - 1});
  put_dataset(file, level_group(level) + "/AMRBox", H5T_NATIVE_INT32, {layout.size(), 6}, boxes.data());
  for (const char* kind : {"/CellData", "/PointData", "/FieldData"}) make_group(file, level_group(level) + kind);
}

std::vector<std::int64_t> make_container(const FileContent& content, const std::string& path,
                                         std::span<const Array> arrays, std::span<const std::int64_t> rows) {
  const QuietHdf5 quiet;
  FileHandle file = create_hdf5_file(path, 0, arrays);
  make_group(file, "sidestream");  // which else would tell when it was made
  std::vector<std::int64_t> offsets{place_array(file, arrays[0], rows[0])};
  {
    const ObjectHandle root = make_group(file, "VTKHDF");
    put_attribute<std::int64_t>(root, "Version", H5T_NATIVE_INT64, {2, 2});
    put_word(root, "Type", "OverlappingAMR");
    put_word(root, "GridDescription", "XYZ");
    put_attribute<double>(root, "Origin", H5T_NATIVE_DOUBLE, {0.0, 0.0, 0.0});
  }
  for (std::size_t level = 0; level < content.state.levels.size(); ++level) put_level(file, content, level);
  put_text_dataset(file, vtkhdf_metadata, metadata_text(content));
  for (std::size_t a = 1; a < arrays.size(); ++a) offsets.push_back(place_array(file, arrays[a], rows[a]));
  file.close("H5Fclose");
  return offsets;
}

void check_names(const FileContent& content) {
  std::vector<std::string> names;
  for (const mesh::Quantity& field : content.fields()) names.push_back(vtkhdf_array_name(field.name));
  std::ranges::sort(names);
  core::require(std::ranges::adjacent_find(names) == names.end(), "the variables of a file have different names");
}

// The chunks of HDF5 have one shape.
void check_boxes(const FileContent& content) {
  if (content.compression.empty()) return;
  for (const mesh::Layout& level : content.state.levels)
    for (const mesh::Box& box : level.boxes())
      if (box.extent() != level.box(0).extent())
        throw core::Error("the format `vtkhdf` compresses boxes of one size only, and these differ", "",
                          "choose `block` so that it divides the cells, or take the format `raw`");
}

AccessStatistics write_vtkhdf(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                              const WriteOptions& options) {
  ArrayFile file;
  comm.agree_on([&] {
    check_names(content);
    check_boxes(content);
    file.container = Container::hdf5;
    file.record = vtkhdf_record;
    for (std::size_t level = 0; !content.fields().empty() && level < content.state.levels.size(); ++level)
      file.groups.push_back(level_group_of(content, level, comm.rank()));
    file.create = [&](const std::string& where, std::span<const Array> arrays, std::span<const std::int64_t> rows) {
      return make_container(content, where, arrays, rows);
    };
  });
  return write_array_file(comm, path, file, options);
}

}  // namespace

std::string vtkhdf_array_name(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

std::string vtkhdf_checksums(std::size_t level) {
  return fmt::format("sidestream/checksums{}", level);
}

Format vtkhdf_format() {
  Format format;
  format.name = "vtkhdf";
  format.documentation = "one VTKHDF file of overlapping boxes, for ParaView; without particles, plot files only";
  format.plotfile = StepName{"plt", ".vtkhdf", 5};
  for (const WriteMethod& method : write_methods())
    if (std::ranges::find(method.containers, Container::hdf5) != method.containers.end())
      format.methods.push_back(method.name);
  format.write = write_vtkhdf;
  format.recognizes = is_vtkhdf_file;
  format.open = open_vtkhdf_file;
  format.compresses = true;
  format.holds_particles = false;
  format.holds_particles_alone = false;
  return format;
}

}  // namespace sidestream::io
