#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "couple/stream/part_cursor.hpp"
#include "sidestream/stream/socket.hpp"

// What jobs say to each other, in CBOR. Whatever comes in is checked: what is damaged is a core::Error.
namespace sidestream::couple {

/// Of the protocol; a peer of another version is told so.
inline constexpr int stream_version = 3;

/// What stands before the bytes of a transfer.
struct ChunkHead {
  std::uint64_t transfer = 0;  ///< as the reader numbered it
  std::int64_t offset = 0;     ///< of these bytes
  std::int64_t total = 0;  ///< bytes of the whole transfer; -1: there is none, and the body says why; -2: compressed
};

/// The largest pieces in which data travel: they stay in a cache between the network and their place.
inline constexpr std::size_t chunk_bytes = std::size_t{512} << 10;
/// How many of them are under way to a reader.
inline constexpr int chunk_window = 6;

/// What a first rank takes of a stranger, a rank that gives cells, and a client of its server.
inline constexpr stream::Limits talk_limits{std::size_t{64} << 10, 64, 64}, request_limits{std::size_t{2} << 20, 2},
    client_limits{std::size_t{1} << 30, 64};

/// Throws core::Error unless all numbers of a reader's request are integers, but those of `compression`: to convert
/// others may be undefined.
void require_integers(const nlohmann::json& request);

/// A request for cells of publish `publish`, from the byte `from` on, by messages or by the plain socket of that name.
nlohmann::json to_request(const TransferOrder& order, std::int64_t publish, std::uint64_t transfer, std::int64_t from,
                          const std::string& plain_socket = "");
/// The order in it; whether there are such cells is not looked at.
TransferOrder order_from(const nlohmann::json& request);

}  // namespace sidestream::couple
