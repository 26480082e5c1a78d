#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace sidestream::mesh {

class Snapshot;

/// A named array with its unit and the names of its dimensions, slowest first. Columns that share a dimension form a
/// table.
struct Column {
  std::string name, unit, description;
  std::vector<std::string> dimensions;
  std::variant<std::vector<double>, std::vector<std::int64_t>> values;
  bool has_gaps = false;  ///< whether NaN stands for a value that there is not
};

/// What an analysis finds: small named tables plus attributes, complete on rank 0 of the group that computed it and
/// empty elsewhere; and tables too large for one rank, whose rows each rank has a part of.
struct Result {
  std::map<std::string, std::int64_t> dimensions;  ///< length of each dimension; of a distributed one, the part here
  /// Dimensions whose rows are those of rank 0, then those of rank 1, and so on. Their columns have no other dimension,
  /// and are there on every rank, with no rows if need be.
  std::set<std::string> distributed;
  std::vector<Column> columns;
  std::map<std::string, std::variant<double, std::int64_t, std::string>> attributes;
  std::string summary;  ///< a few words for the progress line, such as "214 halos"
  /// The part of the state that is kept beside the tables, in a file of its own: quantities on boxes that cover some of
  /// the domain, each on the rank that owns it. Null, on all ranks alike: nothing is.
  std::shared_ptr<const Snapshot> cut_out{};
  /// Files that are kept beside the tables, such as figures: the bytes of each by the ending of its name ("png").
  std::map<std::string, std::string> attachments{};

  /// Adds a column over `names`; sets or checks the lengths of its dimensions (throws core::Error when they differ).
  template <typename T>
  void add(std::string name, std::string unit, std::string description, std::vector<std::string> names,
           std::vector<std::int64_t> lengths, std::vector<T> values) {
    add(Column{std::move(name), std::move(unit), std::move(description), std::move(names), std::move(values), false},
        lengths);
  }
  const Column& column(const std::string& name) const;

 private:
  void add(Column column, const std::vector<std::int64_t>& lengths);
};

}  // namespace sidestream::mesh
