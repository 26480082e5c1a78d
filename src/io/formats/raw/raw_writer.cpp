#include <nlohmann/json.hpp>
// One file: an index, then arrays at multiples of 4096 bytes: of each level one a variable, whose runs are the boxes
// in the order of the layout, then the particles.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/content/pack_block.hpp"
#include "io/content/particle_pieces.hpp"
#include "io/formats/format_entries.hpp"
#include "io/formats/index_text.hpp"
#include "io/formats/raw/raw_file.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

using comm::Communicator;
using mesh::Layout;

ElementType type_of(Precision precision) {
  return precision == Precision::double_precision ? ElementType::float64 : ElementType::float32;
}

// The most cells that all boxes of a level are a multiple of without leaving whole planes of one box apart: a row.
std::int64_t cells_a_row(const Layout& layout) {
  std::int64_t cells = 0;
  for (const mesh::Box& box : layout.boxes()) cells = std::gcd(cells, std::int64_t{box.extent().x} * box.extent().y);
  return cells;
}

ArrayGroup cells_of(const FileContent& content, std::size_t level, int rank) {
  const Layout& layout = content.state.levels[level];
  const std::int64_t cells = cells_a_row(layout);
  ArrayGroup group;
  group.run_total = layout.size();
  std::vector<std::int64_t> firsts;
  for (const mesh::Box& box : layout.boxes()) {
    firsts.push_back(group.rows);
    group.rows += box.volume() / cells;
  }
  for (const std::int32_t box : layout.boxes_of(rank))
    group.runs.push_back({box, firsts[static_cast<std::size_t>(box)], layout.box(box).volume() / cells});
  bool is_in_place = content.precision == Precision::double_precision;
  for (const mesh::Quantity& field : content.fields()) {
    group.arrays.push_back({raw_name(level, field.name), type_of(content.precision), {cells}});
    const mesh::Snapshot::Stored& stored = content.state.stored(field.name);
    is_in_place = is_in_place && !stored.levels.empty() && stored.factor == 1.0;
    if (is_in_place) group.in_place.push_back({stored.levels[level], {stored.component}});
  }
  if (!is_in_place) group.in_place.clear();
  group.pack = [&content, level, own = layout.boxes_of(rank)](std::size_t array, std::size_t run,
                                                              std::span<std::byte> out) {
    pack_block(content, content.fields()[array].name, level, content.state.levels[level].box(own[run]), out.data());
  };
  group.checksums = raw_name(level, raw_checksums);
  group.compression = content.compression;
  group.form = [&layout, type = type_of(content.precision)](std::int64_t box) {
    return form_of(layout.box(static_cast<std::int32_t>(box)).extent(), type);
  };
  return group;
}

// The particles of all ranks, in the order of the ranks.
class RawParticles {
 public:
  RawParticles(const Communicator& comm, const FileContent& content)
      : content_(content), pieces_(particle_pieces(content)) {
    std::vector<std::int64_t> own;
    for (const ParticlePiece& piece : pieces_) own.push_back(static_cast<std::int64_t>(piece.count));
    counts_ = comm.gather(std::span<const std::int64_t>(own));
    const auto sum = [](const std::vector<std::int64_t>& counts) {
      return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    };
    std::int64_t first = 0, number = 0;
    const auto here = static_cast<std::size_t>(comm.rank());
    const std::vector<std::int64_t> totals = comm.all_gather(sum(own)), runs = comm.all_gather(std::ssize(own));
    for (std::size_t rank = 0; rank < here; ++rank) {
      first += totals[rank];
      number += runs[rank];
    }
    total_ = sum(totals);
    run_total_ = sum(runs);
    for (const std::int64_t count : own) {
      runs_.push_back({number++, first, count});
      first += count;
    }
  }

  std::int64_t total() const { return total_; }
  /// Of the pieces of all ranks; on the first rank.
  const std::vector<std::int64_t>& counts() const { return counts_; }

