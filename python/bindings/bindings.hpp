#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

/// What the files of this folder share. Bindings hold no defaults and no logic: those are Python's and C++'s.
namespace sidestream::bindings {

namespace nb = nanobind;

/// A field as NumPy gives it: (z, y, x); along x cells lie one after the other.
template <typename T>
using FieldArray = nb::ndarray<const T, nb::ndim<3>, nb::device::cpu>;

/// An array that owns `owner`, whose data are at `data`.
template <typename T, typename Owner>
nb::object array_of(std::unique_ptr<Owner> owner, T* data, std::initializer_list<std::size_t> shape) {
  const nb::capsule keeper(owner.get(), [](void* pointer) noexcept { delete static_cast<Owner*>(pointer); });
  owner.release();
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, keeper));
}
template <typename T>
nb::object array_of(std::vector<T> values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owner->data();
  const std::size_t size = owner->size();
  return array_of(std::move(owner), data, {size});
}

/// Starts MPI if nobody has yet, so that `import sidestream` does not; what was started here is finalised when Python
/// ends. Throws core::Error when MPI has been finalised already.
void ensure_mpi();

void bind_analysis(nb::module_& module);
void bind_array_files(nb::module_& module);
void bind_data_mapping(nb::module_& module);
void bind_derived(nb::module_& module);
void bind_fft(nb::module_& module);
void bind_io(nb::module_& module);
void bind_particles(nb::module_& module);
void bind_program(nb::module_& module);
void bind_session(nb::module_& module);
void bind_stream(nb::module_& module);

}  // namespace sidestream::bindings
