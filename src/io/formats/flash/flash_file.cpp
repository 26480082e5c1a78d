#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "io/content/possible_numbers.hpp"
#include "io/disk/commit_record.hpp"
#include "io/disk/stored_checksums.hpp"
#include "io/formats/flash/flash_blocks.hpp"
#include "io/formats/flash/flash_rows.hpp"
#include "io/formats/flash/flash_source.hpp"
#include "io/formats/flash/flash_tables.hpp"
#include "io/formats/metadata.hpp"
#include "io/formats/vocabulary.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t particles_a_piece = 8192;  // some 640 KiB, which stay in a cache until they are taken apart
constexpr std::size_t most_species = 256;
constexpr const char* damaged = "the file is damaged; use an earlier one";

// The checksums of an array of runs, read a piece at a time.
class Checksums {
 public:
  Checksums(const FlashSource& source, std::string name, std::int64_t runs, std::int64_t arrays)
      : source_(source), name_(std::move(name)), runs_(runs), arrays_(arrays) {
    if (source.shape(name_) != std::vector<std::int64_t>{runs, arrays})
      throw core::Error("the table of checksums does not fit the arrays", where(), damaged);
  }

  void verify(std::int64_t run, std::int64_t array, std::span<const std::byte> bytes, const std::string& what) {
    if (XXH3_64bits(bytes.data(), bytes.size()) == of(run, array)) return;
    throw core::Error(fmt::format("the checksum of `{}` in block {} is wrong", what, run + 1),
                      source_.path_of(name_, run), damaged);
  }

 private:
  std::string where() const { return fmt::format("{}, `{}`", source_.path(), name_); }
  std::uint64_t of(std::int64_t run, std::int64_t array) {
    constexpr std::int64_t most = 1024;
    const std::int64_t next = next_checksums(asked_++, most);
    if (run < first_ || run >= first_ + std::ssize(piece_) / arrays_) {
      const std::int64_t count = std::min(next, runs_ - run);
      piece_ = numbers_in<std::uint64_t>(source_.row_bytes(name_, ElementType::int64, run, count), source_.order());
      first_ = run;
    }
    return piece_[static_cast<std::size_t>((run - first_) * arrays_ + array)];
  }

  const FlashSource& source_;
  std::string name_;
  std::int64_t runs_, arrays_, first_ = 0, asked_ = 0;
  std::vector<std::uint64_t> piece_;
};

std::vector<double> reals_in(std::span<const std::byte> bytes, ElementType type, ByteOrder order) {
  if (type == ElementType::float64) return numbers_in<double>(bytes, order);
  const std::vector<float> values = numbers_in<float>(bytes, order);
  return {values.begin(), values.end()};
}

// --- what a file is about, from FLASH's own tables
// ---------------------------------------------------------------------------------------------

std::string unit_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> units{{{"density", "g/cm^3"},
                                                                                 {"particle_mass_density", "g/cm^3"},
                                                                                 {"x_velocity", "cm/s"},
                                                                                 {"y_velocity", "cm/s"},
                                                                                 {"z_velocity", "cm/s"},
                                                                                 {"specific_total_energy", "erg/g"},
                                                                                 {"specific_internal_energy", "erg/g"},
                                                                                 {"pressure", "erg/cm^3"},
                                                                                 {"Temp", "K"},
                                                                                 {"phi_grav", "cm^2/s^2"},
                                                                                 {"mass", "g"},
                                                                                 {"xvel", "cm/s"},
                                                                                 {"yvel", "cm/s"},
                                                                                 {"zvel", "cm/s"}}};
  for (const auto& [quantity, unit] : units)
    if (quantity == name) return std::string(unit);
  return "";
}

std::string particle_name_of_flash(const std::string& name) {
  if (name == "velx") return "xvel";
  if (name == "vely") return "yvel";
  return name == "velz" ? "zvel" : name;
}

// FLASH fills names up to four letters with blanks, those of the datasets too; some who write like it leave them out.
std::vector<std::string> datasets_of_variables(const FlashSource& source) {
  std::vector<std::string> names = source.names("unknown names");
  for (std::string& name : names) {
    std::string padded = name;
    padded.resize(std::max<std::size_t>(4, name.size()), ' ');
    if (source.has(padded)) name = padded;
  }
  return names;
}

