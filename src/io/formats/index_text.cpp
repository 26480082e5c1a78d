#include "io/formats/index_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "io/content/block_copy.hpp"
#include "io/disk/checksum.hpp"
#include "io/disk/commit_record.hpp"
#include "io/formats/metadata.hpp"
#include "io/text/json_text.hpp"
#include "io/text/text_reader.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

using nlohmann::json;

namespace {

constexpr int index_version = 1;
constexpr std::int64_t longest_line = 128;
constexpr std::size_t most_levels = 32;
constexpr std::int64_t most_particles = std::int64_t{1} << 44;

std::string first_line(std::string_view magic, std::string_view body, std::size_t bytes) {
  return fmt::format("{} {} {:016x} {}\n", magic, index_version, checksum_of(std::as_bytes(std::span(body))), bytes);
}

mesh::Box domain_in(const json& value) {
  const auto c = value.get<std::array<std::int32_t, 6>>();
  return {{c[0], c[1], c[2]}, {c[3], c[4], c[5]}};
}

json to_json(const mesh::Box& box) {
  return {box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
}

std::string_view word_of(Precision precision) {
  return precision == Precision::double_precision ? "double" : "single";
}

Precision precision_in(const json& value, const IndexReader& index) {
  const auto word = value.get<std::string>();
  if (word != "double" && word != "single") index.fail(fmt::format("`{}` is no precision", word));
  return word == "double" ? Precision::double_precision : Precision::single_precision;
}

void take_levels(IndexReader& index, FileDescription& description) {
  const json& levels = index.root().at("levels");
  if (levels.empty() || levels.size() > most_levels) index.fail("absurd number of levels");
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const mesh::Box domain = domain_in(levels[level].at("domain"));
    std::vector<mesh::Box> boxes = index.take<mesh::Box>(levels[level].at("boxes").get<std::int64_t>());
    if (const std::string fault = fault_of_boxes(domain, boxes); !fault.empty()) index.fail(fault);
    mesh::Int3 ratio{1, 1, 1};
    for (int axis = 0; level > 0 && axis < 3; ++axis) {
      const std::int32_t coarse = description.state.levels[level - 1].domain().extent()[axis];
      ratio[axis] = domain.extent()[axis] / coarse;
      if (ratio[axis] < 1 || ratio[axis] * coarse != domain.extent()[axis])
        index.fail("the domains of the levels are no multiples of each other");
    }
    std::vector<std::int32_t> owners(boxes.size(), 0);
    description.state.levels.emplace_back(domain, description.state.geometry.periodic, std::move(boxes),
                                          std::move(owners), static_cast<int>(level));
    description.ratios.push_back(ratio);
  }
  description.state.geometry.domain = description.state.levels.front().domain();
}

}  // namespace

std::string index_text(std::string_view magic, const Index& index, bool ends_at_record) {
  std::string text = index.root.dump();
  if (ends_at_record) {
    const std::size_t rest = 1 + index.tables.size();
    const auto end = static_cast<std::size_t>(record_place(std::ssize(text) + std::ssize(index.tables) + longest_line));
    // The first line tells the bytes behind it, which have as many digits as all: no place is so near above a power of
    // ten.
    text.resize(end - first_line(magic, "", end).size() - rest, ' ');
  }
  const std::string body = text + "\n" + index.tables;
  return first_line(magic, body, body.size()) + body;
}

IndexReader::IndexReader(const std::string& path, std::string_view magic) : path_(path) {
  const InputFile file(path);
  std::string head(static_cast<std::size_t>(std::min(longest_line, file.size_bytes())), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)));
  const auto line_end = head.find('\n');
  if (!head.starts_with(magic) || line_end == std::string::npos) fail("it does not begin like one");
  head.resize(line_end + 1);
  std::int64_t bytes = 0;
  try {
    const auto numbers = integers_in(std::string_view(head).substr(head.rfind(' '), line_end - head.rfind(' ')));
    bytes = numbers.at(0);
  } catch (const std::logic_error&) {
    fail("its first line is damaged");
  }
  std::string body(static_cast<std::size_t>(std::clamp<std::int64_t>(bytes, 0, file.size_bytes())), '\0');
  if (bytes != std::ssize(body)) fail("it is cut short");
  file.read(std::ssize(head), std::as_writable_bytes(std::span(body)));
  if (head != first_line(magic, body, body.size())) fail("its checksum is wrong, or it is of another version");
  end_ = std::ssize(head) + bytes;
  try {
    const std::size_t json_end = std::min(body.find('\n'), body.size());
    index_.root = parse_json(std::string_view(body).substr(0, json_end), path_);
    index_.tables = body.substr(std::min(json_end + 1, body.size()));
  } catch (const json::exception& problem) {
    fail(problem.what());
  }
}

void IndexReader::expect_end() const {
  if (taken_ != index_.tables.size()) fail("there is something behind the last table");
}

void IndexReader::fail(const std::string& what) const {
  throw core::Error(fmt::format("the index of the file is damaged: {}", what), path_, "use an earlier file");
}

void put_description(const FileContent& content, std::int64_t particles, Index& index) {
  index.root["state"] = json::parse(metadata_text(content));
  index.root["precision"] = word_of(content.precision);
  index.root["particle_precision"] = word_of(content.particle_precision);
  index.root["particles"] = particles;
  index.root["levels"] = json::array();
  for (const mesh::Layout& level : content.state.levels) {
    index.root["levels"].push_back({{"domain", to_json(level.domain())}, {"boxes", level.size()}});
    index.append(std::vector<mesh::Box>(level.boxes().begin(), level.boxes().end()));
  }
}

IndexDescription take_description(IndexReader& index, const std::string& format, const std::string& path) {
  IndexDescription all;
  all.description.format = format;
  all.description.seal = Seal::kept;
  all.description.state.source = path;
  try {
    apply_metadata(index.root().at("state").dump(), index.path(), all.description);
    all.precision = precision_in(index.root().at("precision"), index);
    all.particle_precision = precision_in(index.root().at("particle_precision"), index);
    all.description.particles = index.root().at("particles").get<std::int64_t>();
    if (all.description.particles < 0 || all.description.particles > most_particles)
      index.fail("absurd number of particles");
    take_levels(index, all.description);
  } catch (const json::exception& problem) {
    index.fail(problem.what());
  }
  return all;
}

bool begins_with(const std::string& path, std::string_view magic) {
  try {
    const InputFile file(path);
    std::string begin(magic.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(begin)));
    return begin == magic;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace sidestream::io
