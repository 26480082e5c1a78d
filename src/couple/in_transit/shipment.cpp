#include "couple/in_transit/shipment.hpp"

#include <algorithm>
#include <utility>

#include "couple/in_transit/mailbox.hpp"

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
  cargo_.load(*pool_);
  const Cargo::Message& message = cargo_.messages()[leg.message];
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

Intake::Intake(const comm::Communicator& joint, std::int64_t number, const Cargo& cargo, std::int64_t most_bytes)
    : joint_(joint), number_(number), most_bytes_(most_bytes) {
  std::ranges::copy_if(cargo.messages(), std::back_inserter(messages_),
                       [](const Cargo::Message& message) { return !message.is_empty(); });
  ask_for_next();
}

bool Intake::progress() {
  const std::size_t arrived = std::erase_if(under_way_, [&](Arrival& arrival) {
    if (!are_done(arrival.requests)) return false;
    bytes_under_way_ -= arrival.bytes;
    return true;
  });
  if (arrived > 0) ask_for_next();
  return arrived > 0;
}

void Intake::ask_for_next() {
  while (next_ < messages_.size() &&
         (under_way_.empty() || bytes_under_way_ + messages_[next_].bytes() <= most_bytes_)) {
    const Cargo::Message& message = messages_[next_++];
    Arrival& arrival = under_way_.emplace_back(Arrival{{}, message.bytes()});
    for_each_piece(message.words(), [&](Word* data, int count) {
      comm::check(MPI_Irecv(data, count, MPI_UINT64_T, message.peer, data_tag(number_), joint_.raw(),
                            &arrival.requests.emplace_back()),
                  "MPI_Irecv");
    });
    comm::check(MPI_Isend(nullptr, 0, MPI_BYTE, message.peer, wanted_tag(number_), joint_.raw(),
                          &arrival.requests.emplace_back()),
                "MPI_Isend");
    bytes_under_way_ += arrival.bytes;
  }
}

}  // namespace sidestream::couple
