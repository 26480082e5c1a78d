#include "redistribute/rows.hpp"

#include <array>
#include <complex>
#include <cstring>

namespace sidestream::redistribute {

namespace {

// A size known to the compiler makes a short row two or three vector moves instead of a call.
template <std::size_t row_size>
void copy_short_rows(std::byte* to, std::ptrdiff_t to_step, const std::byte* from, std::ptrdiff_t from_step,
                     std::int64_t rows, std::size_t) {
  for (std::int64_t r = 0; r < rows; ++r) std::memcpy(to + r * to_step, from + r * from_step, row_size);
}

void copy_rows(std::byte* to, std::ptrdiff_t to_step, const std::byte* from, std::ptrdiff_t from_step,
               std::int64_t rows, std::size_t row_bytes) {
  const auto step = static_cast<std::ptrdiff_t>(row_bytes);
  if (to_step == step && from_step == step) {
    std::memcpy(to, from, static_cast<std::size_t>(rows) * row_bytes);
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) std::memcpy(to + r * to_step, from + r * from_step, row_bytes);
}

constexpr std::size_t line_bytes = 64;

// The processor does not foresee the jump from one short run of rows to the next: fetch them while the run before is
// copied.
void fetch(const std::byte* first, std::ptrdiff_t step, std::int64_t rows, std::size_t row_bytes) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::size_t at = 0; at < row_bytes + line_bytes - 1; at += line_bytes)
      __builtin_prefetch(first + r * step + std::min(at, row_bytes - 1));
}

}  // namespace

RowKernel copy_kernel(std::size_t row_bytes) {
  switch (row_bytes) {
    case 1:
      return copy_short_rows<1>;
    case 2:
      return copy_short_rows<2>;
    case 4:
      return copy_short_rows<4>;
    case 8:
      return copy_short_rows<8>;
    case 16:
      return copy_short_rows<16>;
    case 24:
      return copy_short_rows<24>;
    case 32:
      return copy_short_rows<32>;
    case 48:
      return copy_short_rows<48>;
    case 64:
      return copy_short_rows<64>;
    case 128:
      return copy_short_rows<128>;
    default:
      return copy_rows;
  }
}

RowKernel sum_kernel(mesh::ElementType type) {
  switch (type) {
    case mesh::ElementType::float32:
      return add_rows<float>;
    case mesh::ElementType::float64:
      return add_rows<double>;
    case mesh::ElementType::complex64:
      return add_rows<std::complex<float>>;
    case mesh::ElementType::complex128:
      return add_rows<std::complex<double>>;
    case mesh::ElementType::int32:
      return add_rows<std::int32_t>;
    case mesh::ElementType::int64:
      return add_rows<std::int64_t>;
    case mesh::ElementType::int8:
      return add_rows<std::int8_t>;
    case mesh::ElementType::int16:
      return add_rows<std::int16_t>;
    case mesh::ElementType::uint8:
      return add_rows<std::uint8_t>;
    case mesh::ElementType::uint16:
      return add_rows<std::uint16_t>;
    case mesh::ElementType::uint32:
      return add_rows<std::uint32_t>;
    case mesh::ElementType::uint64:
      return add_rows<std::uint64_t>;
  }
  return nullptr;
}

