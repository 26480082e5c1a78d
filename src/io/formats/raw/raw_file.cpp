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
      file_(index.path()),
      real_bytes_(size_of(all.precision)),
      particle_real_bytes_(size_of(all.particle_precision)) {
  const std::int64_t size = file_.size_bytes(), begin = (index.end() + 4095) / 4096 * 4096;
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
  piece_starts_.push_back(total);
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
  const std::int64_t size = file_.size_bytes();
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

void RawFile::check(std::span<const std::byte> data, std::int64_t offset, const Checksum& of,
                    const std::string& what) const {
  if (checksum_of(data) != checksums_.at(file_, offset_of(of.array), of.number, of.count))
    throw core::Error(fmt::format("the checksum of {} is wrong: the data are damaged", what),
                      fmt::format("{}, offset {}", description_.state.source, offset), "use an earlier file");
}

std::vector<std::byte> RawFile::cells_at(const Place& place, const core::BlockForm& form,
                                         const std::string& what) const {
  std::vector<std::byte> bytes = file_.bytes(place.offset, place.bytes);
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

std::optional<FilePlace> RawFile::place_of_box(std::size_t field, int level, std::int32_t box) const {
  const auto l = static_cast<std::size_t>(level);
  const Place place = place_of(raw_name(l, description_.fields[field].name), l, box);
  return FilePlace{file_.path(), place.offset, place.bytes};
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
  const std::int64_t all = std::int64_t{description_.state.levels[l].size()} * std::ssize(description_.fields);
  check(bytes, place.offset, {raw_name(l, raw_checksums), number, all}, what);
  std::vector<double> values(static_cast<std::size_t>(cells.volume()));
  reals_to_doubles(bytes.data(), real_bytes_ == 8, false, cells.volume(), values.data());
  return values;
}

std::vector<std::byte> RawFile::checked_numbers(const Numbers& of, std::size_t first, std::size_t last) const {
  const std::int64_t start = piece_starts_[first], offset = offset_of(of.array) + start * of.bytes;
  std::vector<std::byte> all = file_.bytes(offset, (piece_starts_[last] - start) * of.bytes);
  for (std::size_t piece = first; piece < last; ++piece) {
    const std::int64_t before = (piece_starts_[piece] - start) * of.bytes;
    const auto own = std::span(all).subspan(static_cast<std::size_t>(before),
                                            static_cast<std::size_t>(piece_counts_[piece] * of.bytes));
    const Checksum checksum{of.checksums, static_cast<std::int64_t>(piece) * of.width + of.column,
                            std::ssize(piece_counts_) * of.width};
    check(own, offset + before, checksum, fmt::format("piece {} of the particles", piece));
  }
  return all;
}

mesh::Particles RawFile::read_table(int rank, int ranks) const {
  mesh::Particles out = description_.no_particles;
  const std::size_t total = piece_counts_.size();
  const auto begin_of = [&](int r) { return total * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks); };
  const std::size_t first = begin_of(rank), last = begin_of(rank + 1);
  if (first == last) return out;
  out.resize(static_cast<std::size_t>(piece_starts_[last] - piece_starts_[first]));
  const std::vector<std::byte> ids = checked_numbers({raw_ids, raw_id_checksums}, first, last);
  std::memcpy(out.id.data(), ids.data(), ids.size());
  const std::size_t numbers = 3 + out.attributes.size();
  for (std::size_t n = 0; n < numbers; ++n) {
    std::vector<double>& values = n < 3 ? out.position[n] : out.attributes[n - 3].values;
    const std::vector<std::byte> bytes =
        checked_numbers({raw_number_name(n), raw_number_checksums, static_cast<std::int64_t>(numbers),
                         static_cast<std::int64_t>(n), particle_real_bytes_},
                        first, last);
    reals_to_doubles(bytes.data(), particle_real_bytes_ == 8, false, std::ssize(values), values.data());
  }
  return out;
}

bool is_raw_file(const std::string& path) {
  return begins_with(path, raw_magic);
}

std::unique_ptr<SnapshotFile> open_raw_file(const std::string& path) {
  return std::make_unique<RawFile>(path);
}

}  // namespace sidestream::io
