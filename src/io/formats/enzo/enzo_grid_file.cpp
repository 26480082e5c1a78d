// The HDF5 file of some grids: a group for each with its fields and particles. The datasets are laid out one behind
// the other in the order of the grids, so that all that a rank holds of consecutive grids is one piece of the file.
#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "io/arrays/stored_reals.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/content/pack_block.hpp"
#include "io/disk/commit_record.hpp"
#include "io/formats/enzo/enzo_species.hpp"
#include "io/formats/enzo/enzo_state.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// Of a grid in the file: its datasets' shape, (z, y, x) of as many axes as the run has.
std::vector<std::int64_t> cells_of(const EnzoState& state, std::int64_t block) {
  const EnzoPlace place = enzo_place(state.content.state.levels, block);
  const mesh::Int3 n = state.content.state.levels[static_cast<std::size_t>(place.level)].box(place.box).extent();
  const mesh::Int3 domain = state.content.state.geometry.domain.extent();
  if (domain.z > 1) return {n.z, n.y, n.x};
  if (domain.y > 1) return {n.y, n.x};
  return {n.x};
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies{});
}

template <typename T>
void put(std::span<std::byte>& out, T value) {
  std::memcpy(out.data(), &value, sizeof value);
  out = out.subspan(sizeof value);
}

void pack_cells(const FileContent& content, std::size_t number, const EnzoField& as, const EnzoBlock& block,
                std::span<std::byte> out) {
  const auto level = static_cast<std::size_t>(block.level);
  const mesh::Box& box = content.state.levels[level].box(block.box);
  std::vector<double> room;
  const auto [view, own_factor] = cells_of(content, content.fields()[number].name, level, box, room);
  const double factor = own_factor * as.factor;
  for (int k = box.lo.z; k < box.hi.z; ++k)
    for (int j = box.lo.y; j < box.hi.y; ++j)
      for (int i = box.lo.x; i < box.hi.x; ++i) put_real(out, as.type, factor * view(k, j, i));
}

void pack_real(const EnzoState& state, const EnzoColumn& column, const EnzoBlock& block, double scale,
               std::span<std::byte> out) {
  const auto level = static_cast<std::size_t>(block.level);
  const FileContent& content = state.content;
  const std::vector<mesh::ParticleNumber>& numbers = content.particles.numbers;
  const bool is_listed = column.number < numbers.size();
  const double factor = is_listed ? numbers[column.number].factor : content.particles.levels[level]->mass;
  const std::vector<double>* const values = is_listed ? content.values(numbers[column.number], level) : nullptr;
  for (const std::int32_t p : block.particles)
    put_real(out, column.type, (values != nullptr ? factor * (*values)[static_cast<std::size_t>(p)] : factor) * scale);
}

void pack_types(const EnzoState& state, const EnzoBlock& block, std::span<std::byte> out) {
  const ParticleTable& table = state.content.particles;
  std::vector<std::int32_t> types;
  for (const FileSpecies& species : table.species) types.push_back(enzo_type_of(species.name, types.size()));
  if (types.empty()) types.push_back(enzo_type_of(mesh::dark_matter, 0));
  const auto level = static_cast<std::size_t>(block.level);
  const std::vector<double>* const species =
      types.size() > 1 ? &table.levels[level]->attribute(species_column) : nullptr;
  for (const std::int32_t p : block.particles) {
    const double number = species != nullptr ? (*species)[static_cast<std::size_t>(p)] : 1.0;
    put(out, types[static_cast<std::size_t>(number) - 1]);
  }
}

void pack_column(const EnzoState& state, const EnzoColumn& column, const EnzoBlock& block, std::span<std::byte> out) {
  const mesh::Particles& particles = *state.content.particles.levels[static_cast<std::size_t>(block.level)];
  switch (column.holds) {
    case EnzoColumn::Holds::position:
      for (const std::int32_t p : block.particles)
        put_real(out, column.type, particles.position[column.number][static_cast<std::size_t>(p)] * column.factor);
      break;
    case EnzoColumn::Holds::real:
      pack_real(state, column, block, column.factor, out);
      break;
    case EnzoColumn::Holds::mass_density: {
      const double side = state.units.length;
      const double volume = state.content.state.geometry.refined(block.level).cell_volume() * side * side * side;
      pack_real(state, column, block, column.factor / volume, out);
      break;
    }
    case EnzoColumn::Holds::id:
      for (const std::int32_t p : block.particles) put(out, particles.id[static_cast<std::size_t>(p)]);
      break;
    case EnzoColumn::Holds::kind:
      pack_types(state, block, out);
      break;
  }
}

