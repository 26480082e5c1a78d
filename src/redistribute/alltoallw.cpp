#include <mpi.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "redistribute/exchange.hpp"

namespace sidestream::redistribute {

namespace {

/// An MPI datatype of ours, freed at the end.
class Datatype {
 public:
  explicit Datatype(MPI_Datatype type) : type_(type) {}
  ~Datatype() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  Datatype(Datatype&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  MPI_Datatype raw() const { return type_; }

 private:
  MPI_Datatype type_;
};

Datatype element_type(std::size_t element_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &type), "MPI_Type_contiguous");
  return Datatype(type);
}

// The cells of `region` in all components of an array over `block`.
Datatype region_type(const mesh::Box& block, const mesh::Box& region, int components, const Datatype& element) {
  const mesh::Int3 n = block.extent(), part = region.extent(), at = region.lo - block.lo;
  const std::array sizes{components, n.z, n.y, n.x}, parts{components, part.z, part.y, part.x},
      starts{0, at.z, at.y, at.x};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_subarray(4, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C, element.raw(), &type),
              "MPI_Type_create_subarray");
  return Datatype(type);
}

Datatype combined_type(const std::vector<Datatype>& parts, const std::vector<MPI_Aint>& places) {
  std::vector<MPI_Datatype> types;
  for (const Datatype& part : parts) types.push_back(part.raw());
  const std::vector<int> ones(parts.size(), 1);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_struct(static_cast<int>(parts.size()), ones.data(), places.data(), types.data(), &type),
              "MPI_Type_create_struct");
  comm::check(MPI_Type_commit(&type), "MPI_Type_commit");
  return Datatype(type);
}

/// One derived datatype for each neighbor; the library walks the field itself, and this module packs nothing. (For
/// Combine::add the cells arrive packed in a buffer.)
class Alltoallw final : public Exchange {
 public:
  Alltoallw(const comm::Communicator& comm, const Tables& tables)
      : tables_(tables), payloads_(tables.incoming.messages.size()) {
    const auto peers = [](const Traffic& traffic) {
      std::vector<int> ranks;
      for (const Message& message : traffic.messages) ranks.push_back(message.peer);
      return ranks;
    };
    const auto sources = peers(tables.incoming), destinations = peers(tables.outgoing);
    comm::check(MPI_Dist_graph_create_adjacent(comm.raw(), static_cast<int>(sources.size()), sources.data(),
                                               MPI_UNWEIGHTED, static_cast<int>(destinations.size()),
                                               destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &neighbors_),
                "MPI_Dist_graph_create_adjacent");
  }
  ~Alltoallw() override { MPI_Comm_free(&neighbors_); }
  Alltoallw(const Alltoallw&) = delete;
  Alltoallw& operator=(const Alltoallw&) = delete;

  void start(const Job& job) override {
    job_ = &job;
    const Typed& typed = typed_for(job);
    if (job.add && capacity_ < typed.arrival_bytes) {
      arrivals_ = std::make_unique_for_overwrite<std::byte[]>(typed.arrival_bytes);
      capacity_ = typed.arrival_bytes;
    }
    if (job.add) locate(job);
    void* to = job.add ? static_cast<void*>(arrivals_.get()) : static_cast<void*>(job.to_all.data());
    comm::check(MPI_Ineighbor_alltoallw(job.from_all.data(), typed.one_each.data(), typed.zeros.data(),
                                        typed.send_raw.data(), to, typed.one_each.data(), typed.zeros.data(),
                                        typed.receive_raw.data(), neighbors_, &request_),
                "MPI_Ineighbor_alltoallw");
  }
  bool test() override {
    int done = 0;
    comm::check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }
  void finish() override {
    comm::check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
    if (job_->add) combine_all(tables_, *job_, payloads_);
  }

 private:
  // The types for fields of one shape.
  struct Typed {
    int components = 0;
    std::size_t element_bytes = 0, arrival_bytes = 0;
    mesh::Int3 from_ghost, to_ghost;
    std::vector<std::ptrdiff_t> from_places, to_places;  // of the blocks
    bool add = false;
    std::vector<Datatype> sends, receives;
    std::vector<MPI_Datatype> send_raw, receive_raw;
    std::vector<int> one_each;
    std::vector<MPI_Aint> zeros;
  };

  template <typename Byte>
  static std::vector<std::ptrdiff_t> places_of(const Blocks<Byte>& blocks, const std::byte* all) {
    std::vector<std::ptrdiff_t> places;
    for (const Byte* const first : blocks.first) places.push_back(first - all);
    return places;
  }

