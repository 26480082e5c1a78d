#pragma once

#include <optional>
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

/// Standard deviation over the volume from `mean`, that of the field; the same bits on any ranks. Collective. Throws
/// core::Error on all ranks where its square is too large for a double.
double deviation(const comm::Communicator& comm, const LeafField& field, const std::string& name, double mean);

/// Whether `field_or_total(snapshot, name)` is a density of matter whose contrast to the mean makes halos: in
/// Msun/Mpc^3, or where space expands in g/cm^3 or, under the name of a density, in no unit.
bool is_overdensity(const mesh::Snapshot& snapshot, const std::string& name);

/// Throws core::Error for one of the three densities of a universe, whose lengths are in Mpc, in a unit that is none of
/// a density: what it would be searched by does not follow from that.
void check_unit_of_density(const mesh::Snapshot& snapshot, const std::string& name);

/// A threshold on a field: so many times its mean ("81.66 mean"), so many standard deviations above its mean
/// ("3 sigma"), or a value ("4e12").
struct Threshold {
  enum class Of { value, mean, sigma };

  double value = 0.0;
  Of of = Of::value;

  /// In a field of this mean and deviation. Throws core::Error where it is of the deviation and none is known.
  double in(double mean, std::optional<double> deviation = std::nullopt) const;
};

/// Reads a threshold from text; throws core::Error saying what is wrong with it, at `where`.
Threshold parse_threshold(const std::string& text, const std::string& where = "");

}  // namespace sidestream::analysis
