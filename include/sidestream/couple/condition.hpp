#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/expression.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// How the cells of a quantity become one number.
struct Reduction {
  std::string name, documentation;
  /// Collective; the same bits on all ranks, whatever their number and the blocks.
  double (*of)(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& quantity);
};
/// All reductions there are.
const core::Registry<Reduction>& reductions();

/// A number of the moment.
struct Variable {
  std::string name, documentation;
  double (*of)(const mesh::Moment& moment, double time_unit);
};
/// All variables there are.
const core::Registry<Variable>& variables();

/// The state that conditions are asked about: makes the snapshot, and each reduction of it, at most once, and only if
/// it is asked for. All members but the constructor are collective on `comm`.
class PresentState {
 public:
  using SnapshotOf = std::function<const mesh::Snapshot&()>;

  /// `comm` outlives it. `time_unit`: of the simulation's times, for `time`.
  PresentState(const comm::Communicator& comm, mesh::Moment moment, SnapshotOf snapshot, double time_unit)
      : comm_(&comm), moment_(std::move(moment)), snapshot_(std::move(snapshot)), time_unit_(time_unit) {}

  double reduced(const Reduction& reduction, const std::string& quantity);
  double value(const Variable& variable) const { return variable.of(moment_, time_unit_); }

 private:
  const comm::Communicator* comm_;
  mesh::Moment moment_;
  SnapshotOf snapshot_;
  double time_unit_;
  std::map<std::pair<std::string, std::string>, double> known_;
};

/// What is true or not of a state, in a small language: `max(temperature) > 1e7 and step > 10`.
class Condition {
 public:
  /// Throws core::Error with the place of `node`, the column in the text, and the nearest name.
  explicit Condition(const core::Node& node);

  const std::string& text() const { return text_; }
  /// The part to the right of an `and` or `or` is looked at only if it decides.
  bool holds(PresentState& state) const;
  /// Throws core::Error unless each quantity is one of `quantities`, and there is a redshift if it is asked for.
  void check(std::span<const std::string> quantities, bool has_redshift) const;

 private:
  std::string text_, where_;
  std::shared_ptr<const core::Expression> expression_;
};

}  // namespace sidestream::couple
