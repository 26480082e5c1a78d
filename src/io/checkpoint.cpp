#include "sidestream/io/checkpoint.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "block_copy.hpp"
#include "checkpoint_header.hpp"
#include "named_entry.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

// Reads chunks and verifies their checksums; keeps the data file of the last one open.
class ChunkReader {
 public:
  explicit ChunkReader(const std::string& checkpoint) : checkpoint_(checkpoint) {}

  std::vector<std::byte> read(const Chunk& chunk, const std::string& what) {
    if (!file_ || number_ != chunk.file) file_.emplace(checkpoint_data_file(checkpoint_, chunk.file));
    number_ = chunk.file;
    auto bytes = file_->bytes(chunk.offset, chunk.bytes);
    if (XXH3_64bits(bytes.data(), bytes.size()) != chunk.checksum)
      throw core::Error(fmt::format("the checksum of {} is wrong: the data are damaged", what),
                        fmt::format("{}, offset {}", file_->path(), chunk.offset), "use an earlier checkpoint");
    return bytes;
  }

 private:
  std::string checkpoint_;
  std::optional<InputFile> file_;
  std::int32_t number_ = -1;
};

std::string box_name(const CheckpointHeader::Field& field, std::int32_t index) {
  return fmt::format("field `{}`, box {}", field.name, to_string(field.layout.box(index)));
}

const CheckpointHeader::Field& find_field(const CheckpointHeader& header, const std::string& name,
                                          const std::string& path) {
  std::string known;
  for (const auto& field : header.fields) {
    if (field.name == name) return field;
    known += (known.empty() ? "" : ", ") + field.name;
  }
  throw core::Error(fmt::format("the checkpoint has no field `{}`", name), path, fmt::format("it has: {}", known));
}

CheckpointHeader read_header(const std::string& path) {
  const std::string file = checkpoint_header_file(path);
  return parse_checkpoint_header(read_text(file), file);
}

std::unique_ptr<const CheckpointHeader> open_together(const comm::Communicator& comm, const std::string& path) {
  const std::string file = checkpoint_header_file(path);
  std::string bytes;
  CheckpointHeader header;
  comm.agree_on([&] {
    if (comm.rank() != 0) return;
    bytes = read_text(file);
    header = parse_checkpoint_header(bytes, file);
    check_data_files(header, path);
  });
  bytes = comm.broadcast(std::move(bytes));
  if (comm.rank() != 0) header = parse_checkpoint_header(bytes, file);
  return std::make_unique<const CheckpointHeader>(std::move(header));
}

// The particles of a piece, appended to those there are.
void append_piece(const std::vector<std::byte>& bytes, std::size_t count, mesh::Particles& particles) {
  const std::size_t before = particles.size();
  particles.resize(before + count);
  const std::byte* from = bytes.data();
  const auto take = [&](auto& values) {
    if (count > 0) std::memcpy(values.data() + before, from, count * 8);
    from += count * 8;
  };
  take(particles.id);
  for (auto& coordinate : particles.position) take(coordinate);
  for (auto& attribute : particles.attributes) take(attribute.values);
}

// Numbers [begin, end) of `total` things for one rank of all.
std::pair<std::size_t, std::size_t> share(std::size_t total, const comm::Communicator& comm) {
  const auto rank = static_cast<std::size_t>(comm.rank()), ranks = static_cast<std::size_t>(comm.size());
  return {total * rank / ranks, total * (rank + 1) / ranks};
}

}  // namespace

