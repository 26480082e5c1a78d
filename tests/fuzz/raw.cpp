// A file of the format `raw`: up to a line `===` what its index says (a line of JSON, then tables), then its arrays.
// The checksums of the index and of the file are made anew: else they would refuse nearly all.
#include <fmt/format.h>

#include "fuzz/scratch.hpp"
#include "fuzz/target.hpp"
#include "io/disk/checksum.hpp"
#include "io/formats/raw/raw_file.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  constexpr std::size_t page = 4096;
  const std::string input = fuzz::text_of(data, size);
  const std::size_t mark = input.find("\n===\n");
  const std::string body = input.substr(0, mark), arrays = mark < size ? input.substr(mark + 5) : "";
  std::string file =
      fmt::format("{} 1 {:016x} {}\n", io::raw_magic, io::checksum_of(std::as_bytes(std::span(body))), body.size());
  file += body;
  file.resize((file.size() + page - 1) / page * page);
  const std::string path = scratch.put("chk.raw", fuzz::sealed(file + arrays));
  return fuzz::refuse_or_take([&] { io::open_raw_file(path)->verify(); });
}
