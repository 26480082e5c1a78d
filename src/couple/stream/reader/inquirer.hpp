#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "couple/stream/meeting_point.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// What a run says to one that it will never take, however long that waits.
class Refusal : public core::Error {
 public:
  using core::Error::Error;
  explicit Refusal(const core::Error& error) : core::Error(error) {}
};

/// What one who talks with a run needs: nothing where neither has keys. `key_of_run`: its public key, or "". `where`:
/// the run, for errors; `keys`: the folder of keys of this side, or "". Throws core::Error where only one side has
/// keys.
stream::Security security_for(const std::string& key_of_run, const std::string& where, const std::string& keys);

/// Why the run at `address` does not let this side in, if it has said so.
std::optional<core::Error> refusal_of(stream::Client& client, const std::string& address,
                                      const stream::Security& security);

/// A process that asks the first rank of a run, one thing after the other.
class Inquirer {
 public:
  /// `where` and `keys` as for `ask_run`. Throws core::Error where there is no run, or it asks for a key and there is
  /// none.
  Inquirer(const std::string& where, const std::string& keys, double timeout_s);

  /// Throws core::Error where the run does not answer in time, refuses, or does not know the key.
  nlohmann::json ask(const nlohmann::json& request);

 private:
  std::string where_;
  double timeout_s_;
  MeetingPoint point_;
  stream::Security security_;
  stream::Client client_;
};

}  // namespace sidestream::couple
