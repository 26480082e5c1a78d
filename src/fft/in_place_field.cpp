#include "sidestream/fft/in_place_field.hpp"

#include <algorithm>
#include <complex>

namespace sidestream::fft {

using mesh::Int3;
using mesh::Layout;

namespace {

// Rows of the blocks of a rank, block after block, and the numbers that they take together.
struct Rows {
  std::vector<std::ptrdiff_t> pitches;
  std::size_t size = 0;
};

template <typename PitchOf>
Rows rows_of(const Layout& layout, int rank, int components, PitchOf pitch_of) {
  Rows rows;
  for (const std::int32_t b : layout.boxes_of(rank)) {
    const Int3 extent = layout.box(b).extent();
    rows.pitches.push_back(pitch_of(extent.x));
    rows.size += static_cast<std::size_t>(rows.pitches.back() * extent.y * extent.z * components);
  }
  return rows;
}

template <typename T>
mesh::FieldView<T> view_of(T* memory, const Layout& layout, int rank, int components, const Rows& rows) {
  std::vector<core::View4<T>> blocks;
  const auto own = layout.boxes_of(rank);
  for (std::size_t n = 0; n < own.size(); ++n) {
    const Int3 lo = layout.box(own[n]).lo, extent = layout.box(own[n]).extent();
    const std::ptrdiff_t y = rows.pitches[n], z = y * extent.y, component = z * extent.z;
    blocks.emplace_back(memory - lo.x - lo.y * y - lo.z * z, y, z, component, components);
    memory += component * components;
  }
  return {layout, rank, blocks, nullptr};
}

}  // namespace

template <typename Cell>
InPlaceField<Cell>::InPlaceField(const FftPlan<Cell>& plan, int rank) {
  constexpr std::ptrdiff_t numbers = sizeof(Mode) / sizeof(Cell);
  const int components = plan.options().components, whole = plan.cells().x;
  const std::ptrdiff_t with_room = std::max<std::ptrdiff_t>(whole, numbers * plan.spectral().domain().hi.x);
  const Rows cells =
      rows_of(plan.real(), rank, components, [&](std::ptrdiff_t x) { return x == whole ? with_room : x; });
  const Rows modes = rows_of(plan.spectral(), rank, components, [](std::ptrdiff_t x) { return x; });
  memory_.resize(std::max((cells.size + numbers - 1) / numbers, modes.size));
  cells_ = view_of(reinterpret_cast<Cell*>(memory_.data()), plan.real(), rank, components, cells);
  modes_ = view_of(memory_.data(), plan.spectral(), rank, components, modes);
}

template class InPlaceField<double>;
template class InPlaceField<float>;
template class InPlaceField<std::complex<double>>;
template class InPlaceField<std::complex<float>>;

}  // namespace sidestream::fft
