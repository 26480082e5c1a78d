#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/analysis/analysis.hpp"
#include "sidestream/couple/transport.hpp"
#include "sidestream/couple/trigger.hpp"

namespace sidestream::couple {

/// What an analysis that is a job of its own may take.
struct Isolation {
  double deadline_s = 0.0;    ///< after its start, when it is ended
  double memory_bytes = 0.0;  ///< of each of its processes, beside what it begins with; 0: as much as there is
};

/// An analysis, how it gets its data and when: one `[task.NAME]` table.
struct Task {
  std::string name;
  std::string analysis_name;
  std::shared_ptr<const analysis::Analysis> analysis;
  const TransportEntry* transport = &transports().front();
  Trigger trigger;
  std::string parameters;              ///< the analysis's own keys as TOML, defaults filled in; stored with each result
  core::Node table{};                  ///< as it was written, for messages
  std::string grid{};                  ///< of the snapshot's, which it reads; empty: the one of the state
  std::optional<double> deadline_s{};  ///< longest time for one moment, after which the run is ended, or its job
  std::optional<Isolation> isolation{};  ///< of one that is a job of its own
};

/// How its snapshots travel: by its transport, or to a job of its own.
const TransportEntry& way_of(const Task& task);

/// A field an analysis asks for. A trailing '?' of its name in `Analysis::fields` means that it is used only if the
/// snapshot has it.
struct FieldRequest {
  std::string name;
  bool is_optional = false;
};
std::vector<FieldRequest> requested_fields(const Task& task);

/// Those of `known`, by name, that the task is sent where it runs elsewhere: what it asks for, as far as it is there,
/// but for sums, of which it gets the parts.
std::vector<std::string> fields_to_send(const Task& task, const std::vector<mesh::Quantity>& known);

/// Those of `known`, in their order, whose particles the task reads. Throws core::Error naming them for a name that is
/// none of them.
std::vector<std::string> species_to_send(const Task& task, const std::vector<std::string>& known);

/// Where the task's table says `value`, itself or in a list; the table's place where it does not.
std::string place_of(const Task& task, const std::string& value);

}  // namespace sidestream::couple