  const Typed& typed_for(const Job& job) {
    const auto from_places = places_of(job.from, job.from_all.data());
    const auto to_places = places_of(job.to, job.to_all.data());
    for (const auto& typed : typed_)
      if (typed->components == job.components && typed->element_bytes == job.element_bytes &&
          typed->from_ghost == job.from.ghost && typed->to_ghost == job.to.ghost && typed->from_places == from_places &&
          typed->to_places == to_places && typed->add == (job.add != nullptr))
        return *typed;
    typed_.push_back(std::make_unique<Typed>(make_types(job)));
    return *typed_.back();
  }

  Typed make_types(const Job& job) {
    Typed typed;
    typed.components = job.components;
    typed.element_bytes = job.element_bytes;
    typed.from_ghost = job.from.ghost;
    typed.to_ghost = job.to.ghost;
    typed.from_places = places_of(job.from, job.from_all.data());
    typed.to_places = places_of(job.to, job.to_all.data());
    typed.add = job.add != nullptr;
    const Datatype element = element_type(job.element_bytes);
    for (const Message& message : tables_.outgoing.messages) typed.sends.push_back(send_type(message, job, element));
    for (const Message& message : tables_.incoming.messages) {
      typed.receives.push_back(job.add ? packed_type(message, job, element, typed.arrival_bytes)
                                       : receive_type(message, job, element));
      typed.arrival_bytes += static_cast<std::size_t>(message.cells) * job.cell_bytes();
    }
    for (const Datatype& type : typed.sends) typed.send_raw.push_back(type.raw());
    for (const Datatype& type : typed.receives) typed.receive_raw.push_back(type.raw());
    const std::size_t most = std::max(typed.sends.size(), typed.receives.size());
    typed.one_each.assign(most, 1);
    typed.zeros.assign(most, 0);
    return typed;
  }

  Datatype send_type(const Message& message, const Job& job, const Datatype& element) const {
    std::vector<Datatype> parts;
    std::vector<MPI_Aint> places;
    for (std::size_t p = message.first; p < message.last; ++p) {
      const Piece& piece = tables_.outgoing.pieces[p];
      const mesh::Box block = tables_.from.box(piece.source).grown(job.from.ghost);
      const mesh::Box region = tables_.region(piece).shifted(mesh::Int3{} - piece.shift);
      parts.push_back(region_type(block, region, job.components, element));
      places.push_back(job.from.first[static_cast<std::size_t>(piece.source_block)] - job.from_all.data());
    }
    return combined_type(parts, places);
  }

  Datatype receive_type(const Message& message, const Job& job, const Datatype& element) const {
    std::vector<Datatype> parts;
    std::vector<MPI_Aint> places;
    for (std::size_t p = message.first; p < message.last; ++p) {
      const Piece& piece = tables_.incoming.pieces[p];
      const mesh::Box block = tables_.to.box(piece.destination).grown(job.to.ghost);
      parts.push_back(region_type(block, tables_.region(piece), job.components, element));
      places.push_back(job.to.first[static_cast<std::size_t>(piece.destination_block)] - job.to_all.data());
    }
    return combined_type(parts, places);
  }

  // The pieces one after the other, from `offset` of the buffer of arrivals.
  Datatype packed_type(const Message& message, const Job& job, const Datatype& element, std::size_t offset) const {
    std::vector<Datatype> parts;
    std::vector<MPI_Aint> places;
    for (std::size_t p = message.first; p < message.last; ++p) {
      const mesh::Box region = tables_.region(tables_.incoming.pieces[p]);
      parts.push_back(region_type(region, region, job.components, element));
      places.push_back(static_cast<MPI_Aint>(offset));
      offset += static_cast<std::size_t>(region.volume()) * job.cell_bytes();
    }
    return combined_type(parts, places);
  }

  void locate(const Job& job) {
    const std::byte* next = arrivals_.get();
    for (std::size_t m = 0; m < payloads_.size(); ++m) {
      payloads_[m] = next;
      next += static_cast<std::size_t>(tables_.incoming.messages[m].cells) * job.cell_bytes();
    }
  }

  const Tables& tables_;
  MPI_Comm neighbors_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Typed>> typed_;
  std::unique_ptr<std::byte[]> arrivals_;  // for Combine::add
  std::size_t capacity_ = 0;
  std::vector<const std::byte*> payloads_;
  const Job* job_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchange> make_alltoallw(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<Alltoallw>(comm, tables);
}

}  // namespace sidestream::redistribute
