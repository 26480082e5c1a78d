#include "fft/threads/threads.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::fft {

namespace {

struct Need {
  comm::ThreadLevel level;
  const char *mode, *name, *instead;
};

Need need_of(ThreadMode mode) {
  switch (mode) {
    case ThreadMode::funneled:
      return {comm::ThreadLevel::funneled, "funneled", "MPI_THREAD_FUNNELED", "transform by one thread a rank"};
    case ThreadMode::serialized:
      return {comm::ThreadLevel::serialized, "serialized", "MPI_THREAD_SERIALIZED", "take the mode `funneled`"};
    default:
      return {comm::ThreadLevel::multiple, "multiple", "MPI_THREAD_MULTIPLE",
              "take the mode `serialized` or `funneled`"};
  }
}

}  // namespace

std::string name_of(ThreadMode mode) {
  return need_of(mode).mode;
}

void require_threads(const FftOptions& options, comm::ThreadLevel level) {
  if (options.threads < 1)
    throw core::Error(fmt::format("{} threads cannot transform anything", options.threads), "",
                      "take 1, or as many as a rank has cores");
  const Need need = need_of(options.thread_mode);
  if (options.threads > 1 && level < need.level)
    throw core::Error(fmt::format("{} threads of the mode `{}` need an MPI that was initialised with {} at least",
                                  options.threads, need.mode, need.name),
                      "", fmt::format("initialise MPI with {}, or {}", need.name, need.instead));
}

}  // namespace sidestream::fft
