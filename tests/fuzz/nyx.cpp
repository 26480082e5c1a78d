// A folder of Nyx or another AMReX code, or one of ours.
#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"
#include "io/formats/nyx/nyx_file.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  const std::string folder = fuzz::put_folder(scratch, fuzz::text_of(data, size));
  return fuzz::refuse_or_take([&] {
    if (io::is_nyx_folder(folder)) io::open_nyx_folder(folder)->verify();
  });
}
