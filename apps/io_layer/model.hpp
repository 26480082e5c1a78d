#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace sidestream::io_layer {

/// What requests cost in the model file system.
struct ModelCosts {
  std::int64_t request_ns = 5'000'000;
  std::int64_t handover_ns = 10'000'000;  ///< of the lock of an extent
  std::int64_t extent_bytes = std::int64_t{1} << 20;
  std::int64_t bytes_per_s = 300'000'000;  ///< of a server
  int servers = 4;
};

/// A MODEL of a parallel file system (in the manner of GPFS and Lustre), not a measurement of one: a file is striped in
/// extents over servers that serve one request at a time; each request costs a fixed time on every server that it
/// touches, and the time of its bytes; an extent that another rank wrote last costs the hand-over of its lock. The data
/// go to the real file system; the model only makes a call last as long as it would have. Its state is a file mapped by
/// all ranks.
class Model {
 public:
  /// Opens or makes the state; none when the system refuses.
  static std::optional<Model> open(const char* path, const ModelCosts& costs);
  static ModelCosts costs_of_environment();

  /// Waits until a write of `bytes` at `offset` of file `file` by `rank`, begun at `start_ns`, would be done.
  void charge(std::int64_t start_ns, std::uint64_t file, std::int64_t offset, std::int64_t bytes, int rank) const;
  static std::int64_t now_ns();
  std::int64_t extent_bytes() const { return costs_.extent_bytes; }

 private:
  struct Table;
  Model(Table* table, const ModelCosts& costs) : table_(table), costs_(costs) {}
  bool take_lock(std::uint64_t file, std::int64_t extent, int rank) const;

  Table* table_ = nullptr;
  ModelCosts costs_;
};

}  // namespace sidestream::io_layer
