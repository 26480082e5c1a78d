#include "couple/stream/wire.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <span>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

void require_integers(const json& request) {
  if (request.is_number_float()) throw core::Error("a request is damaged: it has a number that is none of integers");
  if (request.is_object() || request.is_array())
    for (const auto& [key, part] : request.items())
      if (key != "compression") require_integers(part);
}

json to_request(const TransferOrder& order, std::int64_t publish, std::uint64_t transfer, std::int64_t from,
                const std::string& plain_socket) {
  const auto bytes = std::as_bytes(std::span(order.parts));
  std::vector<std::uint8_t> parts(bytes.size());
  std::memcpy(parts.data(), bytes.data(), bytes.size());
  json compression = json::array();
  for (const auto& [compressor, bound] : order.compression) compression.push_back({compressor->name, bound});
  return {{"kind", "want"},
          {"compression", compression},
          {"publish", publish},
          {"transfer", transfer},
          {"fields", order.fields},
          {"parts", json::binary(std::move(parts))},
          {"single", order.is_single},
          {"particles", order.has_particles},
          {"from", from},
          {"window", chunk_window},
          {"plain_socket", plain_socket}};
}

TransferOrder order_from(const json& request) {
  TransferOrder order;
  request.at("fields").get_to(order.fields);
  order.is_single = request.at("single").get<bool>();
  order.has_particles = request.at("particles").get<bool>();
  for (const json& choice : request.at("compression"))
    order.compression.push_back(
        {&core::compressors().named(choice.at(0).get<std::string>()), choice.at(1).get<double>()});
  if (!order.compression.empty() && order.compression.size() != order.fields.size())
    throw core::Error("a request is damaged: it does not say how each field is to be compressed");
  const auto& bytes = request.at("parts").get_binary();
  if (bytes.size() % sizeof(Part) != 0) throw core::Error("a request is damaged: it has parts of parts");
  order.parts.resize(bytes.size() / sizeof(Part));
  std::memcpy(order.parts.data(), bytes.data(), bytes.size());
  return order;
}

}  // namespace sidestream::couple
