#include "couple/earlier_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

EarlierResults::Found EarlierResults::before(const comm::Communicator& group, const std::string& task,
                                             std::int64_t step) {
  const auto [kept, is_new] = newest_.try_emplace(task);
  Found found{&kept->second, "", is_new};
  if (!is_new) return found;
  try {
    kept->second = read(group, task, step);
  } catch (const core::Error& error) {
    found.problem = fmt::format("{} ({})", error.message(), error.where());
  }
  return found;
}

mesh::Result EarlierResults::read(const comm::Communicator& group, const std::string& task, std::int64_t step) const {
  const std::int64_t below = first_step_ ? std::min(step, *first_step_ + 1) : step;
  std::int64_t newest = -1;
  group.agree_on([&] {
    if (group.rank() == 0) newest = folder_.newest_result(task, below).value_or(-1);
  });
  newest = group.broadcast(newest);
  return newest < 0 ? mesh::Result() : io::read_result(group, folder_.result(task, newest));
}

void EarlierResults::keep(const comm::Communicator& group, const std::string& task, mesh::Result result,
                          const io::ResultAttributes& extra) {
  mesh::Result& kept = newest_[task] = std::move(result);
  if (group.rank() == 0) {
    for (const auto& [name, value] : extra) kept.attributes[name] = value;
    return;
  }
  kept.attributes.clear();
  kept.summary.clear();
  std::erase_if(kept.columns, [&](const mesh::Column& column) {
    return column.dimensions.empty() || !kept.distributed.contains(column.dimensions[0]);
  });
  std::erase_if(kept.dimensions, [&](const auto& dimension) { return !kept.distributed.contains(dimension.first); });
}

}  // namespace sidestream::couple
