#include "checkpoint_header.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "block_copy.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

using nlohmann::json;

namespace {

constexpr const char* magic = "sidestream-checkpoint";
constexpr int format_version = 2;
constexpr std::int64_t most_boxes = std::int64_t{1} << 31;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw core::Error(fmt::format("the header of the checkpoint is damaged: {}", what), path,
                    "use an earlier checkpoint");
}

// JSON has no infinities; finite doubles are written with as many digits as bring them back bit for bit.
json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_from_json(const json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

json box_to_json(const mesh::Box& box) {
  return {box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
}

mesh::Box box_from_json(const json& value) {
  return {{value.at(0), value.at(1), value.at(2)}, {value.at(3), value.at(4), value.at(5)}};
}

// A chunk as it stands in a table.
struct ChunkRecord {
  std::int64_t file, offset, bytes;
  std::uint64_t checksum;
};
struct PieceRecord {
  std::int64_t count;
  ChunkRecord chunk;
};
static_assert(sizeof(mesh::Box) == 24 && sizeof(ChunkRecord) == 32 && sizeof(PieceRecord) == 40);

ChunkRecord record_of(const Chunk& chunk) {
  return {chunk.file, chunk.offset, chunk.bytes, chunk.checksum};
}

template <typename T>
void append(std::string& tables, const T& row) {
  const std::size_t end = tables.size();
  tables.resize(end + sizeof row);
  std::memcpy(tables.data() + end, &row, sizeof row);
}

// The tables one after another, as the text before them tells.
class Tables {
 public:
  Tables(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <typename T>
  std::vector<T> take(std::int64_t rows) {
    const auto size = static_cast<std::uint64_t>(rows) * sizeof(T);
    if (rows < 0 || rows > most_boxes || size > bytes_.size()) damaged(path_, "a table is cut short");
    std::vector<T> table(static_cast<std::size_t>(rows));
    if (rows > 0) std::memcpy(table.data(), bytes_.data(), size);
    bytes_.remove_prefix(size);
    return table;
  }
  void expect_end() const {
    if (!bytes_.empty()) damaged(path_, "there is something behind the last table");
  }

 private:
  std::string_view bytes_;
  const std::string& path_;
};

json layout_to_json(const mesh::Layout& layout) {
  return {{"domain", box_to_json(layout.domain())},
          {"periodic", layout.periodic()},
          {"level", layout.level()},
          {"boxes", layout.size()}};
}

mesh::Layout read_layout(const json& value, Tables& tables, const std::string& path) {
  std::vector<mesh::Box> boxes = tables.take<mesh::Box>(value.at("boxes").get<std::int64_t>());
  const mesh::Box domain = box_from_json(value.at("domain"));
  if (const std::string fault = fault_of_boxes(domain, boxes); !fault.empty()) damaged(path, fault);
  std::vector<std::int32_t> owners(boxes.size(), 0);
  return {domain, value.at("periodic").get<mesh::Periodicity>(), std::move(boxes), std::move(owners),
          value.at("level")};
}

// The fields' layouts, each once.
std::vector<mesh::Layout> distinct_layouts(const CheckpointHeader& header) {
  std::vector<mesh::Layout> layouts;
  for (const auto& field : header.fields)
    if (std::find(layouts.begin(), layouts.end(), field.layout) == layouts.end()) layouts.push_back(field.layout);
  return layouts;
}

json fields_to_json(const CheckpointHeader& header, const std::vector<mesh::Layout>& layouts) {
  json fields = json::array();
  for (const auto& field : header.fields)
    fields.push_back({{"name", field.name},
                      {"components", field.components},
                      {"layout", std::find(layouts.begin(), layouts.end(), field.layout) - layouts.begin()}});
  return fields;
}

json particles_to_json(const CheckpointHeader& header) {
  const CheckpointHeader::Particles& particles = header.particles;
  json attributes = json::array();
  for (const auto& [name, unit] : particles.attributes) attributes.push_back({name, unit});
  return {{"mass", number_to_json(particles.mass)},
          {"attributes", attributes},
          {"count", header.particle_count()},
          {"pieces", particles.pieces.size()}};
}

// The boxes of each layout, the chunks of each field in the order of its boxes, the pieces of the particles.
std::string tables_of(const CheckpointHeader& header, const std::vector<mesh::Layout>& layouts) {
  std::string tables;
  for (const mesh::Layout& layout : layouts)
    for (const mesh::Box& box : layout.boxes()) append(tables, box);
  for (const auto& field : header.fields)
    for (const Chunk& chunk : field.boxes) append(tables, record_of(chunk));
  for (const auto& piece : header.particles.pieces) append(tables, PieceRecord{piece.count, record_of(piece.chunk)});
  return tables;
}

// The chunk of `record`, which should have so many `bytes`.
Chunk checked_chunk(const ChunkRecord& record, std::int64_t bytes, const CheckpointHeader& header,
                    const std::string& path) {
  const bool fits = 0 <= record.file && record.file < static_cast<std::int64_t>(header.file_bytes.size()) &&
                    record.offset >= 0 && record.bytes == bytes &&
                    record.offset <= header.file_bytes[static_cast<std::size_t>(record.file)] - bytes;
  if (!fits) damaged(path, "a piece of data lies outside its file");
  return {static_cast<std::int32_t>(record.file), record.offset, record.bytes, record.checksum};
}

void read_fields(const json& root, Tables& tables, CheckpointHeader& header, const std::string& path) {
  std::vector<mesh::Layout> layouts;
  for (const json& layout : root.at("layouts")) layouts.push_back(read_layout(layout, tables, path));
  for (const json& entry : root.at("fields")) {
    CheckpointHeader::Field field{
        entry.at("name"), entry.at("components"), layouts.at(entry.at("layout").get<std::size_t>()), {}};
    if (field.components < 1 || field.components > 65536) damaged(path, "absurd number of components");
    const auto records = tables.take<ChunkRecord>(field.layout.size());
    field.boxes.reserve(records.size());
    for (std::int32_t i = 0; i < field.layout.size(); ++i)
      field.boxes.push_back(checked_chunk(records[static_cast<std::size_t>(i)],
                                          field.layout.box(i).volume() * field.components * 8, header, path));
    header.fields.push_back(std::move(field));
  }
}

void read_particles(const json& root, Tables& tables, CheckpointHeader& header, const std::string& path) {
  CheckpointHeader::Particles& particles = header.particles;
  particles.are_present = true;
  particles.mass = number_from_json(root.at("mass"));
  for (const json& attribute : root.at("attributes"))
    particles.attributes.emplace_back(attribute.at(0), attribute.at(1));
  for (const PieceRecord& piece : tables.take<PieceRecord>(root.at("pieces").get<std::int64_t>())) {
    if (piece.count < 0 || piece.count > (std::int64_t{1} << 40)) damaged(path, "absurd number of particles");
    particles.pieces.push_back(
        {piece.count, checked_chunk(piece.chunk, piece.count * header.particle_bytes(), header, path)});
  }
}

// What is behind the first line, once its checksum has been found right.
std::string_view checked_body(const std::string& text, const std::string& path) {
  const auto end = text.find('\n');
  const std::string first = text.substr(0, std::min(end, std::size_t{200}));
  if (!first.starts_with(magic)) damaged(path, "it does not begin like one");
  if (end == std::string::npos) damaged(path, "it is cut short");
  const std::string_view body = std::string_view(text).substr(end + 1);
  const std::string begin = fmt::format("{} {} ", magic, format_version);
  if (!first.starts_with(begin))
    throw core::Error(fmt::format("the checkpoint is of another version: `{}`", first), path,
                      "read it with the version that wrote it");
  if (first != fmt::format("{}{:016x}", begin, XXH3_64bits(body.data(), body.size())))
    damaged(path, "its checksum is wrong");
  return body;
}

}  // namespace

std::int64_t CheckpointHeader::particle_count() const {
  std::int64_t count = 0;
  for (const auto& piece : particles.pieces) count += piece.count;
  return count;
}

std::vector<Chunk> CheckpointHeader::chunks() const {
  std::vector<Chunk> all;
  for (const auto& field : fields) all.insert(all.end(), field.boxes.begin(), field.boxes.end());
  for (const auto& piece : particles.pieces) all.push_back(piece.chunk);
  return all;
}

std::string to_bytes(const CheckpointHeader& header) {
  const std::vector<mesh::Layout> layouts = distinct_layouts(header);
  json root = {
      {"step", header.step}, {"texts", header.texts}, {"config", header.config}, {"file_bytes", header.file_bytes}};
  root["attributes"] = json::object();
  for (const auto& [name, value] : header.attributes) root["attributes"][name] = number_to_json(value);
  root["layouts"] = json::array();
  for (const auto& layout : layouts) root["layouts"].push_back(layout_to_json(layout));
  root["fields"] = fields_to_json(header, layouts);
  if (header.particles.are_present) root["particles"] = particles_to_json(header);
  const std::string body = root.dump() + "\n" + tables_of(header, layouts);
  return fmt::format("{} {} {:016x}\n", magic, format_version, XXH3_64bits(body.data(), body.size())) + body;
}

CheckpointHeader parse_checkpoint_header(const std::string& bytes, const std::string& path) {
  const std::string_view body = checked_body(bytes, path);
  try {
    const std::size_t end = std::min(body.find('\n'), body.size() - 1);
    const json root = json::parse(body.substr(0, end));
    Tables tables(body.substr(end + 1), path);
    CheckpointHeader header;
    header.step = root.at("step");
    header.texts = root.at("texts").get<std::map<std::string, std::string>>();
    header.config = root.at("config");
    header.file_bytes = root.at("file_bytes").get<std::vector<std::int64_t>>();
    for (const auto& [name, value] : root.at("attributes").items()) header.attributes[name] = number_from_json(value);
    read_fields(root, tables, header, path);
    if (root.contains("particles")) read_particles(root.at("particles"), tables, header, path);
    tables.expect_end();
    return header;
  } catch (const json::exception& problem) {
    damaged(path, problem.what());
  } catch (const std::out_of_range&) {
    damaged(path, "a field has an unknown layout");
  }
}

std::string checkpoint_header_file(const std::string& checkpoint) {
  return checkpoint + "/Header";
}

std::string checkpoint_data_file(const std::string& checkpoint, std::int32_t file) {
  return fmt::format("{}/data_{:05}", checkpoint, file);
}

void check_data_files(const CheckpointHeader& header, const std::string& checkpoint) {
  for (std::size_t i = 0; i < header.file_bytes.size(); ++i) {
    const InputFile file(checkpoint_data_file(checkpoint, static_cast<std::int32_t>(i)));
    if (file.size_bytes() != header.file_bytes[i])
      throw core::Error(fmt::format("the file has {} bytes instead of {}", file.size_bytes(), header.file_bytes[i]),
                        file.path(), "use an earlier checkpoint");
  }
}

}  // namespace sidestream::io
