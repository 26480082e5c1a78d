#pragma once

#include <string>
#include <vector>

#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Density of gas and dark matter together [Msun/Mpc^3]: the field "total_density" where the snapshot has it, else the
/// sum of "gas_density" and "dark_matter_density", or the one there is (no copy). Throws core::Error when there is
/// none. Lives as long as `snapshot`.
LeafField total_density(const mesh::Snapshot& snapshot);

/// Whether the snapshot has a "total_density" that is not the sum of other fields of it.
bool has_own_total(const mesh::Snapshot& snapshot);

/// The field `name` of the snapshot on all levels, where "total_density" may be made by the function of that name.
LeafField field_or_total(const mesh::Snapshot& snapshot, const std::string& name);

/// Names of the fields to ask a snapshot for so that `field_or_total(snapshot, name)` has what it needs.
std::vector<std::string> names_for(const std::string& name);

/// The unit of `field_or_total(snapshot, name)`.
std::string unit_of(const mesh::Snapshot& snapshot, const std::string& name);

/// Says which cell of this rank is the first that holds no finite number; empty if all hold one.
std::string first_bad_cell(const LeafField& field, const std::string& name);

/// Mean over the volume, exactly rounded. Collective. Throws core::Error on all ranks, naming a cell, when a value is
/// not finite.
double mean(const comm::Communicator& comm, const LeafField& field, const std::string& name);
/// The same of one level alone.
double mean(const comm::Communicator& comm, const ScalarView& field, const std::string& name);

/// A threshold on a density: so many times its mean ("81.66 mean"), or a density as such ("4e12").
struct Threshold {
  double value = 0.0;
  bool is_of_mean = false;

  double in(double mean) const { return is_of_mean ? value * mean : value; }
};

/// Reads a threshold from text; throws core::Error saying what is wrong with it, at `where`.
Threshold parse_threshold(const std::string& text, const std::string& where = "");

}  // namespace sidestream::analysis
