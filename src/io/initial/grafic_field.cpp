#include "io/initial/grafic_field.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

// Each record stands between two counts of its bytes.
constexpr std::int64_t mark_bytes = 4, header_bytes = 44, first_slab = header_bytes + 2 * mark_bytes;

std::int32_t integer_at(const InputFile& file, std::int64_t offset, ByteOrder order) {
  return numbers_in<std::int32_t>(file.bytes(offset, mark_bytes), order).front();
}

ByteOrder order_of(const InputFile& file) {
  if (file.size_bytes() >= first_slab)
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      if (integer_at(file, 0, order) == header_bytes) return order;
  throw core::Error(fmt::format("the file does not begin with a Fortran record of {} bytes", header_bytes), file.path(),
                    "it is no field of grafic2, or is damaged");
}

GraficHeader header_of(const InputFile& file, ByteOrder order) {
  const std::vector<std::byte> bytes = file.bytes(mark_bytes, header_bytes);
  const auto points = numbers_in<std::int32_t>(std::span(bytes).first(12), order);
  const auto numbers = numbers_in<float>(std::span(bytes).subspan(12), order);
  constexpr std::int32_t most = 1 << 14;  // a slab then still fits into one record of Fortran
  for (const std::int32_t count : points)
    if (count < 1 || count > most)
      throw core::Error(fmt::format("the header has a lattice of {} x {} x {} points", points[0], points[1], points[2]),
                        file.path(), "the file is damaged");
  for (const float number : numbers)
    if (!std::isfinite(number))
      throw core::Error("a number of the header is not finite", file.path(), "the file is damaged");
  if (numbers[1] != 0.0F || numbers[2] != 0.0F || numbers[3] != 0.0F)
    throw core::Error("the lattice is a part of a box: its offset is not zero", file.path(),
                      "begin with a lattice over the whole box");
  const GraficHeader header{
      {points[0], points[1], points[2]}, numbers[0], numbers[4], numbers[5], numbers[6], numbers[7]};
  if (!(header.spacing > 0.0F && header.scale_factor > 0.0F && header.hubble_constant > 0.0F))
    throw core::Error("spacing, scale factor and Hubble constant of the header are not all above zero", file.path(),
                      "the file is damaged");
  return header;
}

}  // namespace

GraficField::GraficField(std::string path) : path_(std::move(path)) {
  const InputFile file(path_);
  order_ = order_of(file);
  header_ = header_of(file, order_);
  const std::int64_t size = first_slab + header_.points[2] * (slab_bytes() + 2 * mark_bytes);
  if (file.size_bytes() != size)
    throw core::Error(fmt::format("the file has {} bytes; a lattice of {} x {} x {} points takes {}", file.size_bytes(),
                                  header_.points[0], header_.points[1], header_.points[2], size),
                      path_, "the file is damaged, or was not written completely");
}

std::vector<double> GraficField::slab(std::int64_t k) const {
  const InputFile file(path_);
  const std::int64_t begin = first_slab + k * (slab_bytes() + 2 * mark_bytes);
  if (integer_at(file, begin, order_) != slab_bytes() ||
      integer_at(file, begin + mark_bytes + slab_bytes(), order_) != slab_bytes())
    throw core::Error(fmt::format("the record of the slab {} has not its length beside it", k), path_,
                      "the file is damaged");
  const auto numbers = numbers_in<float>(file.bytes(begin + mark_bytes, slab_bytes()), order_);
  return {numbers.begin(), numbers.end()};
}

}  // namespace sidestream::io
