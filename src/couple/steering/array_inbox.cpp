#include "sidestream/couple/array_inbox.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "couple/steering/box_json.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/couple/edit_array.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds longest_silence{60};
constexpr std::size_t most_under_way = 8, most_parts = std::size_t{1} << 20;
constexpr const char* place_of_arrays = "steering";

bool are_disjoint(const mesh::Box& whole, const std::vector<mesh::Box>& parts) try {
  check(mesh::Layout(whole, {false, false, false}, parts, std::vector<std::int32_t>(parts.size())));
  return true;
} catch (const core::Error&) {
  return false;
}

}  // namespace

ArrayInbox::~ArrayInbox() {
  while (!under_way_.empty()) drop(under_way_.begin()->first);
}

json ArrayInbox::answer(const json& request) {
  drop_silent();
  const mesh::Box cells = box_from(request.at("cells"));
  if (!request.contains("array")) return {{"ok", true}, {"array", begin(cells)}};
  UnderWay& array = numbered(array_number(request.at("array")));
  take(array, cells, request.at("values").get_binary());
  return {{"ok", true}, {"missing", array.missing}};
}

std::int64_t ArrayInbox::begin(const mesh::Box& box) {
  if (folder_.empty()) throw core::Error("this run takes no arrays", place_of_arrays, "start it with --steer");
  require_inside(box, domain_);
  if (under_way_.size() >= most_under_way)
    throw core::Error(fmt::format("{} arrays are on their way already", under_way_.size()), place_of_arrays,
                      "ask again later");
  std::string name = edit_array_name(++last_);
  while (std::filesystem::exists(path_of(name))) name = edit_array_name(++last_);
  const std::string path = path_of(name);
  io::make_folder(std::filesystem::path(path).parent_path().string());
  UnderWay array{box, name, new_edit_array(io::temporary_name(path), box)};
  array.missing = box.volume();
  under_way_.emplace(last_, std::move(array));
  return last_;
}

void ArrayInbox::take(UnderWay& array, const mesh::Box& cells, std::span<const std::uint8_t> bytes) {
  if (cells.is_empty() || !array.box.contains(cells))
    throw core::Error(fmt::format("the part {} is empty, or not inside of its array, {}", mesh::to_string(cells),
                                  mesh::to_string(array.box)),
                      place_of_arrays);
  if (array.parts.size() >= most_parts)
    throw core::Error("the array comes in too many parts", place_of_arrays, "send larger ones");
  const auto count = static_cast<std::size_t>(cells.volume());
  if (bytes.size() / sizeof(double) != count || bytes.size() % sizeof(double) != 0)
    throw core::Error(
        fmt::format("the part {} has {} cells, and {} bytes came", mesh::to_string(cells), count, bytes.size()),
        place_of_arrays, "send eight for each cell");
  std::vector<double> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  const mesh::Int3 n = cells.extent();
  const core::View4<const double> view(values.data(), cells.lo.x, cells.lo.y, cells.lo.z, n.x, n.y, n.z, 1);
  write_part(array.file, array.box, cells, view);
  array.parts.push_back(cells);
  array.missing -= cells.volume();
  array.checksum += edit_checksum(array.box, cells, view);
  array.heard = std::chrono::steady_clock::now();
}

const mesh::Box& ArrayInbox::box_of(std::int64_t array) {
  return numbered(array).box;
}

EditArrayName ArrayInbox::finish(std::int64_t number) {
  UnderWay& array = numbered(number);
  if (array.missing > 0)
    throw core::Error(fmt::format("{} cells of the array have not come", array.missing), place_of_arrays,
                      "send all of its parts");
  if (!are_disjoint(array.box, array.parts)) {
    drop(number);
    throw core::Error("parts of the array overlap", place_of_arrays, "send each cell once");
  }
  array.file.close();
  std::filesystem::rename(io::temporary_name(path_of(array.name)), path_of(array.name));
  EditArrayName name{array.name, checksum_text(array.checksum)};
  under_way_.erase(number);
  return name;
}

ArrayInbox::UnderWay& ArrayInbox::numbered(std::int64_t array) {
  const auto found = under_way_.find(array);
  if (found == under_way_.end())
    throw core::Error(fmt::format("there is no array {} on its way", array), place_of_arrays,
                      "begin it, and let less than a minute pass between its parts");
  return found->second;
}

void ArrayInbox::drop_whole(std::int64_t number) {
  const auto found = under_way_.find(number);
  if (found != under_way_.end() && found->second.missing == 0) drop(number);
}

void ArrayInbox::drop(std::int64_t number) {
  const auto found = under_way_.find(number);
  std::error_code ignored;
  std::filesystem::remove(io::temporary_name(path_of(found->second.name)), ignored);
  under_way_.erase(found);
}

void ArrayInbox::drop_silent() {
  const auto now = std::chrono::steady_clock::now();
  for (auto next = under_way_.begin(); next != under_way_.end();) {
    const auto array = next++;
    if (now - array->second.heard > longest_silence) drop(array->first);
  }
}

}  // namespace sidestream::couple
