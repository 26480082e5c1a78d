// A number with a unit, as a configuration has them.
#include "fuzz/target.hpp"
#include "sidestream/core/config.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const core::Node node(fuzz::text_of(data, size), "key", "run.toml:1:1");
  for (const core::Units* units : {&core::wall_time_units(), &core::size_units()})
    fuzz::refuse_or_take([&] { core::quantity(node, *units); });
  return 0;
}
