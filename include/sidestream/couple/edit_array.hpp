#pragma once

#include <cstdint>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/couple/region_edit.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/mesh/field.hpp"

// The array of an edit lies in a file beside the events of its run, `steering/00001.npy`: doubles [z, y, x] of the
// edit's box, as NumPy reads them. The ranks that compute, and those of a replay, read it from there.
namespace sidestream::couple {

/// The `number`-th of a run: `steering/00001.npy`.
std::string edit_array_name(std::int64_t number);

/// A number for the values of `cells`, a part of an array on `box`; those of all parts add up to that of the whole.
std::uint64_t edit_checksum(const mesh::Box& box, const mesh::Box& cells, core::View4<const double> values);
std::string checksum_text(std::uint64_t checksum);

/// Makes the file of an array on `box`, without values, and takes room for them. Local.
io::OutputFile new_edit_array(const std::string& path, const mesh::Box& box);
/// Writes the values of `cells` into it. Local.
void write_part(io::OutputFile& file, const mesh::Box& box, const mesh::Box& cells, core::View4<const double> values);

/// The values in the file that `edit` names in `folder`: on slabs, one for each rank. Collective; throws core::Error on
/// all ranks where it is not there, has another shape, or is damaged.
mesh::Field<double> read_edit_array(const comm::Communicator& comm, const std::string& folder, const RegionEdit& edit);

/// Throws core::Error unless that file is there and whole. Local.
void check_edit_array(const std::string& folder, const RegionEdit& edit);
/// Brings it to the folder `to`, of another run. Local.
void copy_edit_array(const std::string& from, const std::string& to, const RegionEdit& edit);

}  // namespace sidestream::couple
