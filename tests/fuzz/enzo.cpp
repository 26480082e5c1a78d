// A folder of Enzo: parameters and hierarchy are text, the grids are HDF5.
#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"
#include "io/formats/enzo/enzo_file.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  const std::string folder = fuzz::put_folder(scratch, fuzz::text_of(data, size));
  return fuzz::refuse_or_take([&] {
    if (io::enzo_stem(folder)) io::open_enzo_file(folder)->verify();
  });
}
