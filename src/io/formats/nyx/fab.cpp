#include "io/formats/nyx/fab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "io/content/block_copy.hpp"
#include "io/text/text_reader.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

static_assert(std::endian::native == std::endian::little,
              "plot files are written in the byte order of a little-endian machine");

namespace {

constexpr const char* double_format = "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))";
constexpr const char* single_format = "((8, (32 8 23 0 1 9 0 127)),(4, (4 3 2 1)))";
constexpr std::int64_t longest_line = 1024;
constexpr std::int64_t most_components = 1 << 16;

// The numbers of a line: 8, the 8 of the layout of a real, its bytes, their order, the 9 of the box, the number of
// components.
FabHeader parse_fab_line(std::string_view line) {
  if (!line.starts_with("FAB ")) throw std::invalid_argument("no `FAB` here");
  const auto values = integers_in(line.substr(4));
  if (values.size() < 10) throw std::invalid_argument("too few numbers");
  const std::int64_t bytes = values[9];
  if ((bytes != 4 && bytes != 8) || values[1] != 8 * bytes ||
      static_cast<std::int64_t>(values.size()) != 10 + bytes + 10)
    throw std::invalid_argument("the numbers are neither of single nor of double precision");
  FabHeader header;
  header.is_double = bytes == 8;
  header.is_big_endian = values[10] == 1;
  for (std::int64_t i = 0; i < bytes; ++i)
    if (values[static_cast<std::size_t>(10 + i)] != (header.is_big_endian ? i + 1 : bytes - i))
      throw std::invalid_argument("the order of bytes is neither little-endian nor big-endian");
  header.box = box_of(&values[static_cast<std::size_t>(10 + bytes)]);
  if (values.back() < 1 || values.back() > most_components) throw std::invalid_argument("absurd number of components");
  header.components = static_cast<int>(values.back());
  return header;
}

template <typename Real, typename Bits>
void convert(const std::byte* reals, bool is_big_endian, std::int64_t count, double* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, reals + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof bits);
    if (is_big_endian) {
      if constexpr (sizeof(Bits) == 8)
        bits = __builtin_bswap64(bits);
      else
        bits = __builtin_bswap32(bits);
    }
    out[i] = static_cast<double>(std::bit_cast<Real>(bits));
  }
}

}  // namespace

std::string fab_box(const mesh::Box& box) {
  return fmt::format("(({},{},{}) ({},{},{}) (0,0,0))", box.lo.x, box.lo.y, box.lo.z, box.hi.x - 1, box.hi.y - 1,
                     box.hi.z - 1);
}

std::string fab_line(const mesh::Box& box, int components, Precision precision) {
  return fmt::format("FAB {}{} {}\n", precision == Precision::double_precision ? double_format : single_format,
                     fab_box(box), components);
}

FabHeader read_fab_header(const InputFile& file, std::int64_t offset) {
  const auto where = [&] { return fmt::format("{}, offset {}", file.path(), offset); };
  if (offset < 0 || offset >= file.size_bytes())
    throw core::Error(
        fmt::format("the data of a box should begin behind the end of the file ({} bytes)", file.size_bytes()), where(),
        "the file is truncated or its header damaged; use another copy");
  std::string text(static_cast<std::size_t>(std::min(longest_line, file.size_bytes() - offset)), '\0');
  file.read(offset, std::as_writable_bytes(std::span(text)));
  const auto end = text.find('\n');
  try {
    if (end == std::string::npos) throw std::invalid_argument("no line of text");
    FabHeader header = parse_fab_line(std::string_view(text).substr(0, end));
    header.data_offset = offset + static_cast<std::int64_t>(end) + 1;
    header.line = text.substr(0, end + 1);
    return header;
  } catch (const std::invalid_argument& problem) {
    throw core::Error(fmt::format("the line before the data of a box is damaged: {}", problem.what()), where(),
                      "the file is damaged or of another kind");
  }
}

std::vector<std::byte> read_fab_bytes(const InputFile& file, const FabHeader& header, int component) {
  const auto cells = header.box.volume();
  const auto bytes = cells * header.real_bytes();
  if (bytes > file.size_bytes())
    throw core::Error(fmt::format("a box of {} cells does not fit into the file", cells), file.path(),
                      "the file is truncated");
  return file.bytes(header.data_offset + component * bytes, bytes);
}

std::vector<double> read_fab_component(const InputFile& file, const FabHeader& header, int component) {
  const std::vector<std::byte> reals = read_fab_bytes(file, header, component);
  std::vector<double> values(static_cast<std::size_t>(header.box.volume()));
  reals_to_doubles(reals.data(), header.is_double, header.is_big_endian, header.box.volume(), values.data());
  return values;
}

void reals_to_doubles(const std::byte* reals, bool is_double, bool is_big_endian, std::int64_t count, double* out) {
  if (is_double)
    convert<double, std::uint64_t>(reals, is_big_endian, count, out);
  else
    convert<float, std::uint32_t>(reals, is_big_endian, count, out);
}

}  // namespace sidestream::io
