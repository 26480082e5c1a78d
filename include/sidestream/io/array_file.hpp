#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/compression.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/io/access_statistics.hpp"
#include "sidestream/mesh/field_view.hpp"

namespace sidestream::io {

enum class ElementType : std::uint8_t { float32, float64, int32, int64 };
std::int64_t size_of(ElementType type);

struct Chunks;

/// Rows that follow each other.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// Rows of an array that lie in another file of the folder, in one of its arrays, one behind the other.
struct RowsElsewhere {
  std::string file, array;
  std::vector<RowRange> rows;  ///< ascending
};
using Spread = std::vector<RowsElsewhere>;

/// An array of a file: rows of equal shape, one behind the other without gaps.
struct Array {
  std::string name;  ///< in HDF5 with its groups: "Level0/CellData/density"
  ElementType type = ElementType::float64;
  std::vector<std::int64_t> row_shape;     ///< of a row, slowest axis first; empty: a number a row
  std::shared_ptr<const Chunks> chunks{};  ///< of an array that is compressed; its rows are words of 8 bytes then
  std::shared_ptr<const Spread> spread{};  ///< of an array that takes no room in the file and only shows rows of others

  std::int64_t row_elements() const;
  std::int64_t row_bytes() const { return row_elements() * size_of(type); }
};

/// An array that stands in the file in chunks, one a run, each compressed by itself. They follow each other in the
/// order of their numbers, and each begins at a multiple of 8 bytes.
struct Chunks {
  ElementType type = ElementType::float64;  ///< of what is in them
  std::vector<std::int64_t> row_shape;
  std::int64_t rows = 0;
  core::CompressionChoice choice;   ///< with the bound that counts
  core::BlockForm form;             ///< of the first
  std::vector<std::int64_t> bytes;  ///< of each, without what fills its last word
  std::vector<bool> are_exact;      ///< of each: without loss, though the choice is lossy
};

/// Bytes of a chunk with what fills its last word.
inline std::int64_t in_words(std::int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// Consecutive rows that a rank holds and packs as one: those of a block.
struct RowRun {
  std::int64_t number = 0;  ///< of the run among those of all ranks, ascending with `first`
  std::int64_t first = 0;   ///< row
  std::int64_t count = 1;   ///< rows; may be 0
};

/// Owned cells of a field as they lie in memory: rows of arrays that a method may write without packing.
struct InPlace {
  mesh::FieldView<const double> field;  ///< run r of this rank is block r of it
  std::vector<int> components;          ///< of each row, in this order
};

/// Arrays of the same rows, of equal row shape and element type, that travel together.
struct ArrayGroup {
  std::int64_t rows = 0;       ///< of all ranks
  std::int64_t run_total = 0;  ///< runs of all ranks
  std::vector<RowRun> runs;    ///< of this rank, ascending, disjoint
  std::vector<Array> arrays;
  /// Writes the rows of run `run` (an index into `runs`) of array `array`, as they stand in the file, to `out`.
  std::function<void(std::size_t array, std::size_t run, std::span<std::byte> out)> pack;
  /// One entry an array where its rows are unconverted cells of a field, else empty.
  std::vector<InPlace> in_place;
  /// Name of an array (run_total, arrays) of 64-bit XXH3 checksums of the packed runs that is kept beside the others;
  /// empty: none. Of what is compressed: of the runs as readers find them.
  std::string checksums;
  /// One entry an array where some are compressed, with bounds that are not relative, else empty. Only reals.
  std::vector<core::CompressionChoice> compression{};
  /// Where arrays are compressed: what each run is a block of, by its number. In an HDF5 file all runs have as many
  /// rows.
  std::function<core::BlockForm(std::int64_t number)> form{};
};

/// What kind of file holds the arrays: which library can open it.
enum class Container { hdf5, netcdf, raw };

/// A file of arrays, described alike on all ranks but for `runs`.
struct ArrayFile {
  Container container = Container::hdf5;
  /// Name of an array for the commit record, which `create` places first, where it is looked for (`record_place`), so
  /// that all that is small can be one write; empty: the record lies behind the last byte.
  std::string record;
  std::vector<ArrayGroup> groups;
  /// Writes all that is small into the empty file at a path, with room for `arrays` (that of the record, those of the
  /// checksums, then those of all groups in order), and returns the byte offset of each. The file is there, and may lie
  /// in memory: who writes it opens it by `OutputFile::Open::modify`, as `create` would put another one in its place.
  /// Called on the first rank only.
  std::function<std::vector<std::int64_t>(const std::string& path, std::span<const Array> arrays,
                                          std::span<const std::int64_t> rows)>
      create;
};

/// How arrays reach the disk.
struct WriteOptions {
  std::string method;  ///< of `write_methods`; empty: the engine's choice
  /// Formats of many files: so many are written at the same time, 0: 128. HDF5 files: so many parts behind a master,
  /// at most one a rank; 0 or 1: one file.
  int files = 0;
  int ranks_per_file = 1;  ///< format `files`: so many write to a data file, in turn; 0: a row of a square of ranks
  int aggregators = 0;     ///< ranks that write in aggregated methods; 0: chosen
  std::int64_t buffer_bytes = std::int64_t{16} << 20;  ///< of an aggregator, at a time
  int stripes = 0;                ///< servers of the file system that a file lies on; 0: its own choice
  std::int64_t stripe_bytes = 0;  ///< on each of them, at a time; 0: its own choice
  bool is_durable = true;         ///< brought to the disk before it gets its name
  bool is_verified = false;       ///< rows are read back and compared, as always by methods that hide failures

  int files_at_once() const { return files > 0 ? files : 128; }
};

/// Writes `file` at `path` by `options.method`: under a temporary name, room reserved first, closed by a commit record,
/// brought to the disk, then renamed. With several `options.files` it is a folder with a master and parts, that appears
/// as one. Collective on `comm`. When one rank fails, all throw its
/// core::Error and nothing is left. Returns this rank's statistics.
AccessStatistics write_array_file(const comm::Communicator& comm, const std::string& path, const ArrayFile& file,
                                  const WriteOptions& options);

/// The part of `write_array_file` between making the temporary file and renaming it, for a file inside a folder that
/// is renamed as a whole: `path` is the final place in that folder.
AccessStatistics write_array_file_in_place(const comm::Communicator& comm, const std::string& path,
                                           const ArrayFile& file, const WriteOptions& options);

/// What a method is given: the file is there, with room for all arrays.
struct ArrayWrite {
  const comm::Communicator& comm;  ///< without topology
  std::string path;
  Container container = Container::hdf5;
  std::span<const ArrayGroup> groups;
  std::vector<std::vector<std::int64_t>> offsets;  ///< [group][array] first byte in the file
  WriteOptions options;
};

/// A way of moving rows from memory to a file. `write` is collective, leaves no file open, and throws a core::Error on
/// the ranks that failed (the caller agrees on it).
struct WriteMethod {
  std::string name, documentation;
  std::vector<Container> containers;
  std::function<AccessStatistics(const ArrayWrite& work)> write;  ///< none: it takes one of the others
  bool hides_failures = false;  ///< says success on a full disk with some MPI: what was written is read back
};

/// All methods there are; the first is the default.
const core::Registry<WriteMethod>& write_methods();
/// Throws core::Error naming the nearest, or those that can write the container.
const WriteMethod& write_method(std::string_view name, Container container);

/// Throws a core::Error naming `path` unless the file has a commit record and everything but the arrays is as it was
/// written (the arrays have checksums of their own). Local. False for a file without record, such as others write.
bool check_commit_record(const std::string& path);

}  // namespace sidestream::io
