#include "sidestream/redistribute/data_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "redistribute/mapping/chunk_layouts.hpp"
#include "sidestream/comm/united.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::redistribute {

namespace {

using mesh::Box;
using mesh::ElementType;
using mesh::Int3;
using mesh::Layout;

// A group of an intercommunicator comes first where any of its ranks owns something: each group tells the other, and
// hears from it what it said itself.
comm::Communicator united(MPI_Comm comm, bool owns) {
  if (!comm::joins_groups(comm)) return comm::united(comm);
  const int mine = owns ? 1 : 0;
  int others = 0, ours = 0;
  comm::check(MPI_Allreduce(&mine, &others, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
  comm::check(MPI_Allreduce(&others, &ours, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
  return comm::united(comm, ours != 0);
}

void check_alike(const comm::Communicator& comm, const DataDescription& description) {
  const auto all = comm.all_gather(description);
  const auto other = std::ranges::find_if(all, [&](const DataDescription& one) { return !(one == all.front()); });
  if (other == all.end()) return;
  const auto text_of = [](const DataDescription& one) {
    return fmt::format(
        "{} x {} x {} cells, periodic along {}{}{}, a rim of {} x {} x {}, {} components, strategy {}, {}", one.cells.x,
        one.cells.y, one.cells.z, one.periodic[0] ? "x" : "", one.periodic[1] ? "y" : "", one.periodic[2] ? "z" : "",
        one.rim.x, one.rim.y, one.rim.z, one.components, entry_of(one.strategy).name,
        one.allows_holes ? "holes" : "no holes");
  };
  throw core::Error(fmt::format("rank {} describes data that differ from those of rank 0: {}; {}", other - all.begin(),
                                text_of(*other), text_of(all.front())));
}

/// Types of the elements on both sides; -1 where a rank has none.
struct Types {
  std::int64_t from = -1, to = -1;
};

template <typename Cell>
std::int64_t type_of(std::span<const ChunkMemory<Cell>> memory) {
  return memory.empty() ? -1 : static_cast<std::int64_t>(memory.front().type);
}

// Holds the memory that a rank gives for its chunks to them.
template <typename Cell>
void check_memory(const char* kind, std::span<const ChunkMemory<Cell>> memory, std::span<const Box> chunks) {
  if (memory.size() != chunks.size())
    throw core::Error(fmt::format("{} pieces of memory for {} {} chunks", memory.size(), chunks.size(), kind));
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    const Int3 cells = chunks[n].extent(), given = memory[n].cells;
    if (memory[n].type != memory.front().type)
      throw core::Error(fmt::format("{} chunk 0 has elements of {}, chunk {} of {}", kind,
                                    to_string(memory.front().type), n, to_string(memory[n].type)),
                        "", "one mapping moves one type of elements at a time");
    if (chunks[n].is_empty()) continue;
    if (given != cells)
      throw core::Error(fmt::format("the memory of {} chunk {} has {} x {} x {} cells, the chunk {} x {} x {}: {}",
                                    kind, n, given.x, given.y, given.z, cells.x, cells.y, cells.z,
                                    to_string(chunks[n])));
    if (memory[n].first == nullptr)
      throw core::Error(fmt::format("there is no memory for {} chunk {}, {}", kind, n, to_string(chunks[n])));
    if constexpr (!std::is_const_v<Cell>)
      for (int axis = 0; axis < 3; ++axis)
        if (cells[axis] > 1 && memory[n].strides[static_cast<std::size_t>(axis)] == 0)
          throw core::Error(fmt::format("cells of {} chunk {} lie in one place: a stride of its memory is 0", kind, n),
                            "", "give each cell a place of its own");
  }
}

template <typename Cell>
mesh::BlockTable::Block block_of(const ChunkMemory<Cell>& memory, ElementType type, const Box& chunk, Int3 shift) {
  if (chunk.is_empty()) return {};
  const auto [along_x, y, z, component] = memory.strides;
  const std::ptrdiff_t x = chunk.extent().x == 1 ? 1 : along_x;  // no neighbour: rows as good as any
  const Int3 to_origin = shift - chunk.lo;
  const std::ptrdiff_t elements = to_origin.x * x + to_origin.y * y + to_origin.z * z;
  auto* const first = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(memory.first)));
  return {first + elements * static_cast<std::ptrdiff_t>(size_bytes(type)), y, z, component, x};
}

}  // namespace

struct DataMapping::State {
  DataDescription description;
  comm::Communicator comm;
  std::vector<Box> owned, needed;
  std::vector<ChunkPart> parts;
  std::optional<Redistribution> plan;
  std::optional<mesh::WritableField> under_way;

  State(MPI_Comm group, const DataDescription& its_description, std::span<const Box> its_owned,
        std::span<const Box> its_needed, const std::optional<core::Error>& problem)
      : description(its_description),
        comm(united(group, !its_owned.empty())),
        owned(its_owned.begin(), its_owned.end()) {
    comm.agree_on([&] {
      if (problem) throw *problem;
      check(description);
      check_chunks(description, comm.rank(), owned, its_needed);
      parts = parts_of(description, its_needed);
    });
    check_alike(comm, description);
    for (const Box& chunk : its_needed)
      needed.push_back(chunk.is_empty() ? Box{chunk.lo, chunk.lo} : chunk.grown(description.rim));
    const Layout from = gathered(owned), to = gathered(boxes_of_parts());
    comm.agree_on([&] { check_disjoint(from, comm.rank()); });
    if (!description.allows_holes) comm.agree_on([&] { check_covered(from, comm.rank(), parts); });
    plan.emplace(comm, from, to, description.strategy);
  }

