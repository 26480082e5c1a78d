#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/carried_content.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// A box of a level, as files and messages between ranks have it.
struct NumberedBox {
  std::int32_t level = 0, number = 0;  ///< `number`: among all boxes of the level
  mesh::Box box;
};

/// What of a staged set one rank has written: its blocks of all levels, and its particles.
class StagedPart {
 public:
  /// Of the set `name`, by `rank`. Throws core::Error where it is damaged, or of another set. Local.
  StagedPart(const std::string& path, const std::string& name, int rank);

  /// All but layouts, cells and particles, as the rank that wrote it told it: the same for all parts of a set.
  const std::string& head() const { return head_; }
  const std::vector<NumberedBox>& boxes() const { return boxes_; }
  /// Reads all, and throws core::Error where it is not as it was written.
  void verify() const { file_->verify(); }
  /// The cells of one of its boxes.
  void read(const std::string& field, const NumberedBox& box, const core::View4<double>& out) const;
  mesh::Particles particles() const;

 private:
  std::unique_ptr<SnapshotFile> file_;
  std::string head_;
  std::vector<NumberedBox> boxes_;
  std::vector<int> level_in_file_;  // by level; -1 where it has no box of it
};

/// Whether this rank has anything to stage.
bool has_part(const CarriedContent& content);

/// Writes the part of this rank, durably. Local.
void write_part(const std::string& path, const std::string& name, int rank, const CarriedContent& content);

/// The state whose head it is, without levels, fields and particles; and what is to be added.
struct StagedHead {
  mesh::Snapshot state;
  std::string rest;
  std::vector<mesh::Quantity> fields;
  bool has_particles = false;
  std::string species;
  mesh::Particles no_particles;
  std::size_t levels = 0;
};
StagedHead head_from(const std::string& head);

}  // namespace sidestream::io
