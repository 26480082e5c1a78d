#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
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
    result.attributes["length_unit"] = snapshot.length_unit;
    result.attributes["gamma"] = snapshot.gamma;
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
      const mesh::FieldView<const double> field = snapshot.field(name, level);
      const mesh::Layout& layout = snapshot.levels[static_cast<std::size_t>(level)];
      const auto own = layout.boxes_of(comm.rank());
      for (int b = 0; b < field.blocks(); ++b)
        hashes[before + static_cast<std::size_t>(own[static_cast<std::size_t>(b)])] = hash(field.box(b), field.view(b));
      before += static_cast<std::size_t>(layout.size());
    }
    comm.sum(hashes);
    if (comm.rank() == 0) result.add(name, snapshot.unit(name), "bits of a box", {"box"}, {boxes}, std::move(hashes));
  }

  static std::int64_t hash(const mesh::Box& box, const core::View4<const double>& cells) {
    std::uint64_t hash = 1469598103934665603U;
    core::for_each_cell(box, [&](int k, int j, int i) {
      for (const std::byte byte : std::as_bytes(std::span(&cells(k, j, i), 1)))
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211U;
    });
    return static_cast<std::int64_t>(hash >> 2U);
  }
};

/// Exact sums over the particles, and how many of them are on a rank that does not own the leaf they are in.
class ParticleSums : public analysis::Analysis {
 public:
  explicit ParticleSums(std::vector<std::string> fields = {}, std::string species = "")
      : fields_(std::move(fields)), species_(std::move(species)) {}

  std::vector<std::string> fields() const override { return fields_; }
  std::vector<std::string> species() const override { return {species_}; }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const mesh::Particles none;
    const mesh::Particles& particles = snapshot.particles(species_) == nullptr ? none : *snapshot.particles(species_);
    std::vector<core::ExactSum> sums(6);
    std::vector<std::int64_t> counts(4, 0);
    for (std::size_t p = 0; p < particles.size(); ++p) {
      for (std::size_t axis = 0; axis < 3; ++axis) sums[axis].add(particles.position[axis][p]);
      for (std::size_t a = 0; a < particles.attributes.size(); ++a) sums[3 + a].add(particles.attributes[a].values[p]);
      sums[5].add(particles.mass * particles.position[0][p] * particles.attribute("speed")[p]);
      counts[1] += particles.id[p];
      counts[2] += owns_leaf_of(comm, snapshot, particles, p) ? 0 : 1;
    }
    counts[0] = static_cast<std::int64_t>(particles.size());
    counts[3] = snapshot.particles(species_) != nullptr ? 1 : 0;
    comm.sum(counts);
    comm.sum(std::span(sums));
    if (comm.rank() != 0) return {};
    mesh::Result result;
    counts[3] = std::min<std::int64_t>(counts[3], 1);
    std::vector<double> values;
    for (const core::ExactSum& sum : sums) values.push_back(sum.value());
    result.add("counts", "", "particles, sum of ids, strays, whether there are any", {"count"}, {4}, counts);
    result.add("sums", "", "exact sums", {"sum"}, {6}, values);
    for (const mesh::ParticleAttribute& attribute : particles.attributes)
      result.attributes[attribute.name] = attribute.unit;
    return result;
  }

 private:
  static bool owns_leaf_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                           const mesh::Particles& particles, std::size_t p) {
    for (const mesh::Layout& layout : snapshot.levels) {
      const mesh::Geometry geometry{layout.domain(), snapshot.geometry.length, snapshot.geometry.periodic};
      const std::array position{particles.position[0][p], particles.position[1][p], particles.position[2][p]};
      const std::int32_t box = layout.find(cell_of(geometry, position));
      if (box >= 0) return layout.owner(box) == comm.rank();
    }
    return false;
  }

  std::vector<std::string> fields_;
  std::string species_;
};

/// Counts its moments, and keeps a row of each in a table of which the ranks have parts: a row names the moment and the
/// one before.
class Counter : public analysis::Analysis {
 public:
  std::vector<std::string> fields() const override { return {"density"}; }
  bool looks_back() const override { return true; }

  mesh::Result run(const comm::Communicator&, const mesh::Snapshot&) const override {
    throw core::Error("called without the moment before");
  }
  mesh::Result run_after(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                         const mesh::Result& earlier) const override {
    mesh::Result result;
    result.distributed = {"moment"};
    std::vector<std::int64_t> steps, before;
    const bool is_first = !comm.all(!earlier.columns.empty());
    if (!is_first) {
      steps = std::get<std::vector<std::int64_t>>(earlier.column("steps").values);
      before = std::get<std::vector<std::int64_t>>(earlier.column("before").values);
    }
    std::int64_t last = -1, count = 0;
    if (!is_first && comm.rank() == 0) {
      last = std::get<std::int64_t>(earlier.attributes.at("step"));
      count = std::get<std::vector<std::int64_t>>(earlier.column("count").values).front();
    }
    last = comm.broadcast(last);
    if (comm.rank() == comm.size() - 1) {
      steps.push_back(snapshot.moment.step);
      before.push_back(last);
    }
    const auto rows = static_cast<std::int64_t>(steps.size());
    result.add("steps", "", "moments", {"moment"}, {rows}, steps);
    result.add("before", "", "moments before them", {"moment"}, {rows}, before);
    if (comm.rank() == 0) result.add<std::int64_t>("count", "", "moments", {}, {}, {count + 1});
    return result;
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
    result.add<std::int64_t>("steps", "", "the step", {"one"}, {1}, {snapshot.moment.step});
    return result;
  }

 private:
  Action action_;
  std::vector<std::string> fields_;
};

/// A name as a part of the name of a test.
inline std::string plain(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

/// The registry of one analysis, `counter`, without parameters.
inline const core::Registry<analysis::AnalysisEntry>& only_counter() {
  static const core::Registry<analysis::AnalysisEntry> all(
      {"analyses", "analysis", "for tests"},
      {{"counter", "counts on",
        [](const core::Node&, core::Node* resolved) -> std::unique_ptr<analysis::Analysis> {
          if (resolved != nullptr) *resolved = core::Node(core::Node::Members{}, "counter");
          return std::make_unique<Counter>();
        },
        [] { return std::vector<core::Option>(); }}});
  return all;
}

/// The registry of one analysis, `digest`, with one parameter.
inline const core::Registry<analysis::AnalysisEntry>& only_digest() {
  struct Parameters {
    double scale = 1.0;
  };
  static const core::Registry<analysis::AnalysisEntry> all(
      {"analyses", "analysis", "for tests"},
      {{"digest", "sums of boxes",
        [](const core::Node& node, core::Node* resolved) -> std::unique_ptr<analysis::Analysis> {
          core::Table<Parameters> table("sums of boxes");
          table.option("scale", &Parameters::scale, 1.0);
          for (const std::string& key : analysis::task_keys()) table.ignore(key);
          table.read(node, resolved);
          return std::make_unique<Digest>();
        },
        [] { return std::vector<core::Option>(); }}});
  return all;
}

}  // namespace sidestream::test
