#include <mpi.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "redistribute/neighbor_collective.hpp"
#include "sidestream/core/memory.hpp"

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

// `count` of `inner`, `step` bytes apart.
Datatype repeated(const Datatype& inner, std::int64_t count, std::ptrdiff_t step) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_hvector(static_cast<int>(count), 1, step, inner.raw(), &type), "MPI_Type_create_hvector");
  return Datatype(type);
}

// Rows of elements, in all components.
template <typename Byte>
Datatype rows_type(const Rows<Byte>& rows, const RowShape& shape, const Datatype& element) {
  const Datatype row = repeated(element, static_cast<std::int64_t>(shape.row_bytes / shape.element_bytes), rows.step_x);
  return repeated(repeated(repeated(row, shape.ny, rows.step_y), shape.nz, rows.step_z), shape.components,
                  rows.step_component);
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

// Whether MPI is to walk fields itself. Where the cells of a row have gaps between them, packing is left to us: MPI
// would go from cell to cell. So it is where strides are negative: Open MPI 4.1.4 takes some arrays that lie backwards
// for such that lie forwards.
template <typename Byte>
bool suit_datatypes(const Blocks<Byte>& blocks) {
  return std::ranges::all_of(blocks.blocks, [&](const auto& block) {
    return block.step_x == static_cast<std::ptrdiff_t>(blocks.element_bytes) &&
           std::min({block.step_y, block.step_z, block.step_component}) >= 0;
  });
}

/// One derived datatype for each neighbor; the library walks the field itself, and this module packs nothing. (Cells
/// that are added or converted arrive packed in a buffer, and so do and leave those that do not lie in rows.)
class Alltoallw final : public NeighborCollective {
 public:
  using NeighborCollective::NeighborCollective;

  void start(const Job& job) override {
    job_ = &job;
    const Typed& typed = typed_for(job);
    std::byte* to = first_of(job.to);
    if (typed.arrives_packed) {
      to = arrival_room_.bytes(typed.arrival_bytes).data();
      locate(job, to);
    }
    const std::byte* from = first_of(job.from);
    if (typed.leaves_packed) {
      std::byte* const departures = departure_room_.bytes(typed.departure_bytes).data();
      pack_all(tables_, job, departures);
      from = departures;
    }
    comm::check(MPI_Ineighbor_alltoallw(from, typed.send_counts.data(), typed.zeros.data(), typed.send_raw.data(), to,
                                        typed.receive_counts.data(), typed.zeros.data(), typed.receive_raw.data(),
                                        neighbors_.raw(), &request_),
                "MPI_Ineighbor_alltoallw");
  }
  void finish() override {
    wait();
    if (job_->adds())
      combine_all(tables_, *job_, payloads_);
    else if (arrives_packed(*job_))
      unpack_all(tables_, *job_, payloads_);
  }

 private:
  // Fields that take turns keep their types; memory that is new each time does not pile them up.
  static constexpr std::size_t most_kept = 16;

  // Places of blocks as seen from the first of them.
  struct Places {
    std::vector<std::array<std::ptrdiff_t, 5>> blocks;
    bool operator==(const Places&) const = default;
  };

  // The types for fields of one shape.
  struct Typed {
    int components = 0;
    std::size_t element_bytes = 0, arrival_bytes = 0, departure_bytes = 0;
    Places from, to;
    bool arrives_packed = false, leaves_packed = false;
    std::vector<Datatype> sends, receives;
    std::vector<MPI_Datatype> send_raw, receive_raw;
    std::vector<int> send_counts, receive_counts;
    std::vector<MPI_Aint> zeros;
  };

  static bool arrives_packed(const Job& job) { return job.arrival != Arrival::copied || !suit_datatypes(job.to); }

  template <typename Byte>
  static Byte* first_of(const Blocks<Byte>& blocks) {
    return blocks.blocks.empty() ? nullptr : blocks.blocks.front().origin;
  }

  template <typename Byte>
  static Places places_of(const Blocks<Byte>& blocks) {
    Places places;
    for (const auto& block : blocks.blocks)
      places.blocks.push_back(
          {block.origin - first_of(blocks), block.step_x, block.step_y, block.step_z, block.step_component});
    return places;
  }

  const Typed& typed_for(const Job& job) {
    const Places from = places_of(job.from), to = places_of(job.to);
    for (const auto& typed : typed_)
      if (typed->components == job.components && typed->element_bytes == job.element_bytes() && typed->from == from &&
          typed->to == to && typed->arrives_packed == arrives_packed(job))
        return *typed;
    if (typed_.size() == most_kept) typed_.erase(typed_.begin());
    typed_.push_back(std::make_unique<Typed>(make_types(job, from, to)));
    return *typed_.back();
  }

  Typed make_types(const Job& job, const Places& from, const Places& to) {
    Typed typed;
    typed.components = job.components;
    typed.element_bytes = job.element_bytes();
    typed.from = from;
    typed.to = to;
    typed.arrives_packed = arrives_packed(job);
    typed.leaves_packed = !suit_datatypes(job.from);
    const Datatype element = element_type(job.element_bytes());
    for (const Message& message : tables_.outgoing.messages) {
      typed.sends.push_back(typed.leaves_packed
                                ? packed_type(tables_.outgoing, message, job, element, typed.departure_bytes)
                                : send_type(message, job, element));
      typed.departure_bytes += static_cast<std::size_t>(message.cells) * job.cell_bytes();
    }
    for (const Message& message : tables_.incoming.messages) {
      typed.receives.push_back(typed.arrives_packed
                                   ? packed_type(tables_.incoming, message, job, element, typed.arrival_bytes)
                                   : receive_type(message, job, element));
      typed.arrival_bytes += static_cast<std::size_t>(message.cells) * job.cell_bytes();
    }
    list(tables_.outgoing, typed.sends, typed.send_raw, typed.send_counts);
    list(tables_.incoming, typed.receives, typed.receive_raw, typed.receive_counts);
    typed.zeros.assign(neighbors_.size(), 0);
    return typed;
  }

  // The types of messages as one for each neighbor; none is sent where there is no message.
  void list(const Traffic& traffic, const std::vector<Datatype>& types, std::vector<MPI_Datatype>& raw,
            std::vector<int>& counts) const {
    raw.assign(neighbors_.size(), MPI_BYTE);
    counts.assign(neighbors_.size(), 0);
    for (std::size_t m = 0; m < types.size(); ++m) {
      const std::size_t neighbor = neighbors_.place_of(traffic.messages[m].peer);
      raw[neighbor] = types[m].raw();
      counts[neighbor] = 1;
    }
  }

  Datatype send_type(const Message& message, const Job& job, const Datatype& element) const {
    return type_of(
        tables_.outgoing, message, job, element,
        [&](const Piece& piece, const mesh::Box& region) {
          return rows_of(job.from, piece.source_block, region.shifted(mesh::Int3{} - piece.shift));
        },
        first_of(job.from));
  }

  Datatype receive_type(const Message& message, const Job& job, const Datatype& element) const {
    return type_of(
        tables_.incoming, message, job, element,
        [&](const Piece& piece, const mesh::Box& region) { return rows_of(job.to, piece.destination_block, region); },
        first_of(job.to));
  }

  // The pieces one after the other, from `offset` of a buffer.
  Datatype packed_type(const Traffic& traffic, const Message& message, const Job& job, const Datatype& element,
                       std::size_t offset) const {
    const std::byte* const buffer = nullptr;
    return type_of(
        traffic, message, job, element,
        [&](const Piece&, const mesh::Box& region) {
          const auto rows = packed_rows(buffer + offset, shape_of(region, job.components, job.element_bytes()));
          offset += static_cast<std::size_t>(region.volume()) * job.cell_bytes();
          return rows;
        },
        buffer);
  }

  // All pieces of a message, seen from `base`, where `rows_of_piece` finds them.
  template <typename RowsOfPiece, typename Byte>
  Datatype type_of(const Traffic& traffic, const Message& message, const Job& job, const Datatype& element,
                   RowsOfPiece rows_of_piece, Byte* base) const {
    std::vector<Datatype> parts;
    std::vector<MPI_Aint> places;
    for (std::size_t p = message.first; p < message.last; ++p) {
      const mesh::Box region = tables_.region(traffic.pieces[p]);
      const auto rows = rows_of_piece(traffic.pieces[p], region);
      const RowShape shape = shape_of(region, job.components, job.element_bytes());
      parts.push_back(rows_type(rows, shape, element));
      places.push_back(rows.first - base);
    }
    return combined_type(parts, places);
  }

  void locate(const Job& job, const std::byte* next) {
    for (std::size_t m = 0; m < payloads_.size(); ++m) {
      payloads_[m] = next;
      next += static_cast<std::size_t>(tables_.incoming.messages[m].cells) * job.cell_bytes();
    }
  }

  std::vector<std::unique_ptr<Typed>> typed_;
  core::Workroom departure_room_, arrival_room_;
};

}  // namespace

std::unique_ptr<Exchange> make_alltoallw(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<Alltoallw>(comm, tables);
}

}  // namespace sidestream::redistribute
