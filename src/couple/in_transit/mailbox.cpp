#include "couple/in_transit/mailbox.hpp"

#include <nlohmann/json.hpp>

#include "couple/publish/protocol.hpp"

namespace sidestream::couple {

using nlohmann::json;

void Mailbox::post(Tag tag, const json& message) {
  progress();
  Sent& sent = sent_.emplace_back(Sent{json::to_cbor(message)});
  comm::check(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, peer_, static_cast<int>(tag),
                        world_->raw(), &sent.request),
              "MPI_Isend");
}

std::optional<json> Mailbox::take(Tag tag) {
  int found = 0, size = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  // Open MPI answers first and then looks at what has arrived: only the second answer knows of it.
  for (int look = 0; look < 2 && found == 0; ++look)
    comm::check(MPI_Improbe(peer_, static_cast<int>(tag), world_->raw(), &found, &message, &status), "MPI_Improbe");
  if (found == 0) return std::nullopt;
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  comm::check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return unpacked(bytes);
}

bool Mailbox::has(Tag tag) const {
  int found = 0;
  comm::check(MPI_Iprobe(peer_, static_cast<int>(tag), world_->raw(), &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
  return found != 0;
}

bool Mailbox::progress() {
  sent_.remove_if([](Sent& sent) {
    int done = 0;
    comm::check(MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  return sent_.empty();
}

}  // namespace sidestream::couple
