#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/analysis/analysis.hpp"

namespace sidestream::couple {

/// How a snapshot reaches an analysis.
enum class Transport {
  in_situ,     ///< the ranks that compute do it, and wait meanwhile
  in_transit,  ///< the data go to sidecar ranks, and the simulation goes on
};

struct TransportEntry {
  std::string name, documentation;
  Transport transport;
};
/// All transports there are.
const core::Registry<TransportEntry>& transports();

/// The word of the configuration for a transport: "in-situ".
std::string to_string(Transport transport);

/// Says at which moments of a run a task is due. Remembers where the run stands, so it is asked about each step, in
/// order; asking again about the same step gives the same answer.
class Trigger {
 public:
  Trigger() = default;
  /// Every `every` steps (0: never by steps), and at each of these redshifts: when the run lands on one or passes it.
  explicit Trigger(std::int64_t every, std::vector<double> at_redshift = {});

  /// A trigger with redshifts throws core::Error at a moment without one. A redshift that was passed before the first
  /// step asked about (a restart) is not due again.
  bool is_due(const mesh::Moment& moment);

  std::int64_t every() const { return every_; }
  const std::vector<double>& at_redshift() const { return at_redshift_; }

 private:
  struct Place {
    std::int64_t step;
    double redshift;
  };
  bool reaches_redshift(double now) const;

  std::int64_t every_ = 0;
  std::vector<double> at_redshift_;
  std::optional<Place> now_;
  std::optional<double> before_;  // redshift of the step before `now_`
};

/// An analysis, how it gets its data and when: one `[task.NAME]` table.
struct Task {
  std::string name;
  std::string analysis_name;
  std::shared_ptr<const analysis::Analysis> analysis;
  Transport transport = Transport::in_situ;
  Trigger trigger;
  std::string parameters;  ///< the analysis's own keys as TOML, defaults filled in; stored with each result
};

/// A field an analysis asks for. A trailing '?' of its name in `Analysis::fields` means that it is used only if the
/// snapshot has it.
struct FieldRequest {
  std::string name;
  bool is_optional = false;
};
std::vector<FieldRequest> requested_fields(const Task& task);

}  // namespace sidestream::couple
