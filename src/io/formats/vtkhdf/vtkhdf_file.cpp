// Reads VTKHDF files of type OverlappingAMR: ours, and those of others that hold numbers at the centres of cells.
#include "io/formats/vtkhdf/vtkhdf_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "io/arrays/stored_reals.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/containers/hdf5/hdf5_inside.hpp"
#include "io/containers/hdf5/hdf5_signature.hpp"
#include "io/content/block_copy.hpp"
#include "io/disk/commit_record.hpp"
#include "io/formats/metadata.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/sparse.hpp"

namespace sidestream::io {

namespace {

constexpr std::size_t most_levels = 32;

struct Level {
  std::array<double, 3> spacing{};
  std::vector<std::int64_t> starts{0};    // first cell of each box among those of the level
  std::vector<std::int64_t> checksums{};  // (box, variable); of ours only
};

std::string level_name(std::size_t level) {
  return fmt::format("VTKHDF/Level{}", level);
}

// A fixed-length text or numbers kept with an object.
std::string text_attribute(hid_t object, const char* name) {
  constexpr std::size_t longest = 256;
  const AttributeHandle attribute(H5Aopen(object, name, H5P_DEFAULT), "H5Aopen");
  const TypeHandle type(H5Aget_type(attribute), "H5Aget_type");
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || size == 0 || size > longest)
    throw core::Error(fmt::format("`{}` is not a short text", name));
  std::string text(size, '\0');
  check_hdf5(H5Aread(attribute, type, text.data()), "H5Aread");
  return text.substr(0, text.find('\0'));
}

std::array<double, 3> three_numbers(hid_t object, const char* name) {
  const AttributeHandle attribute(H5Aopen(object, name, H5P_DEFAULT), "H5Aopen");
  const SpaceHandle space(H5Aget_space(attribute), "H5Aget_space");
  std::array<double, 3> values{};
  if (H5Sget_simple_extent_npoints(space) != 3) throw core::Error(fmt::format("`{}` takes three numbers", name));
  check_hdf5(H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()), "H5Aread");
  for (const double value : values)
    if (!std::isfinite(value)) throw core::Error(fmt::format("`{}` is not finite", name));
  return values;
}

bool is_single(const Hdf5Reader& file, const std::string& name) {
  const QuietHdf5 quiet;
  const DatasetHandle dataset = open_dataset(file.file(), name);
  const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
  return H5Tget_size(type) == sizeof(float);
}

// Attributes of a group, with the file named in what goes wrong.
template <typename F>
auto with_group(const Hdf5Reader& file, const std::string& group, F read) {
  const QuietHdf5 quiet;
  try {
    const ObjectHandle object = open_object(file.file(), group);
    return read(object);
  } catch (const core::Error& error) {
    throw core::Error(error.message(), fmt::format("{}, `{}`", file.path(), group), "the file is damaged");
  }
}

}  // namespace

class VtkhdfFile final : public SnapshotFile {
 public:
  explicit VtkhdfFile(const std::string& path)
      : SnapshotFile(FileDescription{}), has_record_(check_commit_record(path)), file_(path) {
    description_.format = "vtkhdf";
    description_.state.source = path;
    is_own_ = file_.has(vtkhdf_metadata);
    description_.seal = is_own_ ? Seal::kept : Seal::none;
    if (is_own_ && !has_record_) fail("the file has no commit record: it is not complete");
    description_.origin = with_group(file_, "VTKHDF", [](hid_t group) { return three_numbers(group, "Origin"); });
    if (is_own_) apply_metadata(file_.text(vtkhdf_metadata), path, description_);
    read_levels();
    if (!is_own_)
      for (const std::string& name : file_.names(level_name(0) + "/CellData"))
        description_.fields.push_back({name, ""});
    description_.has_particles = false;
    description_.no_particles.attributes.clear();
    check_arrays();
  }

