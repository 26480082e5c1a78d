#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// The particles of a file, whatever species they are of: one table.
struct ParticleTable {
  std::vector<std::shared_ptr<const mesh::Particles>> levels{};  ///< a set for each level; none on all ranks
  std::vector<mesh::ParticleNumber> numbers{};                   ///< its columns beside id and position
  std::vector<FileSpecies> species{};                            ///< none where all are dark matter
};

/// A state as a file holds it, whatever its format: the quantities are the file's variables, with their names, units
/// and order there; `levels` are all blocks of each level. `kept` are the numbers
/// beside them: of a checkpoint those of the state, of others those of the moment.
struct FileContent {
  mesh::Snapshot state;
  ParticleTable particles{};
  FileKind kind = FileKind::plot_file;
  Precision precision = Precision::double_precision, particle_precision = Precision::double_precision;
  /// Of each variable, with bounds in its unit in the file; none where nothing is compressed.
  std::vector<core::CompressionChoice> compression{};

  /// By what the cells of a field are multiplied that are made and not stored; 1 for those that are not named.
  std::map<std::string, double> factors{};

  const std::vector<mesh::Quantity>& fields() const { return state.quantities(); }
  const std::map<std::string, double>& kept() const;
  /// Of the moment; zero where it says nothing.
  double attribute(const std::string& name) const;
  /// A number of the particles of a level; null where its factor holds for all.
  const std::vector<double>* values(const mesh::ParticleNumber& number, std::size_t level) const;
};

/// A quantity that goes into a file.
struct Variable {
  const mesh::Quantity* quantity;
  bool is_state;  ///< as the simulation stores it
};
std::vector<Variable> variables_of(const mesh::Snapshot& snapshot, const FileChoice& choice);

/// What a file tells of a snapshot beside quantities, particles and texts.
mesh::Snapshot without_quantities(const mesh::Snapshot& snapshot);

/// What `choice` takes of `snapshot`, which outlives it. Collective. Throws core::Error on all ranks when they tell of
/// different attributes of the particles, or there is no such number of them.
FileContent content_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice);

/// How each field of `content` is compressed, by the names that they have as quantities. Collective.
std::vector<core::CompressionChoice> compression_of(const comm::Communicator& comm, const FileContent& content,
                                                    const std::vector<std::string>& names,
                                                    const core::Compression& compression);

/// Number of blocks of all levels, and the place of the first block of each level among them (levels + 1 numbers): the
/// order of blocks in files, level by level.
std::vector<std::int64_t> block_starts(const FileContent& content);

}  // namespace sidestream::io
