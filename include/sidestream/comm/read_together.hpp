#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/known_bytes.hpp"

namespace sidestream::comm {

/// Runs `work`, which reads files that are small and the same for all, on each rank: on the first, then on the others,
/// who are told what that one has read and open none of its files; no byte is read twice. If it throws on any rank, all
/// throw the error of the lowest such rank, as by `agree_on`. Returns what was read, on all ranks. Collective; in
/// `work` nothing is.
template <typename F>
std::shared_ptr<const core::KnownBytes> read_together(const Communicator& comm, F work) {
  auto read = std::make_shared<core::KnownBytes>();
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    const core::KeepingReads keeping(*read);
    const core::AnsweringReads answering(read);  // what it reads again
    work();
  });
  if (comm.size() == 1) return read;
  const std::vector<std::byte> told = comm.broadcast(read->packed());
  comm.agree_on([&] {
    if (comm.rank() == 0) return;
    *read = core::KnownBytes::unpacked(told);
    const core::AnsweringReads answering(read);
    work();
  });
  return read;
}

}  // namespace sidestream::comm
