// A condition in the language of `when`.
#include "sidestream/couple/condition.hpp"
#include "fuzz/target.hpp"
#include "sidestream/core/config.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const core::Node node(fuzz::text_of(data, size), "when", "run.toml:1:1");
  return fuzz::refuse_or_take([&] { couple::Condition condition(node); });
}