// Of all that has a row a block, before any of it is read: an array may claim far more rows than it holds.
void check_rows(const FlashSource& source) {
  const auto fail = [&](const std::string& what, const std::string& dataset) {
    throw core::Error(what, fmt::format("{}, `{}`", source.path(), dataset), damaged);
  };
  const std::vector<std::int64_t> levels = source.shape("refine level"), corners = source.shape("bounding box");
  if (levels.size() != 1) fail("the blocks have no list of levels", "refine level");
  if (corners.empty() || corners[0] != levels[0])
    fail("the corners of the blocks are not as many as the blocks", "bounding box");
  std::vector<std::string> names = datasets_of_variables(source);
  names.insert(names.end(), {combined_name, "node type", "coordinates", "block size", "gid", "processor number"});
  for (const std::string& name : names) {
    if (!source.has(name)) continue;
    const std::vector<std::int64_t> shape = source.shape(name);
    const std::int64_t rows = shape.empty() ? 0 : shape[0];
    if (rows != levels[0]) fail(fmt::format("the array has {} rows, the file {} blocks", rows, levels[0]), name);
  }
}

void describe_state(const FlashSource& source, FileDescription& description) {
  const auto number = [&](const char* name, double otherwise) { return source.number(name).value_or(otherwise); };
  description.state.moment.step = whole_number(number("nstep", 0.0), "integer scalars: nstep", source.path());
  description.state.moment.time = number("time", 0.0);
  const bool has_cosmology = number("usecosmology", 0.0) != 0.0;
  const double hubble = has_cosmology ? number("hubbleconstant", 0.0) / hubble_100_per_second : 0.0;
  set_cosmology(description.state.moment, number("omegamatter", 0.0), number("cosmologicalconstant", 0.0), hubble);
  description.state.moment.scale_factor =
      scale_factor_in_file(number("scalefactor", 1.0 / (1.0 + number("redshift", 0.0))), hubble);
  description.state.gamma = number("gamma", description.state.gamma);
  description.state.length_unit = source.text("unitsystem").value_or("cgs") == "none" ? "" : "cm";
  for (std::size_t axis = 0; axis < 3; ++axis)
    description.state.geometry.periodic[axis] =
        source.text(fmt::format("{}l_boundary_type", "xyz"[axis])).value_or("periodic") == "periodic";
}

bool is_own_property(const std::string& name) {
  return name == "blk" || name == "proc" || name == "tag" || name == "posx" || name == "posy" || name == "posz";
}

void describe_contents(const FlashSource& source, FileDescription& description) {
  for (const std::string& flash : source.names("unknown names")) {
    const std::string name = name_of_flash(flash);
    description.fields.push_back({name, unit_of(name)});
  }
  description.has_particles = source.has("tracer particles") && source.has("particle names");
  if (!description.has_particles) return;
  for (const std::string& flash : source.names("particle names")) {
    const std::string name = particle_name_of_flash(flash);
    if (!is_own_property(flash)) description.no_particles.attributes.push_back({name, unit_of(name), {}});
  }
}

// --- the file
// ------------------------------------------------------------------------------------------------------------------

// Where the numbers of a particle stand in a row.
struct Columns {
  std::array<std::size_t, 3> position{};
  std::size_t tag = 0;
  std::vector<std::size_t> reals;
};

class FlashFile : public SnapshotFile {
 public:
  FlashFile(std::unique_ptr<FlashSource> source, FileDescription description, FlashBlocks blocks)
      : SnapshotFile(std::move(description)),
        source_(std::move(source)),
        blocks_(std::move(blocks)),
        variables_(datasets_of_variables(*source_)),
        is_combined_(source_->has(combined_name)) {
    find_variables();
    if (description_.has_particles) find_particles();
  }

