#include "io/formats/raw/raw_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "io/content/pack_block.hpp"
#include "io/disk/checksum.hpp"
#include "io/formats/nyx/fab.hpp"
#include "sidestream/core/compressed_block.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

std::string raw_name(std::size_t level, const std::string& name) {
  return fmt::format("level_{}/{}", level, name);
}

std::string raw_number_name(std::size_t number) {
  constexpr std::array<const char*, 3> axes{"x", "y", "z"};
  return number < 3 ? fmt::format("particles/{}", axes[number]) : fmt::format("particles/real_{}", number - 3);
}

namespace {

IndexReader committed_index(const std::string& path) {
  if (!check_commit_record(path))
    throw core::Error("the file has no commit record: it is not complete", path, "use an earlier file");
  return {path, raw_magic};
}

}  // namespace

RawFile::RawFile(const std::string& path) : RawFile(committed_index(path), path) {}

RawFile::RawFile(IndexReader index, const std::string& path) : RawFile(take_description(index, "raw", path), index) {}

RawFile::RawFile(IndexDescription all, IndexReader& index)
    : SnapshotFile(std::move(all.description)),
      real_bytes_(size_of(all.precision)),
      particle_real_bytes_(size_of(all.particle_precision)) {
  const std::int64_t size = InputFile(index.path()).size_bytes(), begin = (index.end() + 4095) / 4096 * 4096;
  try {
    piece_counts_ = index.take<std::int64_t>(index.root().at("pieces").get<std::int64_t>());
    for (const auto& array : index.root().at("arrays")) {
      const auto offset = array.at("offset").get<std::int64_t>();
      if (offset < 0 || offset > size) index.fail("an array lies outside the file");
      const auto name = array.at("name").get<std::string>();
      offsets_[name] = begin + offset;
      if (array.contains("chunks"))
        take_chunks(name, index.take<std::int64_t>(array.at("chunks").get<std::int64_t>()), index);
    }
  } catch (const nlohmann::json::exception& problem) {
    index.fail(problem.what());
  }
  index.expect_end();
  if (description_.particles > size / 8) index.fail("more particles than the file can hold");
  std::int64_t total = 0;
  for (const std::int64_t count : piece_counts_) {
    if (count < 0 || count > description_.particles - total) index.fail("the pieces are more than all particles");
    piece_starts_.push_back(total);
    total += count;
  }
  if (total != description_.particles) index.fail("the pieces are fewer than all particles");
  for (const mesh::Layout& level : description_.state.levels) {
    std::int64_t cells = 0;
    cells_before_.emplace_back();
    for (const mesh::Box& box : level.boxes()) {
      cells_before_.back().push_back(cells);
      cells += box.volume();
    }
  }
}

std::int64_t RawFile::offset_of(const std::string& array) const {
  const auto found = offsets_.find(array);
  if (found == offsets_.end())
    throw core::Error(fmt::format("the index has no array `{}`", array), description_.state.source,
                      "use an earlier file");
  return found->second;
}

void RawFile::take_chunks(const std::string& array, std::vector<std::int64_t> bytes, IndexReader& index) {
  std::int64_t offset = offset_of(array);
  const std::int64_t size = InputFile(index.path()).size_bytes();
  for (const std::int64_t chunk : bytes) {
    if (chunk < 0 || chunk > size - offset) index.fail("a compressed block lies outside the file");
    chunks_[array].push_back({offset, chunk, true});
    offset += in_words(chunk);
  }
}

RawFile::Place RawFile::place_of(const std::string& array, std::size_t level, std::int32_t box) const {
  const auto b = static_cast<std::size_t>(box);
  const std::int64_t cells = description_.state.levels[level].box(box).volume();
  const auto chunks = chunks_.find(array);
  if (chunks == chunks_.end()) return {offset_of(array) + cells_before_[level][b] * real_bytes_, cells * real_bytes_};
  if (b >= chunks->second.size() || cells * real_bytes_ / core::most_compression > chunks->second[b].bytes)
    throw core::Error(fmt::format("`{}` has fewer compressed cells than its boxes", array), description_.state.source,
                      "use an earlier file");
  return chunks->second[b];
}

