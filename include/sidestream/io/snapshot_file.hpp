#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/open_files.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// The particles of a species in a file, which has one table of all particles.
struct FileSpecies {
  std::string name;
  double number = 1.0;               ///< in the column `species_column` of their rows, where there are several species
  std::int64_t particles = 0;        ///< how many they are
  double mass = 0.0;                 ///< of each [Msun], when all are alike
  std::vector<std::string> numbers;  ///< the columns that they have numbers in, beside id and position
};

/// The column that says of which species a particle is.
inline constexpr const char* species_column = "species";

/// What vouches for the numbers in a file: checksums and a record of Sidestream; nothing any more, though Sidestream
/// has written it (an old file, or one that others copied in part); nothing ever, as with files of other programs.
enum class Seal { kept, lost, none };

/// What a file holds, whatever its format.
struct FileDescription {
  std::string format;
  FileKind kind = FileKind::plot_file;  ///< a checkpoint: one that Sidestream wrote
  /// All but its quantities and particles; the levels are the boxes of the file, all owned by rank 0, periodic where
  /// the format does not say.
  mesh::Snapshot state;
  std::array<double, 3> origin{};      ///< lower corner; positions of particles are given from here on
  std::vector<mesh::Int3> ratios;      ///< cells of a level in one of the next coarser; (1, 1, 1) for level 0
  std::vector<mesh::Quantity> fields;  ///< in the file's order and words
  std::int64_t particles = 0;
  bool has_particles = false;
  mesh::Particles no_particles;        ///< none, with all columns of the table, and the mass if all are alike
  std::vector<FileSpecies> species{};  ///< as far as the file tells; see `species_in`
  Seal seal = Seal::none;              ///< of others nothing is believed: see `require_possible`
};

/// A number that no file may have: which, and a sentence about it.
struct ImpossibleNumber {
  std::string number, what;
};
/// Of a moment, whose step, time, scale factor and universe are looked at. Files with such a number are refused, and
/// programs that give it.
std::optional<ImpossibleNumber> impossible_number(const mesh::Moment& moment);

/// The species of the particles in a file: dark matter, where it does not tell.
std::vector<FileSpecies> species_in(const FileDescription& file);

/// Keeps the present-day parameters of a cosmology that a file tells, where there is one, as attributes of `moment`.
void set_cosmology(mesh::Moment& moment, double omega_m, double omega_lambda, double hubble);

/// The scale factor that a file says: files without expansion, which have no Hubble constant, say 1.
std::optional<double> scale_factor_in_file(double said, double hubble);

/// "checkpoint", "plot file" or "stored snapshot".
std::string to_string(FileKind kind);
/// "kept", "lost" or "none".
std::string to_string(Seal seal);
/// The description as `sidestream info` tells it: numbers of cells, levels, boxes, particles; names; the moment.
nlohmann::json to_json(const FileDescription& description);

/// Bytes of a file that stand one behind the other.
struct FilePlace {
  std::string path;
  std::int64_t offset = 0, bytes = 0;
};

/// A file of a simulation's state opened for reading, of whatever format, on any number of ranks. Opening reads what is
/// small. Nothing in a file is trusted: damage is a core::Error naming the file and the place. Every member is local,
/// so that ranks read what they need without each other, one thread of each at a time; wrap calls in `comm.agree_on`
/// where all must succeed.
class SnapshotFile {
 public:
  explicit SnapshotFile(FileDescription description) : description_(std::move(description)) {}
  virtual ~SnapshotFile() = default;
  SnapshotFile(const SnapshotFile&) = delete;

  const FileDescription& description() const { return description_; }

  /// Fills component `component` of the owned cells of `into`, whose layout is any one of the domain of `level`, from
  /// the boxes of that level that meet them. Checksums are verified. Throws when the file does not cover them.
  void read_field(const std::string& name, mesh::Field<double>& into, int level = 0, int component = 0) const;
  /// The same with each cell from the finest level up to `level` that has it; a coarser cell gives its value to all
  /// finer ones in it. Throws when the coarsest level does not cover the boxes.
  void read_covering(const std::string& name, mesh::Field<double>& into, int level, int component = 0) const;

  /// The share of the particles of `rank` of `ranks`, a contiguous part of the file, wherever they are: migrate them
  /// afterwards. A set for each of `species_in`; attributes are the file's numbers of that species, by name.
  std::vector<mesh::Particles> read_species(int rank = 0, int ranks = 1) const;
  /// The same for one species, without a name for the first. Throws naming those there are.
  mesh::Particles read_particles(int rank = 0, int ranks = 1, const std::string& species = "") const;

  /// Throws unless all data files of the share of `rank` of `ranks` are there and as long as they must be. Opening a
  /// single file says that already; folders look at each of theirs, without reading the data.
  virtual void check_data_files(int /*rank*/ = 0, int /*ranks*/ = 1) const {}

  /// Reads the share of `rank` of `ranks` of everything and throws unless every checksum is right and all can be read.
  virtual void verify(int rank = 0, int ranks = 1) const;

 protected:
  /// The cells of a box of a level, (z, y, x), checked against what the file keeps of checksums.
  virtual std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const = 0;
  /// What `read_box` reads, so that boxes that follow each other are read at once; nothing where that is not one piece.
  virtual std::optional<FilePlace> place_of_box(std::size_t /*field*/, int /*level*/, std::int32_t /*box*/) const {
    return std::nullopt;
  }
  /// The share of `rank` of `ranks` of the table of particles, a contiguous part of the file.
  virtual mesh::Particles read_table(int rank, int ranks) const = 0;

  FileDescription description_;
  mutable OpenFiles files_;  ///< with its data

 private:
  // The same, of files without a seal only numbers that can be.
  std::vector<double> possible_box(std::size_t field, int level, std::int32_t box) const;
  std::size_t field_number(const std::string& name) const;
  std::pair<std::size_t, std::optional<FilePlace>> read_at_once(std::size_t field, int level,
                                                                std::span<const std::int32_t> boxes) const;
  std::shared_ptr<const core::KnownBytes> read_ahead(const FilePlace& place) const;
  void check_level(int level, const mesh::Box& domain) const;
  std::int64_t copy_level(std::size_t field, int level, mesh::Int3 ratio, mesh::Field<double>& into,
                          int component) const;
};

}  // namespace sidestream::io
