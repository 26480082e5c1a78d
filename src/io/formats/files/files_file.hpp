#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/formats/index_text.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

inline constexpr const char* files_magic = "sidestream-files";

/// Where the fields of a box, one after another, or the numbers of a piece of particles are.
struct FilesPlace {
  std::int64_t file = 0, offset = 0;
};
struct FilesPiece {
  std::int64_t count = 0;
  FilesPlace place;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FilesPlace) == 16 && sizeof(FilesPiece) == 32);

/// Number of sub-folders for so many data files: about the square root.
int files_folders(int files);
/// Names within the folder.
std::string files_folder(int number);

/// Where the data files lie: each has those of some ranks that follow each other and is called by the first of them.
struct FilesNames {
  int folders = 1, ranks_per_file = 1;

  int file_of(int rank) const { return rank / ranks_per_file; }
  std::string of(std::int64_t file) const;
};

/// A folder of the format `files`. All checksums are verified: of the index on opening, of the data on reading.
class FilesFile final : public SnapshotFile {
 public:
  explicit FilesFile(const std::string& path);

  mesh::Particles read_table(int rank, int ranks) const override;
  void check_data_files(int rank, int ranks) const override;
  void verify(int rank = 0, int ranks = 1) const override;

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  FilesFile(IndexReader index, const std::string& path);
  FilesFile(IndexDescription description, IndexReader& index);
  std::string data_path(std::int64_t file) const;
  std::vector<std::byte> checked_bytes(const FilesPlace& place, std::int64_t bytes, std::uint64_t checksum,
                                       const std::string& what) const;
  void append_piece(std::size_t piece, mesh::Particles& out) const;

  std::int64_t real_bytes_, particle_real_bytes_;
  FilesNames names_;
  std::vector<std::int64_t> file_bytes_;
  std::vector<std::size_t> starts_;       // of each level among all boxes
  std::vector<FilesPlace> places_;        // of all boxes
  std::vector<std::uint64_t> checksums_;  // [box][field]
  std::vector<FilesPiece> pieces_;
};

bool is_files_folder(const std::string& path);
std::unique_ptr<SnapshotFile> open_files_folder(const std::string& path);

}  // namespace sidestream::io
