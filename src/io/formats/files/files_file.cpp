#include "io/formats/files/files_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/content/pack_block.hpp"
#include "io/disk/checksum.hpp"
#include "io/formats/nyx/fab.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr int most_folders = 1 << 16, most_ranks = 1 << 30;

std::string index_path(const std::string& folder) {
  return folder + "/Header";
}

}  // namespace

int files_folders(int files) {
  return static_cast<int>(std::ceil(std::sqrt(static_cast<double>(files))));
}

std::string files_folder(int number) {
  return fmt::format("data_{:03}", number);
}

std::string FilesNames::of(std::int64_t file) const {
  return fmt::format("{}/rank_{:06}", files_folder(static_cast<int>(file / folders)), file * ranks_per_file);
}

FilesFile::FilesFile(const std::string& path) : FilesFile(IndexReader(index_path(path), files_magic), path) {}

FilesFile::FilesFile(IndexReader index, const std::string& path)
    : FilesFile(take_description(index, "files", path), index) {}

FilesFile::FilesFile(IndexDescription all, IndexReader& index)
    : SnapshotFile(std::move(all.description)),
      real_bytes_(size_of(all.precision)),
      particle_real_bytes_(size_of(all.particle_precision)) {
  starts_.push_back(0);
  for (const mesh::Layout& level : description_.state.levels)
    starts_.push_back(starts_.back() + static_cast<std::size_t>(level.size()));
  const auto boxes = static_cast<std::int64_t>(starts_.back());
  try {
    names_ = {index.root().at("folders").get<int>(), index.root().value("ranks_per_file", 1)};
    if (names_.folders < 1 || names_.folders > most_folders) index.fail("absurd number of folders");
    if (names_.ranks_per_file < 1 || names_.ranks_per_file > most_ranks) index.fail("absurd number of ranks a file");
    file_bytes_ = index.take<std::int64_t>(index.root().at("files").get<std::int64_t>());
    places_ = index.take<FilesPlace>(boxes);
    checksums_ = index.take<std::uint64_t>(boxes * std::ssize(description_.fields));
    pieces_ = index.take<FilesPiece>(index.root().at("pieces").get<std::int64_t>());
  } catch (const nlohmann::json::exception& problem) {
    index.fail(problem.what());
  }
  index.expect_end();
  std::int64_t total = 0;
  for (const FilesPiece& piece : pieces_) {
    if (piece.count < 0 || piece.count > description_.particles - total)
      index.fail("the pieces are more than all particles");
    total += piece.count;
  }
  if (total != description_.particles) index.fail("the pieces are fewer than all particles");
}

std::string FilesFile::data_path(std::int64_t file) const {
  if (file < 0 || file >= std::ssize(file_bytes_))
    throw core::Error(fmt::format("there is no data file {}", file), index_path(description_.state.source),
                      "the index is damaged; use an earlier file");
  return description_.state.source + "/" + names_.of(file);
}

std::vector<std::byte> FilesFile::checked_bytes(const FilesPlace& place, std::int64_t bytes, std::uint64_t checksum,
                                                const std::string& what) const {
  const InputFile& file = files_.of(data_path(place.file));
  std::vector<std::byte> data = file.bytes(place.offset, bytes);
  if (checksum_of(data) != checksum)
    throw core::Error(fmt::format("the checksum of {} is wrong: the data are damaged", what),
                      fmt::format("{}, offset {}", file.path(), place.offset), "use an earlier file");
  return data;
}

std::vector<double> FilesFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const mesh::Box& cells = description_.state.levels[static_cast<std::size_t>(level)].box(box);
  const std::size_t number = starts_[static_cast<std::size_t>(level)] + static_cast<std::size_t>(box);
  const std::int64_t bytes = cells.volume() * real_bytes_;
  const FilesPlace& place = places_[number];
  const std::int64_t before = bytes * static_cast<std::int64_t>(field);
  if (place.offset < 0 || place.offset > std::numeric_limits<std::int64_t>::max() - before)
    throw core::Error("the place of a box is absurd", index_path(description_.state.source), "use an earlier file");
  const std::vector<std::byte> data =
      checked_bytes({place.file, place.offset + before}, bytes, checksums_[number * description_.fields.size() + field],
                    fmt::format("field `{}`, box {}", description_.fields[field].name, to_string(cells)));
  std::vector<double> values(static_cast<std::size_t>(cells.volume()));
  reals_to_doubles(data.data(), real_bytes_ == 8, false, cells.volume(), values.data());
  return values;
}

void FilesFile::append_piece(std::size_t number, mesh::Particles& out) const {
  const FilesPiece& piece = pieces_[number];
  const std::size_t before = out.size(), numbers = 3 + out.attributes.size();
  if (piece.count > std::numeric_limits<std::int64_t>::max() / 8 / static_cast<std::int64_t>(1 + numbers))
    throw core::Error(fmt::format("piece {} of the particles is absurdly large", number),
                      index_path(description_.state.source), "use an earlier file");
  const std::int64_t ids = piece.count * 8, reals = piece.count * particle_real_bytes_;
  const std::vector<std::byte> data = checked_bytes(piece.place, ids + reals * static_cast<std::int64_t>(numbers),
                                                    piece.checksum, fmt::format("piece {} of the particles", number));
  out.resize(before + static_cast<std::size_t>(piece.count));
  std::memcpy(out.id.data() + before, data.data(), static_cast<std::size_t>(ids));
  const std::byte* from = data.data() + ids;
  for (std::size_t n = 0; n < numbers; ++n, from += reals) {
    std::vector<double>& values = n < 3 ? out.position[n] : out.attributes[n - 3].values;
    reals_to_doubles(from, particle_real_bytes_ == 8, false, piece.count, values.data() + before);
  }
}

mesh::Particles FilesFile::read_table(int rank, int ranks) const {
  mesh::Particles out = description_.no_particles;
  const std::size_t total = pieces_.size();
  const auto begin_of = [&](int r) { return total * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks); };
  for (std::size_t piece = begin_of(rank); piece < begin_of(rank + 1); ++piece) append_piece(piece, out);
  return out;
}

void FilesFile::check_data_files(int rank, int ranks) const {
  for (std::int64_t file = rank; file < std::ssize(file_bytes_); file += ranks) {
    const std::int64_t expected = file_bytes_[static_cast<std::size_t>(file)];
    if (expected == 0) continue;
    const InputFile data(data_path(file));
    if (data.size_bytes() != expected)
      throw core::Error(fmt::format("the file has {} bytes instead of {}", data.size_bytes(), expected), data.path(),
                        "use an earlier file");
  }
}

void FilesFile::verify(int rank, int ranks) const {
  check_data_files(rank, ranks);
  SnapshotFile::verify(rank, ranks);
}

bool is_files_folder(const std::string& path) {
  return begins_with(index_path(path), files_magic);
}

std::unique_ptr<SnapshotFile> open_files_folder(const std::string& path) {
  return std::make_unique<FilesFile>(path);
}

}  // namespace sidestream::io
