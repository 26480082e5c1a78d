#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/io/refined_blocks.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

/// All that a run needs to go on. Fields may have layouts, components and ghost cells of their own; owned cells only
/// are kept. On a refined mesh each level of a quantity is a field of its own name.
struct CheckpointContent {
  std::int64_t step = 0;
  std::map<std::string, double> attributes;  ///< time, scale factor, next time step, ...; bit exact
  std::map<std::string, std::string> texts;  ///< whatever else is needed, such as the state of a scheduler
  std::string config;                        ///< the resolved configuration
  std::vector<std::pair<std::string, const mesh::Field<double>*>> fields;
  std::vector<const mesh::Particles*>
      particles;   ///< all of this rank, kept as one set; an empty list on all ranks: none
  int files = 64;  ///< at most so many data files, each shared by a run of ranks
};

/// Writes a checkpoint folder at `path`: a header and data files with a checksum for each block and piece of particles.
/// Collective on `comm`, whose ranks own the fields' boxes. Written under a temporary name, made durable, then renamed
/// over what was there. When one rank fails (disk full), all throw its core::Error, nothing of the new one is left and
/// earlier checkpoints are untouched.
void write_checkpoint(const comm::Communicator& comm, const std::string& path, const CheckpointContent& content);

struct CheckpointHeader;

/// A checkpoint opened for reading, on any number of ranks. Collective on `comm`, which must outlive it: rank 0 reads
/// the header. Damage is a core::Error on all ranks naming file and place.
class Checkpoint {
 public:
  Checkpoint(const comm::Communicator& comm, const std::string& path);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  std::int64_t step() const;
  const std::map<std::string, double>& attributes() const;
  /// Throws core::Error naming those there are.
  double attribute(const std::string& name) const;
  const std::map<std::string, std::string>& texts() const;
  const std::string& config() const;
  std::vector<std::string> fields() const;
  bool has_field(const std::string& name) const;
  /// The layout the field was written from, all boxes owned by rank 0, and its number of components.
  const mesh::Layout& layout(const std::string& field) const;
  int components(const std::string& field) const;

  /// Fills the owned cells of `into`, whose layout may be any other one of the same domain with owners in `comm`; every
  /// checksum of what it reads is verified. Collective.
  void read_field(const std::string& name, mesh::Field<double>& into) const;

  bool has_particles() const;
  std::int64_t particle_count() const;
  /// This rank's share of the particles, wherever they are: migrate them afterwards. Collective.
  mesh::Particles read_particles() const;

  /// Reads everything, shared among the ranks, and throws unless every checksum is right. Collective.
  void verify() const;

 private:
  const comm::Communicator* comm_;
  std::string path_;
  std::unique_ptr<const CheckpointHeader> header_;
};

struct FoundCheckpoint {
  std::string path;                  ///< empty when there is no good one
  std::vector<std::string> skipped;  ///< newer ones that are damaged: one message each, naming it and what is wrong
};

/// The newest checkpoint (`chk` and digits) in `folder` that verifies. Collective.
FoundCheckpoint find_newest_checkpoint(const comm::Communicator& comm, const std::string& folder);

/// Removes all but the newest `keep` complete checkpoints of `folder` and what interrupted writes left. Local: call it
/// on one rank after a checkpoint was written.
void remove_old_checkpoints(const std::string& folder, int keep);

/// A way to write checkpoints, by name.
struct CheckpointFormat {
  std::string name, documentation;
  /// Collective, with the promises of `write_checkpoint`.
  std::function<void(const comm::Communicator& comm, const std::string& path, const CheckpointContent& content)> write;
};

/// All formats there are.
std::span<const CheckpointFormat> checkpoint_formats();

/// The format called `name`; throws core::Error naming the nearest when there is none.
const CheckpointFormat& checkpoint_format(std::string_view name);

}  // namespace sidestream::io
