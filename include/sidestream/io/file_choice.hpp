#pragma once

#include <map>
#include <string>
#include <vector>

#include "sidestream/core/compression.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

struct Format;

/// The resolved configuration among the texts of a file.
inline const std::string config_text = "config";
/// The name, among the texts of a file, of the grid that its quantities are of; none where that is the state's.
inline const std::string grid_text = "grid";

/// A plot file shows chosen quantities; a checkpoint has what a run needs to go on, to the bit, in the simulation's own
/// units; a stored snapshot has chosen quantities by their own names and all that analyses read, to the bit.
enum class FileKind { plot_file, checkpoint, stored_snapshot };

enum class Precision { single_precision, double_precision };

/// What of a state goes into a file, and in what form.
struct FileChoice {
  const Format* format = nullptr;
  FileKind kind = FileKind::plot_file;
  /// Of a plot file or stored snapshot: all of them; of a checkpoint: what is shown beside the state, as far as it is
  /// there.
  std::vector<std::string> quantities{};
  Precision precision = Precision::double_precision;           ///< of the quantities
  Precision particle_precision = Precision::double_precision;  ///< of the particles' positions and numbers
  std::vector<std::string> species{};                          ///< of a plot file or stored snapshot; empty: all
  std::vector<std::string> particle_numbers{};  ///< of a plot file, beside id and position, as each species has them;
                                                ///< empty: all
  /// Of the particles, chosen by their ids, so that they are the same ones at every moment; 0: none.
  double particle_share = 1.0;
  core::Compression compression{};             ///< of the quantities, in their units; of a checkpoint never lossy
  std::map<std::string, std::string> texts{};  ///< kept beside the state
  WriteOptions options{};
};

}  // namespace sidestream::io
