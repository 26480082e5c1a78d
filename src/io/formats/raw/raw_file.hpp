#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/disk/stored_checksums.hpp"
#include "io/formats/index_text.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

inline constexpr const char* raw_magic = "sidestream-raw";
// Names of arrays.
inline constexpr const char* raw_record = "record";
inline constexpr const char* raw_checksums = "checksums";
inline constexpr const char* raw_ids = "particles/id";
inline constexpr const char* raw_id_checksums = "particles/id_checksums";
inline constexpr const char* raw_number_checksums = "particles/number_checksums";
std::string raw_name(std::size_t level, const std::string& name);
/// x, y, z, then the reals by their number.
std::string raw_number_name(std::size_t number);

/// A file of the format `raw`. All checksums are verified: of the index on opening, of the data on reading.
class RawFile final : public SnapshotFile {
 public:
  explicit RawFile(const std::string& path);

  mesh::Particles read_table(int rank, int ranks) const override;

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;
  std::optional<FilePlace> place_of_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  RawFile(IndexReader index, const std::string& path);
  RawFile(IndexDescription description, IndexReader& index);
  // Bytes of a box in the file: as plain numbers, or as a compressed block.
  struct Place {
    std::int64_t offset = 0, bytes = 0;
    bool is_compressed = false;
  };
  Place place_of(const std::string& array, std::size_t level, std::int32_t box) const;
  void take_chunks(const std::string& array, std::vector<std::int64_t> bytes, IndexReader& index);
  std::int64_t offset_of(const std::string& array) const;
  // The cells of a box, as many bytes as they are.
  std::vector<std::byte> cells_at(const Place& place, const core::BlockForm& form, const std::string& what) const;
  // Number `number` of the `count` of an array.
  struct Checksum {
    std::string array;
    std::int64_t number = 0, count = 0;
  };
  void check(std::span<const std::byte> data, std::int64_t offset, const Checksum& of, const std::string& what) const;
  // Of particles: one of their numbers, or their ids, in a share of the pieces; the checksum of piece p is number
  // p * width + column.
  struct Numbers {
    std::string array, checksums;
    std::int64_t width = 1, column = 0, bytes = 8;
  };
  std::vector<std::byte> checked_numbers(const Numbers& of, std::size_t first, std::size_t last) const;

  InputFile file_;
  std::int64_t real_bytes_, particle_real_bytes_;
  std::map<std::string, std::int64_t> offsets_;            // of arrays in the file
  std::map<std::string, std::vector<Place>> chunks_;       // of compressed arrays, by box
  std::vector<std::vector<std::int64_t>> cells_before_;    // [level][box]
  std::vector<std::int64_t> piece_counts_, piece_starts_;  // of particles; starts of one more
  mutable StoredChecksums checksums_;
};

bool is_raw_file(const std::string& path);
std::unique_ptr<SnapshotFile> open_raw_file(const std::string& path);

}  // namespace sidestream::io
