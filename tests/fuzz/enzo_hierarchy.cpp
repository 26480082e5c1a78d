// The hierarchy of an Enzo file; its parameters are lines of the same kind.
#include "io/formats/enzo/enzo_hierarchy.hpp"
#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  const std::string path = scratch.put("hierarchy", fuzz::text_of(data, size));
  fuzz::refuse_or_take([&] { io::read_enzo_hierarchy(path, 3); });
  fuzz::refuse_or_take([&] { io::EnzoParameters(path).integer("TopGridRank", 1, 3); });
  return fuzz::refuse_or_take([&] { io::EnzoParameters(path).numbers("DomainLeftEdge", 3); });
}