  mesh::Particles read_table(int, int) const override { return {}; }

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw core::Error(what, description_.state.source, "the file is damaged or of another kind");
  }

  std::string array_name(std::size_t level, std::size_t field) const {
    return level_name(level) + "/CellData/" + vtkhdf_array_name(description_.fields[field].name);
  }

  void read_levels();
  std::vector<mesh::Box> read_boxes(std::size_t level) const;
  void add_level(std::vector<mesh::Box> boxes);
  mesh::Int3 ratio_to_coarser(std::size_t level) const;
  void set_domain(std::vector<mesh::Box>& boxes);
  mesh::Int3 stated_cells() const;
  void check_arrays() const;

  bool has_record_;
  Hdf5Reader file_;
  bool is_own_ = false;
  std::vector<Level> levels_;
  mesh::Int3 first_cell_;  // of the domain of level 0 in the file
};

std::vector<mesh::Box> VtkhdfFile::read_boxes(std::size_t level) const {
  constexpr std::int64_t largest = 1 << 29;
  const std::vector<std::int64_t> shape = file_.shape(level_name(level) + "/AMRBox");
  if (shape.size() != 2 || shape[1] != 6 || shape[0] == 0) fail(fmt::format("level {} has no list of boxes", level));
  const std::vector<std::int64_t> values = file_.integers(level_name(level) + "/AMRBox");
  std::vector<mesh::Box> boxes;
  for (std::size_t i = 0; i < values.size(); i += 6) {
    mesh::Box box;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t lo = values[i + 2 * static_cast<std::size_t>(axis)],
                         hi = values[i + 2 * static_cast<std::size_t>(axis) + 1];
      if (lo < -largest || lo > largest || hi < lo || hi > largest)
        fail(fmt::format("a box of level {} is absurd", level));
      box.lo[axis] = static_cast<std::int32_t>(lo);
      box.hi[axis] = static_cast<std::int32_t>(hi + 1);
    }
    boxes.push_back(box);
  }
  return boxes;
}

void VtkhdfFile::read_levels() {
  for (std::size_t level = 0; file_.has(level_name(level)); ++level) {
    if (level == most_levels) fail("there are too many levels");
    levels_.emplace_back();
    levels_.back().spacing =
        with_group(file_, level_name(level), [](hid_t group) { return three_numbers(group, "Spacing"); });
    for (const double spacing : levels_.back().spacing)
      if (!(spacing > 0.0)) fail(fmt::format("the spacing of level {} is not positive", level));
    add_level(read_boxes(level));
    if (is_own_)
      levels_.back().checksums =
          file_.has(vtkhdf_checksums(level)) ? file_.integers(vtkhdf_checksums(level)) : std::vector<std::int64_t>{};
  }
  if (levels_.empty()) fail("there is no level");
}

// The domain of others is what the boxes of the coarsest level span; it begins at the cell (0, 0, 0) here. Our boxes
// may leave cells of it out.
void VtkhdfFile::set_domain(std::vector<mesh::Box>& boxes) {
  mesh::Box domain = boxes.front();
  for (const mesh::Box& box : boxes)
    for (int axis = 0; axis < 3; ++axis) {
      domain.lo[axis] = std::min(domain.lo[axis], box.lo[axis]);
      domain.hi[axis] = std::max(domain.hi[axis], box.hi[axis]);
    }
  if (is_sparse(description_)) domain = mesh::domain_of(stated_cells());
  first_cell_ = domain.lo;
  description_.state.geometry.domain = mesh::domain_of(domain.extent());
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (!is_own_) description_.state.geometry.length[a] = levels_[0].spacing[a] * domain.extent()[axis];
    description_.origin[a] += levels_[0].spacing[a] * domain.lo[axis];
  }
}

// By the side of the domain and that of a cell.
mesh::Int3 VtkhdfFile::stated_cells() const {
  mesh::Int3 cells;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const double n = description_.state.geometry.length[a] / levels_[0].spacing[a];
    if (!(n > 0.5) || !(n < most_cells_an_axis)) fail("the domain is not as long as some of its cells");
    cells[axis] = static_cast<std::int32_t>(std::lround(n));
  }
  return cells;
}

