// TOML alone: what was read and written again reads as the same. After a line `---`, an override as of `--set`.
#include "fuzz/target.hpp"
#include "sidestream/core/config.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const std::size_t line = text.find("\n---\n");
  std::string written;
  fuzz::refuse_or_take([&] {
    core::Node root = core::parse_toml(text.substr(0, line), "run.toml");
    if (line != std::string::npos) core::override_key(root, text.substr(line + 5));
    written = core::to_toml(root);
  });
  if (!written.empty()) fuzz::expect(core::to_toml(core::parse_toml(written, "written.toml")) == written);
  return 0;
}
