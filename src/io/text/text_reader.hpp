#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/mesh/box.hpp"

namespace sidestream::io {

/// Reads a text file line by line and throws a core::Error naming file and line for whatever is not as expected.
class TextReader {
 public:
  explicit TextReader(std::string path);

  bool at_end() const { return position_ >= text_.size(); }
  /// The next line; `what` it should be is named when the file ends here.
  std::string_view line(const char* what);
  /// The next line as numbers between blanks, commas or brackets. Throws unless there are `count` (any number if
  /// negative).
  std::vector<std::int64_t> integers(const char* what, int count = -1);
  std::vector<double> numbers(const char* what, int count = -1);
  std::int64_t integer(const char* what, std::int64_t lowest, std::int64_t highest);
  double number(const char* what) { return numbers(what, 1)[0]; }
  /// Boxes written as `((0,0,0) (15,15,15) (0,0,0))`, on one line.
  std::vector<mesh::Box> boxes(const char* what);

  [[noreturn]] void fail(const std::string& message) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_, text_;
  std::size_t position_ = 0;
  int line_number_ = 0;
};

/// The box whose first and last cell (both inside) and centring are the nine `values`; throws std::invalid_argument
/// otherwise.
mesh::Box box_of(const std::int64_t* values);

/// The numbers between blanks, commas and brackets; throws std::invalid_argument.
std::vector<std::int64_t> integers_in(std::string_view text);
std::vector<double> numbers_in(std::string_view text);

}  // namespace sidestream::io
