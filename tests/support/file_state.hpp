#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::test {

/// A state and what of it goes into a file.
struct FileState {
  mesh::Snapshot state;
  io::FileChoice choice;
  mesh::Species particles{mesh::dark_matter, nullptr};  ///< beside those of the state, where any are stored

  mesh::Snapshot snapshot() const {
    mesh::Snapshot all = state;
    if (!particles.stored.empty()) all.add_species(particles);
    return all;
  }
};

/// Adds `factor` times a component of `levels`, all blocks of each, which goes into the file as it is.
inline void add(FileState& file, const std::string& name, const std::string& unit,
                std::vector<mesh::FieldView<const double>> levels, int component = 0, double factor = 1.0) {
  file.state.add_stored({name, unit}, std::move(levels), component, factor);
  file.choice.quantities.push_back(name);
}

/// All blocks of the levels of a state of which nobody asks for the leaves.
inline void set_levels(mesh::Snapshot& state, const std::vector<mesh::Layout>& levels, int rank) {
  state.levels = state.with_refined = levels;
  state.rank = rank;
}

inline io::AccessStatistics write(const comm::Communicator& comm, const io::Format& format, const std::string& path,
                                  const FileState& file, const io::WriteOptions& options = {}) {
  io::FileChoice choice = file.choice;
  choice.format = &format;
  choice.options = options;
  return io::write_snapshot(comm, file.snapshot(), choice, path);
}

/// Particles that somebody else keeps.
inline std::shared_ptr<const mesh::Particles> kept_elsewhere(const mesh::Particles& particles) {
  return {std::shared_ptr<void>(), &particles};
}

}  // namespace sidestream::test