  Layout gathered(const std::vector<Box>& mine) const {
    const auto counts = comm.all_gather(static_cast<std::int64_t>(mine.size()));
    return chunk_layout(description, comm.all_gather(std::span(mine)), counts);
  }

  std::vector<Box> boxes_of_parts() const {
    std::vector<Box> boxes;
    for (const ChunkPart& part : parts) boxes.push_back(part.box);
    return boxes;
  }

  // The types of all ranks; those of ranks that have nothing are those of the others. Collective.
  Types agreed(const Types& mine, const std::optional<core::Error>& problem) const {
    std::array<std::int64_t, 5> most{mine.from, mine.to, -fewest(mine.from), -fewest(mine.to), problem ? 1 : 0};
    comm::check(
        MPI_Allreduce(MPI_IN_PLACE, most.data(), static_cast<int>(most.size()), MPI_INT64_T, MPI_MAX, comm.raw()),
        "MPI_Allreduce");
    if (most[4] != 0)
      comm.agree_on([&] {
        if (problem) throw *problem;
      });
    if (most[0] != -most[2] && most[0] >= 0) refuse_types("own", mine.from);
    if (most[1] != -most[3] && most[1] >= 0) refuse_types("need", mine.to);
    const std::int64_t from = std::max<std::int64_t>(most[0] >= 0 ? most[0] : most[1], 0);
    return {from, most[1] >= 0 ? most[1] : from};
  }

  // What does not count where the least is looked for.
  static std::int64_t fewest(std::int64_t type) { return type >= 0 ? type : std::int64_t{1} << 32; }

  void refuse_types(const char* verb, std::int64_t mine) const {
    const auto types = comm.all_gather(mine);
    const auto first = std::ranges::find_if(types, [](std::int64_t type) { return type >= 0; });
    const auto other = std::ranges::find_if(types, [&](std::int64_t type) { return type >= 0 && type != *first; });
    const auto name = [](std::int64_t type) { return to_string(static_cast<ElementType>(type)); };
    throw core::Error(fmt::format("rank {} {}s elements of {}, rank {} of {}", first - types.begin(), verb,
                                  name(*first), other - types.begin(), name(*other)),
                      "", "one mapping moves one type of elements on all ranks at a time");
  }

  mesh::AnyField source(std::span<const OwnedMemory> memory, ElementType type) const {
    mesh::BlockTable table{plan->source(), comm.rank(), description.components, 0, {}};
    for (std::size_t n = 0; n < owned.size(); ++n) table.blocks.push_back(block_of(memory[n], type, owned[n], {}));
    return {type, std::make_shared<const mesh::BlockTable>(std::move(table))};
  }

  mesh::WritableField destination(std::span<const NeededMemory> memory, ElementType type) const {
    mesh::BlockTable table{plan->destination(), comm.rank(), description.components, 0, {}};
    for (const ChunkPart& part : parts) {
      const auto n = static_cast<std::size_t>(part.chunk);
      table.blocks.push_back(block_of(memory[n], type, needed[n], part.shift));
    }
    return {type, std::make_shared<const mesh::BlockTable>(std::move(table))};
  }
};

DataMapping::DataMapping(MPI_Comm comm, const DataDescription& description, std::span<const Box> owned,
                         std::span<const Box> needed, const std::optional<core::Error>& problem)
    : state_(std::make_unique<State>(comm, description, owned, needed, problem)) {}

DataMapping::~DataMapping() = default;
DataMapping::DataMapping(DataMapping&&) noexcept = default;
DataMapping& DataMapping::operator=(DataMapping&&) noexcept = default;

const DataDescription& DataMapping::description() const {
  return state_->description;
}
std::span<const Box> DataMapping::owned() const {
  return state_->owned;
}
std::span<const Box> DataMapping::needed() const {
  return state_->needed;
}
Redistribution& DataMapping::plan() const {
  return *state_->plan;
}
const comm::Communicator& DataMapping::comm() const {
  return state_->comm;
}

void DataMapping::start(std::span<const OwnedMemory> from, std::span<const NeededMemory> to,
                        const std::optional<core::Error>& callers_problem) {
  State& state = *state_;
  std::optional<core::Error> problem = callers_problem;
  try {
    core::require(!state.under_way, "this mapping is moving data already: finish that first");
    check_memory("owned", from, state.owned);
    check_memory("needed", to, state.needed);
  } catch (const core::Error& error) {
    if (!problem) problem = error;
  }
  const Types types = state.agreed({type_of(from), type_of(to)}, problem);
  const auto target = state.destination(to, static_cast<ElementType>(types.to));
  state.plan->start(state.source(from, static_cast<ElementType>(types.from)), target);
  state.under_way.emplace(target.type(), target.shared_table());
}

void DataMapping::finish() {
  core::require(state_->under_way.has_value(), "no exchange of this mapping is under way; start one first");
  state_->plan->finish(*state_->under_way);
  state_->under_way.reset();
}

bool DataMapping::test() const {
  return state_->plan->test();
}

}  // namespace sidestream::redistribute
