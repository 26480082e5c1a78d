#include "couple/stream/run/block_server.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr std::size_t most_in_a_row = std::size_t{16} << 20;  // to a reader, before others have their turn
constexpr std::size_t most_early = 64;  // requests for a publish that other ranks have, and this one is about to have
constexpr std::int64_t most_ahead = 2;
constexpr std::size_t most_transfers = 1024;

std::string head_of(const ChunkHead& head) {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

void check(const Shelf& shelf, const TransferOrder& order) {
  const auto has_field = [&](std::int32_t field) {
    return field >= 0 && static_cast<std::size_t>(field) < shelf.fields();
  };
  if (!std::ranges::all_of(order.fields, has_field)) throw core::Error("there is no such field in the publish");
  if (!std::ranges::all_of(order.parts, [&](const Part& part) { return part.cells() > 0 && shelf.has(part); }))
    throw core::Error("this rank has no such cells");
  if (order.fields.size() > shelf.fields() || order.cells() > shelf.cells())
    throw core::Error("fields or cells are asked for twice");
}

}  // namespace

BlockServer::BlockServer(const std::string& address, const stream::Security& security, double longest_early_s,
                         stream::Server::Refused refused)
    : server_(address, security, request_limits, std::move(refused)), longest_early_s_(longest_early_s) {
  if (!security.own) listener_.emplace(server_.address());
}

void BlockServer::add_sockets(std::vector<const stream::Socket*>& sockets) const {
  sockets.push_back(&server_);
  if (listener_) sockets.push_back(&*listener_);
  for (const auto& [name, way] : plain_ways_) sockets.push_back(&way.socket);
}

void BlockServer::put(std::int64_t number, std::shared_ptr<Shelf> shelf) {
  const std::lock_guard lock(mutex_);
  shelves_[number] = std::move(shelf);
  newest_ = std::max(newest_, number);
}

void BlockServer::remove(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  if (const auto found = shelves_.find(number); found != shelves_.end()) {
    removed_.push_back(std::move(found->second));
    shelves_.erase(found);
  }
}

std::vector<Buffer> BlockServer::empty_buffers() {
  const std::lock_guard lock(mutex_);
  std::vector<Buffer> all;
  std::erase_if(removed_, [&](const std::shared_ptr<Shelf>& shelf) {
    if (shelf.use_count() > 1) return false;
    std::ranges::move(shelf->release(), std::back_inserter(all));
    return true;
  });
  return all;
}

std::shared_ptr<Shelf> BlockServer::shelf_of(std::int64_t publish) const {
  const std::lock_guard lock(mutex_);
  const auto found = shelves_.find(publish);
  return found == shelves_.end() ? nullptr : found->second;
}

void BlockServer::serve() {
  if (listener_) accept();
  look_for_hang_ups();
  while (std::optional<stream::Message> message = server_.receive()) take(std::move(*message));
  for (Early& early : std::exchange(early_, {}))
    if (early.publish <= newest())
      take(std::move(early.message));
    else if (early.age.seconds() < longest_early_s_)
      early_.push_back(std::move(early));
  for (auto transfer = transfers_.begin(); transfer != transfers_.end();) {
    const bool is_wanted = shelf_of(transfer->second.publish) != nullptr;  // else its reader has gone, or has it all
    transfer = is_wanted && send_some(transfer->second) ? std::next(transfer) : transfers_.erase(transfer);
  }
}

std::int64_t BlockServer::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void BlockServer::accept() {
  for (auto& [name, socket] : listener_->accept(plain_ways_.size()))
    plain_ways_.insert_or_assign(name, PlainWay{std::move(socket)});
}

// A reader says nothing on a plain socket but its name, and closes it when it has no use for it any more.
void BlockServer::look_for_hang_ups() {
  const auto has_hung_up = [](stream::PlainSocket& socket) {
    std::array<std::byte, 1> byte;
    const std::array<std::span<std::byte>, 1> place{byte};
    try {
      return socket.receive(place) > 0;
    } catch (const core::Error&) {
      return true;
    }
  };
  for (auto entry = plain_ways_.begin(); entry != plain_ways_.end();) {
    PlainWay& way = entry->second;
    const bool is_over = has_hung_up(way.socket) || (!way.is_used && way.age.seconds() > longest_early_s_);
    entry = is_over ? plain_ways_.erase(entry) : std::next(entry);
  }
}

// Whoever speaks nonsense gets no answer, and what he had is given up.
void BlockServer::take(stream::Message message) {
  try {
    const json request = unpacked(message.head);
    require_integers(request);
    const std::string kind = request.at("kind");
    if (kind == "more") {
      const auto transfer = transfers_.find(message.peer);
      if (transfer != transfers_.end() && transfer->second.number == request.at("transfer"))
        transfer->second.credit = std::min(transfer->second.credit + 1, 4 * chunk_window);
    }
    if (kind != "want" || begin(message.peer, request)) return;
    const std::int64_t publish = request.at("publish");
    std::erase_if(early_, [&](const Early& early) { return early.message.peer == message.peer; });
    if (publish <= newest() + most_ahead && early_.size() < most_early)
      early_.push_back({publish, std::move(message), {}});
  } catch (const json::exception&) {
    transfers_.erase(message.peer);
  } catch (const core::Error&) {
    transfers_.erase(message.peer);
  }
}