  mesh::Particles read_table(int rank, int ranks) const override;

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;
  std::optional<FilePlace> place_of_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  std::int64_t row_of(int level, std::int32_t box) const {
    return blocks_.rows[static_cast<std::size_t>(level)][static_cast<std::size_t>(box)];
  }
  const std::string& array_of(std::size_t field) const { return is_combined_ ? combined_name : variables_[field]; }
  std::optional<FilePlace> verified_part(std::size_t field, std::int64_t row) const;
  void find_variables();
  void find_particles();
  void find_columns(const std::vector<std::string>& names);
  void find_species();
  void read_verified(std::size_t first, std::size_t last, mesh::Particles& particles) const;
  void read_unverified(std::int64_t first, std::int64_t last, mesh::Particles& particles) const;
  void append_rows(const std::vector<double>& rows, std::int64_t first, const std::vector<std::int64_t>& ids,
                   mesh::Particles& particles) const;
  [[noreturn]] void fail(const std::string& what, const char* dataset) const {
    throw core::Error(what, fmt::format("{}, `{}`", source_->path(), dataset), damaged);
  }

  std::unique_ptr<FlashSource> source_;
  FlashBlocks blocks_;
  std::vector<std::string> variables_;
  bool is_combined_ = false;
  ElementType type_ = ElementType::float64;
  std::unique_ptr<Checksums> checksums_, particle_checksums_, id_checksums_;
  mutable std::vector<bool> is_verified_;  // rows of all variables
  Columns columns_;
  std::size_t properties_ = 0;
  bool has_ids_ = false;
  std::vector<std::int64_t> first_particle_;  // of each block; blocks + 1
};

void FlashFile::find_variables() {
  if (variables_.size() != description_.fields.size())
    fail("the fields are not those of the description", "unknown names");
  const std::vector<std::int64_t> cells{blocks_.cells.z, blocks_.cells.y, blocks_.cells.x};
  const auto check_shape = [&](const std::string& name, std::vector<std::int64_t> wanted) {
    wanted.insert(wanted.end(), cells.begin(), cells.end());
    if (source_->shape(name) != wanted) fail("the array has another shape than its blocks", name.c_str());
    type_ = source_->real_type(name);
  };
  const auto count = static_cast<std::int64_t>(variables_.size());
  if (count == 0) return;
  is_verified_.resize(static_cast<std::size_t>(blocks_.count));
  if (is_combined_)
    check_shape(combined_name, {blocks_.count, count});
  else
    for (const std::string& name : variables_) check_shape(name, {blocks_.count});
  if (source_->has("checksum"))
    checksums_ = std::make_unique<Checksums>(*source_, "checksum", blocks_.count, is_combined_ ? 1 : count);
}

std::optional<FilePlace> FlashFile::place_of_box(std::size_t field, int level, std::int32_t box) const {
  const std::int64_t row = row_of(level, box);
  if (const auto part = verified_part(field, row)) return part;
  return source_->place_of_rows(array_of(field), row, 1);
}

// A row of all variables is read whole once, for its checksum, then only what is wanted of it.
std::optional<FilePlace> FlashFile::verified_part(std::size_t field, std::int64_t row) const {
  if (!is_combined_ || !is_verified_[static_cast<std::size_t>(row)]) return std::nullopt;
  std::optional<FilePlace> place = source_->place_of_rows(combined_name, row, 1);
  if (!place) return std::nullopt;
  place->bytes /= std::ssize(variables_);
  place->offset += static_cast<std::int64_t>(field) * place->bytes;
  return place;
}

std::vector<double> FlashFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const std::int64_t row = row_of(level, box);
  const std::string& name = array_of(field);
  if (!checksums_ && !is_combined_) return source_->double_rows(name, row, 1);
  if (const auto part = verified_part(field, row))
    return reals_in(files_.of(part->path).bytes(part->offset, part->bytes), type_, source_->order());
  const std::vector<std::byte> bytes = source_->row_bytes(name, type_, row, 1);
  if (checksums_) checksums_->verify(row, is_combined_ ? 0 : static_cast<std::int64_t>(field), bytes, name);
  if (!is_combined_) return reals_in(bytes, type_, source_->order());
  if (checksums_) is_verified_[static_cast<std::size_t>(row)] = true;
  const std::size_t part = bytes.size() / variables_.size();
  return reals_in(std::span(bytes).subspan(field * part, part), type_, source_->order());
}

