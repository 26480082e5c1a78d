#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "atomic_folder.hpp"
#include "checkpoint_header.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/checkpoint.hpp"
#include "turns.hpp"

namespace sidestream::io {

namespace {

constexpr std::size_t particles_a_piece = 65536;
constexpr std::int32_t particle_record = -1;

// A chunk and what it holds; gathered on the first rank, which writes the header.
struct Record {
  std::int32_t field = particle_record, box = 0;
  std::int64_t count = 0;
  Chunk chunk;
};

using Content = CheckpointContent;

void check_content(const Content& content) {
  for (const auto& [name, field] : content.fields)
    if (field == nullptr) throw core::Error(fmt::format("the field `{}` of a checkpoint is missing", name));
  for (const mesh::Particles* particles : content.particles) {
    if (particles == nullptr) throw core::Error("particles of a checkpoint are missing");
    check(*particles);
  }
}

void append(std::vector<std::byte>& buffer, const auto* values, std::size_t count) {
  const auto bytes = std::as_bytes(std::span(values, count));
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

// The owned cells of a block, (component, z, y, x).
void append_block(const mesh::Field<double>& field, int b, std::vector<std::byte>& buffer) {
  const auto view = field.view(b);
  const mesh::Box box = field.box(b);
  for (int c = 0; c < field.components(); ++c)
    core::for_each_row(
        box, [&](int k, int j) { append(buffer, &view(c, k, j, box.lo.x), static_cast<std::size_t>(box.extent().x)); });
}

void append_particles(const mesh::Particles& particles, std::size_t first, std::size_t count,
                      std::vector<std::byte>& buffer) {
  append(buffer, particles.id.data() + first, count);
  for (const auto& coordinate : particles.position) append(buffer, coordinate.data() + first, count);
  for (const auto& attribute : particles.attributes) append(buffer, attribute.values.data() + first, count);
}

std::int64_t size_bytes(const Content& content) {
  std::int64_t bytes = 0;
  for (const auto& [name, field] : content.fields)
    for (int b = 0; b < field->blocks(); ++b) bytes += field->box(b).volume() * field->components() * 8;
  for (const mesh::Particles* particles : content.particles)
    bytes += static_cast<std::int64_t>(particles->size() * (4 + particles->attributes.size()) * 8);
  return bytes;
}

// Writes the chunks of one rank behind each other.
class ChunkWriter {
 public:
  ChunkWriter(const std::string& folder, const Turn& turn)
      : turn_(turn),
        file_(checkpoint_data_file(folder, turn.file),
              turn.is_first ? OutputFile::Open::create : OutputFile::Open::append) {}

  std::vector<Record> write(const Content& content) {
    file_.reserve(size_bytes(content));
    for (std::size_t f = 0; f < content.fields.size(); ++f)
      write_field(*content.fields[f].second, static_cast<std::int32_t>(f));
    for (const mesh::Particles* particles : content.particles) write_particles(*particles);
    file_.sync_and_close();
    return std::move(records_);
  }

 private:
  void write_field(const mesh::Field<double>& field, std::int32_t number) {
    const auto boxes = field.layout().boxes_of(field.rank());
    for (int b = 0; b < field.blocks(); ++b) {
      append_block(field, b, buffer_);
      write_chunk({number, boxes[static_cast<std::size_t>(b)], 0, {}});
    }
  }

  void write_particles(const mesh::Particles& particles) {
    for (std::size_t first = 0; first < particles.size(); first += particles_a_piece) {
      const std::size_t count = std::min(particles_a_piece, particles.size() - first);
      append_particles(particles, first, count, buffer_);
      write_chunk({particle_record, 0, static_cast<std::int64_t>(count), {}});
    }
  }

  void write_chunk(Record record) {
    record.chunk = {turn_.file, file_.position(), static_cast<std::int64_t>(buffer_.size()),
                    XXH3_64bits(buffer_.data(), buffer_.size())};
    file_.write(buffer_);
    buffer_.clear();
    records_.push_back(record);
  }

  Turn turn_;
  OutputFile file_;
  std::vector<std::byte> buffer_;
  std::vector<Record> records_;
};

// What all ranks must say alike of all their particles: mass, names and units, as text.
std::string description(const mesh::Particles& particles) {
  std::string text = fmt::format("mass {:a}", particles.mass);
  for (const auto& attribute : particles.attributes) text += fmt::format("; {} [{}]", attribute.name, attribute.unit);
  return text;
}

void check_alike(const comm::Communicator& comm, const Content& content) {
  const std::string first = comm.broadcast(content.particles.empty() ? "" : description(*content.particles.front()), 0);
  std::string other = content.particles.empty() ? "" : first;
  for (const mesh::Particles* particles : content.particles)
    if (description(*particles) != first) other = description(*particles);
  comm.agree(other == first ? "" : fmt::format("the particles differ: `{}` and `{}`", first, other));
}

void check_complete(const CheckpointHeader& header) {
  for (const auto& field : header.fields)
    for (const Chunk& chunk : field.boxes)
      if (chunk.bytes == 0)
        throw core::Error(
            fmt::format("a rank that does not take part in writing the checkpoint owns boxes of `{}`", field.name));
}

CheckpointHeader header_of(const Content& content, const std::vector<Record>& records, int files) {
  CheckpointHeader header;
  header.step = content.step;
  header.attributes = content.attributes;
  header.texts = content.texts;
  header.config = content.config;
  header.file_bytes.assign(static_cast<std::size_t>(files), 0);
  for (const auto& [name, field] : content.fields)
    header.fields.push_back({name, field->components(), field->layout(),
                             std::vector<Chunk>(static_cast<std::size_t>(field->layout().size()))});
  header.particles.are_present = !content.particles.empty();
  if (!content.particles.empty()) {
    header.particles.mass = content.particles.front()->mass;
    for (const auto& attribute : content.particles.front()->attributes)
      header.particles.attributes.emplace_back(attribute.name, attribute.unit);
  }
  for (const Record& record : records) {
    auto& size = header.file_bytes[static_cast<std::size_t>(record.chunk.file)];
    size = std::max(size, record.chunk.offset + record.chunk.bytes);
    if (record.field == particle_record)
      header.particles.pieces.push_back({record.count, record.chunk});
    else
      header.fields[static_cast<std::size_t>(record.field)].boxes[static_cast<std::size_t>(record.box)] = record.chunk;
  }
  check_complete(header);
  return header;
}

}  // namespace

void write_checkpoint(const comm::Communicator& comm, const std::string& path, const CheckpointContent& content) {
  comm.agree_on([&] { check_content(content); });
  check_alike(comm, content);
  const int files = turn_of(comm.size() - 1, comm.size(), content.files).file + 1;
  write_folder_atomically(comm, path, [&](const std::string& folder) {
    std::vector<Record> own;
    take_turns(comm, content.files, [&](const Turn& turn) { own = ChunkWriter(folder, turn).write(content); });
    const std::vector<Record> records = comm.gather(std::span<const Record>(own));
    comm.agree_on([&] {
      if (comm.rank() != 0) return;
      OutputFile file(checkpoint_header_file(folder), OutputFile::Open::create);
      file.write(to_bytes(header_of(content, records, files)));
      file.sync_and_close();
      sync_folder(folder);
    });
  });
}

}  // namespace sidestream::io
