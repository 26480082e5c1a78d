#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/file_content.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// The name that files have for a quantity, as Nyx says it; the quantity's own where it says nothing.
std::string file_name_of(const std::string& quantity);
/// The quantity of a name in files; the name itself where none is known by it.
std::string quantity_of(const std::string& file_name);
/// The quantity that the files of some format call `name`; nothing where none do.
std::optional<std::string> quantity_called(const std::string& name);

/// Of `known`, those that a plot file shows when nobody chooses: `usual`, names in files, as far as they are known;
/// where that is empty, the state, velocities, pressure, temperature, potential and dark matter.
std::vector<std::string> usual_quantities(const std::vector<std::string>& usual, const std::vector<std::string>& known);

/// What a plot file of `quantities` holds. Collective on the ranks of the snapshot, which lives until the file is
/// written.
FileContent plot_content(std::shared_ptr<const mesh::Snapshot> snapshot, const std::vector<std::string>& quantities);
/// What a checkpoint holds: the quantities marked as state, all attributes of the particles and the numbers of the
/// state, each to the bit; and `shown`, what readers of its format look for beside them.
FileContent checkpoint_content(std::shared_ptr<const mesh::Snapshot> snapshot,
                               const std::vector<std::string>& shown = {});

/// What a stored snapshot holds: `quantities` by their own names and, if asked for, the particles with all attributes,
/// with all attributes of the moment, each to the bit: `open_snapshot` gives them back. Cells that finer ones cover are
/// NaN where the snapshot has the leaves alone. Collective on `comm`, the ranks of the snapshot. Throws core::Error on
/// all of them when they tell of different attributes of the particles.
FileContent stored_content(const comm::Communicator& comm, std::shared_ptr<const mesh::Snapshot> snapshot,
                           const std::vector<std::string>& quantities, bool with_particles);

/// Leaves of the particles of `content` a share of `share`, chosen by their ids, so that they are the same ones at
/// every moment, and of their numbers those of `names`; all where that is empty. Local. Throws core::Error when there
/// is no such number.
void take_particles(FileContent& content, const std::vector<std::string>& names, double share);

/// A copy of all that `content` names (owned cells only), which stays as it is while the simulation goes on. Local.
FileContent copy_of(const FileContent& content);

}  // namespace sidestream::io
