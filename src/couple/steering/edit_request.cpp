#include "sidestream/couple/edit_request.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "couple/steering/box_json.hpp"
#include "couple/stream/reader/inquirer.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

// What fits into a message that a run takes of a stranger.
constexpr std::int64_t most_cells = 6 * 1024;

// Halves the longest axis until pieces fit into a message, each of which `f` is given.
void for_each_piece(const mesh::Box& box, const std::function<void(const mesh::Box&)>& f) {
  if (box.is_empty()) return;
  if (box.volume() <= most_cells) return f(box);
  int axis = 2;
  for (int other = 1; other >= 0; --other)
    if (box.extent()[other] > box.extent()[axis]) axis = other;
  mesh::Box lower = box, upper = box;
  lower.hi[axis] = upper.lo[axis] = box.lo[axis] + box.extent()[axis] / 2;
  for_each_piece(lower, f);
  for_each_piece(upper, f);
}

json::binary_t bytes_of(const mesh::Box& cells, const core::View4<const double>& values) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(cells.volume()) * sizeof(double));
  const std::size_t row = static_cast<std::size_t>(cells.extent().x) * sizeof(double);
  std::uint8_t* to = bytes.data();
  core::for_each_row(cells, [&](int k, int j) {
    std::memcpy(to, &values(k, j, cells.lo.x), row);
    to += row;
  });
  return {std::move(bytes)};
}

json accepted(json answer) {
  if (!answer.at("ok").get<bool>())
    throw core::Error(answer.value("message", ""), answer.value("where", ""), answer.value("hint", ""));
  return answer;
}

}  // namespace

json ask_for_edit(const comm::Communicator& comm, const std::string& where, const std::string& keys, json request,
                  const mesh::Box& box, std::span<const ArrayPart> parts, double timeout_s) {
  std::optional<Inquirer> inquirer;
  std::int64_t array = 0;
  comm.agree_on([&] {
    if (comm.rank() == 0 || !parts.empty()) inquirer.emplace(where, keys, timeout_s);
    if (comm.rank() == 0)
      array = accepted(inquirer->ask({{"kind", "array"}, {"cells", box_json(box)}})).at("array").get<std::int64_t>();
  });
  array = comm.broadcast(array);
  comm.agree_on([&] {
    for (const ArrayPart& part : parts)
      for_each_piece(part.cells, [&](const mesh::Box& piece) {
        accepted(inquirer->ask({{"kind", "array"},
                                {"array", array},
                                {"cells", box_json(piece)},
                                {"values", bytes_of(piece, part.values)}}));
      });
  });
  std::string answer;
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    request["edit"]["array"] = array;
    answer = inquirer->ask(request).dump();
  });
  return json::parse(comm.broadcast(std::move(answer)));
}

}  // namespace sidestream::couple