void FlashFile::find_columns(const std::vector<std::string>& names) {
  const auto column = [&](const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) fail(fmt::format("the particles have no `{}`", name), "particle names");
    return static_cast<std::size_t>(found - names.begin());
  };
  const auto position_of = [&](const char* name) {
    return std::ranges::find(names, name) == names.end() ? names.size() : column(name);
  };
  columns_ = {{column("posx"), position_of("posy"), position_of("posz")}, position_of("tag"), {}};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!is_own_property(names[i])) columns_.reals.push_back(i);
  if (columns_.reals.size() != description_.no_particles.attributes.size())
    fail("the numbers of the particles are not those of the description", "particle names");
}

void FlashFile::find_particles() {
  const std::vector<std::string> names = source_->names("particle names");
  const std::vector<std::int64_t> shape = source_->shape("tracer particles");
  if (shape.size() != 2 || shape[1] != static_cast<std::int64_t>(names.size()))
    fail("the particles have other numbers than there are names", "tracer particles");
  description_.particles = shape[0];
  properties_ = names.size();
  find_columns(names);
  if (source_->metadata().empty()) find_species();
  has_ids_ = source_->has("particle ids");
  if (has_ids_ && source_->shape("particle ids") != std::vector<std::int64_t>{shape[0]})
    fail("there are not as many ids as particles", "particle ids");
  if (!source_->has("particle checksum") || !has_ids_) return;
  if (source_->shape("localnp") != std::vector<std::int64_t>{blocks_.count})
    fail("the numbers of particles are not as many as the blocks", "localnp");
  first_particle_ = {0};
  for (const std::int64_t count : source_->integers("localnp")) {
    if (count < 0 || count > shape[0] - first_particle_.back())
      fail("the particles of the blocks do not add up", "localnp");
    first_particle_.push_back(first_particle_.back() + count);
  }
  if (first_particle_.back() != shape[0]) fail("the particles of the blocks do not add up", "localnp");
  particle_checksums_ = std::make_unique<Checksums>(*source_, "particle checksum", blocks_.count, 1);
  id_checksums_ = std::make_unique<Checksums>(*source_, "particle id checksum", blocks_.count, 1);
}

// The property `type` numbers species, where it has a few whole numbers; their names are in the program that wrote the
// file. All rows are looked through.
void FlashFile::find_species() {
  auto& attributes = description_.no_particles.attributes;
  const auto type = std::ranges::find(attributes, "type", &mesh::ParticleAttribute::name);
  if (type == attributes.end()) return;
  const std::size_t column = columns_.reals[static_cast<std::size_t>(type - attributes.begin())];
  std::map<double, std::int64_t> counts;
  for (std::int64_t first = 0; first < description_.particles; first += particles_a_piece) {
    const std::int64_t count = std::min(particles_a_piece, description_.particles - first);
    const std::vector<double> rows = source_->double_rows("tracer particles", first, count);
    for (std::size_t at = column; at < rows.size(); at += properties_) {
      if (!std::isfinite(rows[at])) fail("the type of a particle is no number", "tracer particles");
      if (rows[at] != std::floor(rows[at])) return;
      ++counts[rows[at]];
    }
    if (counts.size() > most_species) return;
  }
  if (counts.size() < 2) return;
  std::vector<std::string> numbers;
  for (const mesh::ParticleAttribute& attribute : attributes)
    if (attribute.name != "type") numbers.push_back(attribute.name);
  for (const auto& [number, count] : counts)
    description_.species.push_back({fmt::format("type_{}", number), number, count, 0.0, numbers});
  type->name = species_column;
}

// Rows from `first` on. Particles without a tag are called by their row.
void FlashFile::append_rows(const std::vector<double>& rows, std::int64_t first, const std::vector<std::int64_t>& ids,
                            mesh::Particles& particles) const {
  constexpr double largest = 9.2e18;
  constexpr std::size_t rows_a_tile = 512;  // which stay in the nearest cache while columns are taken out of them
  const std::size_t count = rows.size() / properties_, begin = particles.size();
  particles.resize(begin + count);
  for (std::size_t tile = 0; tile < count; tile += rows_a_tile) {
    const std::size_t end = std::min(count, tile + rows_a_tile);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (columns_.position[axis] >= properties_) continue;
      const double* const column = rows.data() + columns_.position[axis];
      for (std::size_t p = tile; p < end; ++p)
        particles.position[axis][begin + p] = column[p * properties_] - description_.origin[axis];
    }
    for (std::size_t a = 0; a < columns_.reals.size(); ++a) {
      const double* const column = rows.data() + columns_.reals[a];
      for (std::size_t p = tile; p < end; ++p) particles.attributes[a].values[begin + p] = column[p * properties_];
    }
  }
  for (std::size_t p = 0; p < count; ++p) {
    if (!ids.empty()) {
      particles.id[begin + p] = ids[p];
      continue;
    }
    const double tag = columns_.tag < properties_ ? rows[p * properties_ + columns_.tag]
                                                  : static_cast<double>(first + static_cast<std::int64_t>(p));
    if (!(std::abs(tag) < largest))
      fail(fmt::format("the tag of a particle is {}, which no number of a particle can be", tag), "tracer particles");
    particles.id[begin + p] = static_cast<std::int64_t>(tag);
  }
}

