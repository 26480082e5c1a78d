#include "io/text/text_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::string_view separators = " ,()\t\r";

template <typename T>
std::vector<T> values_in(std::string_view text) {
  std::vector<T> values;
  while (true) {
    const auto begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return values;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(separators));
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      throw std::invalid_argument(fmt::format("`{}` is not a number", word.substr(0, 40)));
    values.push_back(value);
    text.remove_prefix(word.size());
  }
}

}  // namespace

std::vector<std::int64_t> integers_in(std::string_view text) {
  return values_in<std::int64_t>(text);
}
std::vector<double> numbers_in(std::string_view text) {
  return values_in<double>(text);
}

mesh::Box box_of(const std::int64_t* values) {
  constexpr std::int64_t limit = std::int64_t{1} << 29;  // so that differences are integers of 32 bits
  for (int i = 0; i < 9; ++i)
    if (values[i] < -limit || values[i] > limit) throw std::invalid_argument("a box has absurd indices");
  if (values[6] != 0 || values[7] != 0 || values[8] != 0)
    throw std::invalid_argument("data are not at the centres of cells");
  const auto at = [&](int i) { return static_cast<std::int32_t>(values[i]); };
  return {{at(0), at(1), at(2)}, {at(3) + 1, at(4) + 1, at(5) + 1}};
}

TextReader::TextReader(std::string path) : path_(std::move(path)), text_(read_text(path_)) {}

std::string_view TextReader::line(const char* what) {
  if (at_end()) {
    ++line_number_;
    fail(fmt::format("the file ends where {} should be", what));
  }
  ++line_number_;
  const auto end = std::min(text_.find('\n', position_), text_.size());
  const std::string_view found = std::string_view(text_).substr(position_, end - position_);
  position_ = end + 1;
  return found;
}

std::vector<std::int64_t> TextReader::integers(const char* what, int count) {
  try {
    auto values = integers_in(line(what));
    if (count >= 0 && static_cast<int>(values.size()) != count)
      throw std::invalid_argument(fmt::format("{} numbers instead of {}", values.size(), count));
    return values;
  } catch (const std::invalid_argument& problem) {
    fail(fmt::format("{} expected: {}", what, problem.what()));
  }
}

std::vector<double> TextReader::numbers(const char* what, int count) {
  try {
    auto values = numbers_in(line(what));
    if (count >= 0 && static_cast<int>(values.size()) != count)
      throw std::invalid_argument(fmt::format("{} numbers instead of {}", values.size(), count));
    return values;
  } catch (const std::invalid_argument& problem) {
    fail(fmt::format("{} expected: {}", what, problem.what()));
  }
}

std::int64_t TextReader::integer(const char* what, std::int64_t lowest, std::int64_t highest) {
  const std::int64_t value = integers(what, 1)[0];
  if (value < lowest || value > highest)
    fail(fmt::format("{} expected: {} is not between {} and {}", what, value, lowest, highest));
  return value;
}

std::vector<mesh::Box> TextReader::boxes(const char* what) {
  const auto values = integers(what);
  if (values.empty() || values.size() % 9 != 0) fail(fmt::format("{} expected", what));
  std::vector<mesh::Box> found;
  try {
    for (std::size_t i = 0; i < values.size(); i += 9) found.push_back(box_of(&values[i]));
  } catch (const std::invalid_argument& problem) {
    fail(fmt::format("{} expected: {}", what, problem.what()));
  }
  return found;
}

void TextReader::fail(const std::string& message) const {
  throw core::Error(message, fmt::format("{}:{}", path_, line_number_), "the file is damaged or of another kind");
}

}  // namespace sidestream::io
