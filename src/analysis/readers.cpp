#include "analysis/entries.hpp"
#include "analysis/make.hpp"

namespace sidestream::analysis {

namespace {

/// Nothing by itself: a name and moments for readers of a stream, which analyse what they ask for.
class Readers : public Analysis {
 public:
  struct Parameters {};
  static core::Table<Parameters> table() {
    return task_table<Parameters>("Nothing by itself: other jobs attach to its stream and do what they like");
  }

  explicit Readers(Parameters) {}

  std::vector<std::string> fields() const override { return {}; }
  mesh::Result run(const comm::Communicator&, const mesh::Snapshot&) const override { return {}; }
};

}  // namespace

AnalysisEntry readers_entry() {
  return entry_of<Readers>("readers");
}

}  // namespace sidestream::analysis