// Whole blocks, some at a time.
void FlashFile::read_verified(std::size_t first, std::size_t last, mesh::Particles& particles) const {
  const std::int64_t row_bytes = static_cast<std::int64_t>(properties_) * 8;
  for (std::size_t begin = first, end = first; begin < last; begin = end) {
    const std::int64_t row = first_particle_[begin];
    while (end < last && (end == begin || first_particle_[end + 1] - row <= particles_a_piece)) ++end;
    const std::int64_t count = first_particle_[end] - row;
    if (count == 0) continue;
    const auto rows = source_->row_bytes("tracer particles", ElementType::float64, row, count),
               ids = source_->row_bytes("particle ids", ElementType::int64, row, count);
    for (std::size_t block = begin; block < end; ++block) {
      const auto part = [&](const std::vector<std::byte>& bytes, std::int64_t width) {
        return std::span(bytes).subspan(
            static_cast<std::size_t>((first_particle_[block] - row) * width),
            static_cast<std::size_t>((first_particle_[block + 1] - first_particle_[block]) * width));
      };
      const auto run = static_cast<std::int64_t>(block);
      particle_checksums_->verify(run, 0, part(rows, row_bytes), "tracer particles");
      id_checksums_->verify(run, 0, part(ids, 8), "particle ids");
    }
    append_rows(numbers_in<double>(rows, source_->order()), row, numbers_in<std::int64_t>(ids, source_->order()),
                particles);
  }
}

void FlashFile::read_unverified(std::int64_t first, std::int64_t last, mesh::Particles& particles) const {
  for (; first < last; first += particles_a_piece)
    append_rows(source_->double_rows("tracer particles", first, std::min(particles_a_piece, last - first)), first, {},
                particles);
}

mesh::Particles FlashFile::read_table(int rank, int ranks) const {
  mesh::Particles particles = description_.no_particles;
  if (!description_.has_particles) return particles;
  const std::int64_t first = description_.particles * rank / ranks, last = description_.particles * (rank + 1) / ranks;
  if (!particle_checksums_) {
    read_unverified(first, last, particles);
    return particles;
  }
  const auto block_from = [&](std::int64_t row) {
    return static_cast<std::size_t>(std::ranges::lower_bound(first_particle_, row) - first_particle_.begin());
  };
  read_verified(block_from(first), rank + 1 == ranks ? static_cast<std::size_t>(blocks_.count) : block_from(last),
                particles);
  return particles;
}

}  // namespace

std::unique_ptr<SnapshotFile> open_flash(const std::string& format, std::unique_ptr<FlashSource> source,
                                         bool is_committed) {
  FileDescription description;
  const std::string path = source->path();
  description.format = format;
  description.state.source = path;
  const std::string metadata = source->metadata();
  if (!metadata.empty() && !is_committed)
    throw core::Error("the file is not complete: it has no commit record", path, damaged);
  if (metadata.empty()) {
    description.seal = source->text("basenm") == "sidestream_" ? Seal::lost : Seal::none;
    describe_state(*source, description);
    describe_contents(*source, description);
  } else {
    description.seal = Seal::kept;
    apply_metadata(metadata, path, description);
  }
  check_rows(*source);
  FlashBlocks blocks = read_flash_blocks(*source, description);
  return std::make_unique<FlashFile>(std::move(source), std::move(description), std::move(blocks));
}

}  // namespace sidestream::io
