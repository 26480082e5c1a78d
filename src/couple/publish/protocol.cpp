#include "couple/publish/protocol.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "couple/publish/understood.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

void refuse_message(const std::string& what) {
  throw core::Error("a message between ranks is damaged: " + what, "",
                    "all ranks have to run the same program; the network or the memory may be at fault");
}

namespace {

void expect(bool is_sound, const char* what) {
  if (!is_sound) refuse_message(what);
}

// Whether a message is as `packed` writes them, as far as its structure goes: not nested deeper than any of ours, and
// without texts and lists of unknown length, each of which may lie in another. The library would follow such by calls
// of functions, and take more stack than there is. (RFC 8949, section 3)
class Structure {
 public:
  explicit Structure(std::string_view bytes) : rest_(bytes) {}

  bool is_of_ours() {
    std::array<std::uint64_t, deepest> left{1};  // items of each list that it is in
    for (std::size_t depth = 1; depth > 0;) {
      if (left[depth - 1] == 0) {
        --depth;
        continue;
      }
      --left[depth - 1];
      const std::optional<std::uint64_t> items = next();
      if (!items) return is_cut_;
      if (*items == 0) continue;
      if (depth == deepest) return false;
      left[depth++] = *items;
    }
    return true;
  }

 private:
  static constexpr std::size_t deepest = 17;
  enum Kind : unsigned { bytes_of = 2, text = 3, list = 4, object = 5, tag = 6, other = 7 };

  // Goes past the head of an item, and the bytes of a text; returns how many items it holds.
  std::optional<std::uint64_t> next() {
    if (rest_.empty()) return cut();
    const auto head = static_cast<unsigned char>(rest_.front());
    const unsigned kind = head >> 5, size = head & 31;
    rest_.remove_prefix(1);
    if (size > 27 || kind == tag) return std::nullopt;
    const std::size_t length = size < 24 ? 0 : std::size_t{1} << (size - 24);
    if (rest_.size() < length) return cut();
    std::uint64_t number = size;
    if (length > 0) number = 0;
    for (std::size_t i = 0; i < length; ++i) number = number << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(length);
    if (kind == list) return number;
    if (kind == object) return number > rest_.size() ? cut() : std::optional(2 * number);
    if (kind != bytes_of && kind != text) return 0;
    if (number > rest_.size()) return cut();
    rest_.remove_prefix(static_cast<std::size_t>(number));
    return 0;
  }

