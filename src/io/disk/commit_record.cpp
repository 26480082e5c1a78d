#include "io/disk/commit_record.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::array<char, 16> magic{'s', 'i', 'd', 'e', 's', 't', 'r', 'e', 'a', 'm', '-', 'e', 'n', 'd', '1', '\n'};

// Behind the ranges of the arrays; the checksum of the record is that of all before it.
struct Tail {
  std::int64_t begin = 0;             // of the record in the file
  std::int64_t arrays = 0;            // ranges
  std::uint64_t tables_checksum = 0;  // of all bytes before the record that lie in no array
  std::uint64_t record_checksum = 0;
  std::array<char, 16> mark = magic;
};

// XXH3 of [0, end) without `arrays`.
std::uint64_t checksum_of_tables(const ReadBytes& read, const std::vector<ByteRange>& arrays, std::int64_t end) {
  constexpr std::int64_t piece = 1 << 20;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> buffer;
  const auto take = [&](std::int64_t from, std::int64_t to) {
    for (; from < to; from += piece) {
      buffer.resize(static_cast<std::size_t>(std::min(piece, to - from)));
      read(from, buffer);
      XXH3_64bits_update(state.get(), buffer.data(), buffer.size());
    }
  };
  std::int64_t position = 0;
  for (const ByteRange& array : arrays) {
    if (array.bytes == 0) continue;
    take(position, array.offset);
    position = array.offset + array.bytes;
  }
  take(position, end);
  return XXH3_64bits_digest(state.get());
}

std::uint64_t checksum_of_record(const std::vector<ByteRange>& arrays, Tail tail) {
  tail.record_checksum = 0;
  std::vector<std::byte> bytes(arrays.size() * sizeof(ByteRange) + sizeof tail);
  if (!arrays.empty()) std::memcpy(bytes.data(), arrays.data(), arrays.size() * sizeof(ByteRange));
  std::memcpy(bytes.data() + arrays.size() * sizeof(ByteRange), &tail, sizeof tail);
  return XXH3_64bits(bytes.data(), bytes.size());
}

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw core::Error(what, path, "the file is damaged; use an earlier one");
}

}  // namespace

std::int64_t record_bytes(std::size_t arrays) {
  return static_cast<std::int64_t>(arrays * sizeof(ByteRange) + sizeof(Tail));
}

std::vector<std::byte> commit_record(const std::vector<ByteRange>& arrays, std::int64_t end, const ReadBytes& read) {
  Tail tail;
  tail.arrays = static_cast<std::int64_t>(arrays.size());
  tail.begin = end;
  tail.tables_checksum = checksum_of_tables(read, arrays, end);
  tail.record_checksum = checksum_of_record(arrays, tail);
  const auto ranges = std::as_bytes(std::span(arrays)), rest = std::as_bytes(std::span(&tail, 1));
  std::vector<std::byte> record(ranges.begin(), ranges.end());
  record.insert(record.end(), rest.begin(), rest.end());
  return record;
}

bool check_commit_record(const std::string& path) {
  const InputFile file(path);
  Tail tail;
  const auto tail_bytes = static_cast<std::int64_t>(sizeof tail);
  if (file.size_bytes() < tail_bytes) return false;
  file.read(file.size_bytes() - tail_bytes, std::as_writable_bytes(std::span(&tail, 1)));
  if (tail.mark != magic) return false;
  const std::int64_t ranges_bytes = file.size_bytes() - tail_bytes - tail.begin;
  if (tail.begin < 0 || tail.arrays < 0 || ranges_bytes < 0 ||
      ranges_bytes / static_cast<std::int64_t>(sizeof(ByteRange)) != tail.arrays ||
      ranges_bytes % static_cast<std::int64_t>(sizeof(ByteRange)) != 0)
    fail("the record at the end of the file is damaged", path);
  std::vector<ByteRange> arrays(static_cast<std::size_t>(tail.arrays));
  file.read(tail.begin, std::as_writable_bytes(std::span(arrays)));
  if (checksum_of_record(arrays, tail) != tail.record_checksum)
    fail("the record at the end of the file is damaged", path);
  const auto read = [&](std::int64_t offset, std::span<std::byte> bytes) { file.read(offset, bytes); };
  if (checksum_of_tables(read, arrays, tail.begin) != tail.tables_checksum)
    fail("the checksum of the file's tables is wrong", path);
  return true;
}

}  // namespace sidestream::io
