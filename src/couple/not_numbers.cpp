#include "couple/not_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

namespace sidestream::couple {

namespace {

bool holds_none(const mesh::Column& column) {
  const auto* values = std::get_if<std::vector<double>>(&column.values);
  return values != nullptr && !column.has_gaps &&
         std::ranges::any_of(*values, [](double value) { return std::isnan(value); });
}

}  // namespace

std::string not_numbers(const comm::Communicator& group, const mesh::Result& result) {
  std::vector<std::string> places;
  for (const mesh::Column& column : result.columns)
    if (holds_none(column)) places.push_back(fmt::format("column `{}`", column.name));
  for (const auto& [name, value] : result.attributes)
    if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isnan(*number))
      places.push_back(fmt::format("attribute `{}`", name));
  const std::int64_t first = group.min(std::int64_t{places.empty() ? group.size() : group.rank()});
  if (first == group.size()) return "";
  return group.broadcast(fmt::format("{}", fmt::join(places, ", ")), static_cast<int>(first));
}

}  // namespace sidestream::couple
