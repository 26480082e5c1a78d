#include "couple/stream/stream_config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "couple/stream/meeting_point.hpp"
#include "sidestream/core/config_path.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/stream/keys.hpp"

namespace sidestream::couple {

namespace {

constexpr double least_stream_timeout_s = 2.0;
constexpr const char* no_keys = "none";

core::Table<StreamConfig> stream_table() {
  core::Table<StreamConfig> table("How other jobs reach what is published for them");
  table.option("listen", &StreamConfig::listen, "local")
      .doc(
          "where readers come to: local, for jobs of the same user on the same node, or tcp://HOST:PORT, where `*` as "
          "host is every interface, and as port any that is free");
  table.option("keys", &StreamConfig::keys, "")
      .doc(
          "folder of keys (`sidestream keys`): who has none of them is refused, and all that travels is encrypted; "
          "needed where other machines reach the address, unless it is \"none\"");
  table.option("timeout", &StreamConfig::timeout_s, 30.0)
      .in(core::wall_time_units())
      .at_least(least_stream_timeout_s)
      .doc("longest time without a sign of a reader, after which it is let go");
  table.option("gateways", &StreamConfig::gateways, 0)
      .at_least(0)
      .doc("ranks that talk with readers, to which the others bring their cells; 0: all do");
  table.option("wait_for", &StreamConfig::wait_for, 0)
      .at_least(0)
      .doc("readers without which the run does not publish its first step; it waits for them");
  return table;
}

// "tcp://HOST:PORT", where * stands for any port.
bool is_address_to_listen_at(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (!address.starts_with("tcp://") || colon <= std::string_view("tcp://").size()) return false;
  const std::string_view port = std::string_view(address).substr(colon + 1);
  int number = 0;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool is_number = !port.empty() && problem == std::errc() && end == port.data() + port.size();
  return port == "*" || (is_number && number >= 0 && number <= 65535);
}

}  // namespace

StreamConfig read_stream(const core::Node& node, core::Node* resolved) {
  StreamConfig config = stream_table().read(node, resolved);
  const core::Node* const listen = node.find("listen");
  const bool is_local_socket = config.listen == "local";
  if (!is_local_socket && !is_address_to_listen_at(config.listen))
    core::reject(
        *listen, fmt::format("\"{}\" is no address", config.listen),
        "listen = \"local\", or \"tcp://HOST:PORT\", such as \"tcp://*:5555\", with a port of 0 to 65535 or *");
  const core::Node* const keys = node.find("keys");
  if (!config.keys.empty() && config.keys != no_keys) {
    if (is_local_socket)
      core::reject(*keys, "a local stream has no keys: nobody else can reach it", "leave the key out");
    config.keys = core::path_of(*keys);
    try {
      stream::KeyFolder(config.keys).allowed();
    } catch (const core::Error& error) {
      core::reject(*keys, error.message() + " (" + error.where() + ")", error.hint());
    }
  }
  if (!is_local_socket && config.keys.empty() && !is_local(config.listen))
    core::reject(*listen, "other machines reach this address, and anybody there could read the run",
                 "make keys with `sidestream keys` and name their folder, keys = \"...\"; keys = \"none\" lets "
                 "everybody in");
  return config;
}

std::vector<core::Option> stream_options() {
  return stream_table().options();
}

}  // namespace sidestream::couple
