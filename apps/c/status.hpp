#pragma once

#include <exception>
#include <new>
#include <source_location>
#include <string>

#include "sidestream.h"
#include "sidestream/core/error.hpp"

namespace sidestream::c {

/// What the C interface throws within itself where a caller gives what nobody may give.
class BadArgument : public core::Error {
  using core::Error::Error;
};

/// Keeps the text that `sidestream_last_message` returns, for each thread.
void keep_message(const char* text) noexcept;
const char* kept_message() noexcept;

/// Keeps what was wrong, with the function that was called where nothing says where.
void keep_error(const core::Error& error, const std::source_location& function) noexcept;

/// Calls `f` and turns what it throws into a status and a message.
template <typename F>
int status_of(F f, const std::source_location& function = std::source_location::current()) noexcept {
  try {
    f();
    return SIDESTREAM_OK;
  } catch (const BadArgument& error) {
    keep_error(error, function);
    return SIDESTREAM_BAD_ARGUMENT;
  } catch (const core::Error& error) {
    keep_error(error, function);
    return SIDESTREAM_REFUSED;
  } catch (const std::bad_alloc&) {
    keep_message("there is not enough memory");
    return SIDESTREAM_NO_MEMORY;
  } catch (const std::exception& error) {
    keep_message(error.what());
  } catch (...) {
    keep_message("something was thrown that is no exception");
  }
  return SIDESTREAM_INTERNAL;
}

}  // namespace sidestream::c
