#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::test {

/// A hash of each box of two fields, in the order of levels and boxes: all bits of the data reach the result. Reads
/// `metals` where there is one.
class Digest : public analysis::Analysis {
 public:
  std::vector<std::string> fields() const override { return {"density", "temperature", "metals?"}; }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    std::int64_t boxes = 0;
    for (const mesh::Layout& layout : snapshot.levels) boxes += layout.size();
    mesh::Result result;
    for (const char* name : {"density", "temperature", "metals"})
      if (snapshot.has(name)) add(comm, name, snapshot, boxes, result);
    if (comm.rank() != 0) return {};
    result.attributes["has_metals"] = std::int64_t{snapshot.has("metals")};
    result.attributes["length"] = snapshot.geometry.length[2];
    result.attributes["levels"] = static_cast<std::int64_t>(snapshot.levels.size());
    result.summary = std::to_string(boxes) + " boxes";
    return result;
  }

 private:
  // A hash of the bits of each box, level by level: every bit and the order of the cells count.
  static void add(const comm::Communicator& comm, const std::string& name, const mesh::Snapshot& snapshot,
                  std::int64_t boxes, mesh::Result& result) {
    std::vector<std::int64_t> hashes(static_cast<std::size_t>(boxes), 0);
    std::size_t before = 0;
    for (int level = 0; level <= snapshot.finest_level(); ++level) {
      const mesh::Field<double>& field = snapshot.field(name, level);
      const mesh::Layout& layout = snapshot.levels[static_cast<std::size_t>(level)];
      const auto own = layout.boxes_of(comm.rank());
      for (int b = 0; b < field.blocks(); ++b)
        hashes[before + static_cast<std::size_t>(own[static_cast<std::size_t>(b)])] = hash(field.block(b));
      before += static_cast<std::size_t>(layout.size());
    }
    comm.sum(hashes);
    if (comm.rank() == 0) result.add(name, snapshot.unit(name), "bits of a box", {"box"}, {boxes}, std::move(hashes));
  }

  static std::int64_t hash(std::span<const double> cells) {
    std::uint64_t hash = 1469598103934665603U;
    for (const std::byte byte : std::as_bytes(cells))
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211U;
    return static_cast<std::int64_t>(hash >> 2U);
  }
};

/// Does what it is told, on every rank that runs it.
class Told : public analysis::Analysis {
 public:
  using Action = std::function<void(const comm::Communicator&, const mesh::Snapshot&)>;
  explicit Told(Action action, std::vector<std::string> fields = {"density"})
      : action_(std::move(action)), fields_(std::move(fields)) {}

  std::vector<std::string> fields() const override { return fields_; }
  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    action_(comm, snapshot);
    mesh::Result result;
    result.add<std::int64_t>("steps", "", "the step", {"one"}, {1}, {snapshot.step});
    return result;
  }

 private:
  Action action_;
  std::vector<std::string> fields_;
};

/// The registry of one analysis, `digest`, with one parameter.
inline const analysis::AnalysisEntry& find_digest(const core::Node&) {
  struct Parameters {
    double scale = 1.0;
  };
  static const analysis::AnalysisEntry entry{
      "digest", "sums of boxes",
      [](const core::Node& node, core::Node* resolved) -> std::unique_ptr<analysis::Analysis> {
        core::Table<Parameters> table("sums of boxes");
        table.option("scale", &Parameters::scale, 1.0);
        for (const std::string& key : analysis::task_keys()) table.ignore(key);
        table.read(node, resolved);
        return std::make_unique<Digest>();
      },
      [] { return std::vector<core::Option>(); }};
  return entry;
}

}  // namespace sidestream::test
