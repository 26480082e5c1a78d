#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <optional>
#include <string>

#include "blocks.hpp"
#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::bindings {

namespace {

using Complex = std::complex<double>;
using Triple = Blocks::Triple;  // z, y, x
using Cells = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ReadCells = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Modes = nb::ndarray<Complex, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

mesh::Int3 int3(const Triple& zyx) {
  return {static_cast<std::int32_t>(zyx[2]), static_cast<std::int32_t>(zyx[1]), static_cast<std::int32_t>(zyx[0])};
}
Triple triple(mesh::Int3 cell) {
  return {cell.z, cell.y, cell.x};
}

// The boxes of all ranks, of which each has one or none.
mesh::Layout layout_of(const comm::Communicator& comm, const Triple& origin, const Triple& extent,
                       const Triple& shape) {
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  const std::vector<mesh::Box> all = comm.all_gather(mesh::Box{int3(origin), int3(origin) + int3(extent)});
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].is_empty()) {
      boxes.push_back(all[rank]);
      owners.push_back(static_cast<std::int32_t>(rank));
    }
  mesh::Layout layout(mesh::domain_of(int3(shape)), {true, true, true}, std::move(boxes), std::move(owners));
  mesh::check(layout);
  return layout;
}

template <typename T>
mesh::FieldView<T> view_of(const mesh::Layout& layout, int rank, T* cells) {
  const auto own = layout.boxes_of(rank);
  if (own.empty()) return {layout, rank, {}, nullptr};
  const mesh::Box& box = layout.box(own.front());
  const mesh::Int3 n = box.extent();
  const core::View4<T> block(cells, box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1);
  return {layout, rank, {&block, 1}, nullptr};
}

/// Transforms between a block of cells and one of modes on each rank.
class Transform {
 public:
  Transform(const Triple& origin, const Triple& extent, const Triple& shape, const std::optional<Triple>& kept,
            const std::string& exchange, int threads, const std::string& thread_mode, std::optional<int> comm)
      : comm_(communicator(comm)),
        plan_(comm_, layout_of(comm_, origin, extent, shape), options_with(kept, exchange, threads, thread_mode)) {}

  Triple origin() const { return triple(box().lo); }
  Triple extent() const { return triple(box().extent()); }
  Triple waves() const { return triple(plan_.waves()); }

  void forward(const ReadCells& cells, const Modes& modes) const {
    const nb::gil_scoped_release unlocked;
    plan_.forward(view_of(plan_.real(), comm_.rank(), cells.data()),
                  view_of(plan_.spectral(), comm_.rank(), modes.data()));
  }
  void backward(const Modes& modes, const Cells& cells) const {
    const nb::gil_scoped_release unlocked;
    plan_.backward(view_of(plan_.spectral(), comm_.rank(), modes.data()),
                   view_of(plan_.real(), comm_.rank(), cells.data()));
  }

 private:
  static fft::FftOptions options_with(const std::optional<Triple>& kept, const std::string& exchange, int threads,
                                      const std::string& thread_mode) {
    fft::FftOptions options{.strategy = redistribute::strategies().named(exchange).strategy,
                            .threads = threads,
                            .thread_mode = fft::thread_modes().named(thread_mode).mode};
    if (kept) options.kept = int3(*kept);
    return options;
  }
  mesh::Box box() const {
    const auto own = plan_.spectral().boxes_of(comm_.rank());
    return own.empty() ? mesh::Box{} : plan_.spectral().box(own.front());
  }

  comm::Communicator comm_;
  fft::FftPlan<double> plan_;
};

}  // namespace

void bind_fft(nb::module_& module) {
  nb::class_<Transform>(module, "Transform", "A Fourier transform of real fields of which each rank has a block.")
      .def(nb::init<const Triple&, const Triple&, const Triple&, const std::optional<Triple>&, const std::string&, int,
                    const std::string&, std::optional<int>>(),
           nb::arg("origin"), nb::arg("extent"), nb::arg("shape"), nb::arg("kept").none(), nb::arg("exchange"),
           nb::arg("threads"), nb::arg("thread_mode"), nb::arg("comm").none(),
           "`origin` and `extent` (z, y, x) are those of this rank's block; `kept` are the largest wavenumbers of the "
           "axes that are kept; `exchange` and `thread_mode` are names of a strategy and a mode; `comm` is the Fortran "
           "handle of a communicator. "
           "Collective.")
      .def_prop_ro("origin", &Transform::origin, "Of this rank's modes.")
      .def_prop_ro("extent", &Transform::extent)
      .def_prop_ro("waves", &Transform::waves, "Cells of the smallest grid that has all modes.")
      .def("forward", &Transform::forward, nb::arg("cells").noconvert(), nb::arg("modes").noconvert(),
           "Not normalised. Collective.")
      .def("backward", &Transform::backward, nb::arg("modes").noconvert(), nb::arg("cells").noconvert(),
           "Not normalised; the modes are lost. Collective.");
}

}  // namespace sidestream::bindings
