#include "sidestream/mesh/result.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

const Column& Result::column(const std::string& name) const {
  for (const Column& candidate : columns)
    if (candidate.name == name) return candidate;
  throw core::Error(fmt::format("the result has no column `{}`", name));
}

void Result::add(Column column, const std::vector<std::int64_t>& lengths) {
  core::require(column.dimensions.size() == lengths.size(), "a column takes one length for each dimension");
  std::int64_t expected = 1;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    const auto [known, is_new] = dimensions.emplace(column.dimensions[d], lengths[d]);
    if (!is_new && known->second != lengths[d])
      throw core::Error(fmt::format("column `{}` has {} rows along `{}`, other columns have {}", column.name,
                                    lengths[d], column.dimensions[d], known->second));
    expected *= lengths[d];
  }
  const auto count =
      std::visit([](const auto& values) { return static_cast<std::int64_t>(values.size()); }, column.values);
  if (count != expected)
    throw core::Error(
        fmt::format("column `{}` holds {} values where its dimensions make {}", column.name, count, expected));
  columns.push_back(std::move(column));
}

}  // namespace sidestream::mesh