Checkpoint::Checkpoint(const comm::Communicator& comm, const std::string& path)
    : comm_(&comm), path_(path), header_(open_together(comm, path)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

std::int64_t Checkpoint::step() const {
  return header_->step;
}
const std::map<std::string, double>& Checkpoint::attributes() const {
  return header_->attributes;
}
const std::map<std::string, std::string>& Checkpoint::texts() const {
  return header_->texts;
}
const std::string& Checkpoint::config() const {
  return header_->config;
}

double Checkpoint::attribute(const std::string& name) const {
  const auto found = header_->attributes.find(name);
  if (found != header_->attributes.end()) return found->second;
  std::string known;
  for (const auto& [key, value] : header_->attributes) known += (known.empty() ? "" : ", ") + key;
  throw core::Error(fmt::format("the checkpoint has no attribute `{}`", name), path_, fmt::format("it has: {}", known));
}

std::vector<std::string> Checkpoint::fields() const {
  std::vector<std::string> names;
  for (const auto& field : header_->fields) names.push_back(field.name);
  return names;
}

bool Checkpoint::has_field(const std::string& name) const {
  return std::any_of(header_->fields.begin(), header_->fields.end(),
                     [&](const auto& field) { return field.name == name; });
}

const mesh::Layout& Checkpoint::layout(const std::string& field) const {
  return find_field(*header_, field, path_).layout;
}
int Checkpoint::components(const std::string& field) const {
  return find_field(*header_, field, path_).components;
}

void Checkpoint::read_field(const std::string& name, mesh::Field<double>& into) const {
  comm_->agree_on([&] {
    const CheckpointHeader::Field& field = find_field(*header_, name, path_);
    check_domain(field.layout.domain(), into.layout().domain(), path_);
    if (field.components != into.components())
      throw core::Error(
          fmt::format("the field `{}` has {} components, not {}", name, field.components, into.components()), path_);
    ChunkReader reader(path_);
    std::int64_t copied = 0;
    for (const std::int32_t index : boxes_needed(field.layout, into)) {
      const auto bytes = reader.read(field.boxes[static_cast<std::size_t>(index)], box_name(field, index));
      std::vector<double> cells(bytes.size() / sizeof(double));
      std::memcpy(cells.data(), bytes.data(), bytes.size());
      copied += copy_box(field.layout.box(index), cells.data(), into);
    }
    check_covered(copied, into, path_);
  });
}

bool Checkpoint::has_particles() const {
  return header_->particles.are_present;
}
std::int64_t Checkpoint::particle_count() const {
  return header_->particle_count();
}

mesh::Particles Checkpoint::read_particles() const {
  mesh::Particles particles;
  comm_->agree_on([&] {
    const auto& table = header_->particles;
    if (!table.are_present) throw core::Error("the checkpoint has no particles", path_);
    particles.mass = table.mass;
    for (const auto& [name, unit] : table.attributes) particles.attributes.push_back({name, unit, {}});
    ChunkReader reader(path_);
    const auto [begin, end] = share(table.pieces.size(), *comm_);
    for (std::size_t i = begin; i < end; ++i) {
      const auto& piece = table.pieces[i];
      append_piece(reader.read(piece.chunk, fmt::format("piece {} of the particles", i)),
                   static_cast<std::size_t>(piece.count), particles);
    }
  });
  return particles;
}

void Checkpoint::verify() const {
  comm_->agree_on([&] {
    ChunkReader reader(path_);
    std::size_t number = 0;
    std::size_t total = header_->particles.pieces.size();
    for (const auto& field : header_->fields) total += field.boxes.size();
    const auto [begin, end] = share(total, *comm_);
    const auto is_mine = [&, b = begin, e = end] { return b <= number && number < e; };
    for (const auto& field : header_->fields)
      for (std::int32_t i = 0; i < field.layout.size(); ++i, ++number)
        if (is_mine()) reader.read(field.boxes[static_cast<std::size_t>(i)], box_name(field, i));
    for (std::size_t i = 0; i < header_->particles.pieces.size(); ++i, ++number)
      if (is_mine()) reader.read(header_->particles.pieces[i].chunk, fmt::format("piece {} of the particles", i));
  });
}

// --- generations
// ----------------------------------------------------------------------------------------------------------------

namespace {

// The number in `chk00042`, or -1.
std::int64_t generation_of(const std::string& name) {
  if (!name.starts_with("chk") || name.size() < 4 || name.size() > 20) return -1;
  if (!std::all_of(name.begin() + 3, name.end(), [](char c) { return '0' <= c && c <= '9'; })) return -1;
  return std::stoll(name.substr(3));
}

bool is_leftover(const std::string& name) {
  return name.starts_with(".chk") && (name.ends_with(".tmp") || name.ends_with(".tmp.old"));
}

template <typename F>
void for_each_name(const std::string& folder, F f) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    f(entry->path().filename().string());
}

// Newest first.
std::vector<std::string> generations(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for_each_name(folder, [&](const std::string& name) {
    if (generation_of(name) >= 0) found.emplace_back(generation_of(name), folder + "/" + name);
  });
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

bool is_complete(const std::string& path) {
  try {
    check_data_files(read_header(path), path);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

FoundCheckpoint find_newest_checkpoint(const comm::Communicator& comm, const std::string& folder) {
  std::string names;
  if (comm.rank() == 0) names = fmt::format("{}", fmt::join(generations(folder), "\n"));
  names = comm.broadcast(names);
  FoundCheckpoint found;
  while (!names.empty()) {
    const std::string path = names.substr(0, names.find('\n'));
    names.erase(0, std::min(names.size(), path.size() + 1));
    try {
      Checkpoint(comm, path).verify();
      found.path = path;
      return found;
    } catch (const core::Error& error) {
      found.skipped.push_back(fmt::format("{} is skipped: {} ({})", path, error.message(), error.where()));
    }
  }
  return found;
}

void remove_old_checkpoints(const std::string& folder, int keep) {
  core::require(keep >= 1, "at least one checkpoint is kept");
  int kept = 0;
  for (const std::string& path : generations(folder)) {
    if (kept < keep) {
      kept += is_complete(path) ? 1 : 0;
      continue;
    }
    // Under another name first, so that one that is half gone is never taken for a checkpoint.
    move_folder_into_place(path, temporary_name(path));
  }
  std::vector<std::string> leftovers;
  for_each_name(folder, [&](const std::string& name) {
    if (is_leftover(name)) leftovers.push_back(folder + "/" + name);
  });
  for (const std::string& path : leftovers) remove_all(path);
}

std::span<const CheckpointFormat> checkpoint_formats() {
  static const std::vector<CheckpointFormat> formats = {
      {"sidestream", "a folder with a header and data files, every block with a checksum", write_checkpoint},
  };
  return formats;
}

const CheckpointFormat& checkpoint_format(std::string_view name) {
  return entry_named(checkpoint_formats(), name, "format of checkpoints");
}

}  // namespace sidestream::io
