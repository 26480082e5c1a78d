// A wisdom file, whatever is in it: a finding is kept beside what can be read, and found again.
#include "sidestream/redistribute/wisdom.hpp"
#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  const redistribute::Wisdom wisdom(scratch.put("wisdom.json", fuzz::text_of(data, size)));
  wisdom.find("key");
  fuzz::expect(wisdom.keep("key", {"p2p", 0.5}));
  const auto found = wisdom.find("key");
  fuzz::expect(found && found->choice == "p2p" && found->seconds == 0.5);
  return 0;
}
