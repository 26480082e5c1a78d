// A result file. The record at its end is made anew where the first byte says so: else it would refuse nearly all.
#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"
#include "sidestream/io/result_file.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const std::string bytes = fuzz::text_of(data + 1, size - 1);
  const std::string path = scratch.put("result.nc", data[0] == 's' ? fuzz::sealed(bytes) : bytes);
  return fuzz::refuse_or_take([&] { io::read_result(path); });
}
