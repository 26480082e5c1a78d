#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace sidestream::couple {

/// Bounds the memory of copies that are under way to readers, whether they take them or not: of each, and of all.
/// What makes copies is one thread; they may end on others.
class CopyRoom {
 public:
  using Bytes = std::atomic<std::int64_t>;

  /// What is under way to `peer`; one count for as long as anybody holds it.
  std::shared_ptr<Bytes> of(const std::string& peer);
  /// Whether there may be one more.
  bool has_room(const Bytes& of_peer) const { return of_peer < most_of_peer && *of_all_ < most_of_all; }
  /// Holds `copy` of so many bytes, and counts them until nobody holds it any more.
  std::shared_ptr<const void> counted(std::shared_ptr<const void> copy, std::size_t bytes,
                                      const std::shared_ptr<Bytes>& of_peer) const;

 private:
  static constexpr std::int64_t most_of_peer = std::int64_t{12} << 20, most_of_all = std::int64_t{256} << 20;

  std::shared_ptr<Bytes> of_all_ = std::make_shared<Bytes>(0);
  std::map<std::string, std::weak_ptr<Bytes>> of_peers_;
};

}  // namespace sidestream::couple
