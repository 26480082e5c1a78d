// A state in any format that is one file: of FLASH in HDF5 or netCDF, of VTK, of ours. A record at its end, which goes
// before one inside, is made where the first byte says so.
#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"
#include "sidestream/io/format.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const std::string bytes = fuzz::text_of(data + 1, size - 1);
  const std::string path = scratch.put("state", data[0] == 's' ? fuzz::sealed(bytes) : bytes);
  return fuzz::refuse_or_take([&] {
    for (const io::Format& format : io::formats())
      if (format.recognizes(path)) format.open(path)->verify();
  });
}