void RawFile::check(std::span<const std::byte> data, std::int64_t offset, std::int64_t checksum_offset,
                    const std::string& what) const {
  std::uint64_t checksum = 0;
  InputFile(description_.state.source).read(checksum_offset, std::as_writable_bytes(std::span(&checksum, 1)));
  if (checksum_of(data) != checksum)
    throw core::Error(fmt::format("the checksum of {} is wrong: the data are damaged", what),
                      fmt::format("{}, offset {}", description_.state.source, offset), "use an earlier file");
}

std::vector<std::byte> RawFile::checked_bytes(std::int64_t offset, std::int64_t bytes, std::int64_t checksum_offset,
                                              const std::string& what) const {
  std::vector<std::byte> data = InputFile(description_.state.source).bytes(offset, bytes);
  check(data, offset, checksum_offset, what);
  return data;
}

std::vector<std::byte> RawFile::cells_at(const Place& place, const core::BlockForm& form,
                                         const std::string& what) const {
  std::vector<std::byte> bytes = InputFile(description_.state.source).bytes(place.offset, place.bytes);
  if (!place.is_compressed) return bytes;
  std::vector<std::byte> cells(form.bytes());
  try {
    core::decompress_block(form, bytes, cells);
  } catch (const core::Error& error) {
    throw core::Error(fmt::format("{}: {}", what, error.message()),
                      fmt::format("{}, offset {}", description_.state.source, place.offset), "use an earlier file");
  }
  return cells;
}

std::vector<double> RawFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const auto l = static_cast<std::size_t>(level);
  const std::string& name = description_.fields[field].name;
  const mesh::Box& cells = description_.state.levels[l].box(box);
  const auto number = box * std::ssize(description_.fields) + static_cast<std::int64_t>(field);
  const Place place = place_of(raw_name(l, name), l, box);
  const std::string what = fmt::format("field `{}`, box {}", name, to_string(cells));
  const std::vector<std::byte> bytes =
      cells_at(place, form_of(cells.extent(), real_bytes_ == 8 ? ElementType::float64 : ElementType::float32), what);
  check(bytes, place.offset, offset_of(raw_name(l, raw_checksums)) + number * 8, what);
  std::vector<double> values(static_cast<std::size_t>(cells.volume()));
  reals_to_doubles(bytes.data(), real_bytes_ == 8, false, cells.volume(), values.data());
  return values;
}

void RawFile::append_piece(std::size_t piece, mesh::Particles& out) const {
  const std::int64_t count = piece_counts_[piece], start = piece_starts_[piece];
  const auto number = static_cast<std::int64_t>(piece);
  const std::string what = fmt::format("piece {} of the particles", piece);
  const std::size_t before = out.size();
  out.resize(before + static_cast<std::size_t>(count));
  const auto ids =
      checked_bytes(offset_of(raw_ids) + start * 8, count * 8, offset_of(raw_id_checksums) + number * 8, what);
  std::memcpy(out.id.data() + before, ids.data(), ids.size());
  const std::size_t numbers = 3 + out.attributes.size();
  for (std::size_t n = 0; n < numbers; ++n) {
    std::vector<double>& values = n < 3 ? out.position[n] : out.attributes[n - 3].values;
    const auto bytes =
        checked_bytes(offset_of(raw_number_name(n)) + start * particle_real_bytes_, count * particle_real_bytes_,
                      offset_of(raw_number_checksums) +
                          (number * static_cast<std::int64_t>(numbers) + static_cast<std::int64_t>(n)) * 8,
                      what);
    reals_to_doubles(bytes.data(), particle_real_bytes_ == 8, false, count, values.data() + before);
  }
}

mesh::Particles RawFile::read_table(int rank, int ranks) const {
  mesh::Particles out = description_.no_particles;
  const std::size_t total = piece_counts_.size();
  const auto begin_of = [&](int r) { return total * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks); };
  for (std::size_t piece = begin_of(rank); piece < begin_of(rank + 1); ++piece) append_piece(piece, out);
  return out;
}

bool is_raw_file(const std::string& path) {
  return begins_with(path, raw_magic);
}

std::unique_ptr<SnapshotFile> open_raw_file(const std::string& path) {
  return std::make_unique<RawFile>(path);
}

}  // namespace sidestream::io
