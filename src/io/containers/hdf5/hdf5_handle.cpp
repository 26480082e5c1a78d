#include "io/containers/hdf5/hdf5_handle.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// Visited from the innermost function outwards: keeps the first description.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

std::mutex& one_thread_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

QuietHdf5::QuietHdf5() : lock_(one_thread_at_a_time()) {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() {
  H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

void throw_hdf5_error(const char* call) {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &text);
  throw core::Error(fmt::format("{} failed: {}", call, text.empty() ? "no reason given" : text));
}

}  // namespace sidestream::io
