#include "chunkwise.hpp"

#include <algorithm>
#include <array>

namespace sidestream::bench {

namespace {

// The cells of `part` in an array of the cells of `whole`, x fastest.
MPI_Datatype subarray(const mesh::Box& whole, const mesh::Box& part) {
  const auto triple = [](mesh::Int3 n) { return std::array{n.z, n.y, n.x}; };
  const auto sizes = triple(whole.extent()), subsizes = triple(part.extent()), starts = triple(part.lo - whole.lo);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_subarray(3, sizes.data(), subsizes.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE, &type),
              "MPI_Type_create_subarray");
  comm::check(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

// The `number`-th box of a rank; empty where it has fewer.
mesh::Box box_of(const mesh::Layout& layout, int rank, std::size_t number) {
  const auto own = layout.boxes_of(rank);
  return number < own.size() ? layout.box(own[number]) : mesh::Box{};
}

}  // namespace

Chunkwise::Chunkwise(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to) : comm_(comm) {
  std::size_t most = 0;
  for (int rank = 0; rank < comm.size(); ++rank) most = std::max(most, from.boxes_of(rank).size());
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto add = [&](const mesh::Box& whole, const mesh::Box& part, MPI_Datatype& type, int& count) {
    if (part.is_empty()) return;
    made_.push_back(subarray(whole, part));
    type = made_.back();
    count = 1;
  };
  for (std::size_t number = 0; number < most; ++number) {
    const std::vector<int> zeros(ranks, 0);
    const std::vector<MPI_Datatype> nothing(ranks, MPI_DOUBLE);
    Call call{zeros, zeros, zeros, nothing, nothing};
    const mesh::Box owned = box_of(from, comm.rank(), number), needed = box_of(to, comm.rank(), 0);
    for (int rank = 0; rank < comm.size(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      add(owned, intersection(owned, box_of(to, rank, 0)), call.send_types[r], call.send_counts[r]);
      add(needed, intersection(box_of(from, rank, number), needed), call.receive_types[r], call.receive_counts[r]);
    }
    calls_.push_back(std::move(call));
  }
}

Chunkwise::~Chunkwise() {
  for (MPI_Datatype& type : made_) MPI_Type_free(&type);
}

void Chunkwise::apply(mesh::Field<double>& from, mesh::Field<double>& to) const {
  double* const target = to.blocks() > 0 ? to.block(0).data() : nullptr;
  for (std::size_t number = 0; number < calls_.size(); ++number) {
    const Call& call = calls_[number];
    const bool owns = static_cast<int>(number) < from.blocks();
    const double* const source = owns ? from.block(static_cast<int>(number)).data() : nullptr;
    comm::check(MPI_Alltoallw(source, call.send_counts.data(), call.zeros.data(), call.send_types.data(), target,
                              call.receive_counts.data(), call.zeros.data(), call.receive_types.data(), comm_.raw()),
                "MPI_Alltoallw");
  }
}

}  // namespace sidestream::bench
