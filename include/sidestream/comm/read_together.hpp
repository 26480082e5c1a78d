#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/known_bytes.hpp"

namespace sidestream::comm {

/// Runs `work`, which reads files that are small and the same for all, on each rank: on the first, then on the others,
/// who are told what that one has read and open none of its files. If it throws on any rank, all throw the error of the
/// lowest such rank, as by `agree_on`. Collective; in `work` nothing is.
template <typename F>
void read_together(const Communicator& comm, F work) {
  core::KnownBytes read;
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    const core::KeepingReads keeping(read);
    work();
  });
  if (comm.size() == 1) return;
  const std::vector<std::byte> told = comm.broadcast(read.packed());
  comm.agree_on([&] {
    if (comm.rank() == 0) return;
    const core::AnsweringReads answering(std::make_shared<const core::KnownBytes>(core::KnownBytes::unpacked(told)));
    work();
  });
}

}  // namespace sidestream::comm