// A group whose runs are the datasets of the grids, one behind the other: run = grid x datasets + dataset.
class GroupBuilder {
 public:
  GroupBuilder(std::string name, ElementType unit, std::int64_t unit_elements, const char* checksums) {
    group_.arrays = {{std::move(name), unit, {unit_elements}}};
    group_.checksums = checksums;
  }
  void add(std::int64_t rows, bool is_own) {
    if (is_own) group_.runs.push_back({group_.run_total, group_.rows, rows});
    ++group_.run_total;
    group_.rows += rows;
  }
  ArrayGroup take() { return std::move(group_); }

 private:
  ArrayGroup group_;
};

bool is_own(const std::vector<EnzoBlock>& own, std::size_t& next, std::int64_t block) {
  if (next == own.size() || own[next].block != block) return false;
  ++next;
  return true;
}

ArrayGroup field_group(const EnzoState& state, const std::vector<std::int64_t>& blocks,
                       const std::vector<EnzoBlock>& own) {
  constexpr std::int64_t largest_unit = 1 << 24;
  std::int64_t unit = largest_unit;
  for (const std::int64_t block : blocks) unit = std::gcd(unit, product(cells_of(state, block)));
  GroupBuilder builder("fields", state.tables.fields.front().type, unit, enzo_field_checksums);
  std::size_t next = 0;
  for (const std::int64_t block : blocks) {
    const bool is_here = is_own(own, next, block);
    const std::int64_t rows = product(cells_of(state, block)) / unit;
    for (std::size_t f = 0; f < state.tables.fields.size(); ++f) builder.add(rows, is_here);
  }
  ArrayGroup group = builder.take();
  group.pack = [&state, &own](std::size_t, std::size_t run, std::span<std::byte> out) {
    const std::size_t fields = state.tables.fields.size(), f = run % fields;
    pack_cells(state.content, f, state.tables.fields[f], own[run / fields], out);
  };
  return group;
}

ArrayGroup particle_group(const EnzoState& state, const std::vector<std::int64_t>& blocks,
                          const std::vector<EnzoBlock>& own) {
  constexpr std::int64_t word_bytes = 4;
  GroupBuilder builder("particles", ElementType::int32, 1, enzo_particle_checksums);
  std::size_t next = 0;
  for (const std::int64_t block : blocks) {
    const bool is_here = is_own(own, next, block);
    for (const EnzoColumn& column : state.tables.columns)
      builder.add(state.particles[static_cast<std::size_t>(block)] * size_of(column.type) / word_bytes, is_here);
  }
  ArrayGroup group = builder.take();
  group.pack = [&state, &own](std::size_t, std::size_t run, std::span<std::byte> out) {
    const std::size_t columns = state.tables.columns.size();
    pack_column(state, state.tables.columns[run % columns], own[run / columns], out);
  };
  return group;
}

// --- the container
// ------------------------------------------------------------------------------------------------------------------

// Makes datasets one behind the other.
class Placer {
 public:
  explicit Placer(hid_t file) : file_(file) {}

  // False when the library left a gap.
  bool put(const Array& array, std::int64_t rows) {
    const std::int64_t offset = offset_of(create_array(file_, array, rows)), bytes = rows * array.row_bytes();
    if (bytes == 0) return true;
    if (begin_ == 0) begin_ = end_ = offset;
    const bool follows = offset == end_;
    end_ = offset + bytes;
    return follows;
  }
  std::int64_t begin() const { return begin_; }

 private:
  hid_t file_;
  std::int64_t begin_ = 0, end_ = 0;
};

FileHandle create_file(const std::string& path, std::int64_t tables_bytes) {
  const PropertiesHandle access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"),
      creation(H5Pcreate(H5P_FILE_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  check_hdf5(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "H5Pset_libver_bounds");
  // Tables in one piece of their own, data directly behind each other.
  check_hdf5(H5Pset_meta_block_size(access, static_cast<hsize_t>(tables_bytes)), "H5Pset_meta_block_size");
  check_hdf5(H5Pset_small_data_block_size(access, 0), "H5Pset_small_data_block_size");
  return FileHandle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), "H5Fcreate");
}

