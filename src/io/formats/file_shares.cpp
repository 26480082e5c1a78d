#include "io/formats/file_shares.hpp"

#include <algorithm>

namespace sidestream::io {

namespace {

constexpr int tag_your_turn = 1;

}  // namespace

Turn turn_of(int rank, int ranks, int files, int together) {
  const int groups = (ranks + together - 1) / together;
  const std::int64_t count = std::clamp(files, 1, groups);
  const auto file_of = [&](int r) { return static_cast<int>(r / together * count / groups); };
  return {file_of(rank), rank == 0 || file_of(rank - 1) != file_of(rank),
          rank == ranks - 1 || file_of(rank + 1) != file_of(rank)};
}

void take_turns(const comm::Communicator& comm, int files, const std::function<void(const Turn&)>& work, int together) {
  const comm::Communicator own = comm.duplicate();
  const Turn turn = turn_of(own.rank(), own.size(), files, together);
  own.agree_on([&] {
    int all_is_well = 1;
    if (!turn.is_first)
      comm::check(MPI_Recv(&all_is_well, 1, MPI_INT, own.rank() - 1, tag_your_turn, own.raw(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
    const auto pass_on = [&](int value) {
      if (!turn.is_last)
        comm::check(MPI_Send(&value, 1, MPI_INT, own.rank() + 1, tag_your_turn, own.raw()), "MPI_Send");
    };
    try {
      if (all_is_well == 1) work(turn);
    } catch (...) {
      pass_on(0);
      throw;
    }
    pass_on(all_is_well);
  });
}

}  // namespace sidestream::io
