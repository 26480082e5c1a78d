#include "io/methods/mpi_layouts.hpp"

namespace sidestream::io {

void ByteRuns::add(std::int64_t offset, std::int64_t bytes) {
  bytes_ += bytes;
  for_each_chunk(offset, bytes, [&](std::int64_t at, int length) {
    const bool touches = !offsets_.empty() && offsets_.back() + lengths_.back() == at;
    if (touches && std::int64_t{lengths_.back()} + length <= most_bytes_a_call) {
      lengths_.back() += length;
    } else {
      offsets_.push_back(static_cast<MPI_Aint>(at));
      lengths_.push_back(length);
    }
  });
}

MpiType ByteRuns::type() const {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (offsets_.empty())
    comm::check(MPI_Type_dup(MPI_BYTE, &type), "MPI_Type_dup");
  else
    comm::check(
        MPI_Type_create_hindexed(static_cast<int>(offsets_.size()), lengths_.data(), offsets_.data(), MPI_BYTE, &type),
        "MPI_Type_create_hindexed");
  return MpiType(type);
}

}  // namespace sidestream::io
