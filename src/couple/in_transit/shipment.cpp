#include "couple/in_transit/shipment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "couple/in_transit/mailbox.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

bool are_done(std::vector<MPI_Request>& requests) {
  int done = 0;
  comm::check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
  return done != 0;
}

// Calls f(data, count) for pieces that are small enough for a message.
template <typename F>
void for_each_piece(std::span<Word> words, F f) {
  constexpr std::size_t largest = std::size_t{1} << 27;
  for (std::size_t first = 0; first < words.size(); first += largest) {
    const std::span<Word> piece = words.subspan(first, std::min(largest, words.size() - first));
    f(piece.data(), static_cast<int>(piece.size()));
  }
}

bool is_somewhere(const comm::SharedMemory::Address& note) {
  return note.process != 0;
}

}  // namespace

Shipment::Shipment(const comm::Communicator& joint, std::int64_t number, Cargo cargo, BufferPool& pool, bool is_held)
    : joint_(&joint), number_(number), cargo_(std::move(cargo)), pool_(&pool) {
  for (std::size_t m = 0; m < cargo_.messages().size(); ++m) {
    const Cargo::Message& message = cargo_.messages()[m];
    if (message.is_empty()) continue;
    Leg& leg = legs_.emplace_back();
    leg.message = m;
    comm::check(MPI_Irecv(nullptr, 0, MPI_BYTE, message.peer, wanted_tag(number), joint.raw(), &leg.word), "MPI_Irecv");
  }
  left_ = legs_.size();
  if (!is_held) std::ranges::for_each(legs_, [this](Leg& leg) { begin(leg); });
}

void Shipment::begin(Leg& leg) {
  leg.has_begun = true;
  cargo_.load(leg.message, *pool_);
  const Cargo::Message& message = cargo_.messages()[leg.message];
  if (message.is_lent) {
    leg.note = cargo_.lend(leg.message);
    comm::check(MPI_Isend(&leg.note, sizeof leg.note, MPI_BYTE, message.peer, data_tag(number_), joint_->raw(),
                          &leg.sends.emplace_back()),
                "MPI_Isend");
    if (is_somewhere(leg.note)) return;
  }
  for_each_piece(message.words(), [&](const Word* data, int count) {
    comm::check(
        MPI_Isend(data, count, MPI_UINT64_T, message.peer, data_tag(number_), joint_->raw(), &leg.sends.emplace_back()),
        "MPI_Isend");
  });
}

// Only after an error, or where it was withdrawn, is anything still under way here.
Shipment::~Shipment() {
  const auto drop = [](MPI_Request& request) {
    if (request == MPI_REQUEST_NULL) return;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  };
  for (Leg& leg : legs_) {
    std::ranges::for_each(leg.sends, drop);
    drop(leg.word);
  }
}

void Shipment::progress() {
  left_ = wanted_ = 0;
  for (Leg& leg : legs_) {
    int is_wanted = 0;
    comm::check(MPI_Test(&leg.word, &is_wanted, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_wanted != 0 && !leg.has_begun) begin(leg);
    const bool has_gone = leg.has_begun && are_done(leg.sends);
    left_ += !(has_gone && is_wanted != 0);
    wanted_ += is_wanted != 0 && !has_gone;
  }
}

Intake::Intake(const comm::Communicator& joint, std::int64_t number, Cargo& cargo, std::int64_t most_bytes)
    : joint_(joint), number_(number), cargo_(cargo), most_bytes_(most_bytes) {
  ask_for_next();
}

bool Intake::progress() {
  const std::size_t arrived = std::erase_if(under_way_, [&](Arrival& arrival) {
    if (!are_done(arrival.requests) || (arrival.note && !read(arrival))) return false;
    bytes_under_way_ -= arrival.bytes;
    return true;
  });
  if (arrived > 0) ask_for_next();
  return arrived > 0;
}

bool Intake::read(Arrival& arrival) {
  const auto note = std::move(arrival.note);
  if (!is_somewhere(*note)) {
    cargo_.give_up_loan(arrival.message);
    ask_for_data(arrival);
    return false;
  }
  std::optional<comm::SharedMemory> memory = comm::SharedMemory::borrow(*note);
  if (!memory)
    throw core::Error("memory that another process lends cannot be reached",
                      fmt::format("rank {}, process {}", cargo_.messages()[arrival.message].peer, note->process),
                      "let processes have more files and memory, or set `coupling.shared_memory` to false");
  cargo_.borrow(arrival.message, std::move(*memory));
  return true;
}

void Intake::ask_for_data(Arrival& arrival) {
  cargo_.load(arrival.message, pool_);
  const Cargo::Message& message = cargo_.messages()[arrival.message];
  for_each_piece(message.words(), [&](Word* data, int count) {
    comm::check(MPI_Irecv(data, count, MPI_UINT64_T, message.peer, data_tag(number_), joint_.raw(),
                          &arrival.requests.emplace_back()),
                "MPI_Irecv");
  });
  arrival.bytes = message.bytes();
  bytes_under_way_ += arrival.bytes;
}

void Intake::ask_for_next() {
  for (; next_ < cargo_.messages().size(); ++next_) {
    const Cargo::Message& message = cargo_.messages()[next_];
    if (message.is_empty()) continue;
    if (!message.is_lent && bytes_under_way_ > 0 && bytes_under_way_ + message.bytes() > most_bytes_) return;
    Arrival& arrival = under_way_.emplace_back();
    arrival.message = next_;
    if (message.is_lent) {
      arrival.note = std::make_unique<comm::SharedMemory::Address>();
      comm::check(MPI_Irecv(arrival.note.get(), sizeof *arrival.note, MPI_BYTE, message.peer, data_tag(number_),
                            joint_.raw(), &arrival.requests.emplace_back()),
                  "MPI_Irecv");
    } else {
      ask_for_data(arrival);
    }
    comm::check(MPI_Isend(nullptr, 0, MPI_BYTE, message.peer, wanted_tag(number_), joint_.raw(),
                          &arrival.requests.emplace_back()),
                "MPI_Isend");
  }
}

}  // namespace sidestream::couple
