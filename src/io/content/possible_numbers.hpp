#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// Throws core::Error with file, entry and value where what a file tells of itself cannot be: a domain without extent
/// or one whose volume is no number, parameters of no universe, boxes that leave holes or lie outside the next coarser
/// level (but for sparse files), names that cannot be printed. Never costs more than O(boxes). Local.
void require_possible(const FileDescription& file);

/// The same for the cells of a box, (z, y, x): numbers that are not finite, and negative densities, temperatures and
/// pressures.
void require_possible_cells(const FileDescription& file, std::size_t field, int level, std::int32_t box,
                            std::span<const double> cells);

/// The same for particles, some of those in a file: places and masses.
void require_possible_particles(const FileDescription& file, const mesh::Particles& particles);

/// `value` as the whole number that it must be; throws core::Error naming `entry` of the file at `path`.
std::int64_t whole_number(double value, const std::string& entry, const std::string& path);

}  // namespace sidestream::io
