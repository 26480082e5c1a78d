#include "couple/stream/reader/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/stream/compressed_parts.hpp"
#include "couple/stream/run/block_server.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr double again_s = 5.0;  // without a byte, after which a transfer is asked for anew

}  // namespace

struct Fetcher::Transfer {
  int from = 0;
  stream::Client* client = nullptr;
  TransferOrder order;
  std::int64_t most_particle_words = 0;
  std::vector<Incoming::Target> targets;
  std::optional<Incoming> cells{};                 // as they are
  std::optional<IncomingCompressed> compressed{};  // or so
  std::vector<std::byte> particles{};
  std::uint64_t id = 0;
  std::int64_t got = 0, total = -1;
  core::Stopwatch since_byte{}, since_asked{};

  bool is_over() const { return compressed ? compressed->is_at_end() : got == total; }
  std::int64_t most_particle_bytes() const { return most_particle_words * static_cast<std::int64_t>(sizeof(Word)); }
};

Fetcher::Fetcher(std::vector<std::string> addresses, stream::Security security, double timeout_s)
    : addresses_(std::move(addresses)), security_(std::move(security)), timeout_s_(timeout_s) {}
Fetcher::~Fetcher() = default;

stream::Client& Fetcher::client_to(int rank) {
  std::unique_ptr<stream::Client>& client = clients_[rank];
  if (!client)
    client = std::make_unique<stream::Client>(addresses_.at(static_cast<std::size_t>(rank)), security_,
                                              stream::random_name(), client_limits);
  return *client;
}

void Fetcher::ask(Transfer& transfer, std::int64_t number) {
  transfer.id = ++transfers_;
  transfer.since_asked.restart();
  if (!transfer.order.compression.empty()) {  // from the start: where a part begins is not known
    transfer.got = 0;
    transfer.compressed.emplace(transfer.order, transfer.targets, transfer.most_particle_bytes());
  }
  transfer.client->send(packed(to_request(transfer.order, number, transfer.id, transfer.got)));
}

std::vector<std::vector<Word>> Fetcher::fetch(std::int64_t number, std::vector<Wanted> wanted, ReaderCounts& counts) {
  std::vector<Transfer> transfers;
  std::vector<const stream::Socket*> sockets;
  for (Wanted& one : wanted) {
    stream::Client& client = client_to(one.from);
    Transfer& transfer = transfers.emplace_back();
    transfer.from = one.from;
    transfer.client = &client;
    transfer.most_particle_words = one.most_particle_words;
    transfer.order = std::move(one.order);
    transfer.targets = std::move(one.targets);
    if (transfer.order.compression.empty()) transfer.cells.emplace(transfer.order, transfer.targets);
    ask(transfers.back(), number);
    sockets.push_back(&client);
  }
  while (!std::ranges::all_of(transfers, &Transfer::is_over)) {
    stream::wait(sockets, nullptr, std::chrono::milliseconds(100));
    for (Transfer& transfer : transfers) {
      while (!transfer.is_over())
        if (const std::optional<stream::Message> message = transfer.client->receive())
          take(transfer, *message, counts);
        else
          break;
      if (transfer.is_over()) continue;
      if (transfer.since_byte.seconds() > timeout_s_)
        throw FetchTimeout(fmt::format("waited {:.3g} s of {:.3g} s for cells of rank {} of the run", timeout_s_,
                                       timeout_s_, transfer.from),
                           addresses_[static_cast<std::size_t>(transfer.from)],
                           "does the run still go on, and can this machine reach each of its ranks?");
      if (transfer.since_byte.seconds() > again_s && transfer.since_asked.seconds() > again_s) ask(transfer, number);
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

// Returns whether it was of this transfer.
bool Fetcher::take(Transfer& transfer, const stream::Message& message, ReaderCounts& counts) {
  ChunkHead head;
  if (message.head.size() != sizeof head) return false;
  std::memcpy(&head, message.head.data(), sizeof head);
  if (head.transfer != transfer.id) return false;
  const std::span<const std::byte> bytes = message.body.bytes();
  const auto refuse = [&](const std::string& what) {
    throw core::Error(fmt::format("rank {} of the run does not give its cells: {}", transfer.from, what),
                      addresses_[static_cast<std::size_t>(transfer.from)]);
  };
  if (head.total == -1) refuse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (head.offset != transfer.got)
    refuse(fmt::format("bytes from {} on came, and {} were there", head.offset, transfer.got));
  if (transfer.compressed) {
    transfer.compressed->take(bytes);
  } else {
    const std::int64_t of_particles = head.total - transfer.order.bytes();
    if (of_particles < 0 || of_particles > transfer.most_particle_bytes() ||
        of_particles % static_cast<std::int64_t>(sizeof(Word)) != 0 || std::ssize(bytes) > head.total - head.offset)
      refuse(fmt::format("it announces {} bytes", head.total));
    transfer.total = head.total;
    const std::size_t of_fields = transfer.cells->take(bytes);
    const std::span<const std::byte> rest = bytes.subspan(of_fields);
    if (!rest.empty() && !transfer.cells->is_at_end()) refuse("it gives parts of numbers");
    transfer.particles.insert(transfer.particles.end(), rest.begin(), rest.end());
  }
  transfer.got += std::ssize(bytes);
  transfer.since_byte.restart();
  counts.bytes += std::ssize(bytes);
  ++counts.messages;
  if (!transfer.is_over()) transfer.client->send(packed(json{{"kind", "more"}, {"transfer", transfer.id}}));
  return true;
}

}  // namespace sidestream::couple