  // The library says where.
  std::optional<std::uint64_t> cut() {
    is_cut_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  bool is_cut_ = false;
};

template <typename T>
json binary(std::span<const T> values) {
  std::vector<std::uint8_t> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return json::binary(std::move(bytes));
}

template <typename T>
std::vector<T> values_of(const json& message) {
  const auto& bytes = message.get_binary();
  expect(bytes.size() % sizeof(T) == 0, "a table is cut short");
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

json corners(const mesh::Box& box) {
  return binary(std::span<const mesh::Box>(&box, 1));
}
mesh::Box box_from(const json& message) {
  const std::vector<mesh::Box> boxes = values_of<mesh::Box>(message);
  expect(boxes.size() == 1, "one box was expected");
  return boxes.front();
}

void check_boxes(const mesh::Box& domain, const std::vector<mesh::Box>& boxes) {
  constexpr std::int32_t farthest = 1 << 28;
  double cells = 1.0, left = 1.0;
  for (int axis = 0; axis < 3; ++axis) {
    expect(-farthest <= domain.lo[axis] && domain.lo[axis] < domain.hi[axis] && domain.hi[axis] <= farthest,
           "a domain is empty or absurdly large");
    cells *= domain.hi[axis] - domain.lo[axis];
  }
  expect(cells < 0x1p60, "a domain is absurdly large");
  left = cells;
  for (const mesh::Box& box : boxes) {
    expect(!box.is_empty() && domain.contains(box), "a box is empty or leaves the domain");
    left -= static_cast<double>(box.volume());
    expect(left >= 0.0, "boxes overlap");
  }
}

json labels(const std::vector<FieldLabel>& all) {
  json message = json::array();
  for (const FieldLabel& label : all) message.push_back({label.name, label.unit});
  return message;
}
std::vector<FieldLabel> labels_from(const json& message) {
  std::vector<FieldLabel> all;
  for (const json& label : message) all.push_back({label.at(0).get<std::string>(), label.at(1).get<std::string>()});
  return all;
}

}  // namespace

json to_message(const ParticleLabel& particles) {
  return {{"species", particles.species},
          {"count", particles.count},
          {"mass", particles.mass},
          {"attributes", labels(particles.attributes)}};
}

ParticleLabel particle_label_from(const json& message) {
  return understood([&] {
    ParticleLabel label{message.at("species"), message.at("count"), message.at("mass"),
                        labels_from(message.at("attributes"))};
    expect(label.count >= 0, "a number of particles is negative");
    return label;
  });
}

json to_message(const mesh::Layout& layout) {
  return {{"domain", corners(layout.domain())},
          {"periodic", layout.periodic()},
          {"level", layout.level()},
          {"boxes", binary(layout.boxes())},
          {"owners", binary(layout.owners())}};
}

mesh::Layout layout_from(const json& message, int ranks) {
  return understood([&] {
    const mesh::Box domain = box_from(message.at("domain"));
    std::vector<mesh::Box> boxes = values_of<mesh::Box>(message.at("boxes"));
    std::vector<std::int32_t> owners = values_of<std::int32_t>(message.at("owners"));
    check_boxes(domain, boxes);
    expect(boxes.size() == owners.size(), "there is not one owner for each box");
    expect(std::ranges::all_of(owners, [&](std::int32_t owner) { return 0 <= owner && owner < ranks; }),
           "the owner of a box is none of the ranks");
    return mesh::Layout(domain, message.at("periodic").get<mesh::Periodicity>(), std::move(boxes), std::move(owners),
                        message.at("level").get<int>());
  });
}

json to_message(std::span<const mesh::Layout> levels, std::span<const mesh::Layout> known) {
  json message = json::array();
  for (std::size_t level = 0; level < levels.size(); ++level)
    message.push_back(level < known.size() && known[level] == levels[level] ? json() : to_message(levels[level]));
  return message;
}

std::vector<mesh::Layout> levels_from(const json& message, std::vector<mesh::Layout> known, int ranks) {
  expect(message.is_array(), "a list of levels was expected");
  const std::size_t before = known.size();
  known.resize(message.size());
  for (std::size_t level = 0; level < message.size(); ++level) {
    expect(level < before || !message[level].is_null(), "a level is missing");
    if (!message[level].is_null()) known[level] = layout_from(message[level], ranks);
  }
  return known;
}

namespace {

json to_message(const FileOrder& order) {
  const std::span<const char> rest(order.rest);
  return {{"file", order.file}, {"path", order.path}, {"rest", binary(rest)}, {"bytes", order.bytes}};
}

FileOrder file_order_from(const json& message) {
  const std::vector<char> rest = values_of<char>(message.at("rest"));
  return {message.at("file"), message.at("path"), {rest.begin(), rest.end()}, message.at("bytes")};
}

}  // namespace

json to_message(const Announcement& announcement, const mesh::Snapshot& snapshot) {
  const mesh::Geometry& geometry = snapshot.geometry;
  json particles = json::array();
  for (const ParticleLabel& label : announcement.particles) particles.push_back(to_message(label));
  return {{"number", announcement.number},
          {"tasks", announcement.tasks},
          {"fields", labels(announcement.fields)},
          {"particles", std::move(particles)},
          {"bytes", announcement.bytes},
          {"first_step", announcement.first_step},
          {"flows", binary(std::span<const ParticleFlow>(announcement.flows))},
          {"file", announcement.file ? to_message(*announcement.file) : json()},
          {"step", snapshot.moment.step},
          {"time", snapshot.moment.time},
          {"attributes", snapshot.moment.attributes},
          {"words", snapshot.moment.words},
          {"scale_factor", snapshot.moment.scale_factor ? json(*snapshot.moment.scale_factor) : json()},
          {"length_unit", snapshot.length_unit},
          {"gamma", snapshot.gamma},
          {"geometry",
           {{"domain", corners(geometry.domain)}, {"length", geometry.length}, {"periodic", geometry.periodic}}}};
}

Announcement announcement_from(const json& message, std::size_t tasks, std::size_t files) {
  return understood([&] {
    Announcement announcement;
    message.at("number").get_to(announcement.number);
    message.at("tasks").get_to(announcement.tasks);
    message.at("bytes").get_to(announcement.bytes);
    message.at("first_step").get_to(announcement.first_step);
    announcement.flows = values_of<ParticleFlow>(message.at("flows"));
    announcement.fields = labels_from(message.at("fields"));
    if (const json& file = message.at("file"); !file.is_null()) announcement.file = file_order_from(file);
    for (const json& label : message.at("particles")) announcement.particles.push_back(particle_label_from(label));
    expect(announcement.number >= 0, "the number of a publish is negative");
    expect(announcement.bytes.size() == announcement.tasks.size(), "there are not bytes for each task");
    expect(std::ranges::all_of(announcement.tasks, [&](std::size_t task) { return task < tasks; }),
           "there is no such task");
    expect(!announcement.file || announcement.file->file < files, "there is no such file");
    expect(std::ranges::all_of(announcement.flows, [](const ParticleFlow& flow) { return flow.words >= 0; }),
           "a number of words is negative");
    return announcement;
  });
}

mesh::Snapshot snapshot_from(const json& message) {
  return understood([&] {
    mesh::Snapshot snapshot;
    message.at("step").get_to(snapshot.moment.step);
    message.at("time").get_to(snapshot.moment.time);
    message.at("attributes").get_to(snapshot.moment.attributes);
    message.at("words").get_to(snapshot.moment.words);
    if (const json& scale_factor = message.at("scale_factor"); !scale_factor.is_null())
      snapshot.moment.scale_factor = scale_factor.get<double>();
    message.at("length_unit").get_to(snapshot.length_unit);
    message.at("gamma").get_to(snapshot.gamma);
    const json& geometry = message.at("geometry");
    snapshot.geometry.domain = box_from(geometry.at("domain"));
    geometry.at("length").get_to(snapshot.geometry.length);
    geometry.at("periodic").get_to(snapshot.geometry.periodic);
    return snapshot;
  });
}

std::string packed(const json& message) {
  std::string bytes;
  json::to_cbor(message, bytes);
  return bytes;
}

json unpacked(std::string_view bytes) {
  return understood([&] {
    if (!Structure(bytes).is_of_ours()) refuse_message("it is nested too deeply, or has parts of unknown length");
    return json::from_cbor(bytes);
  });
}

std::int64_t total_bytes(const Announcement& announcement) {
  const std::int64_t of_file = announcement.file ? announcement.file->bytes : 0;
  return std::accumulate(announcement.bytes.begin(), announcement.bytes.end(), of_file);
}

mesh::Layout dealt(const mesh::Layout& layout, int ranks) {
  std::int64_t total = 0, before = 0;
  for (const mesh::Box& box : layout.boxes()) total += box.volume();
  std::vector<std::int32_t> owners;
  for (const mesh::Box& box : layout.boxes()) {
    const double middle = static_cast<double>(before) + 0.5 * static_cast<double>(box.volume());
    owners.push_back(std::min(ranks - 1, static_cast<std::int32_t>(middle * ranks / static_cast<double>(total))));
    before += box.volume();
  }
  return {layout.domain(),
          layout.periodic(),
          {layout.boxes().begin(), layout.boxes().end()},
          std::move(owners),
          layout.level()};
}

std::vector<mesh::Layout> dealt(std::span<const mesh::Layout> levels, int ranks) {
  std::vector<mesh::Layout> all;
  for (const mesh::Layout& layout : levels) all.push_back(dealt(layout, ranks));
  return all;
}

}  // namespace sidestream::couple