// Returns whether it could: not where the publish is not here yet.
bool BlockServer::begin(const std::string& peer, const json& request) {
  const std::int64_t publish = request.at("publish");
  const std::uint64_t number = request.at("transfer");
  const std::shared_ptr<Shelf> shelf = shelf_of(publish);
  if (!shelf) {
    const std::lock_guard lock(mutex_);
    if (publish > newest_) return false;
  }
  transfers_.erase(peer);
  try {
    if (!shelf) throw core::Error("it has gone");
    shelf->load();
    TransferOrder order = order_from(request);
    check(*shelf, order);
    if (transfers_.size() >= most_transfers) throw core::Error("too many ask at a time");
    const std::shared_ptr<CopyRoom::Bytes> copies = copy_room_.of(peer);
    const int window = std::clamp(request.at("window").get<int>(), 1, chunk_window);
    if (!order.compression.empty()) {
      transfers_.emplace(peer,
                         Transfer{peer, publish, number, OutgoingCompressed(shelf, std::move(order)), window, copies});
      return true;
    }
    Outgoing cells(shelf, std::move(order));
    const std::int64_t from = request.at("from");
    if (from < 0 || from > cells.bytes()) throw core::Error("there are not so many bytes");
    cells.skip_to(from);
    if (const std::string socket = request.value("plain_socket", ""); !socket.empty()) {
      auto bytes = std::make_unique<OutgoingBytes>(number, std::move(cells));
      transfers_.emplace(peer, Transfer{peer, publish, number, std::move(bytes), 0, copies, socket});
      return true;
    }
    if (cells.bytes() == 0) server_.send(peer, head_of({number, 0, 0}));
    transfers_.emplace(peer, Transfer{peer, publish, number, std::move(cells), window, copies});
  } catch (const core::Error& error) {
    refuse(peer, number, error.message());
  }
  return true;
}

void BlockServer::refuse(const std::string& peer, std::uint64_t transfer, const std::string& reason) {
  const auto text = std::make_shared<const std::string>(reason);
  server_.send(peer, head_of({transfer, 0, -1}), stream::Body(std::as_bytes(std::span(*text)), text));
}

// Returns whether there is more to send.
bool BlockServer::send_some(Transfer& transfer) {
  if (const auto* const bytes = std::get_if<std::unique_ptr<OutgoingBytes>>(&transfer.cells))
    return send_some(transfer, **bytes);
  const auto send_messages = [&](auto& cells) {
    for (; transfer.credit > 0 && !cells.is_at_end() && copy_room_.has_room(*transfer.copies); --transfer.credit)
      if (!send_next(transfer, cells)) return false;
    return !cells.is_at_end();
  };
  if (auto* const cells = std::get_if<Outgoing>(&transfer.cells)) return send_messages(*cells);
  return send_messages(std::get<OutgoingCompressed>(transfer.cells));
}

// As much as the socket takes now, or the share of one reader among several.
bool BlockServer::send_some(const Transfer& transfer, OutgoingBytes& bytes) {
  const auto way = plain_ways_.find(transfer.plain_socket);
  if (way == plain_ways_.end()) return transfer.age.seconds() < longest_early_s_;  // it is still to come
  way->second.is_used = true;
  stream::PlainSocket& socket = way->second.socket;
  std::size_t sent = 0;
  try {
    for (std::span<const std::byte> next = bytes.next(); !next.empty() && sent < most_in_a_row; next = bytes.next()) {
      const std::size_t taken = socket.send(next);
      if (taken == 0) break;
      bytes.skip(taken);
      sent += taken;
    }
  } catch (const core::Error&) {  // it has gone; who reads asks again
    plain_ways_.erase(way);
    return false;
  }
  bytes_sent_ += static_cast<std::int64_t>(sent);
  const bool has_more = !bytes.next().empty();
  socket.watch_for_room(has_more);
  return has_more;
}

bool BlockServer::send_next(Transfer& transfer, Outgoing& cells) {
  const ChunkHead head{transfer.number, cells.bytes() - cells.bytes_left(), cells.bytes()};
  stream::Body body;
  std::span<const std::byte> bytes = cells.in_place(chunk_bytes);
  if (bytes.size() >= std::min(least_in_place, static_cast<std::size_t>(cells.bytes_left()))) {
    body = stream::Body(bytes, cells.shelf());
    cells.skip(bytes.size());
  } else {
    const auto size = std::min(chunk_bytes, static_cast<std::size_t>(cells.field_bytes_left()));
    const auto gathered = std::make_shared_for_overwrite<std::byte[]>(size);
    const std::size_t filled = cells.copy({gathered.get(), size});
    bytes = {gathered.get(), filled};
    body = stream::Body(bytes, copy_room_.counted(gathered, size, transfer.copies));
  }
  bytes_sent_ += static_cast<std::int64_t>(bytes.size());
  return server_.send(transfer.peer, head_of(head), std::move(body));
}

bool BlockServer::send_next(Transfer& transfer, OutgoingCompressed& cells) {
  const ChunkHead head{transfer.number, cells.bytes_done(), -2};
  const auto bytes = std::make_shared<const std::vector<std::byte>>(cells.take(chunk_bytes));
  bytes_sent_ += std::ssize(*bytes);
  return server_.send(transfer.peer, head_of(head),
                      stream::Body(*bytes, copy_room_.counted(bytes, bytes->size(), transfer.copies)));
}

}  // namespace sidestream::couple