// None of them tells when it was made.
void create_groups(hid_t file, const EnzoState& state, const std::vector<std::int64_t>& blocks) {
  constexpr unsigned most_compact_links = 64, least_dense_links = 48;
  const PropertiesHandle creation(H5Pcreate(H5P_GROUP_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  check_hdf5(H5Pset_link_phase_change(creation, most_compact_links, least_dense_links), "H5Pset_link_phase_change");
  const auto create = [&](const std::string& name) {
    const ObjectHandle group(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), "H5Gcreate2");
  };
  for (const std::int64_t block : blocks) create(enzo_group_name(state.tree.number[static_cast<std::size_t>(block)]));
  create("sidestream");
}

bool put_fields(Placer& placer, const EnzoState& state, const std::vector<std::int64_t>& blocks) {
  bool is_gapless = true;
  for (const std::int64_t block : blocks) {
    std::vector<std::int64_t> shape = cells_of(state, block);
    const std::int64_t rows = shape.front();
    shape.erase(shape.begin());
    const std::string group = enzo_group_name(state.tree.number[static_cast<std::size_t>(block)]);
    for (const EnzoField& field : state.tables.fields)
      is_gapless = placer.put({group + "/" + field.dataset, field.type, shape}, rows) && is_gapless;
  }
  return is_gapless;
}

bool put_particles(Placer& placer, const EnzoState& state, const std::vector<std::int64_t>& blocks) {
  bool is_gapless = true;
  for (const std::int64_t block : blocks) {
    const std::int64_t count = state.particles[static_cast<std::size_t>(block)];
    const std::string group = enzo_group_name(state.tree.number[static_cast<std::size_t>(block)]);
    for (const EnzoColumn& column : state.tables.columns)
      if (count > 0) is_gapless = placer.put({group + "/" + column.dataset, column.type, {}}, count) && is_gapless;
  }
  return is_gapless;
}

// The places of the arrays, or nothing when `tables_bytes` were not enough for the tables and there are gaps.
std::vector<std::int64_t> try_container(const EnzoState& state, const std::vector<std::int64_t>& blocks,
                                        const std::string& path, std::span<const Array> arrays,
                                        std::span<const std::int64_t> rows, std::int64_t tables_bytes) {
  const QuietHdf5 quiet;
  FileHandle file = create_file(path, tables_bytes);
  create_groups(file, state, blocks);
  std::vector<std::int64_t> offsets;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (arrays[a].name == "fields" || arrays[a].name == "particles") {
      Placer placer(file);
      const bool is_gapless =
          arrays[a].name == "fields" ? put_fields(placer, state, blocks) : put_particles(placer, state, blocks);
      if (!is_gapless) return {};
      offsets.push_back(placer.begin());
    } else {
      offsets.push_back(offset_of(create_array(file, arrays[a], rows[a])));
    }
  }
  file.close("H5Fclose");
  return offsets;
}

}  // namespace

ArrayFile enzo_grid_file(const EnzoState& state, const std::vector<std::int64_t>& blocks,
                         const std::vector<EnzoBlock>& own) {
  ArrayFile file;
  file.container = Container::hdf5;
  file.record = enzo_record;
  if (!state.tables.fields.empty()) file.groups.push_back(field_group(state, blocks, own));
  if (!state.tables.columns.empty()) file.groups.push_back(particle_group(state, blocks, own));
  file.create = [&state, blocks](const std::string& path, std::span<const Array> arrays,
                                 std::span<const std::int64_t> rows) {
    constexpr std::int64_t a_file = 65536, a_group = 1024, a_dataset = 400, largest = std::int64_t{1} << 40;
    const auto datasets = static_cast<std::int64_t>(state.tables.fields.size() + state.tables.columns.size());
    const std::int64_t needed = a_file + static_cast<std::int64_t>(blocks.size()) * (a_group + datasets * a_dataset);
    for (std::int64_t tables_bytes = record_place(needed); tables_bytes < largest; tables_bytes *= 4) {
      std::vector<std::int64_t> offsets = try_container(state, blocks, path, arrays, rows, tables_bytes);
      if (offsets.size() == arrays.size()) return offsets;
    }
    throw core::Error("the HDF5 library leaves gaps between the datasets of the grids", path,
                      "write the file in another `format`");
  };
  return file;
}

}  // namespace sidestream::io
