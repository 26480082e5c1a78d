#pragma once

#include <cstdint>
#include <optional>

namespace sidestream::stream {

/// What happens to the connections of a socket of ZeroMQ, which it tells as it happens. Of the thread of the socket,
/// and gone before it.
class Monitor {
 public:
  struct Event {
    std::uint16_t kind = 0;   ///< ZMQ_EVENT_...
    std::uint32_t value = 0;  ///< what it means depends on the kind
  };

  /// Of `events`, which are or-ed.
  Monitor(void* socket, int events);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// The next one that has not been asked for yet.
  std::optional<Event> next();

 private:
  void* watched_;
  void* socket_ = nullptr;
};

}  // namespace sidestream::stream
