// A configuration of a run: all that `sidestream check` looks at but the run folder. What is resolved reads as the
// same.
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/sims/run.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string resolved;
  fuzz::refuse_or_take([&] {
    const sims::RunConfig config = sims::read_run(core::parse_toml(fuzz::text_of(data, size), "/nowhere/run.toml"));
    sims::describe(config, 4);
    resolved = config.resolved;
  });
  if (!resolved.empty())
    fuzz::expect(sims::read_run(core::parse_toml(resolved, "/nowhere/run.toml")).resolved == resolved);
  return 0;
}
