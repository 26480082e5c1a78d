#include "status.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace sidestream::c {

namespace {

// Of fixed length, so that telling of an error takes no memory.
thread_local std::array<char, 4096> message{};

}  // namespace

void keep_message(const char* text) noexcept {
  const std::size_t length = std::min(std::strlen(text), message.size() - 1);
  std::copy_n(text, length, message.begin());
  message[length] = '\0';
}

void keep_error(const core::Error& error, const std::source_location& function) noexcept {
  if (!error.where().empty()) return keep_message(error.what());
  try {
    // "int sidestream_step(sidestream_session*, int64_t, double)"
    std::string_view name = function.function_name();
    name = name.substr(0, name.find('('));
    name.remove_prefix(name.rfind(' ') + 1);
    keep_message(core::Error(error.message(), std::string(name), error.hint()).what());
  } catch (const std::bad_alloc&) {
    keep_message(error.what());
  }
}

const char* kept_message() noexcept {
  return message.data();
}

}  // namespace sidestream::c

extern "C" {

const char* sidestream_error_text(int status) {
  switch (status) {
    case SIDESTREAM_OK:
      return "all is well";
    case SIDESTREAM_BAD_ARGUMENT:
      return "an argument is none that may be given";
    case SIDESTREAM_REFUSED:
      return "what was asked for cannot be done";
    case SIDESTREAM_NO_MEMORY:
      return "there is not enough memory";
    case SIDESTREAM_INTERNAL:
      return "an error of Sidestream itself";
    case SIDESTREAM_INCOMPLETE:
      return "the run has ended, but not all of its results and files could be made";
    default:
      return "not a status of Sidestream";
  }
}

const char* sidestream_last_message(void) {
  return sidestream::c::kept_message();
}

const char* sidestream_version(void) {
  return SIDESTREAM_VERSION;
}

}  // extern "C"
