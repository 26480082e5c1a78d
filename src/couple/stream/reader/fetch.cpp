#include "couple/stream/reader/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/stream/compressed_parts.hpp"
#include "couple/stream/reader/incoming_bytes.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr double again_s = 5.0;                         // without a byte, after which a transfer is asked for anew
constexpr std::chrono::milliseconds longest_way{2000};  // to a plain socket
constexpr int most_broken = 3;                          // of a rank, before messages are used

}  // namespace

struct Fetcher::Transfer {
  int from = 0;
  Peer* peer = nullptr;
  TransferOrder order;
  std::int64_t most_particle_words = 0;
  std::vector<Incoming::Target> targets;
  std::optional<Incoming> cells{};                 // as they are
  std::optional<IncomingBytes> bytes{};            // by a plain socket
  std::optional<IncomingCompressed> compressed{};  // or so
  std::vector<std::byte> particles{};
  std::uint64_t id = 0;
  std::int64_t got = 0, total = -1;
  core::Stopwatch since_byte{}, since_asked{};

  bool is_over() const { return compressed ? compressed->is_at_end() : got == total; }
  std::int64_t most_particle_bytes() const { return most_particle_words * static_cast<std::int64_t>(sizeof(Word)); }
};

Fetcher::Fetcher(std::vector<std::string> addresses, std::vector<std::string> plain_addresses,
                 stream::Security security, double timeout_s, Relocation relocation)
    : addresses_(std::move(addresses)),
      plain_addresses_(std::move(plain_addresses)),
      security_(std::move(security)),
      timeout_s_(timeout_s),
      relocation_(std::move(relocation)) {}
Fetcher::~Fetcher() = default;

Fetcher::Peer& Fetcher::peer_of(int rank) {
  Peer& peer = peers_[rank];
  if (!peer.client)
    peer.client = std::make_unique<stream::Client>(addresses_.at(static_cast<std::size_t>(rank)), security_,
                                                   stream::random_name(), client_limits);
  return peer;
}

// Where there is no way for one, to any rank, messages carry all.
bool Fetcher::has_plain_socket(int rank, Peer& peer) {
  if (std::exchange(peer.is_amid, false)) peer.plain_socket.reset();
  if (peer.plain_socket) return true;
  const std::string& address = plain_addresses_.at(static_cast<std::size_t>(rank));
  if (!has_way_for_plain_ || address.empty() || peer.broken >= most_broken) return false;
  try {
    peer.socket_name = stream::random_word();
    peer.plain_socket.emplace(address, peer.socket_name, longest_way);
  } catch (const core::Error&) {
    has_way_for_plain_ = false;
  }
  return has_way_for_plain_;
}

void Fetcher::ask(Transfer& transfer, std::int64_t number, bool may_be_plain) {
  Peer& peer = *transfer.peer;
  transfer.id = ++transfers_;
  transfer.since_asked.restart();
  transfer.bytes.reset();
  std::string plain_socket;
  if (!transfer.order.compression.empty()) {  // from the start: where a part begins is not known
    transfer.got = 0;
    transfer.compressed.emplace(transfer.order, transfer.targets, transfer.most_particle_bytes());
  } else {
    if (!transfer.cells->is_at_end()) transfer.got = transfer.cells->begin_again();
    transfer.particles.resize(
        static_cast<std::size_t>(std::max<std::int64_t>(0, transfer.got - transfer.cells->bytes())));
    if (may_be_plain && has_plain_socket(transfer.from, peer)) {
      transfer.bytes.emplace(transfer.id, transfer.got, transfer.most_particle_bytes(), *transfer.cells,
                             transfer.particles);
      peer.is_amid = true;
      plain_socket = peer.socket_name;
    }
  }
  const std::string request = packed(to_request(transfer.order, number, transfer.id, transfer.got, plain_socket));
  if (request.size() > request_limits.message_bytes)
    throw core::Error(fmt::format("{} parts of blocks are too many for one request", transfer.order.parts.size()),
                      address_of(transfer), "read a region, or coarser levels, or by more ranks");
  peer.client->send(request);
}