  void append_groups(std::vector<ArrayGroup>& groups) const {
    if (total_ == 0) return;
    ArrayGroup ids = group(raw_id_checksums), numbers = group(raw_number_checksums);
    ids.arrays = {{raw_ids, ElementType::int64, {}}};
    ids.pack = [this](std::size_t, std::size_t run, std::span<std::byte> out) {
      pack_ids(content_, pieces_[run], out.data());
    };
    for (std::size_t number = 0; number < particle_numbers(content_); ++number)
      numbers.arrays.push_back({raw_number_name(number), type_of(content_.particle_precision), {}});
    numbers.pack = [this](std::size_t array, std::size_t run, std::span<std::byte> out) {
      pack_numbers(content_, pieces_[run], array, out.data());
    };
    groups.push_back(std::move(ids));
    groups.push_back(std::move(numbers));
  }

 private:
  ArrayGroup group(const char* checksums) const {
    ArrayGroup group;
    group.rows = total_;
    group.run_total = run_total_;
    group.runs = runs_;
    group.checksums = checksums;
    return group;
  }

  const FileContent& content_;
  std::vector<ParticlePiece> pieces_;
  std::vector<std::int64_t> counts_;
  std::vector<RowRun> runs_;
  std::int64_t total_ = 0, run_total_ = 0;
};

std::int64_t aligned(std::int64_t offset) {
  constexpr std::int64_t boundary = 4096;
  return (offset + boundary - 1) / boundary * boundary;
}

std::string_view word_of(ElementType type) {
  constexpr std::string_view words[] = {"float32", "float64", "int32", "int64"};
  return words[static_cast<std::size_t>(type)];
}

// Offsets in the index count from its end, the place of the record. Of arrays in chunks the tables have the bytes of
// each.
std::vector<std::int64_t> create_raw_file(const std::string& path, Index index, std::span<const Array> arrays,
                                          std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> offsets;
  std::int64_t end = 0;
  index.root["arrays"] = nlohmann::json::array();
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    offsets.push_back(aligned(end));
    end = offsets.back() + rows[a] * arrays[a].row_bytes();
    index.root["arrays"].push_back({{"name", arrays[a].name},
                                    {"type", word_of(arrays[a].type)},
                                    {"elements", rows[a] * arrays[a].row_elements()},
                                    {"offset", offsets.back()}});
    if (!arrays[a].chunks) continue;
    index.root["arrays"].back()["chunks"] = arrays[a].chunks->bytes.size();
    index.append(arrays[a].chunks->bytes);
  }
  const std::string text = index_text(raw_magic, index, true);
  OutputFile file(path, OutputFile::Open::modify);
  file.write(text);
  file.close();
  for (std::int64_t& offset : offsets) offset += std::ssize(text);
  return offsets;
}

AccessStatistics write_raw(const Communicator& comm, const std::string& path, const FileContent& content,
                           const WriteOptions& options) {
  const RawParticles particles(comm, content);
  ArrayFile file;
  file.container = Container::raw;
  file.record = raw_record;
  for (std::size_t level = 0; level < content.state.levels.size() && !content.fields().empty(); ++level)
    file.groups.push_back(cells_of(content, level, comm.rank()));
  particles.append_groups(file.groups);
  file.create = [&](const std::string& temporary, std::span<const Array> arrays, std::span<const std::int64_t> rows) {
    Index index;
    put_description(content, particles.total(), index);
    index.root["pieces"] = particles.counts().size();
    index.append(particles.counts());
    return create_raw_file(temporary, std::move(index), arrays, rows);
  };
  return write_array_file(comm, path, file, options);
}

}  // namespace

Format raw_format() {
  std::vector<std::string> methods;
  for (const WriteMethod& method : write_methods())
    if (std::ranges::find(method.containers, Container::raw) != method.containers.end()) methods.push_back(method.name);
  Format format{"raw",
                "one file of plain arrays with an index",
                StepName{"plt", ".raw", 5},
                StepName{"chk", ".raw", 5},
                methods,
                {},
                write_raw,
                is_raw_file,
                open_raw_file};
  format.compresses = true;
  return format;
}

}  // namespace sidestream::io
