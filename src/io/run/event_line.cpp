#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/io/event_log.hpp"

namespace sidestream::io {

namespace {

// How a line ends; the digits are those of the checksum.
constexpr std::string_view seal = R"(,"crc32":"########"})";
constexpr std::size_t digits_begin = 10, digits = 8, fixed = seal.size() - digits;

constexpr auto crc_of_bytes = [] {
  constexpr std::uint32_t polynomial = 0xedb88320;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    table[byte] = crc;
  }
  return table;
}();

// CRC-32 as zlib, Ethernet and PNG have it.
std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) crc = (crc >> 8) ^ crc_of_bytes[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::string seal_of(std::string_view text) {
  return std::string(seal).replace(digits_begin, digits, fmt::format("{:08x}", crc32_of(text)));
}

// Whether a line ends with a checksum, even one that is damaged itself.
bool is_sealed(std::string_view line) {
  if (line.size() < seal.size()) return false;
  const std::string_view end = line.substr(line.size() - seal.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < seal.size(); ++i) same += end[i] == seal[i] ? 1 : 0;
  return same > fixed / 2;
}

}  // namespace

std::string event_line(const nlohmann::ordered_json& event) {
  std::string text = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.pop_back();  // the closing brace
  return text + seal_of(text) + "\n";
}

nlohmann::json event_in(std::string_view line) {
  if (!is_sealed(line)) return nlohmann::json::parse(line);
  const std::string_view text = line.substr(0, line.size() - seal.size());
  if (line.substr(text.size()) != seal_of(text)) throw core::Error("its checksum is wrong");
  return nlohmann::json::parse(std::string(text) + "}");
}

}  // namespace sidestream::io
