// Messages between ranks that compute and sidecars; the first byte says of which kind.
#include <nlohmann/json.hpp>

#include "couple/publish/protocol.hpp"
#include "fuzz/target.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int ranks = 3;
  constexpr std::size_t tasks = 4;
  if (size == 0) return 0;
  return fuzz::refuse_or_take([&] {
    const nlohmann::json message = couple::unpacked(fuzz::text_of(data + 1, size - 1));
    switch (data[0]) {
      case 'l':
        couple::dealt(couple::levels_from(message, {}, ranks), 2);
        break;
      case 'a':
        couple::total_bytes(couple::announcement_from(message, tasks));
        break;
      case 's':
        couple::snapshot_from(message);
        break;
      default:
        couple::particle_label_from(message);
    }
  });
}
