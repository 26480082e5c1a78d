#include "io/arrays/compressed_arrays.hpp"

#include <algorithm>
#include <utility>

#include "io/disk/checksum.hpp"
#include "sidestream/core/compressed_block.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

using Bytes = std::vector<std::byte>;

// What this rank has of a compressed array: of each of its runs.
struct OwnChunks {
  std::vector<Bytes> bytes;
  std::vector<bool> are_exact;
};

struct CompressedGroup {
  std::vector<OwnChunks> arrays;
  std::vector<std::int64_t> checksums;  // [run][array]
};

// Chunks of HDF5 are the bytes of its filters; elsewhere a chunk tells itself how it was made.
class ChunkMaker {
 public:
  ChunkMaker(Container container, core::CompressionChoice choice) : container_(container), choice_(choice) {}

  /// Compresses `cells` and leaves there what a reader will find.
  void add(const core::BlockForm& form, std::span<std::byte> cells, OwnChunks& chunks) const {
    if (container_ == Container::hdf5) return add_filtered(form, cells, chunks);
    chunks.bytes.push_back(core::compress_block(*choice_.compressor, choice_.bound, form, cells));
    chunks.are_exact.push_back(false);
    if (choice_.compressor->is_lossy) core::decompress_block(form, chunks.bytes.back(), cells);
  }

 private:
  void add_filtered(const core::BlockForm& form, std::span<std::byte> cells, OwnChunks& chunks) const {
    const core::Compressor& compressor = *choice_.compressor;
    std::optional<Bytes> bytes = compressor.compress(form, cells, choice_.bound);
    chunks.are_exact.push_back(!bytes);
    if (bytes && compressor.is_lossy) compressor.decompress(form, *bytes, choice_.bound, cells);
    if (!bytes) bytes = core::lossless_compressor().compress(form, cells, 0.0);
    chunks.bytes.push_back(std::move(*bytes));
  }

  Container container_;
  core::CompressionChoice choice_;
};

CompressedGroup compress(const ArrayGroup& group, Container container) {
  CompressedGroup compressed;
  compressed.arrays.resize(group.arrays.size());
  compressed.checksums.resize(group.runs.size() * group.arrays.size());
  Bytes cells;
  for (std::size_t array = 0; array < group.arrays.size(); ++array) {
    const ChunkMaker maker(container, group.compression[array]);
    for (std::size_t run = 0; run < group.runs.size(); ++run) {
      cells.resize(static_cast<std::size_t>(group.runs[run].count * group.arrays[array].row_bytes()));
      group.pack(array, run, cells);
      maker.add(group.form(group.runs[run].number), cells, compressed.arrays[array]);
      compressed.checksums[run * group.arrays.size() + array] = static_cast<std::int64_t>(checksum_of(cells));
    }
  }
  return compressed;
}

// Bytes of all chunks of an array, and which are exact, by number.
void gather_sizes(const comm::Communicator& comm, const std::vector<RowRun>& runs, const OwnChunks& own,
                  Chunks& chunks) {
  std::vector<std::int64_t> sizes(chunks.bytes.size(), 0);  // twice the bytes, odd where exact
  for (std::size_t run = 0; run < runs.size(); ++run)
    sizes[static_cast<std::size_t>(runs[run].number)] =
        2 * static_cast<std::int64_t>(own.bytes[run].size()) + (own.are_exact[run] ? 1 : 0);
  comm.sum(sizes);
  for (std::size_t number = 0; number < sizes.size(); ++number) {
    chunks.bytes[number] = sizes[number] / 2;
    chunks.are_exact[number] = sizes[number] % 2 != 0;
  }
}

ArrayGroup words_of(const ArrayGroup& group, std::size_t array, OwnChunks own, std::shared_ptr<const Chunks> chunks) {
  ArrayGroup words;
  words.run_total = group.run_total;
  std::vector<std::int64_t> first{0};
  for (const std::int64_t bytes : chunks->bytes) first.push_back(first.back() + in_words(bytes) / 8);
  words.rows = first.back();
  for (const RowRun& run : group.runs) {
    const std::int64_t begin = first[static_cast<std::size_t>(run.number)];
    words.runs.push_back({run.number, begin, first[static_cast<std::size_t>(run.number) + 1] - begin});
  }
  words.arrays.push_back({group.arrays[array].name, ElementType::int64, {}, std::move(chunks)});
  words.pack = [own = std::move(own)](std::size_t, std::size_t run, std::span<std::byte> out) {
    const Bytes& bytes = own.bytes[run];
    std::ranges::copy(bytes, out.begin());
    std::ranges::fill(out.subspan(bytes.size()), std::byte{});
  };
  return words;
}

ArrayGroup checksums_of(const ArrayGroup& group, std::vector<std::int64_t> checksums) {
  const std::size_t arrays = group.arrays.size();
  ArrayGroup sums;
  sums.rows = sums.run_total = group.run_total;
  for (const RowRun& run : group.runs) sums.runs.push_back({run.number, run.number, 1});
  sums.arrays.push_back({group.checksums, ElementType::int64, {static_cast<std::int64_t>(arrays)}});
  sums.pack = [arrays, checksums = std::move(checksums)](std::size_t, std::size_t run, std::span<std::byte> out) {
    std::ranges::copy(std::as_bytes(std::span(checksums).subspan(run * arrays, arrays)), out.begin());
  };
  return sums;
}

void append_compressed(const comm::Communicator& comm, const ArrayGroup& group, Container container,
                       std::vector<ArrayGroup>& groups) {
  CompressedGroup compressed;
  comm.agree_on([&] { compressed = compress(group, container); });
  if (!group.checksums.empty()) groups.push_back(checksums_of(group, std::move(compressed.checksums)));
  for (std::size_t array = 0; array < group.arrays.size(); ++array) {
    const auto number = static_cast<std::size_t>(group.run_total);
    const auto chunks = std::make_shared<Chunks>(Chunks{group.arrays[array].type, group.arrays[array].row_shape,
                                                        group.rows, group.compression[array], group.form(0),
                                                        std::vector<std::int64_t>(number), std::vector<bool>(number)});
    gather_sizes(comm, group.runs, compressed.arrays[array], *chunks);
    groups.push_back(words_of(group, array, std::move(compressed.arrays[array]), chunks));
  }
}

bool is_compressed(const ArrayGroup& group) {
  return std::ranges::any_of(group.compression, [](const core::CompressionChoice& choice) {
    return choice.compressor != &core::compressors().front();
  });
}

}  // namespace

std::vector<ArrayGroup> with_compressed_arrays(const comm::Communicator& comm, const ArrayFile& file) {
  std::vector<ArrayGroup> groups;
  for (const ArrayGroup& group : file.groups)
    if (is_compressed(group))
      append_compressed(comm, group, file.container, groups);
    else
      groups.push_back(group);
  return groups;
}

}  // namespace sidestream::io
