// The functions of sidestream.h that redistribute: handles and structures of C around redistribute::DataMapping.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "sidestream/comm/united.hpp"
#include "sidestream/redistribute/data_mapping.hpp"
#include "status.hpp"
#include "structures.hpp"
#include "types.hpp"

using namespace sidestream;
using c::BadArgument, c::known, c::require_mpi, c::status_of, c::taken, c::type_of;

struct sidestream_data {
  redistribute::DataDescription description;
  std::size_t dimensions = 3;
  std::optional<redistribute::DataMapping> mapping{};
};

namespace {

template <typename Data>
auto& mapping_of(Data& data) {
  require_mpi();
  if (!data.mapping)
    throw BadArgument("these data have no mapping", "", "call sidestream_map before they are reorganised");
  return *data.mapping;
}

std::int32_t index_of(std::int64_t number, const char* what) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (number < -most || number > most) throw core::Error(fmt::format("{} is {}, beyond 2^30 cells", what, number));
  return static_cast<std::int32_t>(number);
}

redistribute::DataDescription description_of(const sidestream_description& its) {
  const auto given =
      taken<sidestream_description>(&its, "sidestream_description", "SIDESTREAM_DESCRIPTION", SIDESTREAM_DESCRIPTION);
  if (given.dimensions < 1 || given.dimensions > 3)
    throw BadArgument(fmt::format("data of {} dimensions cannot be", given.dimensions), "", "give 1, 2 or 3");
  redistribute::DataDescription description{.components = given.components, .allows_holes = given.allows_holes != 0};
  for (int axis = 0; axis < given.dimensions; ++axis) {
    description.cells[axis] = index_of(given.cells[axis], "a number of cells");
    description.periodic[static_cast<std::size_t>(axis)] = given.periodic[axis] != 0;
    description.rim[axis] = index_of(given.rim[axis], "a rim");
  }
  if (given.strategy != nullptr) description.strategy = redistribute::strategies().named(given.strategy).strategy;
  redistribute::check(description);
  return description;
}

std::vector<mesh::Box> boxes_of(const sidestream_chunks* given, std::size_t dimensions, const char* kind) {
  std::vector<mesh::Box> boxes;
  if (given == nullptr) return boxes;
  const auto chunks = taken<sidestream_chunks>(given, "sidestream_chunks", "SIDESTREAM_CHUNKS", SIDESTREAM_CHUNKS);
  if (chunks.count == 0) return boxes;
  if (chunks.offsets == nullptr || chunks.cells == nullptr)
    throw BadArgument(fmt::format("there are {} {} chunks without `offsets` or without `cells`", chunks.count, kind));
  for (std::size_t n = 0; n < chunks.count; ++n) {
    mesh::Box box{{0, 0, 0}, {1, 1, 1}};
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
      const std::size_t at = n * dimensions + axis;
      const std::int64_t offset = index_of(chunks.offsets[at], "the offset of a chunk"),
                         cells = index_of(chunks.cells[at], "a number of cells");
      box.lo[static_cast<int>(axis)] = static_cast<std::int32_t>(offset);
      box.hi[static_cast<int>(axis)] = index_of(offset + cells, "the end of a chunk");
    }
    boxes.push_back(box);
  }
  return boxes;
}

template <typename Cell>
std::vector<redistribute::ChunkMemory<Cell>> memory_of(const sidestream_memory* its, std::span<const mesh::Box> boxes,
                                                       const sidestream_data& data, const char* kind) {
  std::vector<redistribute::ChunkMemory<Cell>> memory;
  if (its == nullptr) return memory;
  const auto given = taken<sidestream_memory>(its, "sidestream_memory", "SIDESTREAM_MEMORY", SIDESTREAM_MEMORY);
  const mesh::ElementType type = type_of(given.type);
  if (given.count != boxes.size())
    throw core::Error(fmt::format("{} pieces of memory for {} {} chunks", given.count, boxes.size(), kind));
  if (boxes.empty()) return memory;
  if (given.chunks == nullptr) throw BadArgument("a sidestream_memory has no `chunks`");
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    auto chunk = redistribute::packed_memory<Cell>(given.chunks[n], type, boxes[n].extent());
    if (given.strides != nullptr) {
      const std::int64_t* const strides = given.strides + n * (data.dimensions + 1);
      std::copy_n(strides, data.dimensions, chunk.strides.begin());
      chunk.strides[3] = strides[data.dimensions];
    }
    memory.push_back(chunk);
  }
  return memory;
}