std::vector<std::vector<Word>> Fetcher::fetch(std::int64_t number, std::vector<Wanted> wanted, ReaderCounts& counts) {
  std::vector<Transfer> transfers;
  transfers.reserve(wanted.size());  // they hold on to their own members
  for (Wanted& one : wanted) {
    Transfer& transfer = transfers.emplace_back();
    transfer.from = one.from;
    transfer.peer = &peer_of(one.from);
    transfer.most_particle_words = one.most_particle_words;
    transfer.order = std::move(one.order);
    transfer.targets = std::move(one.targets);
    if (transfer.order.compression.empty()) transfer.cells.emplace(transfer.order, transfer.targets);
    ask(transfer, number);
  }
  std::vector<const stream::Socket*> sockets;
  while (!std::ranges::all_of(transfers, &Transfer::is_over)) {
    sockets.clear();
    for (const Transfer& transfer : transfers) {
      if (transfer.is_over()) continue;
      sockets.push_back(transfer.peer->client.get());
      if (transfer.bytes) sockets.push_back(&*transfer.peer->plain_socket);
    }
    stream::wait(sockets, nullptr, std::chrono::milliseconds(100));
    if (relocation_.has_been())
      throw FetchTimeout("the run has begun anew while it gave its cells", address_of(transfers.front()),
                         "attach again; a reader with patience does so itself");
    for (Transfer& transfer : transfers) {
      if (!transfer.is_over()) take_all(transfer, number, counts);
      if (transfer.is_over()) continue;
      if (transfer.since_byte.seconds() > timeout_s_)
        throw FetchTimeout(fmt::format("waited {:.3g} s of {:.3g} s for cells of rank {} of the run", timeout_s_,
                                       timeout_s_, transfer.from),
                           address_of(transfer),
                           "does the run still go on, and can this machine reach each of its ranks?");
      if (transfer.since_byte.seconds() > again_s && transfer.since_asked.seconds() > again_s)
        ask_again(transfer, number);
    }
  }
  std::vector<std::vector<Word>> particles;
  for (const Transfer& transfer : transfers) {
    const std::vector<std::byte>& bytes = transfer.compressed ? transfer.compressed->particles() : transfer.particles;
    std::vector<Word>& words = particles.emplace_back(bytes.size() / sizeof(Word));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(Word));
  }
  return particles;
}

// By messages where nothing came by a plain socket: a connection may be taken on the way and lead nowhere.
void Fetcher::ask_again(Transfer& transfer, std::int64_t number) {
  if (transfer.bytes) ++transfer.peer->broken;
  ask(transfer, number, !transfer.bytes);
}

// What has come meanwhile.
void Fetcher::take_all(Transfer& transfer, std::int64_t number, ReaderCounts& counts) {
  while (!transfer.is_over())
    if (const std::optional<stream::Message> message = transfer.peer->client->receive())
      take(transfer, *message, counts);
    else
      break;
  while (!transfer.is_over() && transfer.bytes)
    if (!take_bytes(transfer, number, counts)) break;
}

void Fetcher::take(Transfer& transfer, const stream::Message& message, ReaderCounts& counts) {
  ChunkHead head;
  if (message.head.size() != sizeof head) return;
  std::memcpy(&head, message.head.data(), sizeof head);
  if (head.transfer != transfer.id) return;
  const std::span<const std::byte> bytes = message.body.bytes();
  if (head.total == -1) refuse(transfer, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (head.offset != transfer.got || transfer.bytes)
    refuse(transfer, fmt::format("bytes from {} on came, and {} were there", head.offset, transfer.got));
  if (transfer.compressed) {
    transfer.compressed->take(bytes);
  } else {
    const std::int64_t of_particles = head.total - transfer.order.bytes();
    if (of_particles < 0 || of_particles > transfer.most_particle_bytes() ||
        of_particles % static_cast<std::int64_t>(sizeof(Word)) != 0 || std::ssize(bytes) > head.total - head.offset)
      refuse(transfer, fmt::format("it announces {} bytes", head.total));
    transfer.total = head.total;
    const std::size_t of_fields = transfer.cells->take(bytes);
    const std::span<const std::byte> rest = bytes.subspan(of_fields);
    if (!rest.empty() && !transfer.cells->is_at_end()) refuse(transfer, "it gives parts of numbers");
    transfer.particles.insert(transfer.particles.end(), rest.begin(), rest.end());
  }
  transfer.got += std::ssize(bytes);
  transfer.since_byte.restart();
  counts.bytes += std::ssize(bytes);
  ++counts.messages;
  if (!transfer.is_over()) transfer.peer->client->send(packed(json{{"kind", "more"}, {"transfer", transfer.id}}));
}

// Returns whether there may be more at once. A connection that breaks is made anew.
bool Fetcher::take_bytes(Transfer& transfer, std::int64_t number, ReaderCounts& counts) {
  Peer& peer = *transfer.peer;
  std::size_t came = 0;
  try {
    came = peer.plain_socket->receive(transfer.bytes->places());
  } catch (const core::Error&) {
    ++peer.broken;
    ask(transfer, number);
    return false;
  }
  if (came == 0) return false;
  const bool is_first = transfer.total < 0;
  try {
    transfer.bytes->take(came);
  } catch (const core::Error& error) {
    refuse(transfer, error.message());
  }
  transfer.since_byte.restart();
  counts.bytes += transfer.bytes->got() - transfer.got;
  transfer.got = transfer.bytes->got();
  transfer.total = transfer.bytes->total();
  if (is_first && transfer.total >= 0) ++counts.messages;
  if (transfer.is_over()) peer.is_amid = false;
  return true;
}

void Fetcher::refuse(const Transfer& transfer, const std::string& what) const {
  throw core::Error(fmt::format("rank {} of the run does not give its cells: {}", transfer.from, what),
                    address_of(transfer));
}

std::string Fetcher::address_of(const Transfer& transfer) const {
  return addresses_[static_cast<std::size_t>(transfer.from)];
}

}  // namespace sidestream::couple
