#pragma once

#include <cstdint>

#include "sidestream/couple/transport.hpp"

namespace sidestream::couple {

/// A transport whose publishes are done when `publish` returns: there is nothing to wait for.
class DirectTransport : public Transport {
 public:
  Standing standing() final { return standing_; }
  void settle(std::int64_t) final {}
  void finish(Drain) final {}

 protected:
  void publish_begins() { ++standing_.sent; }
  /// `lacks_a_result`: something of this publish was not written.
  void publish_is_done(bool lacks_a_result) {
    if (lacks_a_result && !standing_.first_unwritten) standing_.first_unwritten = standing_.sent;
    standing_.done = standing_.sent;
  }

 private:
  Standing standing_;
};

}  // namespace sidestream::couple
