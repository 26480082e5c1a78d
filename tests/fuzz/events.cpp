// The events of a run whose decisions are made again.
#include "couple/steering/change.hpp"
#include "fuzz/target.hpp"
#include "sidestream/couple/replay.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  return fuzz::refuse_or_take([&] { couple::Replay(text, text, "events.jsonl").changes(1); });
}
