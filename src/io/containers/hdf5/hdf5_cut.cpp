#include "io/containers/hdf5/hdf5_cut.hpp"

#include <array>
#include <cstring>
#include <exception>
#include <span>

#include "io/containers/hdf5/hdf5_signature.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

// The superblock (HDF5 File Format Specification, II.A) with addresses of 8 bytes.
std::optional<std::int64_t> length_before_cut(const std::string& path) {
  constexpr std::size_t version_at = 8, end_in_old = 40, end_in_new = 28, first_new = 2;
  std::array<unsigned char, 48> head{};
  try {
    const InputFile file(path);
    const std::optional<std::int64_t> begin = begin_of_hdf5(file);
    if (!begin || file.size_bytes() < *begin + std::ssize(head)) return std::nullopt;
    file.read(*begin, std::as_writable_bytes(std::span(head)));
    const std::size_t version = head[version_at], address_bytes = head[version < first_new ? 13 : 9];
    std::int64_t end = 0;
    if (address_bytes != sizeof end) return std::nullopt;
    std::memcpy(&end, head.data() + (version < first_new ? end_in_old : end_in_new), sizeof end);
    return end > file.size_bytes() ? std::optional(end) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace sidestream::io
