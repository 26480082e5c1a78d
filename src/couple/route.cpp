#include "route.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "mailbox.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

Route::Route(std::span<const mesh::Layout> mine, int rank, std::span<const mesh::Layout> theirs, int first_peer) {
  core::require(mine.size() == theirs.size(), "both groups hold the same levels");
  std::map<int, Leg> legs;
  for (std::size_t level = 0; level < mine.size(); ++level) {
    int number = 0;
    for (const std::int32_t index : mine[level].boxes_of(rank)) {
      Leg& leg = legs[theirs[level].owner(index)];
      leg.blocks.push_back({level, number++});
      leg.cells += mine[level].box(index).volume();
    }
  }
  for (auto& [peer, leg] : legs) {
    leg.peer = first_peer + peer;
    cells_ += leg.cells;
    legs_.push_back(std::move(leg));
  }
  for (const mesh::Layout& layout : mine) leg_of_.emplace_back(layout.boxes_of(rank).size());
  for (std::size_t l = 0; l < legs_.size(); ++l)
    for (const auto& [level, number] : legs_[l].blocks)
      leg_of_[level][static_cast<std::size_t>(number)] = static_cast<std::int32_t>(l);
}

std::vector<int> Route::peers() const {
  std::vector<int> peers;
  for (const Leg& leg : legs_) peers.push_back(leg.peer);
  return peers;
}

void Route::pack(std::span<const Source> fields, std::span<double> buffer) const {
  auto next = buffer.begin();
  for (const Leg& leg : legs_)
    for (const Source& field : fields)
      for (const auto& [level, number] : leg.blocks) next = std::ranges::copy(field[level]->block(number), next).out;
}

void Route::unpack(std::span<const double> buffer, std::span<Target> fields) const {
  auto next = buffer.begin();
  for (const Leg& leg : legs_)
    for (Target& field : fields)
      for (const auto& [level, number] : leg.blocks) {
        const std::span<double> block = field[level].block(number);
        std::copy_n(next, block.size(), block.begin());
        next += static_cast<std::ptrdiff_t>(block.size());
      }
}

template <typename Buffer, typename F>
void Route::for_each_message(Buffer buffer, std::size_t fields, F post) const {
  auto* data = buffer.data();
  for (const Leg& leg : legs_) {
    const std::size_t elements = static_cast<std::size_t>(leg.cells) * fields;
    for_each_piece(elements, [&](std::size_t first, int count) { post(data + first, count, leg.peer); });
    data += elements;
  }
}

std::vector<MPI_Request> Route::send(const comm::Communicator& joint, std::span<const double> buffer,
                                     std::size_t fields) const {
  std::vector<MPI_Request> requests;
  for_each_message(buffer, fields, [&](const double* data, int count, int peer) {
    comm::check(
        MPI_Isend(data, count, MPI_DOUBLE, peer, static_cast<int>(Tag::data), joint.raw(), &requests.emplace_back()),
        "MPI_Isend");
  });
  return requests;
}

std::vector<MPI_Request> Route::receive(const comm::Communicator& joint, std::span<double> buffer,
                                        std::size_t fields) const {
  std::vector<MPI_Request> requests;
  for_each_message(buffer, fields, [&](double* data, int count, int peer) {
    comm::check(
        MPI_Irecv(data, count, MPI_DOUBLE, peer, static_cast<int>(Tag::data), joint.raw(), &requests.emplace_back()),
        "MPI_Irecv");
  });
  return requests;
}

BufferPool::Buffer BufferPool::take(std::size_t elements) {
  if (elements != elements_) kept_.clear();
  elements_ = elements;
  if (kept_.empty()) return std::make_unique_for_overwrite<double[]>(elements);
  Buffer buffer = std::move(kept_.back());
  kept_.pop_back();
  return buffer;
}

void BufferPool::give_back(Buffer buffer, std::size_t elements) {
  if (elements == elements_) kept_.push_back(std::move(buffer));
}

}  // namespace sidestream::couple
