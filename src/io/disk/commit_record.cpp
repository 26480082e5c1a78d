#include "io/disk/commit_record.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::array<char, 16> magic{'s', 'i', 'd', 'e', 's', 't', 'r', 'e', 'a', 'm', '-', 'e', 'n', 'd', '1', '\n'};
constexpr std::array<char, 16> inner_magic{'s', 'i', 'd', 'e', 's', 't', 'r', 'e',
                                           'a', 'm', '-', 'r', 'e', 'c', '1', '\n'};

// What a record inside a file begins with.
struct Head {
  std::array<char, 16> mark = inner_magic;
  std::int64_t bytes = 0;  // of what follows
};

// Behind the ranges of the arrays; the checksum of the record is that of all before it.
struct Tail {
  std::int64_t end = 0;               // of what the format knows of
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

std::int64_t inner_record_bytes(std::size_t arrays) {
  return std::int64_t{sizeof(Head)} + record_bytes(arrays);
}

std::int64_t record_place(std::int64_t offset) {
  constexpr std::int64_t page = 4096;
  const auto highest_digit = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(offset)));
  const std::int64_t step = std::max(page, highest_digit / 8);
  return std::max(page, (offset + step - 1) / step * step);
}

std::vector<std::byte> commit_record(const std::vector<ByteRange>& arrays, std::int64_t end, const ReadBytes& read) {
  Tail tail;
  tail.arrays = static_cast<std::int64_t>(arrays.size());
  tail.end = end;
  tail.tables_checksum = checksum_of_tables(read, arrays, end);
  tail.record_checksum = checksum_of_record(arrays, tail);
  const auto ranges = std::as_bytes(std::span(arrays)), rest = std::as_bytes(std::span(&tail, 1));
  std::vector<std::byte> record(ranges.begin(), ranges.end());
  record.insert(record.end(), rest.begin(), rest.end());
  return record;
}

std::vector<std::byte> inner_commit_record(const std::vector<ByteRange>& arrays, std::int64_t end,
                                           const ReadBytes& read) {
  const std::vector<std::byte> rest = commit_record(arrays, end, read);
  const Head head{.bytes = std::ssize(rest)};
  std::vector<std::byte> record(sizeof head + rest.size());
  std::memcpy(record.data(), &head, sizeof head);
  std::memcpy(record.data() + sizeof head, rest.data(), rest.size());
  return record;
}

namespace {

template <typename T>
T read_from(const InputFile& file, std::int64_t offset) {
  T value{};
  file.read(offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

// Of a record without its head.
struct Place {
  std::int64_t begin = 0, bytes = 0;
};

// The record behind a file, in its last bytes. One inside that is the last there is stands for the whole length.
std::optional<Place> place_at_end(const InputFile& file) {
  const std::int64_t size = file.size_bytes(), tail_begin = size - std::int64_t{sizeof(Tail)};
  if (tail_begin < 0) return {};
  const auto tail = read_from<Tail>(file, tail_begin);
  if (tail.mark != magic || tail.end == size) return {};
  if (tail.end < 0 || tail.end > tail_begin) fail("its record is damaged", file.path());
  return Place{tail.end, size - tail.end};
}

std::optional<Place> place_inside(const InputFile& file) {
  const std::int64_t size = file.size_bytes(), head_bytes = sizeof(Head);
  for (std::int64_t begin = record_place(0); begin <= size - head_bytes; begin = record_place(begin + 1))
    if (const auto head = read_from<Head>(file, begin); head.mark == inner_magic)
      return Place{begin + head_bytes, head.bytes};
  return {};
}

struct Record {
  std::vector<ByteRange> arrays;
  Tail tail;
};

Record record_at(const InputFile& file, const Place& place) {
  constexpr std::int64_t tail_bytes = sizeof(Tail), range_bytes = sizeof(ByteRange);
  if (place.bytes < tail_bytes || place.bytes > file.size_bytes() - place.begin)
    fail("its record is damaged", file.path());
  const std::int64_t ranges_bytes = place.bytes - tail_bytes;
  Record record;
  record.tail = read_from<Tail>(file, place.begin + ranges_bytes);
  if (record.tail.arrays != ranges_bytes / range_bytes || ranges_bytes % range_bytes != 0)
    fail("its record is damaged", file.path());
  record.arrays.resize(static_cast<std::size_t>(record.tail.arrays));
  file.read(place.begin, std::as_writable_bytes(std::span(record.arrays)));
  if (record.tail.mark != magic || checksum_of_record(record.arrays, record.tail) != record.tail.record_checksum)
    fail("its record is damaged", file.path());
  return record;
}

}  // namespace

bool check_commit_record(const std::string& path) {
  const InputFile file(path);
  const std::optional<Place> at_end = place_at_end(file), inside = at_end ? std::nullopt : place_inside(file);
  if (!at_end && !inside) return false;
  const Record record = record_at(file, at_end ? *at_end : *inside);
  if (inside && record.tail.end != file.size_bytes())
    fail(fmt::format("it has {} bytes instead of {}", file.size_bytes(), record.tail.end), path);
  const auto read = [&](std::int64_t offset, std::span<std::byte> bytes) { file.read(offset, bytes); };
  if (checksum_of_tables(read, record.arrays, record.tail.end) != record.tail.tables_checksum)
    fail("the checksum of the file's tables is wrong", path);
  return true;
}

}  // namespace sidestream::io