RowKernel conversion_kernel(mesh::ElementType from, mesh::ElementType to) {
  using enum mesh::ElementType;
  struct Conversion {
    mesh::ElementType from, to;
    RowKernel kernel;
  };
  static constexpr std::array conversions{
      Conversion{float32, float64, convert_rows<float, double>},
      Conversion{float64, float32, convert_rows<double, float>},
      Conversion{complex64, complex128, convert_rows<std::complex<float>, std::complex<double>>},
      Conversion{complex128, complex64, convert_rows<std::complex<double>, std::complex<float>>},
      Conversion{int32, int64, convert_rows<std::int32_t, std::int64_t>},
      Conversion{int32, float64, convert_rows<std::int32_t, double>},
      Conversion{int64, float64, convert_rows<std::int64_t, double>},
      Conversion{int8, float32, convert_rows<std::int8_t, float>},
      Conversion{int8, float64, convert_rows<std::int8_t, double>},
      Conversion{int16, float32, convert_rows<std::int16_t, float>},
      Conversion{int16, float64, convert_rows<std::int16_t, double>},
      Conversion{uint8, float32, convert_rows<std::uint8_t, float>},
      Conversion{uint8, float64, convert_rows<std::uint8_t, double>},
      Conversion{uint16, float32, convert_rows<std::uint16_t, float>},
      Conversion{uint16, float64, convert_rows<std::uint16_t, double>},
      Conversion{uint32, float64, convert_rows<std::uint32_t, double>},
      Conversion{uint64, float64, convert_rows<std::uint64_t, double>},
      Conversion{int8, int16, convert_rows<std::int8_t, std::int16_t>},
      Conversion{int8, int32, convert_rows<std::int8_t, std::int32_t>},
      Conversion{int8, int64, convert_rows<std::int8_t, std::int64_t>},
      Conversion{int16, int32, convert_rows<std::int16_t, std::int32_t>},
      Conversion{int16, int64, convert_rows<std::int16_t, std::int64_t>},
      Conversion{uint8, uint16, convert_rows<std::uint8_t, std::uint16_t>},
      Conversion{uint8, uint32, convert_rows<std::uint8_t, std::uint32_t>},
      Conversion{uint8, uint64, convert_rows<std::uint8_t, std::uint64_t>},
      Conversion{uint8, int16, convert_rows<std::uint8_t, std::int16_t>},
      Conversion{uint8, int32, convert_rows<std::uint8_t, std::int32_t>},
      Conversion{uint8, int64, convert_rows<std::uint8_t, std::int64_t>},
      Conversion{uint16, uint32, convert_rows<std::uint16_t, std::uint32_t>},
      Conversion{uint16, uint64, convert_rows<std::uint16_t, std::uint64_t>},
      Conversion{uint16, int32, convert_rows<std::uint16_t, std::int32_t>},
      Conversion{uint16, int64, convert_rows<std::uint16_t, std::int64_t>},
      Conversion{uint32, int64, convert_rows<std::uint32_t, std::int64_t>},
      Conversion{uint32, uint64, convert_rows<std::uint32_t, std::uint64_t>},
  };
  const auto found = std::ranges::find_if(
      conversions, [&](const Conversion& conversion) { return conversion.from == from && conversion.to == to; });
  return found == conversions.end() ? nullptr : found->kernel;
}

namespace {

// Rows whose cells do not lie one after the other, here or there.
void move_cells(RowKernel kernel, const Rows<std::byte>& to, const Rows<const std::byte>& from, const RowShape& shape,
                std::int64_t begin, std::int64_t end) {
  const auto cells = static_cast<std::int64_t>(shape.row_bytes / shape.element_bytes);
  std::int64_t y = begin % shape.ny, z = begin / shape.ny % shape.nz, component = begin / shape.ny / shape.nz;
  for (std::int64_t row = begin; row < end; ++row) {
    kernel(to.first + component * to.step_component + z * to.step_z + y * to.step_y, to.step_x,
           from.first + component * from.step_component + z * from.step_z + y * from.step_y, from.step_x, cells,
           shape.element_bytes);
    if (++y < shape.ny) continue;
    y = 0;
    if (++z < shape.nz) continue;
    z = 0;
    ++component;
  }
}

void move_whole_rows(RowKernel kernel, const Rows<std::byte>& to, const Rows<const std::byte>& from,
                     const RowShape& shape, std::int64_t begin, std::int64_t end) {
  // Only here is there a division: the loops below count.
  std::int64_t y = begin % shape.ny, z = begin / shape.ny % shape.nz, component = begin / shape.ny / shape.nz;
  const bool fetches_ahead = shape.row_bytes <= 512 && static_cast<std::size_t>(shape.ny) * shape.row_bytes <= 4096;
  for (std::int64_t row = begin; row < end; ++component, z = 0) {
    std::byte* to_plane = to.first + component * to.step_component + z * to.step_z;
    const std::byte* from_plane = from.first + component * from.step_component + z * from.step_z;
    for (; z < shape.nz && row < end; ++z, y = 0) {
      const std::int64_t count = std::min(shape.ny - y, end - row);
      if (fetches_ahead && row + count < end) {
        fetch(from_plane + from.step_z, from.step_y, shape.ny, shape.row_bytes);
        fetch(to_plane + to.step_z, to.step_y, shape.ny, shape.row_bytes);
      }
      kernel(to_plane + y * to.step_y, to.step_y, from_plane + y * from.step_y, from.step_y, count, shape.row_bytes);
      to_plane += to.step_z;
      from_plane += from.step_z;
      row += count;
    }
  }
}

}  // namespace

void move_rows(RowKernel kernel, const Rows<std::byte>& to, const Rows<const std::byte>& from, const RowShape& shape,
               std::int64_t begin, std::int64_t end) {
  if (to.are_whole() && from.are_whole())
    move_whole_rows(kernel ? kernel : copy_kernel(shape.row_bytes), to, from, shape, begin, end);
  else
    move_cells(kernel ? kernel : copy_kernel(shape.element_bytes), to, from, shape, begin, end);
}

}  // namespace sidestream::redistribute
