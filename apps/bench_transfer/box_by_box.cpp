#include "box_by_box.hpp"

#include <utility>

#include "sidestream/core/for_each.hpp"

namespace sidestream::bench {

namespace {

constexpr int tag = 0;  // both sides post in the order of boxes, then components

}  // namespace

BoxByBox::BoxByBox(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to) : comm_(comm) {
  const auto parts = [](const mesh::Layout& own, int rank, const mesh::Layout& other) {
    std::vector<Part> found;
    int block = 0;
    for (const auto mine : own.boxes_of(rank)) {
      for (std::int32_t theirs = 0; theirs < other.size(); ++theirs)
        if (const mesh::Box shared = intersection(own.box(mine), other.box(theirs)); !shared.is_empty())
          found.push_back({shared, block, other.owner(theirs)});
      ++block;
    }
    return found;
  };
  sent_ = parts(from, comm.rank(), to);
  received_ = parts(to, comm.rank(), from);
}

std::map<int, std::int64_t> BoxByBox::cells_of(const std::vector<Part>& parts) {
  std::map<int, std::int64_t> cells;
  for (const Part& part : parts) cells[part.peer] += part.cells.volume();
  return cells;
}

void BoxByBox::receive(const mesh::Field<double>& to, std::vector<MPI_Request>& requests) {
  for (const Part& part : received_)
    for (int c = 0; c < to.components(); ++c) {
      in_.emplace_back(static_cast<std::size_t>(part.cells.volume()));
      requests.emplace_back();
      comm::check(MPI_Irecv(in_.back().data(), static_cast<int>(in_.back().size()), MPI_DOUBLE, part.peer, tag,
                            comm_.raw(), &requests.back()),
                  "MPI_Irecv");
    }
}

void BoxByBox::apply(const mesh::Field<double>& from, mesh::Field<double>& to) {
  std::vector<MPI_Request> requests;
  out_.clear();
  in_.clear();
  receive(to, requests);
  for (const Part& part : sent_)
    for (int c = 0; c < from.components(); ++c) {
      auto& buffer = out_.emplace_back();
      buffer.reserve(static_cast<std::size_t>(part.cells.volume()));
      const auto view = from.view(part.block);
      core::for_each_cell(part.cells, [&](int k, int j, int i) { buffer.push_back(view(c, k, j, i)); });
      requests.emplace_back();
      comm::check(MPI_Isend(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, part.peer, tag, comm_.raw(),
                            &requests.back()),
                  "MPI_Isend");
    }
  comm::check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  std::size_t next = 0;
  for (const Part& part : received_)
    for (int c = 0; c < to.components(); ++c) {
      const double* value = in_[next++].data();
      const auto view = to.view(part.block);
      core::for_each_cell(part.cells, [&](int k, int j, int i) { view(c, k, j, i) = *value++; });
    }
}

}  // namespace sidestream::bench
