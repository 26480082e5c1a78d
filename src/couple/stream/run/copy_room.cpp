#include "couple/stream/run/copy_room.hpp"

#include <utility>

namespace sidestream::couple {

std::shared_ptr<CopyRoom::Bytes> CopyRoom::of(const std::string& peer) {
  std::erase_if(of_peers_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Bytes>& known = of_peers_[peer];
  std::shared_ptr<Bytes> bytes = known.lock();
  if (!bytes) known = bytes = std::make_shared<Bytes>(0);
  return bytes;
}

std::shared_ptr<const void> CopyRoom::counted(std::shared_ptr<const void> copy, std::size_t bytes,
                                              const std::shared_ptr<Bytes>& of_peer) const {
  const auto size = static_cast<std::int64_t>(bytes);
  *of_peer += size;
  *of_all_ += size;
  const void* const place = copy.get();
  return {place, [copy = std::move(copy), size, of_peer, of_all = of_all_](const void*) mutable {
            copy.reset();
            *of_peer -= size;
            *of_all -= size;
          }};
}

}  // namespace sidestream::couple