mesh::Int3 VtkhdfFile::ratio_to_coarser(std::size_t level) const {
  mesh::Int3 ratio;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const double times = levels_[level - 1].spacing[a] / levels_[level].spacing[a];
    if (!(std::fabs(times - std::round(times)) < 1e-6 * times) || !(times > 0.5) || times > 64.0)
      fail(fmt::format("the spacing of level {} does not divide that of the next coarser one", level));
    ratio[axis] = static_cast<std::int32_t>(std::lround(times));
  }
  return ratio;
}

void VtkhdfFile::add_level(std::vector<mesh::Box> boxes) {
  const std::size_t level = levels_.size() - 1;
  if (level == 0) set_domain(boxes);
  mesh::Int3 cells = description_.state.geometry.domain.extent(), first = first_cell_;
  description_.ratios.push_back(level == 0 ? mesh::Int3{1, 1, 1} : ratio_to_coarser(level));
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t n = cells[axis], begin = first[axis];
    for (const mesh::Int3& ratio : description_.ratios) n *= ratio[axis], begin *= ratio[axis];
    if (n > most_cells_an_axis || std::abs(begin) > (std::int64_t{1} << 30))
      fail(fmt::format("level {} has too many cells an axis", level));
    cells[axis] = static_cast<std::int32_t>(n);
    first[axis] = static_cast<std::int32_t>(begin);
  }
  for (mesh::Box& box : boxes) box = box.shifted(mesh::Int3{} - first);
  if (const std::string fault = fault_of_boxes(mesh::domain_of(cells), boxes); !fault.empty())
    fail(fmt::format("level {}: {}", level, fault));
  for (const mesh::Box& box : boxes) levels_.back().starts.push_back(levels_.back().starts.back() + box.volume());
  std::vector<std::int32_t> owners(boxes.size(), 0);
  description_.state.levels.emplace_back(mesh::domain_of(cells), description_.state.geometry.periodic, std::move(boxes),
                                         std::move(owners), static_cast<int>(level));
}

void VtkhdfFile::check_arrays() const {
  for (std::size_t level = 0; level < levels_.size(); ++level)
    for (std::size_t field = 0; field < description_.fields.size(); ++field) {
      const std::vector<std::int64_t> shape = file_.shape(array_name(level, field));
      if (shape.size() != 1 || shape[0] != levels_[level].starts.back())
        fail(fmt::format("`{}` is not a number for each cell of its level", array_name(level, field)));
    }
}

std::vector<double> VtkhdfFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const Level& of = levels_[static_cast<std::size_t>(level)];
  const std::int64_t first = of.starts[static_cast<std::size_t>(box)],
                     count = of.starts[static_cast<std::size_t>(box) + 1] - first;
  const std::string name = array_name(static_cast<std::size_t>(level), field);
  if (is_own_) {
    const std::size_t number = static_cast<std::size_t>(box) * description_.fields.size() + field;
    const ElementType type = is_single(file_, name) ? ElementType::float32 : ElementType::float64;
    const std::vector<std::byte> bytes = file_.row_bytes(name, type, first, count);
    if (number >= of.checksums.size() ||
        of.checksums[number] != static_cast<std::int64_t>(XXH3_64bits(bytes.data(), bytes.size())))
      throw core::Error(fmt::format("the checksum of box {} is wrong", box),
                        fmt::format("{}, `{}`", file_.path(), name), "the file is damaged; use an earlier one");
    return doubles_of(bytes, type);
  }
  return file_.double_rows(name, first, count);
}

bool is_vtkhdf_file(const std::string& path) {
  try {
    std::error_code nowhere;
    if (!std::filesystem::is_regular_file(path, nowhere)) return false;
    if (!begin_of_hdf5(InputFile(path))) return false;
    check_commit_record(path);
    const Hdf5Reader file(path);
    return file.has("VTKHDF") &&
           with_group(file, "VTKHDF", [](hid_t group) { return text_attribute(group, "Type"); }) == "OverlappingAMR";
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<SnapshotFile> open_vtkhdf_file(const std::string& path) {
  return std::make_unique<VtkhdfFile>(path);
}

}  // namespace sidestream::io
