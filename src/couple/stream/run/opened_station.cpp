#include "couple/stream/run/opened_station.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "couple/stream/meeting_point.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/machine.hpp"

namespace sidestream::couple {

namespace {

// Of the run: made by the first rank, where the others are told of it.
SocketFolder folder_of_sockets(const comm::Communicator& group, bool is_wanted) {
  std::optional<SocketFolder> own;
  std::string problem;
  try {
    if (group.rank() == 0) own.emplace(is_wanted ? SocketFolder::make() : SocketFolder());
  } catch (const core::Error& error) {
    problem = error.what();
  }
  group.agree(problem);
  const std::string path = group.broadcast(own ? own->path() : "");
  return own ? std::move(*own) : SocketFolder::of_another(path);
}

// Where ranks are on several nodes, readers have to reach them all, and those who come from outside show their keys.
void require_reach(const StreamConfig& config) {
  if (config.listen == "local")
    throw core::Error("the ranks are on several nodes, and the stream is local", "key `stream.listen`",
                      "name an address that readers can reach: listen = \"tcp://*:5555\", with keys");
  if (!security_of(config).own && is_local(config.listen))
    throw core::Error("the ranks are on several nodes, and readers only on the first one are listened to, without keys",
                      "key `stream.listen`",
                      "make keys (`sidestream keys FOLDER`), or name an address of all nodes: listen = "
                      "\"tcp://*:5555\"");
}

}  // namespace

stream::Security security_of(const StreamConfig& config) {
  const std::string& folder = config.keys;
  if (folder.empty() || folder == "none") return {};
  const stream::KeyFolder keys(folder);
  return {keys.own(), "", keys.allowed()};
}

OpenedStation open_station(const comm::Communicator& group, const CouplingConfig& config,
                           const stream::Server::Refused& refused) {
  const std::string& listen = config.stream.listen;
  const bool is_of_files = listen == "local";
  OpenedStation opened{folder_of_sockets(group, is_of_files), nullptr, {}};
  const bool is_here = core::host_name() == group.broadcast(core::host_name());
  std::string mine;
  group.agree_on([&] {
    if (!is_here) require_reach(config.stream);
    const std::string host = is_here ? host_of(listen) : "*";
    const std::string asked =
        is_of_files ? opened.sockets.address(fmt::format("{}", group.rank())) : fmt::format("tcp://{}:*", host);
    opened.station = std::make_unique<Station>(asked, security_of(config.stream), config.cores, refused);
    for (std::string address : {opened.station->blocks().address(), opened.station->blocks().plain_address()}) {
      if (!is_here && !address.empty())
        address = fmt::format("tcp://{}{}", core::host_name(), address.substr(address.rfind(':')));
      mine += address + '\n';
    }
  });
  const std::vector<char> texts = group.gather(std::span<const char>(mine));
  std::istringstream lines({texts.begin(), texts.end()});
  for (OpenedStation::Place one; std::getline(lines, one.messages) && std::getline(lines, one.plain);)
    opened.places.push_back(one);
  return opened;
}

}  // namespace sidestream::couple
