// The JSON that files of states keep, of which `sidestream info` makes JSON again.
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "io/formats/metadata.hpp"
#include "sidestream/io/snapshot_file.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::refuse_or_take([&] {
    io::FileDescription description;
    io::apply_metadata(fuzz::text_of(data, size), "sidestream.json", description);
  });
}
