#pragma once

#include <stdexcept>
#include <string>

namespace sidestream::core {

/// The one exception of Sidestream: what was wrong, where, and what to do about it.
/// `where` is a file, key, line and column, a dataset and offset, or a rank; it and `hint` may be empty.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string what, std::string where = "", std::string hint = "");

  const std::string& message() const { return message_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

  /// Whether another rank threw the same error and is the one to report it, so that each error is printed once.
  bool is_reported_elsewhere() const { return is_reported_elsewhere_; }
  void report_elsewhere() { is_reported_elsewhere_ = true; }

 private:
  std::string message_, where_, hint_;
  bool is_reported_elsewhere_ = false;
};

/// Holds a caller to the contract of a function: throws `Error(what)` when `condition` is false. O(1), always on.
inline void require(bool condition, const char* what) {
  if (!condition) throw Error(what);
}

}  // namespace sidestream::core