// Calls `work`; what it throws, so that all ranks hear of it.
template <typename F>
std::optional<core::Error> problem_of(F work) {
  try {
    work();
  } catch (const core::Error& error) {
    return error;
  }
  return {};
}

// The others wait for what this rank says.
void tell_of_no_data(MPI_Comm comm) {
  const BadArgument problem("`data` is NULL", "", "did sidestream_describe succeed on this rank?");
  try {
    redistribute::DataMapping(comm, {}, {}, {}, problem);
  } catch (const core::Error&) {
    throw problem;
  }
}

void map(sidestream_data* given, MPI_Comm comm, const sidestream_chunks* owned, const sidestream_chunks* needed) {
  if (given == nullptr) tell_of_no_data(comm);
  sidestream_data& data = *given;
  std::vector<mesh::Box> owned_boxes, needed_boxes;
  const std::optional<core::Error> problem = problem_of([&] {
    owned_boxes = boxes_of(owned, data.dimensions, "owned");
    needed_boxes = boxes_of(needed, data.dimensions, "needed");
  });
  data.mapping.reset();
  data.mapping.emplace(comm, data.description, owned_boxes, needed_boxes, problem);
}

void start(sidestream_data& data, const sidestream_memory* owned, const sidestream_memory* needed) {
  redistribute::DataMapping& mapping = mapping_of(data);
  std::vector<redistribute::OwnedMemory> from;
  std::vector<redistribute::NeededMemory> to;
  const std::optional<core::Error> problem = problem_of([&] {
    from = memory_of<const void>(owned, mapping.owned(), data, "owned");
    to = memory_of<void>(needed, mapping.needed(), data, "needed");
  });
  mapping.start(from, to, problem);
}

}  // namespace

extern "C" {

int sidestream_describe(const sidestream_description* description, sidestream_data** data) {
  return status_of([&] {
    known(data, "data") = nullptr;
    auto made = std::make_unique<sidestream_data>();
    made->description = description_of(known(description, "description"));
    made->dimensions = static_cast<std::size_t>(description->dimensions);
    *data = made.release();
  });
}

int sidestream_map(sidestream_data* data, MPI_Comm comm, const sidestream_chunks* owned,
                   const sidestream_chunks* needed) {
  return status_of([&] {
    require_mpi();
    map(data, comm, owned, needed);
  });
}

int sidestream_map_f(sidestream_data* data, MPI_Fint comm, const sidestream_chunks* owned,
                     const sidestream_chunks* needed) {
  return status_of([&] {
    require_mpi();
    map(data, MPI_Comm_f2c(comm), owned, needed);
  });
}

int sidestream_reorganise(sidestream_data* data, const sidestream_memory* owned, const sidestream_memory* needed) {
  return status_of([&] {
    start(known(data, "data"), owned, needed);
    data->mapping->finish();
  });
}

int sidestream_start(sidestream_data* data, const sidestream_memory* owned, const sidestream_memory* needed) {
  return status_of([&] { start(known(data, "data"), owned, needed); });
}

int sidestream_finish(sidestream_data* data) {
  return status_of([&] { mapping_of(known(data, "data")).finish(); });
}

int sidestream_test(sidestream_data* data, int* is_done) {
  return status_of([&] { known(is_done, "is_done") = mapping_of(known(data, "data")).test() ? 1 : 0; });
}

int sidestream_sent_bytes(const sidestream_data* data, sidestream_type type, uint64_t* bytes) {
  return status_of([&] {
    const redistribute::DataMapping& mapping = mapping_of(known(data, "data"));
    known(bytes, "bytes") = mapping.plan().sent_bytes(size_bytes(type_of(type))) *
                            static_cast<std::size_t>(mapping.description().components);
  });
}

int sidestream_free(sidestream_data* data) {
  return status_of([&] {
    if (data != nullptr && data->mapping) require_mpi();
    delete data;
  });
}

}  // extern "C"
