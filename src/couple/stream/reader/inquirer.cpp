#include "couple/stream/reader/inquirer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "couple/publish/protocol.hpp"
#include "couple/stream/wire.hpp"
#include "couple/waiting.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/attach.hpp"

namespace sidestream::couple {

using nlohmann::json;

stream::Security security_for(const std::string& key_of_run, const std::string& where, const std::string& keys) {
  if (key_of_run.empty() && keys.empty()) return {};
  if (key_of_run.empty())
    throw core::Error(
        fmt::format("{}, and keys were given: nothing that travels would be encrypted",
                    is_address(where) ? "the address is without the key of a run" : "the run has no keys"),
        where, "leave the keys out, or give the run some (`stream.keys`) and its address with `#KEY`");
  if (keys.empty())
    throw core::Error(
        is_address(where) ? "what follows the # is the key of a run that asks who talks to it, and no keys were given"
                          : "the run asks who talks to it, and there is no key",
        where, "`sidestream keys` makes one; name its folder, and have the owner of the run allow its public key");
  return {stream::KeyFolder(keys).own(), key_of_run, {}};
}

std::optional<core::Error> refusal_of(stream::Client& client, const std::string& address,
                                      const stream::Security& security) {
  using enum stream::Client::Refusal;
  switch (client.refusal()) {
    case none:
      return std::nullopt;
    case unknown_key:
      return core::Error(
          "the run does not know the key " + security.own->public_key, address,
          "have its owner put that in a file *.pub in `allowed` of the keys of the run, which reads it when it starts");
    default:
      return security.own
                 ? core::Error("the run hangs up: it has no keys, or not the one that was given for it", address,
                               "what follows the # of its address is the `key` of its stream.json; where that "
                               "is empty, leave out the keys")
                 : core::Error("the run asks for keys", address,
                               "name your folder of keys, and the run by its folder or as ADDRESS#KEY; if it has none, "
                               "something else listens there");
  }
}

Inquirer::Inquirer(const std::string& where, const std::string& keys, double timeout_s)
    : where_(where),
      timeout_s_(timeout_s),
      point_(meeting_point(where)),
      security_(security_for(point_.key, where, keys)),
      client_(point_.address, security_, stream::random_name(), client_limits, true) {}

json Inquirer::ask(const json& request) {
  client_.send(packed(request));
  const stream::Socket* const socket = &client_;
  const core::Stopwatch watch;
  Relocation relocation(where_, point_);
  while (watch.seconds() < timeout_s_) {
    stream::wait({&socket, 1}, nullptr, std::chrono::milliseconds(50));
    if (const auto refusal = refusal_of(client_, point_.address, security_)) throw Refusal(*refusal);
    relocation.check();
    const std::optional<stream::Message> message = client_.receive();
    if (!message) continue;
    json answer = unpacked(message->head);
    if (answer.value("kind", "") == "refused")
      throw core::Error(answer.value("reason", ""), point_.address, answer.value("hint", ""));
    return answer;
  }
  throw core::Error(
      fmt::format("waited {:.3g} s of {:.3g} s for the run at {}", timeout_s_, timeout_s_, point_.address), where_,
      "does it still run, can this machine reach it, and does it know this key?");
}

json ask_run(const std::string& where, const std::string& keys, const json& request, double timeout_s) {
  return Inquirer(where, keys, timeout_s).ask(request);
}

std::string configuration_of_run(const comm::Communicator& world, const std::string& where, const std::string& keys,
                                 double timeout_s, double patience_s) {
  return told_by_first(world, [&]() -> std::string {
    const core::Stopwatch watch;
    while (true) {
      try {
        return ask_run(where, keys, {{"kind", "configuration"}}, timeout_s).at("configuration");
      } catch (const Refusal&) {
        throw;
      } catch (const core::Error&) {
        if (watch.seconds() > patience_s) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
}

}  // namespace sidestream::couple
