// Collective MPI-IO out of the blocks as they lie in memory, ghost cells around them, by the datatypes of Latham et al.
// (2012): A, one component of all blocks; B, all components; C, chosen components.
#include <algorithm>
#include <array>
#include <numeric>

#include "io/methods/in_place.hpp"
#include "io/methods/mpi_layouts.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

using Cells = mesh::FieldView<const double>;
using Sizes = std::array<int, 4>;  // component, z, y, x

// `type` repeated at distances of `bytes`.
MpiType resized(const MpiType& type, std::int64_t bytes) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_resized(type.raw(), 0, static_cast<MPI_Aint>(bytes), &result), "MPI_Type_create_resized");
  return MpiType(result);
}

bool are_consecutive(const std::vector<int>& components) {
  for (std::size_t k = 1; k < components.size(); ++k)
    if (components[k] != components[k - 1] + 1) return false;
  return true;
}

MpiType subarray(const Sizes& all, const Sizes& chosen, const Sizes& start) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_subarray(4, all.data(), chosen.data(), start.data(), MPI_ORDER_C, MPI_DOUBLE, &type),
              "MPI_Type_create_subarray");
  return MpiType(type);
}

// Owned cells of `components` of a block; its extent is the whole block, so that it repeats from block to block.
MpiType block_type(const Cells& field, int block, const std::vector<int>& components) {
  const mesh::Int3 owned = field.box(block).extent();
  const mesh::Int3 ghost = field.ghosts().layers, grown = owned + ghost + ghost;
  const Sizes all{field.components(), grown.z, grown.y, grown.x};
  const auto chosen = static_cast<int>(components.size());
  if (are_consecutive(components))
    return subarray(all, {chosen, owned.z, owned.y, owned.x}, {components.front(), ghost.z, ghost.y, ghost.x});
  const std::int64_t component_bytes = std::int64_t{all[1]} * all[2] * all[3] * 8;
  const MpiType component =
      resized(subarray({1, all[1], all[2], all[3]}, {1, owned.z, owned.y, owned.x}, {0, ghost.z, ghost.y, ghost.x}),
              component_bytes);
  MPI_Datatype indexed = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_indexed_block(chosen, 1, components.data(), component.raw(), &indexed),
              "MPI_Type_create_indexed_block");
  return resized(MpiType(indexed), component_bytes * all[0]);
}

// Blocks [first, last) of a field, relative to its first cell.
MpiType blocks_type(const InPlace& place, std::size_t first, std::size_t last) {
  const Cells& field = place.field;
  std::vector<MpiType> types;
  std::vector<MPI_Datatype> raw;
  std::vector<MPI_Aint> offsets;
  std::vector<int> counts;
  const bool are_equal = has_equal_blocks(field);
  for (std::size_t b = first; b < last; ++b) {
    const auto block = static_cast<int>(b);
    if (are_equal && !counts.empty()) {
      ++counts.back();
      continue;
    }
    types.push_back(block_type(field, block, place.components));
    raw.push_back(types.back().raw());
    offsets.push_back(static_cast<MPI_Aint>((start_of(field, block) - start_of(field, 0)) * 8));
    counts.push_back(1);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  comm::check(MPI_Type_create_struct(static_cast<int>(counts.size()), counts.data(), offsets.data(), raw.data(), &type),
              "MPI_Type_create_struct");
  return MpiType(type);
}

// Runs [first, last) of a rank, as many as an `int` can count the bytes of.
struct Runs {
  std::size_t first = 0, last = 0;
};

std::vector<Runs> calls_of(const ArrayGroup& group, std::int64_t row_bytes) {
  std::vector<Runs> calls;
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < group.runs.size(); ++r) {
    if (group.runs[r].count == 0) continue;
    const std::int64_t more = group.runs[r].count * row_bytes;
    const bool follows = !calls.empty() && calls.back().last == r && bytes + more <= most_bytes_a_call;
    if (!follows) {
      calls.push_back({r, r});
      bytes = 0;
    }
    calls.back().last = r + 1;
    bytes += more;
  }
  return calls;
}

void write_runs(MpiFile& file, const ArrayGroup& group, std::size_t array, std::int64_t offset, const Runs* runs) {
  ByteRuns in_file;
  if (runs != nullptr) {
    const std::int64_t row_bytes = group.arrays[array].row_bytes();
    for (std::size_t r = runs->first; r < runs->last; ++r)
      in_file.add(offset + group.runs[r].first * row_bytes, group.runs[r].count * row_bytes);
  }
  const MpiType view = in_file.type();
  file.set_view(view.raw());
  if (runs == nullptr) return file.write_all(nullptr, 0, MPI_BYTE, 0);
  const MpiType memory = blocks_type(group.in_place[array], runs->first, runs->last);
  file.write_all(start_of(group.in_place[array].field, 0), 1, memory.raw(), in_file.bytes());
}

void write_in_place(const ArrayWrite& work, std::size_t g, MpiFile& file, FirstFailure& failure) {
  const ArrayGroup& group = work.groups[g];
  std::vector<Runs> own = calls_of(group, group.arrays.front().row_bytes());
  const auto calls = static_cast<std::size_t>(work.comm.max(static_cast<std::int64_t>(own.size())));
  for (std::size_t a = 0; a < group.arrays.size(); ++a) {
    const bool is_right = own.empty() || failure.keep([&] { check_in_place(group, a); });
    for (std::size_t call = 0; call < calls; ++call)
      failure.keep([&] {
        write_runs(file, group, a, work.offsets[g][a], is_right && call < own.size() ? &own[call] : nullptr);
      });
  }
}

}  // namespace

WriteMethod mpiio_derived_method() {
  return {
      "mpiio-derived",
      "MPI-IO, one collective call an array, out of the blocks in memory by derived datatypes; what is not in blocks "
      "is packed",
      {Container::hdf5, Container::netcdf, Container::raw},
      [](const ArrayWrite& work) {
        return write_by_mpi(work, [&](MpiFile& file, FirstFailure& failure, AccessStatistics& statistics) {
          for (std::size_t g = 0; g < work.groups.size(); ++g) {
            if (is_in_place(work, work.groups[g]))
              write_in_place(work, g, file, failure);
            else
              write_combined(work, g, file, failure, statistics);
          }
        });
      },
      true};
}

}  // namespace sidestream::io
