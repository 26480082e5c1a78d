#include "couple/waiting.hpp"

#include <fmt/format.h>

namespace sidestream::couple {

void wait_for(std::span<MPI_Request> requests, double timeout_s, const std::string& whom, Microseconds longest) {
  const auto all_done = [&] {
    int done = 0;
    comm::check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                "MPI_Testall");
    return done != 0;
  };
  if (!wait_until(all_done, timeout_s, longest)) throw too_long(whom, timeout_s);
}

std::string broadcast_patiently(const comm::Communicator& group, std::string text) {
  constexpr std::size_t piece = std::size_t{1} << 30;
  const auto broadcast = [&](void* data, std::size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    comm::check(MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, 0, group.raw(), &request), "MPI_Ibcast");
    wait_for(std::span(&request, 1), forever_s, "the first rank of the group");
  };
  auto size = static_cast<std::uint64_t>(text.size());
  broadcast(&size, sizeof size);
  text.resize(size);
  for (std::size_t done = 0; done < text.size(); done += piece)
    broadcast(text.data() + done, std::min(piece, text.size() - done));
  return text;
}

core::Error too_long(const std::string& whom, double timeout_s) {
  return core::Error(fmt::format("waited {:.3g} s of {:.3g} s for {}", timeout_s, timeout_s, whom),
                     "key `coupling.timeout`",
                     "see whether an analysis hangs; if it only takes long, give it more time");
}

void throw_together(const comm::Communicator& group, core::Error error) {
  if (group.rank() != 0) error.report_elsewhere();
  throw error;
}

}  // namespace sidestream::couple
