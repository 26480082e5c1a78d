#include "fft/threads/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "sidestream/core/error.hpp"

namespace sidestream::fft {

namespace {

using comm::ThreadLevel;

std::string level_of_mpi(std::string mode) {
  std::ranges::transform(mode, mode.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return "MPI_THREAD_" + mode;
}

std::string instead_of(const ThreadModeEntry& entry) {
  std::string others;
  for (const ThreadModeEntry& other : thread_modes())
    if (other.level < entry.level) others += fmt::format("{}`{}`", others.empty() ? "" : " or ", other.name);
  return others.empty() ? "transform by one thread a rank" : "take the mode " + others;
}

}  // namespace

const core::Registry<ThreadModeEntry>& thread_modes() {
  static const core::Registry<ThreadModeEntry> all(
      {"thread-modes", "mode of threads", "which threads of a rank call MPI while it transforms: in C++ and Python"},
      {{"funneled", "the one that transforms; the others help it with lines", ThreadMode::funneled,
        ThreadLevel::funneled},
       {"serialized", "all, one at a time, each with pieces of its own under way", ThreadMode::serialized,
        ThreadLevel::serialized},
       {"multiple", "all, at once, each with pieces of its own under way", ThreadMode::multiple,
        ThreadLevel::multiple}});
  return all;
}

const ThreadModeEntry& entry_of(ThreadMode mode) {
  return *std::ranges::find(thread_modes(), mode, &ThreadModeEntry::mode);
}

void require_threads(const FftOptions& options, ThreadLevel level) {
  constexpr int most = 1024;
  if (options.threads < 1 || options.threads > most)
    throw core::Error(fmt::format("{} threads cannot transform anything", options.threads), "",
                      "take 1, or as many as a rank has cores");
  const ThreadModeEntry& entry = entry_of(options.thread_mode);
  if (options.threads > 1 && level < entry.level)
    throw core::Error(fmt::format("{} threads of the mode `{}` need an MPI that was initialised with {} at least",
                                  options.threads, entry.name, level_of_mpi(entry.name)),
                      "", fmt::format("initialise MPI with that, or {}", instead_of(entry)));
}

}  // namespace sidestream::fft
